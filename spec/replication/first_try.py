"""Rules of a first design of KIP-320, which fails: it compares the epochs of records.

Truncation is a step of its own, and whether a follower is caught up depends on the epoch of its
last record, not on the leader epoch that it is in. Kafka never released this design; it is
Kip320FirstTry in the TLA+ family.
"""

from __future__ import annotations

from kspec.spec.core import Step, limit, present, rule
from kspec.spec.replication.leader import hw_has_reached_epoch
from kspec.spec.replication.state import NO_LEADER, Broker, Cluster, LeaderAndIsr, brokers, requests
from kspec.spec.replication.truncation import end_of_agreement
from kspec.spec.watermarks import follower_hw


def caught_up(s: Cluster, leader: int, follower: int, offset: int) -> bool:
    """Whether the follower follows, and holds the record below `offset` in the same epoch."""
    if not (s.presumes_leadership(leader) and s.follows(follower, leader)):
        return False
    if offset == 0:
        return True
    theirs, own = s.logs[leader].at(offset - 1), s.logs[follower].at(offset - 1)
    return theirs is not None and own is not None and theirs.epoch == own.epoch


# -- leader -------------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that lags, or whose last record has another epoch, leaves the ISR.

    Kafka: `Partition.maybeShrinkIsr` compares end offsets only.
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is in the ISR", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    yield "follower is out of sync", not caught_up(s, leader, follower, s.logs[leader].end)
    return s.with_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: Broker) -> Step[Cluster]:
    """A follower that holds every record that may be committed rejoins the ISR.

    Kafka: `Partition.maybeExpandIsr` compares end offsets only.
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is not in the ISR", follower not in s.views[leader].isr
    reaches = caught_up(s, leader, follower, s.views[leader].hw)
    yield "follower's log reaches the high watermark", reaches
    yield "high watermark has reached the leader's epoch", hw_has_reached_epoch(s, leader)
    return s.with_isr(leader, s.views[leader].isr | {follower})


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """The leader commits one more record, once every ISR member holds one of the same epoch.

    Kafka: `Partition.maybeIncrementLeaderHW` compares end offsets only.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield "leader holds a record at the high watermark", s.logs[leader].holds(hw)
    isr = s.views[leader].isr
    held = all(caught_up(s, leader, member, hw + 1) for member in isr)
    yield "every ISR member holds a record there", held
    return s.with_view(leader, hw=hw + 1)


# -- follower -----------------------------------------------------------------------------------


@rule(by="follower", follower=brokers, request=requests)
def broker_becomes_follower(s: Cluster, follower: int, request: LeaderAndIsr) -> Step[Cluster]:
    """A broker accepts a request that names another leader; its log stays for now.

    Kafka: `Partition.makeFollower`.
    """
    yield "request names a leader", request.leader != NO_LEADER
    yield "leader is another broker", request.leader != follower
    yield "request has a newer leader epoch", request.epoch > s.views[follower].epoch
    return s.with_view(follower, epoch=request.epoch, leader=request.leader, isr=request.isr)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record if its last one has the same epoch as the leader's.

    Kafka: the check resembles lastFetchedEpoch in Fetch requests (KIP-595), without fencing.
    """
    offset = s.logs[follower].end
    matches = caught_up(s, leader, follower, offset)
    yield "follower's last record has the epoch of the leader's", matches
    next_record = s.logs[leader].at(offset)
    record = yield from present("leader holds a record at the fetch offset", next_record)
    yield limit("log has room"), offset < s.bounds.log_size
    log = s.logs[follower].append(record)
    hw = follower_hw(s.views[leader].hw, log.end)
    return s.with_log(follower, log).with_view(follower, hw=hw)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_truncates(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower whose log diverges from the leader's truncates it to where they agree.

    Kafka: the check resembles `AbstractFetcherThread.truncateOnFetchResponse` (KIP-595),
    without fencing.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "follower follows the leader", s.follows(follower, leader)
    yield "follower's log diverges from the leader's", diverges(s, leader, follower)
    return s.with_truncated_log(follower, end_of_agreement(s, leader, follower))


def diverges(s: Cluster, leader: int, follower: int) -> bool:
    """Whether the follower's log is longer, or its last record has another epoch there."""
    own, theirs = s.logs[follower], s.logs[leader]
    if own.end > theirs.end:
        return True
    below = theirs.at(own.end - 1)
    return own.last is not None and below is not None and below.epoch != own.last.epoch
