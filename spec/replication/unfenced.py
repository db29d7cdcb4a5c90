"""Rules before KIP-320: the leader epochs of two replicas are never compared.

A replica ignores a request with an older epoch, but a leader and a follower of different epochs
still work with each other.
"""

from __future__ import annotations

from collections.abc import Callable

from kspec.spec.core import Rule, Step, limit, present, rule
from kspec.spec.replication.state import NO_LEADER, Broker, Cluster, LeaderAndIsr, brokers, requests
from kspec.spec.replication.truncation import own_high_watermark
from kspec.spec.watermarks import follower_hw


def caught_up(s: Cluster, leader: int, follower: int, offset: int) -> bool:
    """Whether the follower follows, and both logs hold the record below `offset`."""
    held = offset == 0 or (s.logs[leader].holds(offset - 1) and s.logs[follower].holds(offset - 1))
    return s.follows(follower, leader) and held


# -- leader -------------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that is out of sync leaves the ISR and no longer holds back the high watermark.

    Kafka: `Partition.maybeShrinkIsr` (0.10.2). Simplification: there is no
    replica.lag.time.max.ms; a follower whose log is shorter than the leader's may be found out
    of sync at any time.
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is in the ISR", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    yield "follower is out of sync", not caught_up(s, leader, follower, s.logs[leader].end)
    return s.with_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: Broker) -> Step[Cluster]:
    """A follower whose log reaches the leader's high watermark rejoins the ISR.

    Kafka: `Partition.maybeExpandIsr` (0.10.2).
    """
    yield "leadership is current", s.is_current_leader(leader)
    yield "follower is not in the ISR", follower not in s.views[leader].isr
    reaches = caught_up(s, leader, follower, s.views[leader].hw)
    yield "follower's log reaches the high watermark", reaches
    return s.with_isr(leader, s.views[leader].isr | {follower})


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """The leader commits one more record, once every member of the ISR holds it.

    Kafka: `Partition.maybeIncrementLeaderHW` (0.10.2). Simplification: the leader reads the
    followers' logs, not the offsets of their last fetches, and may commit at any time.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield limit("high watermark is below log_size"), hw < s.bounds.log_size
    isr = s.views[leader].isr
    yield "every ISR member follows the leader", all(s.follows(member, leader) for member in isr)
    yield "every ISR member holds a record there", all(s.logs[m].holds(hw) for m in isr)
    return s.with_view(leader, hw=hw + 1)


# -- follower -----------------------------------------------------------------------------------


def become_follower_truncating_to(
    target: Callable[[Cluster, int, int], int],
) -> Rule[Cluster]:
    """The rule by which a broker becomes a follower and truncates to `target`.

    The target is a function of the cluster, the leader and the follower.
    """

    @rule(by="follower", follower=brokers, request=requests)
    def broker_becomes_follower_and_truncates(
        s: Cluster, follower: int, request: LeaderAndIsr
    ) -> Step[Cluster]:
        """A broker accepts a request that names another leader, and truncates its log.

        Kafka: `Partition.makeFollower`, `ReplicaManager.makeFollowers`; since 0.11 the fetcher
        truncates (`AbstractFetcherThread.maybeTruncate`). Before 2.1 Kafka kept the log of a
        follower whose leader stays the same; here every newer epoch truncates. Kafka truncates
        nothing where the target is beyond the log; here the follower does not act on it.
        Simplification: accepting and truncating are one step, against the leader's current log.
        """
        yield "request names a leader", request.leader != NO_LEADER
        leader = request.leader
        yield "leader is another broker", leader != follower
        yield "request has a newer leader epoch", request.epoch > s.views[follower].epoch
        offset = target(s, leader, follower)
        yield "truncation offset is within the log", offset <= s.logs[follower].end
        truncated = s.with_truncated_log(follower, offset)
        return truncated.with_view(follower, epoch=request.epoch, leader=leader, isr=request.isr)

    return broker_becomes_follower_and_truncates


broker_becomes_follower_and_truncates = become_follower_truncating_to(own_high_watermark)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record from its presumed leader, and learns the high watermark.

    Kafka: `ReplicaFetcherThread.processPartitionData` (0.10.2). The leader answers a fetch of
    any epoch. Simplification: request and response are one step, with one record; a fetch that
    returns no record, and only the high watermark, is not modelled.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "follower follows the leader", s.follows(follower, leader)
    offset = s.logs[follower].end
    next_record = s.logs[leader].at(offset)
    record = yield from present("leader holds a record at the fetch offset", next_record)
    yield limit("log has room"), offset < s.bounds.log_size
    log = s.logs[follower].append(record)
    hw = follower_hw(s.views[leader].hw, log.end)
    return s.with_log(follower, log).with_view(follower, hw=hw)
