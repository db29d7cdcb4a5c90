"""The oracle of transactions in a log: `spec.producer.stable_offset` and `read_committed`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

import attrs

import kspec.spec.producer.read_committed as read_committed
import kspec.spec.producer.stable_offset as stable_offset
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, in_request, oracle_of
from kspec.spec.core import SpecError
from kspec.spec.producer.entries import Batch, DataBatch, EndMarker
from kspec.spec.producer.read_committed import Delivery
from kspec.spec.producer.stable_offset import AbortedTransaction, TransactionLog
from kspec.spec.vocabulary import AppendOrigin


class Written(StrEnum):
    """What a batch of the log is."""

    PLAIN = "PLAIN"
    """Records outside of transactions."""
    TRANSACTIONAL = "TRANSACTIONAL"
    """Records of a transaction."""
    COMMIT = "COMMIT"
    """The marker of a commit."""
    ABORT = "ABORT"
    """The marker of an abort."""


@attrs.frozen
class LoggedBatch:
    """A batch of the log."""

    producer_id: int
    """The producer id; -1 of a producer without one."""
    first_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its last record."""
    kind: Written = Written.PLAIN
    """What it is."""


def last_stable_offset(
    batches: Sequence[LoggedBatch], high_watermark: int, log_start_offset: int = 0
) -> int:
    """The last stable offset of a log. Kafka: `UnifiedLog.lastStableOffset`."""
    log = log_of(batches).advance_high_watermark(high_watermark)
    return log.advance_start(log_start_offset).last_stable_offset


def aborted_txns(batches: Sequence[LoggedBatch]) -> tuple[AbortedTransaction, ...]:
    """The index of aborted transactions of a log. Kafka: `LogSegment.updateTxnIndex`."""
    return log_of(batches).aborted


def collect_aborted_txns(
    index: Sequence[AbortedTransaction], fetch_offset: int, upper_bound_offset: int
) -> tuple[AbortedTransaction, ...]:
    """The entries of the index that a fetch names. Kafka: `TransactionIndex.collectAbortedTxns`."""
    return stable_offset.collect_aborted(tuple(index), fetch_offset, upper_bound_offset)


@attrs.frozen
class Aborted:
    """An aborted transaction of a fetch response (`AbortedTransaction`)."""

    producer_id: int
    """The producer id."""
    first_offset: int
    """The offset of its first record."""


def fetch_records(
    batches: Sequence[LoggedBatch],
    fetch_offset: int,
    read_committed_isolation: bool = False,
    aborted_transactions: Sequence[Aborted] = (),
) -> Delivery:
    """The offsets of the records that a consumer returns, and its next position.

    `batches` are those of the response, and `readCommittedIsolation` the isolation level. Kafka:
    `CompletedFetch.fetchRecords`.
    """
    named = tuple((each.producer_id, each.first_offset) for each in aborted_transactions)
    return read_committed.deliver(checked(batches), fetch_offset, read_committed_isolation, named)


def log_of(batches: Sequence[LoggedBatch]) -> TransactionLog:
    """The log with these batches."""
    log = TransactionLog()
    for batch in checked(batches):
        if batch.producer == -1:
            log = log.skip_to(batch.last_offset + 1)
        else:
            log = log.append(batch, AppendOrigin.REPLICATION).log
    return log


def checked(batches: Sequence[LoggedBatch]) -> tuple[Batch, ...]:
    """The batches, whose offsets have to increase."""
    for before, after in pairwise(batches):
        if after.first_offset <= before.last_offset:
            raise SpecError("params.batches: offsets increase from batch to batch")
    open_ones: set[int] = set()
    for place, batch in enumerate(batches):
        where = f"params.batches[{place}]"
        if not 0 <= batch.first_offset <= batch.last_offset:
            raise SpecError(f"{where}: its offsets are not in order")
        if batch.kind is Written.PLAIN and batch.producer_id in open_ones:
            raise SpecError(f"{where}: its producer has an open transaction")
        if batch.kind in (Written.COMMIT, Written.ABORT):
            open_ones.discard(batch.producer_id)
            if batch.first_offset < batch.last_offset:
                raise SpecError(f"{where}: a marker is one record")
        elif batch.kind is Written.TRANSACTIONAL:
            open_ones.add(batch.producer_id)
        if batch.producer_id < 0 and batch.kind is not Written.PLAIN:
            raise SpecError(f"{where}: a transaction needs a producer id")
    return tuple(map(as_batch, batches))


def as_batch(batch: LoggedBatch) -> Batch:
    """The batch as the specification has it; no sequence number matters here."""
    first, last = batch.first_offset, batch.last_offset
    if batch.kind in (Written.COMMIT, Written.ABORT):
        return EndMarker(batch.producer_id, 0, 0, batch.kind is Written.ABORT, first)
    is_transactional = batch.kind is Written.TRANSACTIONAL
    return DataBatch(batch.producer_id, 0, -1, -1, first, last, is_transactional=is_transactional)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(last_stable_offset, aborted_txns, collect_aborted_txns, fetch_records)


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: a short log with transactions of two producers."""
    batches, end = drawn_log(draw)
    logged = {"batches": list(map(in_request, batches))}
    match draw.below(4):
        case 0:
            high_watermark = draw.below(end + 1)
            start = draw.choose((0, draw.below(high_watermark + 1)))
            return "lastStableOffset", {
                **logged,
                "highWatermark": high_watermark,
                "logStartOffset": start,
            }
        case 1:
            return "abortedTxns", logged
        case 2:
            index = [in_request(each) for each in log_of(batches).aborted]
            fetch, upper = draw.below(end + 1), draw.below(end + 2)
            return "collectAbortedTxns", {
                "index": index,
                "fetchOffset": fetch,
                "upperBoundOffset": upper,
            }
        case _:
            fetch = draw.below(end + 1)
            named = log_of(batches).aborted_between(fetch, end)
            aborted = [in_request(Aborted(each.producer, each.first_offset)) for each in named]
            return "fetchRecords", {
                "batches": [in_request(each) for each in batches if each.last_offset >= fetch],
                "fetchOffset": fetch,
                "readCommittedIsolation": draw.chance(0.8),
                "abortedTransactions": aborted,
            }


def drawn_log(draw: Draw) -> tuple[list[LoggedBatch], int]:
    """The batches of a log, and its end."""
    batches, end, is_open = [], 0, set()
    for _ in range(draw.between(1, 9)):
        producer, size = draw.between(-1, 2), draw.between(1, 3)
        kind = Written.PLAIN
        if producer in is_open:
            kind = draw.choose((Written.TRANSACTIONAL, Written.COMMIT, Written.ABORT))
        elif producer >= 0:
            kind = draw.choose((Written.PLAIN, Written.TRANSACTIONAL, Written.TRANSACTIONAL))
        if kind is Written.TRANSACTIONAL:
            is_open.add(producer)
        elif kind is not Written.PLAIN:
            is_open.discard(producer)
            size = 1
        batches.append(LoggedBatch(producer, end, end + size - 1, kind))
        end += size
    return batches, end
