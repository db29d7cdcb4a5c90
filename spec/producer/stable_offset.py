"""The last stable offset (LSO), and the index of aborted transactions: how far, and of which
transactions, a `read_committed` consumer reads.

A transaction's records are in the log before it ends. Each partition knows where its first open
transaction begins: below this offset, the LSO, everything is decided, and a `read_committed` fetch
stops there. What was aborted stays in the log; the fetch names the aborted transactions in its
range, and the consumer leaves out their records (`spec.producer.read_committed`).

    >>> from kspec.spec.producer.entries import DataBatch, EndMarker
    >>> from kspec.spec.producer.producer_state import ProducerState
    >>> from kspec.spec.producer.stable_offset import TransactionLog
    >>> state, guard = ProducerState().start_verification(producer=7, sequence=0, epoch=0)
    >>> log = TransactionLog(state=state)
    >>> log = log.append(DataBatch(7, 0, 0, 1, 0, 1, is_transactional=True), guard=guard).log
    >>> log = log.append(DataBatch(8, 0, 0, 0, 2, 2)).log
    >>> log.advance_high_watermark(3).last_stable_offset
    0
    >>> log = log.append(EndMarker(7, 0, 0, is_abort=True, first_offset=3)).log
    >>> log = log.advance_high_watermark(4)
    >>> log.last_stable_offset, log.aborted_between(0, 4)
    (4, (AbortedTransaction(producer=7, first_offset=0, last_offset=3, last_stable_offset=4),))

Kafka: `UnifiedLog`, `TransactionIndex` [4.2.0] (KIP-98).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kspec.spec.core import Check
from kspec.spec.producer.broker_rules import LATEST, BrokerRules
from kspec.spec.producer.entries import Batch, DataBatch, EndMarker
from kspec.spec.producer.producer_state import ProducerState
from kspec.spec.producer.sequences import rejection
from kspec.spec.vocabulary import AppendOrigin


@attrs.frozen
class AbortedTransaction:
    """An entry of the index of aborted transactions. Kafka: `AbortedTxn`."""

    producer: int
    """The producer id."""
    first_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its marker."""
    last_stable_offset: int
    """Where the first transaction that was open then begins: what is below is in this index."""


def collect_aborted(
    index: tuple[AbortedTransaction, ...], fetch_offset: int, upper_bound: int
) -> tuple[AbortedTransaction, ...]:
    """The aborted transactions with records from the fetch offset up to the upper bound.

    The search ends where no later entry can begin below the upper bound. Kafka:
    `TransactionIndex.collectAbortedTxns`. The upper bound of a fetch is not exact: it is the offset
    that an index knows after the bytes that are returned, or the segment's end.
    """
    found = []
    for entry in index:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
            found.append(entry)
        if entry.last_stable_offset >= upper_bound:
            break
    return tuple(found)


@attrs.frozen
class Appended:
    """The outcome of an append."""

    log: TransactionLog
    """The log afterwards."""
    base_offset: int = -1
    """The offset of the first record, also of a repetition."""
    is_duplicate: bool = False
    """Whether the batch repeats one that is in the log; it is not appended again."""
    rejected: Check | None = None
    """The check that failed."""


