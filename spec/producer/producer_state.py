"""The producer state of a partition: an entry for each producer, and the open transactions.

The leader and every follower build it from the log, so that a new leader recognises repetitions.
It is kept in memory, and written to a snapshot when a segment is full and when the broker shuts
down; after a restart or a truncation the latest snapshot is loaded, and the log is read from there.

Kafka: `ProducerStateManager`, and what `UnifiedLog` does with it [4.2.0].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import attrs

from kspec.spec.core import Check
from kspec.spec.producer.broker_rules import LATEST, BrokerRules
from kspec.spec.producer.entries import (
    CompletedTransaction,
    DataBatch,
    EndMarker,
    ProducerEntry,
    Transaction,
    Verification,
)
from kspec.spec.producer.sequences import Append
from kspec.spec.vocabulary import AppendOrigin, ProducerError

EXPIRATION = 86_400_000
"""producer.id.expiration.ms: a day. Before 3.5, transactional.id.expiration.ms: a week."""
LATE_TRANSACTION_BUFFER = 300_000
"""How long after its timeout an open transaction counts as hanging, in ms."""

NO_ENTRIES: Mapping[int, ProducerEntry] = MappingProxyType({})
NO_VERIFICATIONS: Mapping[int, Verification] = MappingProxyType({})
NO_SNAPSHOTS: Mapping[int, tuple[ProducerEntry, ...]] = MappingProxyType({})


@attrs.frozen
class ProducerState:
    """The producer state of one replica. Each method returns the changed state as a new one."""

    rules: BrokerRules = LATEST
    """The rules."""
    expiration: int = EXPIRATION
    """After how long an idle producer is forgotten (producer.id.expiration.ms)."""
    producers: Mapping[int, ProducerEntry] = NO_ENTRIES
    """By producer id."""
    ongoing: tuple[Transaction, ...] = ()
    """The open transactions, by their first offset."""
    unreplicated: tuple[Transaction, ...] = ()
    """Those that ended with a marker that is not below the high watermark, by first offset."""
    verifications: Mapping[int, Verification] = NO_VERIFICATIONS
    """The transactions that wait to be verified, by producer id."""
    guards: int = 0
    """How many verifications have begun: the last guard."""
    end: int = 0
    """The offset up to which the log has been taken into account. Kafka: `mapEndOffset`."""
    snapshots: Mapping[int, tuple[ProducerEntry, ...]] = NO_SNAPSHOTS
    """The snapshots, by the `end` for which they hold; each entry has its last batch only."""
    last_snapshot: int = 0
    """The `end` of the last snapshot, or where the state began. Kafka: `lastSnapOffset`."""

    # -- appending ------------------------------------------------------------------------------

    def prepare(self, producer: int, origin: AppendOrigin) -> Append:
        """An append that concerns a producer. Kafka: `ProducerStateManager.prepareUpdate`."""
        entry = self.producers.get(producer, ProducerEntry(producer))
        return Append(entry, origin, self.verifications.get(producer), self.rules)

    def update(self, append: Append) -> ProducerState:
        """The state after an append, before the transactions that it completed.

        Kafka: `ProducerStateManager.update`.
        """
        producer = append.current.producer
        entry = append.current.after(append.updated, self.rules)
        return attrs.evolve(
            self,
            producers={**self.producers, producer: entry},
            ongoing=by_first_offset(self.ongoing, append.started),
        )

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """Where the next open transaction begins, or else the offset after the marker.

        It goes into the index of aborted transactions. Kafka:
        `ProducerStateManager.lastStableOffset`.
        """
        others = (t.first_offset for t in self.ongoing if t.producer != completed.producer)
        return next(others, completed.last_offset + 1)

    def complete(self, completed: CompletedTransaction) -> ProducerState:
        """The state after a transaction ended: it stays unstable until its marker is replicated.

        Kafka: `ProducerStateManager.completeTxn`.
        """
        first = completed.first_offset
        ended = Transaction(completed.producer, first, completed.last_offset)
        return attrs.evolve(
            self,
            ongoing=tuple(t for t in self.ongoing if t.first_offset != first),
            unreplicated=by_first_offset(self.unreplicated, (ended,)),
        )

    @property
    def first_unstable(self) -> int | None:
        """The first offset of a transaction that is open, or whose marker is not replicated.

        Kafka: `ProducerStateManager.firstUnstableOffset`.
        """
        firsts = [t.first_offset for t in (*self.ongoing[:1], *self.unreplicated[:1])]
        return min(firsts, default=None)

    # -- verification (KIP-890) -----------------------------------------------------------------

    def has_ongoing(self, producer: int, epoch: int) -> bool:
        """Whether a producer has an open transaction in this partition.

        Since 4.0 in this epoch: the transaction of an older one is about to be ended.
        Kafka: `UnifiedLog.hasOngoingTransaction`.
        """
        entry = self.producers.get(producer)
        if entry is None or entry.transaction_start is None:
            return False
        return not self.rules.ongoing_in_epoch or entry.epoch == epoch

    def start_verification(
        self, producer: int, sequence: int, epoch: int, bumps_epochs: bool = False, now: int = 0
    ) -> tuple[ProducerState, int | ProducerError | None]:
        """Begin or join a verification, before the coordinator is asked.

        Returns the guard, None if the transaction is open and needs no verification, or an error.
        Kafka: `UnifiedLog.maybeStartTransactionVerification`.
        """
        entry = self.producers.get(producer)
        if self.rules.fences_verification and entry is not None and epoch < entry.epoch:
            return self, ProducerError.INVALID_PRODUCER_EPOCH
        if self.has_ongoing(producer, epoch):
            return self, None
        known = self.verifications.get(producer)
        if known is None:
            known = Verification(self.guards + 1, sequence, epoch, bumps_epochs, now)
        verification = known.asked_again(sequence, epoch)
        after = attrs.evolve(
            self,
            verifications={**self.verifications, producer: verification},
            guards=max(self.guards, verification.guard),
        )
        return after, verification.guard

    def verification_check(
        self, batch: DataBatch | EndMarker, origin: AppendOrigin, guard: int | None
    ) -> Iterator[Check]:
        """The guard of a transaction's first batch.

        The coordinator confirmed that the transaction is open, and no marker has come since: then
        the guard of the request is still that of the partition. Otherwise the batch would belong
        to no transaction, which nobody would end: a hanging transaction.
        Kafka: `UnifiedLog.analyzeAndValidateProducerState`, `batchMissingRequiredVerification`.
        """
        if not self.rules.verifies or origin is AppendOrigin.REPLICATION:
            return
        if isinstance(batch, EndMarker) or not batch.is_transactional:
            return
        if self.rules.epoch_before_verification:
            entry = self.producers.get(batch.producer)
            is_current = entry is None or batch.epoch >= entry.epoch
            error = ProducerError.INVALID_PRODUCER_EPOCH
            yield Check("producer epoch is not older", is_current, error)
        known = self.verifications.get(batch.producer)
        is_verified = known is not None and known.guard == guard
        yield Check(
            "transaction is open or verified",
            self.has_ongoing(batch.producer, batch.epoch) or is_verified,
            ProducerError.INVALID_TXN_STATE,
        )

    def end_verification(self, batch: DataBatch | EndMarker) -> ProducerState:
        """The state after a batch that ends a verification: it opened a transaction, or ended one.

        A marker with the epoch of a producer that bumps epochs ended the transaction before, and
        the verification of the next one goes on. Kafka: `UnifiedLog.updateProducers`.
        """
        known = self.verifications.get(batch.producer)
        if known is None:
            return self
        if isinstance(batch, EndMarker):
            if known.bumps_epochs and batch.epoch == known.epoch:
                return self
        elif not batch.is_transactional:
            return self
        left = {p: v for p, v in self.verifications.items() if p != batch.producer}
        return attrs.evolve(self, verifications=left)

    # -- what is forgotten ----------------------------------------------------------------------

    def advance_high_watermark(self, high_watermark: int) -> ProducerState:
        """The state after the high watermark advanced: replicated markers make offsets stable.

        Kafka: `ProducerStateManager.onHighWatermarkUpdated`.
        """
        return attrs.evolve(self, unreplicated=ending_from(self.unreplicated, high_watermark))

    def advance_log_start(self, log_start: int) -> ProducerState:
        """The state after records were deleted from the log's start.

        Up to 2.3 the producers without a record are forgotten; since 2.4 only time makes a
        partition forget them (KAFKA-7190). Kafka:
        `ProducerStateManager.onLogStartOffsetIncremented`, earlier `truncateHead`.
        """
        state = self
        if self.rules.retention_forgets:
            kept = {p: e for p, e in self.producers.items() if is_retained(e, log_start)}
            ongoing = tuple(
                t for t in self.ongoing if t.producer in kept or t.producer not in self.producers
            )
            state = attrs.evolve(self, producers=kept, ongoing=ongoing)
        return attrs.evolve(
            state,
            unreplicated=ending_from(state.unreplicated, log_start),
            end=max(state.end, log_start),
            last_snapshot=max(state.snapshots, default=log_start),
        )

    def expire(self, now: int) -> ProducerState:
        """The state without the producers that were idle, and verifications that nobody ended.

        A producer with an open transaction stays. Kafka:
        `ProducerStateManager.removeExpiredProducers` (KIP-854), run every ten minutes.
        """
        verifications = {
            p: v for p, v in self.verifications.items() if now - v.started < self.expiration
        }
        kept = {p: e for p, e in self.producers.items() if not self.is_expired(e, now)}
        return attrs.evolve(self, producers=kept, verifications=verifications)

    def is_expired(self, entry: ProducerEntry, now: int) -> bool:
        """Whether a producer has been idle for too long. Kafka: `isProducerExpired`."""
        return entry.transaction_start is None and now - entry.last_timestamp >= self.expiration

    def has_late_transaction(self, now: int, largest_timeout: int) -> bool:
        """Whether the oldest transaction seems to hang: no transaction may stay open so long.

        `largest_timeout` is transaction.max.timeout.ms. Kafka:
        `ProducerStateManager.hasLateTransaction` (3.0).
        """
        entry = self.producers.get(self.ongoing[0].producer) if self.ongoing else None
        last = -1 if entry is None else entry.last_timestamp
        return last > 0 and now - last > largest_timeout + LATE_TRANSACTION_BUFFER

    # -- snapshots ------------------------------------------------------------------------------

    def take_snapshot(self) -> ProducerState:
        """The state with a snapshot of itself, unless nothing was appended since the last one.

        Of each producer's batches, only the last is written: after a restart, an older one is not
        recognised. Kafka: `ProducerStateManager.takeSnapshot`.
        """
        if self.end <= self.last_snapshot:
            return self
        entries = tuple(map(as_written, self.producers.values()))
        snapshots = {**self.snapshots, self.end: entries}
        return attrs.evolve(self, snapshots=snapshots, last_snapshot=self.end)

    def truncate(self, log_start: int, log_end: int, now: int = 0) -> ProducerState:
        """The state after the log was truncated, or loaded: that of the latest snapshot in range.

        The log from its `end` on is still to be read. If nothing was truncated, the state stays.
        Kafka: `ProducerStateManager.truncateAndReload`.
        """
        in_range = {at: e for at, e in self.snapshots.items() if log_start < at <= log_end}
        state = attrs.evolve(self, snapshots=in_range)
        if log_end == self.end:
            return state.advance_log_start(log_start)
        latest = max(in_range, default=log_start)
        loaded = [e for e in in_range.get(latest, ()) if not self.is_expired(e, now)]
        if self.rules.retention_forgets:
            loaded = [e for e in loaded if is_retained(e, log_start)]
        started = [
            Transaction(e.producer, e.transaction_start)
            for e in loaded
            if e.transaction_start is not None
        ]
        return attrs.evolve(
            state,
            producers={e.producer: e for e in loaded},
            ongoing=by_first_offset((), started),
            unreplicated=(),
            end=latest,
            last_snapshot=latest,
        )

    def truncate_fully(self, offset: int) -> ProducerState:
        """The state of a log that starts empty at an offset: no producer is known.

        Kafka: `ProducerStateManager.truncateFullyAndStartAt`.
        """
        return attrs.evolve(
            self,
            producers={},
            ongoing=(),
            unreplicated=(),
            snapshots={},
            end=offset,
            last_snapshot=0,
        )


def as_written(entry: ProducerEntry) -> ProducerEntry:
    """A producer's entry in a snapshot: its last batch, with the time of its last activity."""
    last = (attrs.evolve(b, timestamp=entry.last_timestamp) for b in entry.batches[-1:])
    return attrs.evolve(entry, batches=tuple(last))


def is_retained(entry: ProducerEntry, log_start: int) -> bool:
    """Whether a producer's last record is still in the log. Kafka: `isProducerRetained`."""
    return bool(entry.batches) and entry.batches[-1].last_offset >= log_start


def by_first_offset(
    known: tuple[Transaction, ...], others: Iterable[Transaction]
) -> tuple[Transaction, ...]:
    """Transactions in the order of their first offsets; a later one replaces an earlier one."""
    found = {t.first_offset: t for t in (*known, *others)}
    return tuple(found[first] for first in sorted(found))


def ending_from(transactions: tuple[Transaction, ...], offset: int) -> tuple[Transaction, ...]:
    """The transactions whose marker is at an offset or above it."""
    return tuple(t for t in transactions if t.last_offset is None or t.last_offset >= offset)
