"""The baseline of the model `replication`: how its states are built.

The consistency invariants detect a rule that was broken by mistake. `kspec mutate` checks them
with the properties, `kspec check` only by name (`--property QuorumMatchesLastRequest`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kspec.spec.core import Baseline, Claims, always, reachable, reachable_within
from kspec.spec.log import Record
from kspec.spec.replication.liveness import LIVENESS
from kspec.spec.replication.properties import copy_at
from kspec.spec.replication.state import NO_EPOCH, NO_LEADER, Cluster, brokers

# -- consistency invariants ---------------------------------------------------------------------


@always
def QuorumMatchesLastRequest(s: Cluster) -> Claims:
    """The controller's state has the epoch and the leader of its last request."""
    if s.requests:
        last = s.requests[-1]
        yield "controller", (s.quorum.epoch, s.quorum.leader) == (last.epoch, last.leader)
    else:
        yield "controller", (s.quorum.epoch, s.quorum.leader) == (NO_EPOCH, NO_LEADER)


@always
def LeaderEpochsAreConsecutive(s: Cluster) -> Claims:
    """The leader epochs of the requests are 0, 1, 2 and so on."""
    yield "controller", [request.epoch for request in s.requests] == list(range(s.next_epoch))


@always
def ViewsMatchRequests(s: Cluster) -> Claims:
    """A broker's view has the leader and the ISR of the request of its epoch.

    Only the ISR of a leader's own view changes after that.
    """
    for broker in brokers(s):
        view = s.views[broker]
        if view.epoch == NO_EPOCH:
            yield f"broker {broker}, before its first request", view.leader == NO_LEADER
        else:
            yield f"broker {broker}, in its epoch", view.epoch < s.next_epoch
            request = s.requests[view.epoch]
            yield f"broker {broker}", view.leader == request.leader != NO_LEADER
            yield f"broker {broker}, in its ISR", view.leader == broker or view.isr == request.isr


@always
def CurrentLeaderKnowsIsr(s: Cluster) -> Claims:
    """The controller and a leader that knows that it leads have the same ISR."""
    for broker in brokers(s):
        if s.is_current_leader(broker):
            yield f"broker {broker}", s.views[broker].isr == s.quorum.isr


@always
def FollowerHighWatermarkWithinLog(s: Cluster) -> Claims:
    """A high watermark is never negative, and a follower's is within its log."""
    for broker in brokers(s):
        hw = s.views[broker].hw
        beyond = hw > s.logs[broker].end and not s.presumes_leadership(broker)
        yield f"broker {broker}", hw >= 0 and not beyond


@always
def RecordIdsAreUnique(s: Cluster) -> Claims:
    """All copies of a record id are the same record, at the same offset."""
    first: dict[int, tuple[int, Record]] = {}
    for broker, offset, record in copies(s):
        known = first.setdefault(record.id, (offset, record))
        yield copy_at(offset, broker), known == (offset, record)
        yield copy_at(offset, broker), record.id < s.next_record


def copies(s: Cluster) -> Iterator[tuple[int, int, Record]]:
    """Every record on every broker, with its offset."""
    for broker in brokers(s):
        for offset, record in enumerate(s.logs[broker].records, s.logs[broker].start):
            yield broker, offset, record


# -- reachability -------------------------------------------------------------------------------


def replicated(bounds: Any) -> bool:
    """Whether there is more than one broker."""
    return bool(bounds.brokers > 1)


@reachable
def RecordIsCommitted(s: Cluster) -> bool:
    """A presumed leader has committed a record."""
    return any(s.presumes_leadership(b) and s.views[b].hw > 0 for b in brokers(s))


@reachable_within(replicated)
def RecordIsCommittedByAllBrokers(s: Cluster) -> bool:
    """A record is committed while every broker is in the ISR."""
    return any(
        s.is_current_leader(b) and s.views[b].isr == set(brokers(s)) and s.views[b].hw > 0
        for b in brokers(s)
    )


@reachable_within(replicated)
def FollowerLearnsHighWatermark(s: Cluster) -> bool:
    """A broker that never led knows that a record is committed."""
    led = {request.leader for request in s.requests}
    return any(s.views[b].hw > 0 for b in brokers(s) if b not in led)


@reachable
def LogIsFull(s: Cluster) -> bool:
    """A log holds as many records as the bounds allow."""
    most = min(s.bounds.log_size, s.bounds.max_records)
    return any(log.end == most for log in s.logs)


@reachable_within(replicated)
def IsrExpands(s: Cluster) -> bool:
    """A leader's ISR has a member that its request does not name."""
    return any(
        s.presumes_leadership(b) and s.views[b].isr - s.requests[s.views[b].epoch].isr
        for b in brokers(s)
    )


BASELINE = Baseline(
    invariants=(
        QuorumMatchesLastRequest,
        LeaderEpochsAreConsecutive,
        ViewsMatchRequests,
        CurrentLeaderKnowsIsr,
        FollowerHighWatermarkWithinLog,
        RecordIdsAreUnique,
        RecordIsCommitted,
        RecordIsCommittedByAllBrokers,
        FollowerLearnsHighWatermark,
        LogIsFull,
        IsrExpands,
    ),
    left_out=LIVENESS,
    mutants=Path(__file__).with_name("mutants.toml"),
)