@attrs.frozen
class TransactionLog:
    """A replica's log, as far as it concerns producers: its batches and the producer state.

    Only batches with a producer id are here, each with its offsets; others lie between them.
    """

    batches: tuple[Batch, ...] = ()
    """The batches, by offset."""
    start: int = 0
    """Log start offset."""
    end: int = 0
    """Log end offset."""
    high_watermark: int = 0
    """High watermark."""
    state: ProducerState = attrs.Factory(ProducerState)
    """The producer state."""
    aborted: tuple[AbortedTransaction, ...] = ()
    """The index of aborted transactions."""

    @classmethod
    def of(cls, rules: BrokerRules = LATEST) -> TransactionLog:
        """An empty log of a broker of a rules."""
        return cls(state=ProducerState(rules))

    def append(
        self,
        batch: Batch,
        origin: AppendOrigin | None = None,
        guard: int | None = None,
    ) -> Appended:
        """Append a batch at the log's end, unless it repeats one or is rejected.

        Markers come from the coordinator, batches from a client, unless another origin is given.
        Kafka: `UnifiedLog.append`, `analyzeAndValidateProducerState`.
        """
        by_default = AppendOrigin.COORDINATOR if isinstance(batch, EndMarker) else (
            AppendOrigin.CLIENT
        )  # fmt: skip
        origin = origin or by_default
        if origin is AppendOrigin.CLIENT and isinstance(batch, DataBatch):
            known = self.state.producers.get(batch.producer)
            duplicate = known.duplicate_of(batch) if known else None
            if duplicate is not None:
                return Appended(self, duplicate.first_offset, is_duplicate=True)
        prepared = self.state.prepare(batch.producer, origin)
        failed = next(
            (c for c in self.state.verification_check(batch, origin, guard) if not c.holds), None
        ) or rejection(prepared, batch)
        if failed is not None:
            return Appended(self, rejected=failed)
        append = prepared.after(batch)
        state = self.state.end_verification(batch).update(append)
        aborted = self.aborted
        for completed in append.completed:
            if completed.is_aborted:
                stable = state.last_stable_offset(completed)
                entry = AbortedTransaction(
                    completed.producer, completed.first_offset, completed.last_offset, stable
                )
                aborted = (*aborted, entry)
            state = state.complete(completed)
        end = batch.last_offset + 1
        log = attrs.evolve(
            self,
            batches=(*self.batches, batch),
            end=end,
            state=attrs.evolve(state, end=end),
            aborted=aborted,
        )
        return Appended(log, batch.first_offset)

    def skip_to(self, offset: int) -> TransactionLog:
        """The log after batches without a producer id. Kafka: `updateMapEndOffset`."""
        return attrs.evolve(self, end=offset, state=attrs.evolve(self.state, end=offset))

    # -- offsets --------------------------------------------------------------------------------

    @property
    def first_unstable(self) -> int | None:
        """Where the first transaction that is not decided or not replicated begins.

        Not below the log start. Kafka: `UnifiedLog.maybeIncrementFirstUnstableOffset`.
        """
        first = self.state.first_unstable
        return None if first is None else max(first, self.start)

    @property
    def last_stable_offset(self) -> int:
        """The LSO: the first unstable offset, or else the high watermark, which limits both.

        Kafka: `UnifiedLog.lastStableOffset`.
        """
        first = self.first_unstable
        return self.high_watermark if first is None else min(first, self.high_watermark)

    def advance_high_watermark(self, high_watermark: int) -> TransactionLog:
        """The log after its high watermark advanced."""
        state = self.state.advance_high_watermark(high_watermark)
        return attrs.evolve(self, high_watermark=high_watermark, state=state)

    def advance_start(self, start: int) -> TransactionLog:
        """The log after its first records were deleted.

        The index keeps the transactions that end above: their segments stay. Kafka:
        `UnifiedLog.maybeIncrementLogStartOffset`.
        """
        return attrs.evolve(self, start=start, state=self.state.advance_log_start(start))

    def truncate(self, offset: int, now: int = 0) -> TransactionLog:
        """The log of a follower without what is at an offset or above it.

        The state of the latest snapshot is loaded, and the log read from there. Kafka:
        `UnifiedLog.truncateTo`, `rebuildProducerState`, `TransactionIndex.truncateTo`.
        """
        return self._rebuilt(lambda b: b.last_offset < offset, offset, now)

    def restart(self, now: int = 0) -> TransactionLog:
        """The log after the broker started again, whether or not it was shut down cleanly.

        Kafka: `LogLoader.load`, `UnifiedLog.rebuildProducerState`. Verifications are forgotten.
        """
        state = attrs.evolve(self.state, end=-1, verifications={})
        return attrs.evolve(self, state=state)._rebuilt(lambda _: True, self.end, now)

    def _rebuilt(self, is_kept: Callable[[Batch], bool], end: int, now: int) -> TransactionLog:
        batches = tuple(filter(is_kept, self.batches))
        state = self.state.truncate(self.start, end, now)
        for batch in batches:
            if batch.first_offset < state.end:
                continue
            append = state.prepare(batch.producer, AppendOrigin.REPLICATION).after(batch)
            state = state.end_verification(batch).update(append)
            for completed in append.completed:
                state = state.complete(completed)
        state = attrs.evolve(state, end=end).take_snapshot()
        high_watermark = min(self.high_watermark, end)
        return attrs.evolve(
            self,
            batches=batches,
            end=end,
            high_watermark=high_watermark,
            state=state.advance_high_watermark(high_watermark),
            aborted=tuple(t for t in self.aborted if t.last_offset < end),
        )

    def aborted_between(
        self, fetch_offset: int, upper_bound: int
    ) -> tuple[AbortedTransaction, ...]:
        """The aborted transactions that a fetch names (`collect_aborted`)."""
        return collect_aborted(self.aborted, fetch_offset, upper_bound)
