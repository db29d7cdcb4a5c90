"""A segment: a part of the log in one file, with its indexes.

The last segment of a log is active: it is the one that is appended to. When a batch would make it
too large or too old, or its indexes are full, the log rolls: a new segment becomes active.

Kafka: `LogSegment`, `LogFileUtils`; `UnifiedLog.maybeRoll`. Since 4.1 every batch of an append may
get an index entry, before only the append as a whole (KAFKA-806).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from kspec.spec.storage.batches import NO_TIMESTAMP, Batch, size_of
from kspec.spec.storage.indexes import (
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
    OffsetIndex,
    StorageError,
    TimeIndex,
    TimestampOffset,
    fits,
)


def file_name(base_offset: int, suffix: str = ".log") -> str:
    """The name of a segment's file: its base offset with 20 digits, so that names sort by offset.

    Kafka: `LogFileUtils.filenamePrefixFromOffset`.
    """
    return f"{base_offset:020d}{suffix}"


@attrs.frozen
class SegmentSettings:
    """The settings of a topic that decide how its log is cut into segments."""

    segment_bytes: int = 2**30
    """`segment.bytes`: the greatest size of a segment."""
    segment_ms: int = 7 * 24 * 60 * 60 * 1000
    """After how long a segment rolls: `segment.ms`; in a compacted topic `max.compaction.lag.ms`,
    if that is shorter, since the active segment is not cleaned. Kafka: `LogConfig.maxSegmentMs`."""
    index_interval_bytes: int = 4096
    """`index.interval.bytes`: after how many bytes the next batch gets an index entry."""
    index_bytes: int = 10 * 2**20
    """`segment.index.bytes`: the greatest size of each index."""
    jitter_ms: int = 0
    """Chosen at random below `segment.jitter.ms` for each segment: it rolls so much sooner."""


@attrs.frozen
class Segment:
    """A segment and its indexes."""

    base_offset: int
    """No offset in it is below this one. It gives the segment's files their name."""
    offset_index: OffsetIndex
    """Where in the file to look for an offset."""
    time_index: TimeIndex
    """From which offset on to look for a timestamp."""
    batches: tuple[Batch, ...] = ()
    """The batches, in the order of their offsets."""
    bytes_since_entry: int = 0
    """The bytes appended since the batch with the last index entry began."""
    max_timestamp: TimestampOffset | None = None
    """The greatest timestamp seen; None where only the time index is known, after a restart."""
    first_timestamp: int | None = None
    """The timestamp that its age counts from; None in an empty segment, and after a restart."""
    created: int = 0
    """When it was created, for the age of segments whose records have no timestamp."""
    last_modified: int = 0
    """When its file was last written, for retention where records have no timestamp."""

    @property
    def size(self) -> int:
        """Its bytes."""
        return size_of(self.batches)

    @property
    def max_seen(self) -> TimestampOffset:
        """The greatest timestamp, and the last offset of the first batch that has it.

        Kafka: `LogSegment.readMaxTimestampAndOffsetSoFar`.
        """
        return self.time_index.last if self.max_timestamp is None else self.max_timestamp

    @property
    def largest_timestamp(self) -> int:
        """The timestamp by which retention judges it. Kafka: `LogSegment.largestTimestamp`."""
        seen = self.max_seen.timestamp
        return seen if seen >= 0 else self.last_modified

    @property
    def next_offset(self) -> int:
        """The offset after its last batch. Kafka: `LogSegment.readNextOffset`."""
        return self.batches[-1].next_offset if self.batches else self.base_offset


