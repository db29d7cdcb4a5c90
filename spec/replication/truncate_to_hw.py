"""Before KIP-101: a follower under a new leader cuts its log to its own high watermark.

The base of the family. Nothing here compares leader epochs, except that an older request is
not taken: who follows whom is all that counts.
"""

from __future__ import annotations

from collections.abc import Callable

from spec.core import Rule, Step, Variant, Violated, limit, rule
from spec.replication.common import (
    become_leader,
    controller_elects,
    controller_shrinks_isr,
    leader_writes,
)
from spec.replication.state import NO_LEADER, Cluster, LeaderAndIsr, brokers, requests


def caught_up(s: Cluster, leader: int, follower: int, offset: int) -> bool:
    """Whether the follower follows, and both hold the record just below `offset`."""
    held = offset == 0 or (s.logs[leader].holds(offset - 1) and s.logs[follower].holds(offset - 1))
    return s.follows(follower, leader) and held


# -- leader ---------------------------------------------------------------------------------


@rule(by="leader", leader=brokers, follower=brokers)
def leader_shrinks_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that lags leaves the ISR, so that it no longer holds up the high watermark.

    Kafka: `Partition.maybeShrinkIsr`. Simplification: there is no clock, so a follower may be
    found lagging at any moment at which it does not hold all the leader holds.
    """
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is in the isr", follower in s.views[leader].isr
    yield "follower is another broker", follower != leader
    yield "follower lags", not caught_up(s, leader, follower, s.logs[leader].end)
    return s.changes_isr(leader, s.views[leader].isr - {follower})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_expands_isr(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower that holds all that is committed comes back into the ISR.

    Kafka: `Partition.maybeExpandIsr`.
    """
    yield "leads by the controller's word", s.is_true_leader(leader)
    yield "follower is out of the isr", follower not in s.views[leader].isr
    yield "follower holds what is committed", caught_up(s, leader, follower, s.views[leader].hw)
    return s.changes_isr(leader, s.views[leader].isr | {follower})


@rule(by="leader", leader=brokers)
def leader_advances_hw(s: Cluster, leader: int) -> Step[Cluster]:
    """One more record is committed, once every member of the ISR holds it.

    Kafka: `Partition.maybeIncrementLeaderHW`. Simplification: the leader sees the followers'
    logs themselves, not what their last fetch said; so it may advance at any moment.
    """
    yield "presumes leadership", s.presumes_leadership(leader)
    hw = s.views[leader].hw
    yield limit("hw is within a log"), hw < s.bounds.log_size
    isr = s.views[leader].isr
    yield "isr follows", all(s.follows(member, leader) for member in isr)
    yield "isr holds the offset", all(s.logs[member].holds(hw) for member in isr)
    return s.with_view(leader, hw=hw + 1)


# -- follower -------------------------------------------------------------------------------


def become_follower_cutting_to(
    target: Callable[[Cluster, int, int], int],
) -> Rule[Cluster]:
    """The rule by which a follower takes a request and cuts its log, given where to cut.

    The target is asked of the cluster, the leader and the follower.
    """

    @rule(by="follower", follower=brokers, request=requests)
    def become_follower_and_truncate(
        s: Cluster, follower: int, request: LeaderAndIsr
    ) -> Step[Cluster]:
        """A broker hears that another one leads, and cuts its log before it fetches.

        Kafka: `Partition.makeFollower`, then `AbstractFetcherThread.maybeTruncate`.
        Simplification: both in one step, against the leader's log as it is at that moment.
        """
        yield "request names a leader", request.leader != NO_LEADER
        leader = request.leader
        yield "leader is another broker", leader != follower
        yield "request is newer than what the broker knows", request.epoch > s.views[follower].epoch
        cut = target(s, leader, follower)
        yield "log reaches the target", cut <= s.logs[follower].end
        return s.with_log(follower, s.logs[follower].truncate_to(cut)).with_view(
            follower,
            hw=min(cut, s.views[follower].hw),
            epoch=request.epoch,
            leader=leader,
            isr=request.isr,
        )

    return become_follower_and_truncate


def own_high_watermark(s: Cluster, leader: int, follower: int) -> int:
    """The target of before KIP-101. The follower learns its high watermark one fetch late."""
    return s.views[follower].hw


become_follower_and_truncate = become_follower_cutting_to(own_high_watermark)


@rule(by="follower", leader=brokers, follower=brokers)
def follower_fetches(s: Cluster, leader: int, follower: int) -> Step[Cluster]:
    """A follower copies the next record from whom it takes for the leader.

    It learns the leader's high watermark with it. Kafka: `ReplicaFetcherThread`. No epoch is
    compared: a fetch from a leader of another epoch is answered as any other.
    """
    yield "leader presumes leadership", s.presumes_leadership(leader)
    yield "follower follows", s.follows(follower, leader)
    offset = s.logs[follower].end
    record = s.logs[leader].at(offset)
    yield "leader holds the next record", record is not None
    yield limit("log has room"), offset < s.bounds.log_size
    assert record is not None, "there is nothing to copy"
    grown = s.logs[follower].append(record)
    return s.with_log(follower, grown).with_view(follower, hw=min(s.views[leader].hw, grown.end))


TRUNCATE_TO_HW = Variant(
    name="truncate-to-hw",
    rules=(
        controller_shrinks_isr,
        controller_elects,
        become_leader,
        leader_writes,
        leader_shrinks_isr,
        leader_expands_isr,
        leader_advances_hw,
        become_follower_and_truncate,
        follower_fetches,
    ),
    why=(
        "Kafka before KIP-101 (0.11). A follower learns its high watermark one fetch late, so "
        "cutting the log there throws away records that are committed. If that follower is "
        "elected next, they are gone everywhere."
    ),
    violates={"WeakIsr": Violated(states=9), "StrongIsr": Violated(states=9)},
)
