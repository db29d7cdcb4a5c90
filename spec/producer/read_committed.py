"""The records that a consumer delivers from the batches it fetched, by its isolation.level.

With `read_uncommitted` (the default) it delivers every record but the markers. With
`read_committed` the fetch ends at the last stable offset, and its response lists the aborted
transactions in its range; from the first offset of one to its abort marker, the consumer drops the
transactional batches of its producer.

    >>> from kspec.spec.producer.entries import DataBatch, EndMarker
    >>> from kspec.spec.producer.read_committed import deliver
    >>> log = (
    ...     DataBatch(7, 0, 0, 1, 0, 1, is_transactional=True),
    ...     DataBatch(8, 0, 0, 0, 2, 2),
    ...     EndMarker(7, 0, 0, is_abort=True, first_offset=3),
    ... )
    >>> deliver(log, 0, is_read_committed=True, aborted=((7, 0),))
    Delivery(offsets=(2,), position=4)

Kafka: `CompletedFetch.nextFetchedRecord`, `consumeAbortedTransactionsUpTo`, `isBatchAborted`
[4.2.0] (before 3.5 in `Fetcher`). Simplification: no records that compaction removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kspec.spec.producer.entries import Batch, DataBatch, EndMarker


class Delivery(NamedTuple):
    """The records that a consumer returns, and its position afterwards."""

    offsets: tuple[int, ...]
    """The offsets of the records."""
    position: int
    """The offset of the next fetch."""


def deliver(
    batches: Sequence[Batch],
    fetch_offset: int,
    is_read_committed: bool = False,
    aborted: Sequence[tuple[int, int]] = (),
) -> Delivery:
    """What a consumer delivers of a fetch.

    `aborted` has the producer id and the first offset of each aborted transaction that the
    response names. A batch may begin below the fetch offset: its first records are skipped.
    """
    offsets: list[int] = []
    position = fetch_offset
    waiting = sorted(aborted, key=lambda transaction: transaction[1])
    aborting: set[int] = set()
    for batch in batches:
        while waiting and waiting[0][1] <= batch.last_offset:
            aborting.add(waiting.pop(0)[0])
        if isinstance(batch, EndMarker):
            if batch.is_abort:
                aborting.discard(batch.producer)
        elif not (is_read_committed and is_aborted(batch, aborting)):
            first = max(batch.first_offset, fetch_offset)
            offsets.extend(range(first, batch.last_offset + 1))
        position = batch.last_offset + 1
    return Delivery(tuple(offsets), position)


def is_aborted(batch: DataBatch, aborting: set[int]) -> bool:
    """Whether a batch belongs to an aborted transaction.

    A batch outside of transactions does not, though its producer may have aborted one.
    """
    return batch.is_transactional and batch.producer in aborting
