"""Whether the log cleaner keeps up with a partition.

The rules are those of `spec.storage.cleaning`, with Kafka's defaults: a log is due for cleaning
when more than half of the bytes below the active segment are dirty. A broker looks every 15 seconds
(`log.cleaner.backoff.ms`). If a log has been due for an hour, the cleaner is dead or far behind, or
it treats the partition as uncleanable after an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kspec.impl.storage.scan import Rows
from kspec.spec.storage.batches import Batch
from kspec.spec.storage.cleaning import (
    CleanerSettings,
    cleanable,
    filth,
    first_dirty_offset,
    is_due,
)
from kspec.spec.storage.segments import Segment, SegmentSettings, new_segment

PATIENCE_MS = 60 * 60 * 1000
"""How long a log may be due before the cleaner counts as dead."""


@attrs.define
class SegmentSummary:
    """What the cleaner's rules need of a segment."""

    base_offset: int
    size: int
    first_dirty: int
    next_offset: int = 0
    first_timestamp: int | None = None
    """When its first batch was written."""
    last_timestamp: int = 0
    """The latest time of its batches."""
    first_dirty_timestamp: int | None = None
    """When its first batch at or above the first dirty offset was written."""

    def note(self, rows: Rows) -> None:
        """Note batches."""
        if not len(rows):
            return
        ends = rows["base_offset"] + rows["last_delta"] + 1
        self.next_offset = max(self.next_offset, int(ends.max()))
        self.last_timestamp = max(self.last_timestamp, int(rows["max_timestamp"].max()))
        if self.first_timestamp is None:
            self.first_timestamp = int(rows["max_timestamp"][0])
        if self.first_dirty_timestamp is None:
            dirty = rows[ends > self.first_dirty]
            if len(dirty):
                self.first_dirty_timestamp = int(dirty["max_timestamp"][0])

    def as_segment(self) -> Segment:
        """The segment, as one batch."""
        last = max(self.next_offset - 1, self.base_offset)
        batch = Batch(self.base_offset, last, self.size)
        empty = new_segment(self.base_offset, SegmentSettings())
        return attrs.evolve(empty, batches=(batch,) if self.size else ())


@attrs.frozen
class CleanerStatus:
    """How far the cleaner came, and whether it should have come further."""

    checkpoint: int | None
    """Up to where the partition is clean; None if it never was, or if nothing says so."""
    is_known: bool
    """Whether there is a `cleaner-offset-checkpoint`."""
    dirty_ratio: float
    """The dirty share of the bytes below the active segment that may be cleaned."""
    oldest_dirty: int | None
    """When the oldest dirty record was written, in milliseconds."""
    due_since: int | None
    """Since when the log is due for cleaning; None if it is not."""
    is_held_by_transaction: bool
    """Whether it would be due if no transaction were open."""
    is_behind: bool
    """Whether it is due for longer than an hour."""


def cleaner_status(
    summaries: Sequence[SegmentSummary],
    checkpoint: int | None,
    end: int,
    last_stable_offset: int,
    now: int,
    *,
    is_known: bool,
) -> CleanerStatus:
    """How far the cleaner came. Without a checkpoint file, the whole log counts as dirty."""
    settings = CleanerSettings()
    segments = [summary.as_segment() for summary in summaries]
    start = segments[0].base_offset
    first_dirty = first_dirty_offset(checkpoint, start, end)

    def due_since(stable: int) -> int | None:
        """When the segment was rolled that made the log due; dirty bytes only become more."""
        for count in range(2, len(segments) + 1):
            active = segments[count - 1].base_offset
            part = cleanable(segments[:count], first_dirty, start, stable, settings, now)
            if active > first_dirty and is_due(filth(segments[:count], part), 0, settings):
                return summaries[count - 1].first_timestamp or summaries[count - 2].last_timestamp
        return None

    since = due_since(last_stable_offset)
    dirty = (s.first_dirty_timestamp for s in summaries if s.first_dirty_timestamp is not None)
    held = since is None and due_since(end) is not None
    part = cleanable(segments, first_dirty, start, last_stable_offset, settings, now)
    return CleanerStatus(
        checkpoint,
        is_known,
        round(filth(segments, part).ratio, 4),
        next(dirty, None) if is_known else None,
        since if is_known else None,
        held and is_known,
        is_known and since is not None and now - since > PATIENCE_MS,
    )