def new_segment(base_offset: int, settings: SegmentSettings, now: int = 0) -> Segment:
    """An empty segment. Kafka: `LogSegment.open`."""
    return Segment(
        base_offset,
        OffsetIndex(base_offset, capacity=settings.index_bytes // OFFSET_ENTRY_BYTES),
        TimeIndex(base_offset, capacity=settings.index_bytes // TIME_ENTRY_BYTES),
        created=now,
        last_modified=now,
    )


def with_room(segment: Segment, settings: SegmentSettings) -> Segment:
    """The segment, whose indexes have room for more entries."""
    offsets, times = segment.offset_index, segment.time_index
    return attrs.evolve(
        segment,
        offset_index=attrs.evolve(offsets, capacity=settings.index_bytes // OFFSET_ENTRY_BYTES),
        time_index=attrs.evolve(times, capacity=settings.index_bytes // TIME_ENTRY_BYTES),
    )


def positions(batches: Iterable[Batch], start: int = 0) -> Iterator[tuple[int, Batch]]:
    """Each batch with its position, from one position on."""
    position = 0
    for batch in batches:
        if position >= start:
            yield position, batch
        position += batch.size


# -- append and roll ------------------------------------------------------------------------------


def append(segment: Segment, batches: Sequence[Batch], settings: SegmentSettings) -> Segment:
    """The segment with these batches; each may get an index entry.

    Kafka: `LogSegment.append`.
    """
    if batches and not fits(segment.base_offset, batches[-1].last_offset):
        raise StorageError(f"offset {batches[-1].last_offset} is too far from the base offset")
    position = segment.size
    for batch in batches:
        segment = with_entries(segment, [batch], position, settings)
        position += batch.size
    return segment


def append_with_one_entry(
    segment: Segment, batches: Sequence[Batch], settings: SegmentSettings
) -> Segment:
    """The segment with these batches, at most one of which gets an index entry.

    Kafka: `LogSegment.append` up to 4.0 (KAFKA-806). A follower appends all batches of a response
    at once, so its indexes had fewer entries than the leader's.
    """
    if batches and not fits(segment.base_offset, batches[-1].last_offset):
        raise StorageError(f"offset {batches[-1].last_offset} is too far from the base offset")
    return with_entries(segment, batches, segment.size, settings) if batches else segment


def with_entries(
    segment: Segment, batches: Sequence[Batch], position: int, settings: SegmentSettings
) -> Segment:
    """The segment with these batches, and an index entry if the last one is far enough away."""
    greatest = max(batch.max_timestamp for batch in batches)
    if segment.first_timestamp is None and not segment.batches:
        segment = attrs.evolve(segment, first_timestamp=greatest)
    if greatest > segment.max_seen.timestamp:
        first = next(batch for batch in batches if batch.max_timestamp == greatest)
        seen = TimestampOffset(greatest, first.last_offset)
        segment = attrs.evolve(segment, max_timestamp=seen)
    if segment.bytes_since_entry > settings.index_interval_bytes:
        segment = attrs.evolve(
            segment,
            offset_index=segment.offset_index.append(batches[-1].last_offset, position),
            time_index=segment.time_index.append(segment.max_seen),
            bytes_since_entry=0,
        )
    return attrs.evolve(
        segment,
        batches=(*segment.batches, *batches),
        bytes_since_entry=segment.bytes_since_entry + size_of(batches),
    )


def age(segment: Segment, timestamp: int, now: int) -> int:
    """The age of a segment, by which it rolls, given the timestamp of the next batch.

    It is measured by the timestamps of records, so that a replayed topic rolls as it did before;
    by the clock only if the first batch has no timestamp. Kafka: `LogSegment.timeWaitedForRoll`.
    """
    first = segment.first_timestamp
    if first is None and segment.batches:
        first = segment.batches[0].max_timestamp
    if first is not None and first >= 0:
        return timestamp - first
    return now - segment.created


def is_too_large(size: int, appended: int, segment_bytes: int) -> bool:
    """Whether a segment of this size would exceed `segment.bytes` with the appended bytes."""
    return size > segment_bytes - appended


def should_roll(
    segment: Segment, batches: Sequence[Batch], settings: SegmentSettings, now: int
) -> bool:
    """Whether the log rolls before it appends these batches.

    By size; by age, unless the segment is empty; because an index is full; or because an offset
    is too far from the base offset for the index. Kafka: `LogSegment.shouldRoll`.
    """
    timestamp = max((batch.max_timestamp for batch in batches), default=NO_TIMESTAMP)
    return (
        is_too_large(segment.size, size_of(batches), settings.segment_bytes)
        or (
            segment.size > 0
            and age(segment, timestamp, now) > settings.segment_ms - settings.jitter_ms
        )
        or segment.offset_index.is_full
        or segment.time_index.is_full
        or not fits(segment.base_offset, batches[-1].last_offset)
    )


def seal(segment: Segment) -> Segment:
    """The segment when another becomes active: its greatest timestamp is indexed, so that
    retention knows it after a restart. Kafka: `LogSegment.onBecomeInactiveSegment`.
    """
    return attrs.evolve(
        segment,
        offset_index=segment.offset_index.trim(),
        time_index=segment.time_index.append(segment.max_seen, at_roll=True).trim(),
    )


# -- look-ups -------------------------------------------------------------------------------------


def find_offset(segment: Segment, offset: int) -> tuple[int, Batch] | None:
    """The position of the first batch that ends at this offset or above, and the batch.

    Kafka: `LogSegment.translateOffset`, `FileRecords.searchForOffsetFromPosition`.
    """
    start = segment.offset_index.lookup(offset).position
    scanned = positions(segment.batches, start)
    return next((found for found in scanned if found[1].last_offset >= offset), None)


def find_timestamp(segment: Segment, timestamp: int, start: int) -> tuple[int, int] | None:
    """The timestamp and the offset of the first record, from offset `start` on, that is not older.

    With CreateTime, records may have any order of timestamps: records after the one that is found
    may be older than the target, and a record is found although the batches after it are older.
    Kafka: `LogSegment.findOffsetByTimestamp`, `FileRecords.searchForTimestamp`.
    """
    indexed = segment.time_index.lookup(timestamp).offset
    position = segment.offset_index.lookup(max(indexed, start)).position
    for _, batch in positions(segment.batches, position):
        if batch.max_timestamp >= timestamp:
            for record in batch.records:
                if record.timestamp >= timestamp and record.offset >= start:
                    return record.timestamp, record.offset
    return None


def offset_for_time(segments: Iterable[Segment], timestamp: int, start: int) -> int | None:
    """The offset that a consumer gets from `offsetsForTimes`; None where every record is older.

    Only the first segment with a timestamp that is great enough is searched. So a late record
    below the log start offset, in a segment that is partly deleted, hides the answer of the next
    segment. Kafka: `UnifiedLog.searchOffsetInLocalLog`.
    """
    for segment in segments:
        if segment.largest_timestamp >= timestamp:
            found = find_timestamp(segment, timestamp, start)
            return None if found is None else found[1]
    return None


# -- truncation and recovery ----------------------------------------------------------------------


def truncate_to(segment: Segment, offset: int, settings: SegmentSettings, now: int = 0) -> Segment:
    """The segment without the batch that holds this offset and those after it.

    Kafka: `LogSegment.truncateTo`. The batch goes as a whole: an offset within it is not kept.
    """
    found = find_offset(segment, offset)
    end = segment.size if found is None else found[0]
    kept = tuple(batch for position, batch in positions(segment.batches) if position < end)
    truncated = attrs.evolve(
        segment,
        batches=kept,
        offset_index=segment.offset_index.truncate_to(offset),
        time_index=segment.time_index.truncate_to(offset),
        bytes_since_entry=0,
    )
    truncated = with_room(truncated, settings)
    if not kept:
        truncated = attrs.evolve(truncated, created=now, first_timestamp=None)
    if segment.max_seen.timestamp >= 0:
        truncated = attrs.evolve(truncated, max_timestamp=max_timestamp_of(truncated))
    return truncated


def max_timestamp_of(segment: Segment) -> TimestampOffset:
    """The greatest timestamp, from the last entry of the time index and the batches after it.

    Kafka: `LogSegment.readLargestTimestamp`.
    """
    found = segment.time_index.last
    start = segment.offset_index.lookup(found.offset).position
    for _, batch in positions(segment.batches, start):
        if batch.max_timestamp > found.timestamp:
            found = TimestampOffset(batch.max_timestamp, batch.last_offset)
    return found


def reopened(segment: Segment, now: int = 0) -> Segment:
    """The segment of a broker that has just started: only its files are known.

    Kafka: `LogSegment.open`, with the greatest timestamp from the time index.
    """
    return attrs.evolve(
        segment, bytes_since_entry=0, max_timestamp=None, first_timestamp=None, created=now
    )


def recover(segment: Segment, settings: SegmentSettings, now: int = 0) -> Segment:
    """The segment of a broker that starts, up to its first invalid batch, with new indexes.

    Kafka: `LogSegment.recover`. It raises where an offset is too far from the base offset.
    """
    made = new_segment(segment.base_offset, settings, now)
    for batch in segment.batches:
        if not batch.is_valid:
            break
        made = append(made, [batch], settings)
    last_modified = segment.last_modified
    return attrs.evolve(reopened(seal(made), now), last_modified=last_modified)
