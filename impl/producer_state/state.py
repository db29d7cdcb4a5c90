"""The producer state of a partition: an entry for each producer, and the open transactions.

A batch is first checked, then written to the log, then taken into account (`append`); a broker that
reads its own log calls `append` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import NamedTuple

import attrs

from kspec.impl.producer_state.snapshot import CorruptSnapshot, Row, decode, encode
from kspec.impl.producer_state.transactions import Aborted, TransactionIndex, Transactions
from kspec.spec.vocabulary import AppendOrigin, ProducerError

RETAINED = 5
"""How many batches of a producer are remembered."""
EXPIRATION = 86_400_000
"""producer.id.expiration.ms."""
LATE = 300_000
"""How much longer than the largest timeout a transaction may be open, in ms."""

_WRAP = 1 << 31
"""Sequence numbers wrap around here."""
_LAST_EPOCH = 2**15 - 1

CLIENT, REPLICATION = AppendOrigin.CLIENT, AppendOrigin.REPLICATION
OUT_OF_ORDER = ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER


class Known(NamedTuple):
    """A batch that is remembered."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class Producer:
    """The state of one producer."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "start", "timestamp")

    def __init__(self) -> None:
        self.epoch = -1
        self.batches: tuple[Known, ...] = ()
        """Its last batches in this epoch, oldest first."""
        self.coordinator_epoch = -1
        self.timestamp = -1
        self.start = -1
        """The first offset of its open transaction, or -1."""


@attrs.define(eq=False)
class Verification:
    """A transaction that waits to be verified (KIP-890)."""

    guard: int
    lowest_sequence: int
    epoch: int
    bumps_epochs: bool
    started: int


class ProducerState:
    """The producer state of one replica of a partition.

    `snapshots` has the snapshots by offset: `SnapshotFiles`, or by default those in memory.
    """

    def __init__(
        self,
        *,
        expiration: int = EXPIRATION,
        verifies: bool = True,
        snapshots: MutableMapping[int, bytes] | None = None,
    ) -> None:
        self.expiration = expiration
        self.verifies = verifies
        """transaction.partition.verification.enable."""
        self.snapshots: MutableMapping[int, bytes] = {} if snapshots is None else snapshots
        self.producers: dict[int, Producer] = {}
        self.verifications: dict[int, Verification] = {}
        self.transactions = Transactions()
        self.aborted = TransactionIndex()
        self.end = 0
        """The offset up to which the log has been taken into account."""
        self._last_snapshot = 0
        self._guards = 0

    # -- checks ---------------------------------------------------------------------------------

    def check(
        self,
        producer_id: int,
        epoch: int,
        first: int,
        last: int,
        *,
        is_transactional: bool = False,
        origin: AppendOrigin = CLIENT,
        guard: int | None = None,
    ) -> Known | ProducerError | None:
        """None if a batch may be appended, the batch that it repeats, or why it is rejected.

        Kafka: `UnifiedLog.analyzeAndValidateProducerState`, `ProducerAppendInfo`.
        """
        producer = self.producers.get(producer_id)
        known = -1 if producer is None else producer.epoch
        if origin is CLIENT and producer is not None and epoch == known:
            for batch in producer.batches:
                if batch.first_sequence == first and batch.last_sequence == last:
                    return batch
        if origin is not REPLICATION and epoch < known:
            return ProducerError.INVALID_PRODUCER_EPOCH
        if is_transactional and self.verifies and origin is not REPLICATION:
            verification = self.verifications.get(producer_id)
            is_verified = verification is not None and verification.guard == guard
            if not (is_verified or self.has_open(producer_id, epoch)):
                return ProducerError.INVALID_TXN_STATE
        if origin is CLIENT and not self._is_in_order(producer_id, producer, epoch, first):
            return OUT_OF_ORDER
        if producer is not None and producer.start >= 0 and not is_transactional:
            return ProducerError.INVALID_TXN_STATE
        return None

    def _is_in_order(
        self, producer_id: int, producer: Producer | None, epoch: int, first: int
    ) -> bool:
        """Whether a client's batch follows the last one, and does not overtake another."""
        batches = () if producer is None else producer.batches
        verification = self.verifications.get(producer_id) if self.verifications else None
        if verification is not None:
            if verification.bumps_epochs and first != 0 and not batches:
                return False
            if first > verification.lowest_sequence:
                return False
        if producer is None or producer.epoch < 0:
            return True
        if epoch != producer.epoch or not batches:
            return first == 0
        return first == (batches[-1].last_sequence + 1) % _WRAP

    def check_marker(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        *,
        transaction_version: int = 0,
        origin: AppendOrigin = AppendOrigin.COORDINATOR,
    ) -> ProducerError | None:
        """None if a marker may be appended, or why not.

        Kafka: `ProducerAppendInfo.appendEndTxnMarker`.
        """
        producer = self.producers.get(producer_id)
        if origin is REPLICATION or producer is None:
            return None
        if epoch < producer.epoch:
            return ProducerError.INVALID_PRODUCER_EPOCH
        is_late = epoch == producer.epoch < _LAST_EPOCH and producer.start >= 0
        if transaction_version >= 2 and is_late:  # it ended a transaction before the open one
            return ProducerError.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < producer.coordinator_epoch:
            return ProducerError.TRANSACTION_COORDINATOR_FENCED
        return None

    def has_open(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer has an open transaction in this epoch."""
        producer = self.producers.get(producer_id)
        return producer is not None and producer.start >= 0 and producer.epoch == epoch

    # -- appending ------------------------------------------------------------------------------

    def append(
        self,
        producer_id: int,
        epoch: int,
        first: int,
        last: int,
        first_offset: int,
        last_offset: int,
        timestamp: int,
        *,
        is_transactional: bool = False,
    ) -> None:
        """A batch was appended to the log."""
        producer = self.producers.get(producer_id)
        if producer is None:
            producer = self.producers[producer_id] = Producer()
        batch = Known(first, last, first_offset, last_offset, timestamp)
        if producer.epoch == epoch:
            producer.batches = (*producer.batches[1 - RETAINED :], batch)
        else:
            producer.epoch = epoch
            producer.batches = (batch,)
        producer.timestamp = timestamp
        if is_transactional:
            self.verifications.pop(producer_id, None)
            if producer.start < 0:
                producer.start = first_offset
                self.transactions.begin(producer_id, first_offset)
        self.end = last_offset + 1

    def append_marker(
        self,
        producer_id: int,
        epoch: int,
        coordinator_epoch: int,
        offset: int,
        timestamp: int,
        *,
        is_abort: bool,
        is_replayed: bool = False,
    ) -> None:
        """A marker was appended; if the log is read again, the index has it already."""
        producer = self.producers.get(producer_id)
        if producer is None:
            producer = self.producers[producer_id] = Producer()
        verified = self.verifications.get(producer_id)
        if verified is not None and not (verified.bumps_epochs and verified.epoch == epoch):
            del self.verifications[producer_id]
        if producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches = ()
        producer.coordinator_epoch = coordinator_epoch
        producer.timestamp = timestamp
        if producer.start >= 0:
            stable = self.transactions.end(producer.start, offset)
            if is_abort and not is_replayed:
                self.aborted.append(Aborted(producer_id, producer.start, offset, stable))
            producer.start = -1
        self.end = offset + 1

    def start_verification(
        self,
        producer_id: int,
        sequence: int,
        epoch: int,
        *,
        bumps_epochs: bool = False,
        now: int = 0,
    ) -> int | ProducerError | None:
        """Begin or join a verification: its guard, an error, or None if none is needed."""
        producer = self.producers.get(producer_id)
        if producer is not None and epoch < producer.epoch:
            return ProducerError.INVALID_PRODUCER_EPOCH
        if self.has_open(producer_id, epoch):
            return None
        verification = self.verifications.get(producer_id)
        if verification is None:
            self._guards += 1
            verification = Verification(self._guards, sequence, epoch, bumps_epochs, now)
            self.verifications[producer_id] = verification
        elif epoch > verification.epoch:
            verification.epoch, verification.lowest_sequence = epoch, sequence
        elif epoch == verification.epoch:
            verification.lowest_sequence = min(sequence, verification.lowest_sequence)
        return verification.guard

    # -- offsets --------------------------------------------------------------------------------

    def advance_high_watermark(self, offset: int) -> None:
        """The high watermark advanced."""
        self.transactions.replicated(offset)

    def last_stable_offset(self, high_watermark: int, log_start: int = 0) -> int:
        """Up to where a `read_committed` consumer reads."""
        first = self.transactions.first_unstable
        if first is None:
            return high_watermark
        return min(max(first, log_start), high_watermark)

    def advance_log_start(self, offset: int) -> None:
        """Records were deleted from the log's start; the producers stay."""
        self.transactions.replicated(offset)
        self.end = max(self.end, offset)
        self._last_snapshot = max(self.snapshots, default=offset)

    # -- what is forgotten ----------------------------------------------------------------------

    def expire(self, now: int) -> int:
        """Forget the producers that have been idle for too long; how many."""
        limit = now - self.expiration
        idle = [i for i, p in self.producers.items() if p.timestamp <= limit and p.start < 0]
        for producer_id in idle:
            del self.producers[producer_id]
        over = [i for i, v in self.verifications.items() if v.started <= limit]
        for producer_id in over:
            del self.verifications[producer_id]
        return len(idle)

    def has_late_transaction(self, now: int, largest_timeout: int) -> bool:
        """Whether the oldest transaction seems to hang."""
        oldest = self.transactions.oldest
        producer = None if oldest is None else self.producers.get(oldest)
        if producer is None or producer.timestamp <= 0:
            return False
        return now - producer.timestamp > largest_timeout + LATE

    def clear(self, offset: int) -> None:
        """The log starts empty at an offset."""
        self._forget()
        self.snapshots.clear()
        self.aborted.truncate(0)
        self.end = offset
        self._last_snapshot = 0

    def _forget(self) -> None:
        self.producers.clear()
        self.transactions.clear()

    # -- snapshots ------------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        """The rows of a snapshot."""
        for producer_id, p in self.producers.items():
            last, offset, delta = -1, -1, 0
            if p.batches:
                _, last, first_offset, offset, _ = p.batches[-1]
                delta = offset - first_offset
            yield Row(
                producer_id,
                p.epoch,
                last,
                offset,
                delta,
                p.timestamp,
                p.coordinator_epoch,
                p.start,
            )

    def take_snapshot(self) -> bool:
        """Write a snapshot, unless nothing was appended since the last one."""
        if self.end <= self._last_snapshot:
            return False
        self.snapshots[self.end] = encode(self.rows())
        self._last_snapshot = self.end
        return True

    def load(self, rows: Iterable[Row], now: int) -> None:
        """Take over what a snapshot says of producers that are not expired."""
        self._forget()
        limit = now - self.expiration
        started = []
        for row in rows:
            if row.transaction_start < 0 and row.timestamp <= limit:
                continue
            producer = self.producers[row.producer] = Producer()
            producer.epoch = row.epoch
            producer.coordinator_epoch = row.coordinator_epoch
            producer.timestamp = row.timestamp
            if row.last_offset >= 0:
                first = (row.last_sequence - row.offset_delta) % _WRAP
                first_offset = row.last_offset - row.offset_delta
                producer.batches = (
                    Known(first, row.last_sequence, first_offset, row.last_offset, row.timestamp),
                )
            if row.transaction_start >= 0:
                producer.start = row.transaction_start
                started.append((row.transaction_start, row.producer))
        self.transactions.load(started)

    def truncate(self, log_start: int, log_end: int, now: int = 0) -> None:
        """The log ends at an offset: load the latest snapshot; the log is read from `end` on.

        A snapshot that is corrupt is deleted. Kafka: `truncateAndReload`, `loadFromSnapshot`.
        """
        for offset in list(self.snapshots):
            if not log_start < offset <= log_end:
                del self.snapshots[offset]
        self.aborted.truncate(log_end)
        if log_end == self.end:
            self.advance_log_start(log_start)
            return
        for offset in sorted(self.snapshots, reverse=True):
            try:
                self.load(decode(self.snapshots[offset]), now)
            except CorruptSnapshot:
                del self.snapshots[offset]
            else:
                self.end = self._last_snapshot = offset
                return
        self._forget()
        self.end = self._last_snapshot = log_start
