"""The properties: what an application may rely on, unless an error was reported to it."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.idempotence.state import NO_SEQUENCE, Exchange, Identity, Phase


@always
def AcknowledgedRecordsWritten(s: Exchange) -> Claims:
    """Every acknowledged record is in the leader's log, at the offset of its response."""
    for record, batch in enumerate(s.batches):
        if batch.phase is Phase.ACKNOWLEDGED:
            here = s.log[batch.offset : batch.offset + 1]
            yield f"record {record}", bool(here) and here[0].record == record


@always
def RecordsWrittenOnce(s: Exchange) -> Claims:
    """No record is in the log twice, unless its failure was reported."""
    written = [entry.record for entry in s.log]
    for record, batch in enumerate(s.batches):
        if not batch.is_failed:
            yield f"record {record}", written.count(record) <= 1


@always
def OrderKept(s: Exchange) -> Claims:
    """Records are first written in the order in which they were sent.

    A record whose failure was reported does not count.
    """
    first = dict.fromkeys(e.record for e in s.log if not s.batches[e.record].is_failed)
    order = list(first)
    yield "log", order == sorted(order)


@always
def CallbacksInOrder(s: Exchange) -> Claims:
    """Records are reported to the application in the order in which it sent them."""
    done = [batch.is_done for batch in s.batches]
    yield "producer", done == sorted(done, reverse=True)


@always
def OnlyTimeoutsReported(s: Exchange) -> Claims:
    """The only error reported to the application is that delivery.timeout.ms has passed."""
    for record, batch in enumerate(s.batches):
        yield f"record {record}", batch.phase is not Phase.FAILED


@always
def SequencesHaveNoGap(s: Exchange) -> Claims:
    """The sequence numbers of a producer id and epoch begin at 0 and have no gap.

    Batches written after the brokers forgot the producer are excepted.
    """
    last: dict[Identity, int] = {}
    for offset, entry in enumerate(s.log):
        if entry.identity is not None and not s.expirations:
            yield f"offset {offset}", entry.sequence == last.get(entry.identity, NO_SEQUENCE) + 1
            last[entry.identity] = entry.sequence


PROPERTIES = (
    AcknowledgedRecordsWritten,
    RecordsWrittenOnce,
    OrderKept,
    OnlyTimeoutsReported,
    SequencesHaveNoGap,
)

ON_REQUEST = (CallbacksInOrder,)
