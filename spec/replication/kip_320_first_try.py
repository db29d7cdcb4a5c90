"""KIP-320, a first try: compare the epochs of records instead of those of the replicas.

Kept because it fails. Truncation moves out of the change of leader into a step of its own,
and whether a follower is caught up is judged by the epoch of the record below.
"""

from __future__ import annotations

from spec.core import Step, Violated, limit, rule
from spec.replication import truncate_to_hw as base
from spec.replication.kip_279 import end_of_agreement
from spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr, brokers, requests


def caught_up(s: Cluster, leader: int, follower: int, offset: int) -> bool:
    """Whether the follower follows, and holds the record below `offset` in the same epoch."""
    if not (s.presumes_leadership(leader) and s.follows(follower, leader)):
        return False
    if offset == 0:
        return True
    below, own = s.logs[leader].at(offset - 1), s.logs[follower].at(offset - 1)
    return below is not None and own is not None and below.epoch == own.epoch


def hw_has_reached_current_epoch(s: Cluster, leader: int) -> bool:
    """Whether all records of earlier epochs are below the leader's high watermark.

    Kafka: KAFKA-7128; the check against the epoch's start offset in `maybeExpandIsr`.
    """
    hw = s.views[leader].hw
    record = s.logs[leader].at(hw)
    if record is None:
        return hw == s.logs[leader].end
    return record.epoch == s.views[leader].epoch


# -- leader ---------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that lags, or holds the last record in another epoch, leaves the ISR."""
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is in the isr", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    yield "follower lags", not caught_up(s, leader, follower, s.logs[leader].end)
    return s.changes_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower comes back once it holds all that may have been committed before."""
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is out of the isr", follower not in s.views[leader].isr
    yield "follower holds what is committed", caught_up(s, leader, follower, s.views[leader].hw)
    yield "hw has reached the current epoch", hw_has_reached_current_epoch(s, leader)
    return s.changes_isr(leader, s.views[leader].isr | {follower})


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """One more record is committed, once every member of the ISR holds it in its epoch."""
    yield "presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield "leader holds the offset", s.logs[leader].holds(hw)
    isr = s.views[leader].isr
    yield "isr holds the offset", all(caught_up(s, leader, member, hw + 1) for member in isr)
    return s.with_view(leader, hw=hw + 1)


# -- follower -------------------------------------------------------------------------------


@rule(by="follower", follower=brokers, request=requests)
def become_follower(s: Cluster, follower: int, request: LeaderAndIsr) -> Step[Cluster]:
    """A broker hears that another one leads. It keeps its log; truncation comes when due."""
    yield "request names a leader", request.leader != NO_LEADER
    yield "leader is another broker", request.leader != follower
    yield "request is newer than what the broker knows", request.epoch > s.views[follower].epoch
    return s.with_view(follower, epoch=request.epoch, leader=request.leader, isr=request.isr)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record if its last one has the epoch of the leader's there."""
    offset = s.logs[follower].end
    yield "follower's last record has the leader's epoch", caught_up(s, leader, follower, offset)
    record = s.logs[leader].at(offset)
    yield "leader holds the next record", record is not None
    yield limit("log has room"), offset < s.bounds.log_size
    assert record is not None, "there is nothing to copy"
    grown = s.logs[follower].append(record)
    return s.with_log(follower, grown).with_view(follower, hw=min(s.views[leader].hw, grown.end))


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower whose log leaves the leader's cuts back to where they agree."""
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "follower follows", s.follows(follower, leader)
    yield "follower's log leaves the leader's", leaves(s, leader, follower)
    cut = end_of_agreement(s, leader, follower)
    return s.with_log(follower, s.logs[follower].truncate_to(cut)).with_view(
        follower, hw=min(cut, s.views[follower].hw)
    )


def leaves(s: Cluster, leader: int, follower: int) -> bool:
    """Whether the follower's log is longer, or ends with a record of another epoch."""
    ours, theirs = s.logs[follower], s.logs[leader]
    if ours.end > theirs.end:
        return True
    below = theirs.at(ours.end - 1)
    return ours.last is not None and below is not None and below.epoch != ours.last.epoch


KIP_320_FIRST_TRY = base.TRUNCATE_TO_HW.derive(
    "kip-320-first-try",
    replace={
        base.leader_shrinks_isr: leader_shrinks_isr,
        base.leader_expands_isr: leader_expands_isr,
        base.leader_advances_hw: leader_advances_hw,
        base.become_follower_and_truncate: become_follower,
        base.follower_fetches: follower_fetches,
    },
    add=(follower_truncates,),
    why=(
        "KIP-279 did not fence replicas of another epoch. The first idea was to compare the "
        "epochs of the records that leader and follower hold. It does not compare the epochs "
        "that they act in, so it fences too little; the default bounds are too small to show it."
    ),
    violates={
        "WeakIsr": Violated(states=12, bounds={"log_size": 1, "max_epoch": 2}),
        "StrongIsr": Violated(states=13, bounds={"log_size": 1, "max_epoch": 2}),
    },
)
