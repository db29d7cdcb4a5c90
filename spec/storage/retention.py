"""Retention: which segments of a log are deleted, and DeleteRecords.

Only whole segments are deleted, oldest first, and none with a record at the high watermark or
above. The log start offset moves to the first segment that is left, or within a segment by
DeleteRecords; readers get no record below it.

Kafka: `UnifiedLog.deleteOldSegments`, `deletableSegments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import attrs

from kspec.spec.storage.segments import Segment

FOREVER = -1
"""`retention.ms` or `retention.bytes` without limit."""
HIGH_WATERMARK = -1
"""The offset in a DeleteRecords request that means the high watermark."""
AS_RETENTION = -2
"""`local.retention.ms` or `local.retention.bytes` where the topic's own retention counts."""


@attrs.frozen
class Tiering:
    """A topic with remote storage (KIP-405)."""

    highest_remote_offset: int = -1
    """The last offset that was copied to remote storage; -1 for none."""
    local_start: int = 0
    """The local log start offset: the first offset in local segments."""
    copy_disabled: bool = False
    """`remote.copy.disable`: segments are no longer copied."""


@attrs.frozen
class RetentionSettings:
    """What a topic's settings say about deletion."""

    delete: bool = True
    """Whether `cleanup.policy` has `delete`."""
    retention_ms: int = 7 * 24 * 60 * 60 * 1000
    """`retention.ms`."""
    retention_bytes: int = FOREVER
    """`retention.bytes`."""
    local_retention_ms: int = AS_RETENTION
    """`local.retention.ms`, with remote storage."""
    local_retention_bytes: int = AS_RETENTION
    """`local.retention.bytes`, with remote storage."""

    def local(self, tiering: Tiering | None) -> tuple[int, int]:
        """The times and bytes that local segments are kept for.

        Kafka: `UnifiedLog.localRetentionMs`, `localRetentionSize`. Where nothing is copied, the
        topic's own retention counts.
        """
        ms, size = self.local_retention_ms, self.local_retention_bytes
        if tiering is None or tiering.copy_disabled:
            return self.retention_ms, self.retention_bytes
        return (
            self.retention_ms if ms == AS_RETENTION else ms,
            self.retention_bytes if size == AS_RETENTION else size,
        )


@attrs.frozen
class StoredLog:
    """What retention needs to know of a log."""

    segments: Sequence[Segment]
    """Its segments, oldest first; the last one is active."""
    start: int
    """The log start offset."""
    end: int
    """The log end offset."""
    high_watermark: int
    """The high watermark."""
    tiering: Tiering | None = None
    """None without remote storage."""


Condition = Callable[[Segment, Segment | None], bool]
"""Whether a segment is to be deleted, given the next one."""


def deletable(log: StoredLog, condition: Condition) -> list[Segment]:
    """The oldest segments up to the first that must stay.

    A segment stays that fails the condition, reaches the high watermark, is empty and active, or
    has not been copied to remote storage. Kafka: `UnifiedLog.deletableSegments`.
    """
    found = []
    for segment, following in zip_longest(log.segments, log.segments[1:]):
        upper = log.end if following is None else following.base_offset
        if upper > log.high_watermark or not condition(segment, following):
            break
        if following is None and segment.size == 0:
            break
        if not is_copied_or_below_start(log, following, upper):
            break
        found.append(segment)
    return found


def is_copied_or_below_start(log: StoredLog, following: Segment | None, upper: int) -> bool:
    """Whether remote storage has the segment that ends before `upper`, or nobody needs it.

    Kafka: `UnifiedLog.isSegmentEligibleForDeletion`.
    """
    if log.tiering is None or log.tiering.copy_disabled:
        return True
    copied = 0 < upper <= log.tiering.highest_remote_offset + 1
    return copied or (following is not None and log.start >= following.base_offset)


def below_log_start(log: StoredLog) -> list[Segment]:
    """The segments whose records all are below the log start offset (the local one, if tiered).

    Kafka: `deleteLogStartOffsetBreachedSegments`.
    """
    start = log.start if log.tiering is None else log.tiering.local_start
    return deletable(
        log, lambda _, following: following is not None and following.base_offset <= start
    )


def over_size(log: StoredLog, settings: RetentionSettings) -> list[Segment]:
    """The segments without which the log still has the bytes that are to be kept.

    Kafka: `deleteRetentionSizeBreachedSegments`.
    """
    _, kept_bytes = settings.local(log.tiering)
    if kept_bytes < 0:
        return []
    spare = sum(segment.size for segment in log.segments) - kept_bytes

    def is_spare(segment: Segment, _: Segment | None) -> bool:
        nonlocal spare
        if not may_spare(spare, segment.size):
            return False
        spare -= segment.size
        return True

    return deletable(log, is_spare) if spare >= 0 else []


def may_spare(spare: int, size: int) -> bool:
    """Whether a log that exceeds its retention by `spare` bytes may lose a segment."""
    return size <= spare


def over_age(log: StoredLog, settings: RetentionSettings, now: int) -> list[Segment]:
    """The segments whose greatest timestamp is too old. A timestamp in the future keeps a segment.

    Kafka: `deleteRetentionMsBreachedSegments`. The clock of the broker is compared with the
    timestamps of records, which producers set (CreateTime).
    """
    kept_ms, _ = settings.local(log.tiering)
    if kept_ms < 0:
        return []
    return deletable(log, lambda segment, _: now - segment.largest_timestamp > kept_ms)


def expired(log: StoredLog, settings: RetentionSettings, now: int) -> list[Segment]:
    """The segments that one run deletes: by log start, then by size, then by age.

    Kafka: `UnifiedLog.deleteOldSegments`, every `log.retention.check.interval.ms` (5 minutes).
    A log that loses every segment rolls first, and the new segment stays.
    """
    gone = below_log_start(log)
    if settings.delete:
        for more in (over_size, lambda log, settings: over_age(log, settings, now)):
            gone += more(without(log, gone), settings)
    return gone


def without(log: StoredLog, deleted: Sequence[Segment]) -> StoredLog:
    """The log without its first segments."""
    left = list(log.segments)[len(deleted) :]
    if not deleted or log.tiering is not None:
        return attrs.evolve(log, segments=left)
    start = max(log.start, left[0].base_offset if left else log.end)
    return attrs.evolve(log, segments=left, start=start)


# -- DeleteRecords --------------------------------------------------------------------------------


def deleted_to(offset: int, log_start: int, high_watermark: int) -> int | None:
    """The log start offset after DeleteRecords; None for OFFSET_OUT_OF_RANGE.

    Kafka: `Partition.deleteRecordsOnLeader`, `UnifiedLog.maybeIncrementLogStartOffset`.
    """
    wanted = high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= wanted <= high_watermark:
        return None
    return max(log_start, wanted)


def low_watermark(log_start: int, followers: Iterable[tuple[int, bool]]) -> int:
    """The least log start offset of the leader and its live followers.

    The response to DeleteRecords waits until it has reached the requested offset: then no live
    replica can serve the deleted records again. Followers are given as log start offset and
    whether their broker is alive. Kafka: `Partition.lowWatermarkIfLeader`.
    """
    return min([log_start, *(start for start, is_alive in followers if is_alive)])
