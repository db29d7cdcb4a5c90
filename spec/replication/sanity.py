"""What any state looks like, in every variant: not what replication is for, but how it is built.

These notice a rule that was broken by mistake. `kspec mutate` asks them along with the
properties; `kspec check` asks them by name (`--property QuorumIsLastDecision`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spec.core import Claims, always, reachable, reachable_within
from spec.log import Record
from spec.replication.properties import copy_at
from spec.replication.state import NO_EPOCH, NO_LEADER, Cluster, brokers

# -- in every state -----------------------------------------------------------------------------


@always
def QuorumIsLastDecision(s: Cluster) -> Claims:
    """The controller's truth has the epoch and the leader of its last request."""
    if s.requests:
        last = s.requests[-1]
        yield "controller", (s.quorum.epoch, s.quorum.leader) == (last.epoch, last.leader)
    else:
        yield "controller", (s.quorum.epoch, s.quorum.leader) == (NO_EPOCH, NO_LEADER)


@always
def EpochsAreHandedOutOnce(s: Cluster) -> Claims:
    """Requests have the epochs 0, 1, 2 and so on."""
    yield "controller", [request.epoch for request in s.requests] == list(range(s.next_epoch))


@always
def ViewsAreOfRequests(s: Cluster) -> Claims:
    """What a broker believes is what the request of its epoch says: a leader, and the ISR.

    A leader changes its own view of the ISR; everybody else's stays as it was heard.
    """
    for broker in brokers(s):
        view = s.views[broker]
        if view.epoch == NO_EPOCH:
            yield f"broker {broker}, before it heard anything", view.leader == NO_LEADER
        else:
            yield f"broker {broker}, in its epoch", view.epoch < s.next_epoch
            heard = s.requests[view.epoch]
            yield f"broker {broker}", view.leader == heard.leader != NO_LEADER
            yield f"broker {broker}, in its ISR", view.leader == broker or view.isr == heard.isr


@always
def TrueLeaderKnowsIsr(s: Cluster) -> Claims:
    """The leader and the controller have the same ISR, once the leader knows that it leads."""
    for broker in brokers(s):
        if s.is_true_leader(broker):
            yield f"broker {broker}", s.views[broker].isr == s.quorum.isr


@always
def FollowerHwWithinLog(s: Cluster) -> Claims:
    """No high watermark is below zero, and a follower's is not beyond its log."""
    for broker in brokers(s):
        hw = s.views[broker].hw
        beyond = hw > s.logs[broker].end and not s.presumes_leadership(broker)
        yield f"broker {broker}", hw >= 0 and not beyond


@always
def RecordsAreWrittenOnce(s: Cluster) -> Claims:
    """Each id was given to one record, at one offset; copies of it are equal."""
    first: dict[int, tuple[int, Record]] = {}
    for broker, offset, record in copies(s):
        yield (
            copy_at(offset, broker),
            first.setdefault(record.id, (offset, record))
            == (
                offset,
                record,
            ),
        )
        yield copy_at(offset, broker), record.id < s.next_record


def copies(s: Cluster) -> Iterator[tuple[int, int, Record]]:
    """Every record on every broker, with its offset."""
    for broker in brokers(s):
        for offset, record in enumerate(s.logs[broker].records, s.logs[broker].start):
            yield broker, offset, record


# -- in some state --------------------------------------------------------------------------------


def replicated(bounds: Any) -> bool:
    """Whether there is anyone to copy to."""
    return bool(bounds.brokers > 1)


@reachable
def RecordIsCommitted(s: Cluster) -> bool:
    """A leader counts a record as committed."""
    return any(s.presumes_leadership(b) and s.views[b].hw > 0 for b in brokers(s))


@reachable_within(replicated)
def RecordIsCommittedByAll(s: Cluster) -> bool:
    """A record is committed while every broker is in the ISR."""
    return any(
        s.is_true_leader(b) and s.views[b].isr == set(brokers(s)) and s.views[b].hw > 0
        for b in brokers(s)
    )


@reachable_within(replicated)
def FollowerLearnsHw(s: Cluster) -> bool:
    """A broker that never led knows that a record is committed."""
    led = {request.leader for request in s.requests}
    return any(s.views[b].hw > 0 for b in brokers(s) if b not in led)


@reachable
def EveryRecordIsWritten(s: Cluster) -> bool:
    """One log holds as many records as there may be."""
    most = min(s.bounds.log_size, s.bounds.max_records)
    return any(log.end == most for log in s.logs)


@reachable_within(replicated)
def IsrGrowsAgain(s: Cluster) -> bool:
    """A leader has more in its ISR than it was told."""
    return any(
        s.presumes_leadership(b) and s.views[b].isr - s.requests[s.views[b].epoch].isr
        for b in brokers(s)
    )


SANITY = (
    QuorumIsLastDecision,
    EpochsAreHandedOutOnce,
    ViewsAreOfRequests,
    TrueLeaderKnowsIsr,
    FollowerHwWithinLog,
    RecordsAreWrittenOnce,
    RecordIsCommitted,
    RecordIsCommittedByAll,
    FollowerLearnsHw,
    EveryRecordIsWritten,
    IsrGrowsAgain,
)
