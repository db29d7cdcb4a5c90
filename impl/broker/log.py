"""The log of a partition, in memory, and its producers' sequence numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable
from enum import Enum

import attrs

from impl.broker.batches import NO_PRODUCER, Batch

LEADER_EPOCH = 0
"""The leader epoch of every partition: its only replica always leads it."""

_MOST_PRODUCERS = 10_000
"""How many producers' states a partition keeps; the one that wrote longest ago is dropped."""
_RETAINED = 5
"""How many batches of a producer are recognised as duplicates."""


class Refusal(Enum):
    """Why a batch of an idempotent producer is refused."""

    FENCED = "INVALID_PRODUCER_EPOCH"
    OUT_OF_ORDER = "OUT_OF_ORDER_SEQUENCE_NUMBER"


@attrs.define(eq=False)
class Producer:
    """What a partition knows of an idempotent producer. Kafka: `ProducerStateEntry`."""

    epoch: int
    """Its epoch."""
    batches: deque[tuple[int, int, int]] = attrs.Factory(lambda: deque(maxlen=_RETAINED))
    """First and last sequence number and base offset of its latest batches."""


class PartitionLog:
    """The record batches of a partition.

    When it holds more than `most` bytes, its oldest batches are deleted, but never the last one:
    the start of the log moves, as it does in Kafka by `retention.bytes`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.start = 0
        """The offset of the first record that is kept."""
        self.end = 0
        """The offset of the next record: log end offset and high watermark."""
        self.size = 0
        """How many bytes it holds."""
        self.waiting: set[Callable[[], None]] = set()
        """Called after each append: the fetches that wait for more."""
        self._batches: list[Batch] = []
        self._producers: OrderedDict[int, Producer] = OrderedDict()

    def append(self, batch: Batch) -> int | Refusal:
        """Append a batch; its base offset, also if it was appended before, or why not."""
        if batch.producer_id != NO_PRODUCER:
            checked = self._check(batch)
            if checked is not None:
                return checked
        stored = batch.at(self.end, LEADER_EPOCH)
        if batch.producer_id != NO_PRODUCER:
            self._remember(stored)
        self._batches.append(stored)
        self.end = stored.last_offset + 1
        self.size += len(stored.data)
        if self.size > self.most:
            self._delete_oldest()
        self.wake()
        return stored.base_offset

    def wake(self) -> None:
        """Let the fetches that wait look again."""
        for look in tuple(self.waiting):
            look()

    def _delete_oldest(self) -> None:
        """Make room, a tenth at a time: Kafka deletes whole segments."""
        number = 0
        while self.size > self.most * 9 // 10 and number < len(self._batches) - 1:
            self.size -= len(self._batches[number].data)
            number += 1
        del self._batches[:number]
        self.start = self._batches[0].base_offset

    def _check(self, batch: Batch) -> int | Refusal | None:
        """The base offset of a duplicate, the reason to refuse the batch, or None to append it.

        Kafka: `ProducerStateEntry.findDuplicateBatch`, `ProducerAppendInfo.checkProducerEpoch` and
        `checkSequence`.
        """
        known = self._producers.get(batch.producer_id)
        if known is None:
            return None  # its state may have been dropped: any sequence number is accepted
        if batch.producer_epoch < known.epoch:
            return Refusal.FENCED
        if batch.producer_epoch > known.epoch:
            return None if batch.base_sequence == 0 else Refusal.OUT_OF_ORDER
        for first, last, offset in known.batches:
            if (first, last) == (batch.base_sequence, batch.last_sequence):
                return offset
        expected = (known.batches[-1][1] + 1) & 0x7FFFFFFF
        return None if batch.base_sequence == expected else Refusal.OUT_OF_ORDER

    def _remember(self, batch: Batch) -> None:
        known = self._producers.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._producers[batch.producer_id] = Producer(batch.producer_epoch)
        self._producers.move_to_end(batch.producer_id)
        known.batches.append((batch.base_sequence, batch.last_sequence, batch.base_offset))
        if len(self._producers) > _MOST_PRODUCERS:
            self._producers.popitem(last=False)

    # -- reading ---------------------------------------------------------------------------

    def has(self, offset: int) -> bool:
        """Whether a consumer may fetch from this offset."""
        return self.start <= offset <= self.end

    def bytes_from(self, offset: int, enough: int) -> int:
        """How many bytes a fetch from this offset would find, counted up to `enough`."""
        found = 0
        for index in range(self._index(offset), len(self._batches)):
            found += len(self._batches[index].data)
            if found >= enough:
                break
        return found

    def read(self, offset: int, most: int, *, at_least_one: bool) -> bytes:
        """The batches from this offset on: as many as fit, or one that does not (KIP-74)."""
        found: list[bytes] = []
        size = 0
        for index in range(self._index(offset), len(self._batches)):
            data = self._batches[index].data
            if size + len(data) > most and (found or not at_least_one):
                break
            found.append(data)
            size += len(data)
        return b"".join(found)

    def _index(self, offset: int) -> int:
        """The place of the first batch that ends at this offset or later."""
        return bisect_left(self._batches, offset, key=lambda batch: batch.last_offset)

    # -- searching by time -----------------------------------------------------------------

    def first_at_or_after(self, time: int) -> tuple[int, int] | None:
        """The offset and time of the first record that is as late; None if there is none."""
        for batch in self._batches:
            if batch.max_timestamp >= time:
                for offset, at in batch.times():
                    if at >= time:
                        return offset, at
        return None

    def latest_time(self) -> tuple[int, int] | None:
        """The offset and time of the record with the latest time; None if there is no record."""
        latest = max(self._batches, key=lambda batch: batch.max_timestamp, default=None)
        if latest is None:
            return None
        for offset, at in latest.times():
            if at == latest.max_timestamp:
                return offset, at
        return latest.last_offset, latest.max_timestamp
