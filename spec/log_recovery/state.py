"""The state: the files of one log, and what the broker has in memory while it runs.

Written batches are in the page cache: they survive a crash of the process, but survive a power loss
only once they are flushed. A batch is one unit of size, however many records it has, so a position
in a segment is the number of batches before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import attrs

from kspec.spec.core import bound, constant, evolve, replaced, tally
from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.storage.indexes import OffsetPosition, offset_lookup


@attrs.frozen
class Bounds:
    """The limits of an exploration."""

    offsets: int = bound(3, 1, 6, "offsets that the log can have")
    batch_records: int = bound(2, 1, 3, "the most records that a batch has")
    segment_batches: int = bound(2, 1, 4, "the batches that fit into a segment")
    epochs: int = bound(2, 1, 3, "leader epochs")
    crashes: int = bound(2, 0, 3, "times that the process ends or the machine loses power")


@attrs.frozen
class StoredBatch:
    """A batch in a segment's file."""

    base_offset: int
    """The offset of its first record."""
    last_offset: int
    """The offset of its last record."""
    epoch: int
    """The leader epoch in which it was appended."""
    is_valid: bool = True
    """Whether it is complete. A power loss can leave a part of it, whose checksum is wrong."""

    @property
    def next_offset(self) -> int:
        """The offset after its last one."""
        return self.last_offset + 1


@attrs.frozen
class SegmentFiles:
    """The files of a segment."""

    base_offset: int
    """The offset that gives them their name."""
    batches: tuple[StoredBatch, ...] = ()
    """The batches in its log file."""
    flushed: int = 0
    """How many of them a power loss cannot take."""
    index: tuple[OffsetPosition, ...] = ()
    """Its offset index: an entry for every batch but the first."""

    @property
    def next_offset(self) -> int:
        """The offset after its last batch."""
        return self.batches[-1].next_offset if self.batches else self.base_offset

    def append(self, batch: StoredBatch) -> SegmentFiles:
        """The segment with one more batch, and its index entry.

        Kafka rejects an entry that is not above the last one; only faults lead to such a state.
        """
        position, entry = len(self.batches), OffsetPosition(batch.last_offset, len(self.batches))
        is_above = not self.index or batch.last_offset > self.index[-1].offset
        index = (*self.index, entry) if position and is_above else self.index
        return evolve(self, batches=(*self.batches, batch), index=index)

    def keep(self, count: int) -> SegmentFiles:
        """The segment with its first batches only, and an index that is as long as before."""
        return evolve(self, batches=self.batches[:count], flushed=min(self.flushed, count))

    def rebuild(self, batches: Iterable[StoredBatch]) -> SegmentFiles:
        """The segment with these batches of it only, and a new index."""
        read = SegmentFiles(self.base_offset)
        for batch in batches:
            read = read.append(batch)
        return evolve(read, flushed=min(self.flushed, len(read.batches)))

    def flush(self) -> SegmentFiles:
        """The segment, of which a power loss takes nothing."""
        return evolve(self, flushed=len(self.batches))

    def lookup(self, offset: int) -> StoredBatch | None:
        """The batch that a reader finds who looks the offset up in the index and scans from there.

        Kafka: `LogSegment.translateOffset`.
        """
        start = offset_lookup(self.base_offset, self.index, offset).position
        return next((b for b in self.batches[start:] if b.last_offset >= offset), None)


Segments = tuple[SegmentFiles, ...]
"""The segments of a log, oldest first; the last one is active."""


@attrs.frozen
class Memory:
    """What a running broker knows of the log."""

    recovery_point: int = 0
    """Every offset below was flushed."""
    epochs: LeaderEpochs = attrs.field(factory=LeaderEpochs)
    """The leader-epoch cache."""


@attrs.frozen(cache_hash=True)
class StoredLog:
    """One log: its files, the checkpoints about it, and the broker that serves it."""

    segments: Segments
    """The files of its segments."""
    recovery_file: int
    """Its recovery point in `recovery-point-offset-checkpoint`."""
    epoch_file: LeaderEpochs
    """`leader-epoch-checkpoint`."""
    is_clean: bool
    """Whether `.kafka_cleanshutdown` says that all was flushed."""
    memory: Memory | None
    """None while the broker is down."""
    durable: int
    """Ghost: every offset below was flushed once, and not truncated since."""
    crashes: int = tally()
    """How often the process ended or the machine lost power."""
    bounds: Bounds = constant()
    """The limits of an exploration."""

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.segments[-1].next_offset

    @property
    def is_running(self) -> bool:
        """Whether the broker serves the log."""
        return self.memory is not None

    def with_memory(self, **changes: object) -> StoredLog:
        """The broker has something else in memory."""
        assert self.memory is not None, "the guard holds"
        return evolve(self, memory=evolve(self.memory, **changes))

    def with_active(self, segment: SegmentFiles) -> StoredLog:
        """The active segment is replaced."""
        return evolve(self, segments=replaced(self.segments, len(self.segments) - 1, segment))


def initial(bounds: Bounds) -> list[StoredLog]:
    """A broker runs, with an empty log."""
    return [
        StoredLog(
            segments=(SegmentFiles(0),),
            recovery_file=0,
            epoch_file=LeaderEpochs(),
            is_clean=False,
            memory=Memory(),
            durable=0,
            bounds=bounds,
        )
    ]


# -- queries --------------------------------------------------------------------------------------


def batches(segments: Iterable[SegmentFiles]) -> list[StoredBatch]:
    """The batches of these segments."""
    return [batch for segment in segments for batch in segment.batches]


def unflushed(segments: Iterable[SegmentFiles]) -> list[StoredBatch]:
    """The batches that a power loss can take."""
    return [batch for segment in segments for batch in segment.batches[segment.flushed :]]


def flushed_end(s: StoredLog) -> int:
    """The offset below which every batch is flushed."""
    return min((batch.base_offset for batch in unflushed(s.segments)), default=s.end)


def holding(segments: Segments, offset: int) -> int:
    """The index of the segment that holds this offset, or would. Kafka: `LogSegments.values`."""
    found = (i for i, (_, after) in enumerate(pairwise(segments)) if after.base_offset > offset)
    return next(found, len(segments) - 1)


# -- choices --------------------------------------------------------------------------------------


def epochs(s: StoredLog) -> range:
    """Every leader epoch."""
    return range(s.bounds.epochs)


def counts(s: StoredLog) -> range:
    """The numbers of records that a batch may have."""
    return range(1, s.bounds.batch_records + 1)


def batch_offsets(s: StoredLog) -> list[int]:
    """The base offsets of batches."""
    return [batch.base_offset for batch in batches(s.segments)]


def ends(s: StoredLog) -> list[int]:
    """Where segments end, the active one included."""
    return sorted({segment.next_offset for segment in s.segments})


def kept_ends(s: StoredLog) -> list[int]:
    """The offsets from which on a power loss may take batches: all, some or none of them."""
    return sorted({*batch_offsets(s), s.end})
