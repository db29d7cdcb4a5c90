"""KIP-320: leader and follower deal with each other only within one leader epoch.

What Kafka does since 2.1: requests carry the leader epoch, and one of another epoch is refused
(FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH).
"""

from __future__ import annotations

from spec.core import Step, rule
from spec.replication import kip_320_first_try as first_try
from spec.replication.kip_279 import end_of_agreement
from spec.replication.kip_320_first_try import KIP_320_FIRST_TRY, hw_has_reached_current_epoch
from spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr, brokers, requests

# -- leader ---------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that lags, or is not in the leader's epoch, leaves the ISR.

    Kafka: `Partition.maybeShrinkIsr`. Simplification: there is no clock, so a follower may be
    found lagging at any moment at which it does not hold all the leader holds.
    """
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is in the isr", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    behind = s.logs[follower].end < s.logs[leader].end
    yield "follower lags", behind or not s.follows_epoch(follower, leader)
    return s.changes_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower comes back into the ISR once it holds all that may be committed.

    Kafka: `Partition.maybeExpandIsr`. The high watermark of a new leader may lag behind what
    its predecessor committed; until it has reached the leader's own epoch, it says too little
    about what a member must hold (KAFKA-7128).
    """
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is out of the isr", follower not in s.views[leader].isr
    yield "follower is in the leader's epoch", s.follows_epoch(follower, leader)
    hw = s.views[leader].hw
    yield "follower holds what is committed", hw == 0 or s.logs[follower].holds(hw - 1)
    yield "hw has reached the current epoch", hw_has_reached_current_epoch(s, leader)
    return s.changes_isr(leader, s.views[leader].isr | {follower})


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """One more record is committed, once every member of the ISR holds it.

    Kafka: `Partition.maybeIncrementLeaderHW`. Simplification: the leader sees the followers'
    logs themselves, not what their last fetch said; so it may advance at any moment.
    """
    yield "presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield "leader holds the offset", s.logs[leader].holds(hw)
    isr = s.views[leader].isr
    yield "isr is in the leader's epoch", all(s.follows_epoch(m, leader) for m in isr)
    yield "isr holds the offset", all(s.logs[m].holds(hw) for m in isr)
    return s.with_view(leader, hw=hw + 1)


# -- follower -------------------------------------------------------------------------------


@rule(by="follower", follower=brokers, request=requests)
def become_follower_and_truncate(s: Cluster, follower: int, request: LeaderAndIsr) -> Step[Cluster]:
    """A broker hears that another one leads, and cuts its log where that log leaves its own.

    Kafka: `Partition.makeFollower`, then `AbstractFetcherThread.truncateToEpochEndOffsets`
    (since 2.7 on a fetch answer that names the diverging epoch). It can only cut once the new
    leader knows that it leads: until then its questions are refused (UNKNOWN_LEADER_EPOCH).
    Simplification: taking the request and truncating are one step.
    """
    yield "request names a leader", request.leader != NO_LEADER
    leader = request.leader
    yield "leader is another broker", leader != follower
    yield "request is newer than what the broker knows", request.epoch > s.views[follower].epoch
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "leader is in the request's epoch", s.views[leader].epoch == request.epoch
    cut = end_of_agreement(s, leader, follower)
    return s.with_log(follower, s.logs[follower].truncate_to(cut)).with_view(
        follower,
        hw=min(cut, s.views[follower].hw),
        epoch=request.epoch,
        leader=leader,
        isr=request.isr,
    )


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record from the leader of its own epoch.

    It learns the leader's high watermark with it. Kafka: the fetch request carries
    currentLeaderEpoch, and the leader refuses one that is not its own. The follower's log has
    room, since the leader's had.
    """
    yield "follower is in the leader's epoch", s.follows_epoch(follower, leader)
    record = s.logs[leader].at(s.logs[follower].end)
    yield "leader holds the next record", record is not None
    assert record is not None, "there is nothing to copy"
    grown = s.logs[follower].append(record)
    return s.with_log(follower, grown).with_view(follower, hw=min(s.views[leader].hw, grown.end))


KIP_320 = KIP_320_FIRST_TRY.derive(
    "kip-320",
    replace={
        first_try.leader_shrinks_isr: leader_shrinks_isr,
        first_try.leader_expands_isr: leader_expands_isr,
        first_try.leader_advances_hw: leader_advances_hw,
        first_try.become_follower: become_follower_and_truncate,
        first_try.follower_fetches: follower_fetches,
    },
    remove=(first_try.follower_truncates,),
    why=(
        "The first try compared the epochs of records. Comparing the epochs that leader and "
        "follower act in fences whoever is out of date, and truncation goes back into the "
        "change of leader, where the leader of that epoch answers."
    ),
    survivors={
        "controller_shrinks_isr without the guard 'broker leads or is in the isr'": (
            "The decision changes nothing but the epoch: another epoch of the same leader, which "
            "is harmless, and which elections produce too."
        ),
        "controller_elects without the guard 'broker does not lead yet'": (
            "Electing the leader again begins another epoch with it, and Kafka does so too."
        ),
        "leader_shrinks_isr without the guard 'follower is in the isr'": (
            "Who is not in the ISR leaves it without any change."
        ),
        "leader_shrinks_isr without the guard 'follower is another broker'": (
            "The leader never lags behind itself, so the last guard says it already."
        ),
        "leader_shrinks_isr without the guard 'follower lags'": (
            "Leaving the ISR is safe for whoever leaves: the guard decides how available a "
            "partition stays, not what it loses."
        ),
        "leader_expands_isr without the guard 'follower is out of the isr'": (
            "Who is in the ISR joins it without any change."
        ),
        "leader_advances_hw without the guard 'presumes leadership'": (
            "Whoever knows of an ISR is in it by LeaderInIsr, so the guard on the leader's epoch "
            "says it already."
        ),
        "leader_advances_hw without the guard 'leader holds the offset'": (
            "The leader is in its own ISR, so the guard on the ISR says it already."
        ),
        "become_follower_and_truncate without the guard 'request names a leader'": (
            "No broker presumes leadership in the epoch of a request without a leader."
        ),
        "become_follower_and_truncate without the guard 'leader is another broker'": (
            "A leader that is in the request's epoch does not find the request newer."
        ),
        "become_follower_and_truncate without the guard 'leader presumes leadership'": (
            "A broker that is in the epoch of a request which names it leader presumes leadership."
        ),
    },
    seen_only_in={
        'become_follower_and_truncate without the guard "leader is in the request\'s epoch"': {
            "log_size": 1,
            "max_epoch": 2,
        },
    },
)
