"""What the log cleaner takes next: the dirty part of a log, and how far it may be cleaned.

A compacted log has a clean part, up to which a cleaning has come (`cleaner-offset-checkpoint`),
and a dirty part after it. The active segment is never cleaned.

Kafka: `LogCleanerManager`, `LogToClean`; `Cleaner.groupSegmentsBySize`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import attrs

from kspec.spec.storage.indexes import (
    GREATEST_RELATIVE_OFFSET,
    OFFSET_ENTRY_BYTES,
    TIME_ENTRY_BYTES,
)
from kspec.spec.storage.segments import Segment, SegmentSettings


@attrs.frozen
class CleanerSettings:
    """The settings of a compacted topic."""

    min_dirty_ratio: float = 0.5
    """`min.cleanable.dirty.ratio`: the dirty share of bytes from which a log is cleaned."""
    min_lag_ms: int = 0
    """`min.compaction.lag.ms`: how long a record stays in any case (KIP-58)."""
    max_lag_ms: int = 2**63 - 1
    """`max.compaction.lag.ms`: after how long a log is cleaned however clean it is (KIP-354)."""
    delete_retention_ms: int = 24 * 60 * 60 * 1000
    """`delete.retention.ms`: how long tombstones and markers stay once they were cleaned."""


class Cleanable(NamedTuple):
    """The dirty part of a log that may be cleaned."""

    first_dirty: int
    """Where the last cleaning ended."""
    first_uncleanable: int
    """The offset at which cleaning has to stop."""


def first_dirty_offset(checkpoint: int | None, log_start: int, log_end: int) -> int:
    """Where the dirty part begins, given what `cleaner-offset-checkpoint` says.

    At the log start, if the checkpoint is outside the log: after DeleteRecords, or after a
    truncation. Kafka: `LogCleanerManager.cleanableOffsets`.
    """
    return (
        checkpoint if checkpoint is not None and log_start <= checkpoint <= log_end else log_start
    )


def cleanable(
    segments: Sequence[Segment],
    checkpoint: int | None,
    log_start: int,
    last_stable_offset: int,
    settings: CleanerSettings,
    now: int,
) -> Cleanable:
    """How far the log may be cleaned.

    Below the last stable offset, since open transactions have no outcome yet; below the active
    segment; and below the first segment with a record younger than `min.compaction.lag.ms`.
    Kafka: `LogCleanerManager.cleanableOffsets`, `findFirstUncleanableSegment`.
    """
    active = segments[-1]
    first = first_dirty_offset(checkpoint, log_start, active.next_offset)
    limits = [last_stable_offset, active.base_offset]
    if settings.min_lag_ms > 0:
        dirty = between(segments, first, active.base_offset)
        young = (s for s in dirty if s.largest_timestamp > now - settings.min_lag_ms)
        limits += [segment.base_offset for segment in young][:1]
    return Cleanable(first, max(first, min(limits)))


def between(segments: Sequence[Segment], start: int, end: int) -> list[Segment]:
    """The segments with offsets from `start` to below `end`. Kafka: `LogSegments.values`."""
    following = [*(segment.base_offset for segment in segments[1:]), end]
    pairs = zip(segments, following, strict=True)
    return [s for s, after in pairs if start < end and s.base_offset < end and after > start]


def first_uncleanable_segment(segments: Sequence[Segment], first_uncleanable: int) -> int:
    """The base offset of the segment at which cleaning stops, since it cleans whole segments.

    Kafka: `LogCleanerManager.calculateCleanableBytes`.
    """
    active = segments[-1].base_offset
    return next((s.base_offset for s in between(segments, first_uncleanable, active)), active)


class Filth(NamedTuple):
    """How dirty a log is."""

    clean_bytes: int
    """The bytes below the first dirty offset."""
    cleanable_bytes: int
    """The bytes from there to the first segment that may not be cleaned."""

    @property
    def ratio(self) -> float:
        """The dirty share, by which the dirtiest log is cleaned first."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0


def filth(segments: Sequence[Segment], part: Cleanable) -> Filth:
    """How dirty a log is, in whole segments. Kafka: `LogToClean`."""
    end = first_uncleanable_segment(segments, part.first_uncleanable)
    clean = between(segments, -1, part.first_dirty)
    dirty = between(segments, min(part.first_dirty, end), end)
    return Filth(sum(s.size for s in clean), sum(s.size for s in dirty))


def compaction_delay(
    segments: Sequence[Segment], first_dirty: int, settings: CleanerSettings, now: int
) -> int:
    """For how long the oldest dirty segment has exceeded `max.compaction.lag.ms`; 0 if not.

    Kafka: `LogCleanerManager.maxCompactionDelay`, by the first batch of each dirty segment.
    """
    firsts = [
        first_batch_timestamp(s) for s in between(segments, first_dirty, segments[-1].base_offset)
    ]
    oldest = min((first for first in firsts if first > 0), default=2**63 - 1)
    clean_until = now - max(settings.max_lag_ms, 0)
    return clean_until - oldest if oldest < clean_until else 0


def first_batch_timestamp(segment: Segment) -> int:
    """The timestamp of the first batch; without one, never. Kafka: `getFirstBatchTimestamp`."""
    first = segment.first_timestamp
    if first is None and segment.batches:
        first = segment.batches[0].max_timestamp
    return first if first is not None and first >= 0 else 2**63 - 1


def is_due(log: Filth, delay: int, settings: CleanerSettings) -> bool:
    """Whether a log may be cleaned now: dirty enough, or dirty for too long.

    Kafka: `LogCleanerManager.grabFilthiestCompactedLog`, which takes the greatest ratio.
    """
    return (delay > 0 and log.cleanable_bytes > 0) or log.ratio > settings.min_dirty_ratio


def grouped(
    segments: Sequence[Segment], settings: SegmentSettings, first_uncleanable: int
) -> list[list[Segment]]:
    """The segments that a cleaning merges into one each, so that segments do not get ever smaller.

    Kafka: `Cleaner.groupSegmentsBySize`.
    """
    groups: list[list[Segment]] = []
    for segment, following in zip_longest(segments, segments[1:]):
        last = (first_uncleanable if following is None else following.base_offset) - 1
        if groups and may_join(groups[-1], segment, last, settings):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def may_join(
    group: list[Segment], segment: Segment, last_offset: int, settings: SegmentSettings
) -> bool:
    """Whether segment and indexes of the group would stay within their limits."""
    members = [*group, segment]
    entries = sum(len(s.offset_index.entries) for s in members)
    times = sum(len(s.time_index.entries) for s in members)
    return (
        sum(s.size for s in members) <= settings.segment_bytes
        and OFFSET_ENTRY_BYTES * entries <= settings.index_bytes
        and TIME_ENTRY_BYTES * times <= settings.index_bytes
        and (segment.size == 0 or last_offset - group[0].base_offset <= GREATEST_RELATIVE_OFFSET)
    )
