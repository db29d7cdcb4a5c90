"""The log of a partition, in memory, and its producers' sequence numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from kspec.impl.broker.batches import NO_PRODUCER, Batch
from kspec.impl.producer_state import ProducerState
from kspec.spec.vocabulary import ProducerError

LEADER_EPOCH = 0
"""The leader epoch of every partition: its only replica always leads it."""

_MOST_PRODUCERS = 10_000
"""How many producers a partition knows; beyond it forgets the half that wrote longest ago."""


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
        self._producers = ProducerState()

    def append(self, batch: Batch) -> int | ProducerError:
        """Append a batch; its base offset, also if it was appended before, or why not."""
        if batch.producer_id != NO_PRODUCER:
            found = self._producers.check(
                batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence
            )
            if found is not None:
                return found if isinstance(found, ProducerError) else found.first_offset
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

    def _remember(self, batch: Batch) -> None:
        """Remember a batch of an idempotent producer."""
        self._producers.append(
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.base_offset,
            batch.last_offset,
            batch.max_timestamp,
        )
        known = self._producers.producers
        if len(known) > _MOST_PRODUCERS:
            by_age = sorted(known, key=lambda producer: known[producer].batches[-1].last_offset)
            for producer in by_age[: len(known) // 2]:
                del known[producer]

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
