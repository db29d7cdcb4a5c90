"""What the recorded scenarios do not play: remote storage, DeleteRecords, cleaning, snapshots."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest

from kspec.spec.storage.batches import Batch
from kspec.spec.storage.cleaning import CleanerSettings, Filth, is_due
from kspec.spec.storage.recovery import kept_snapshots, replay_from
from kspec.spec.storage.retention import (
    FOREVER,
    HIGH_WATERMARK,
    RetentionSettings,
    StoredLog,
    Tiering,
    deleted_to,
    expired,
    low_watermark,
)
from kspec.spec.storage.segments import Segment, SegmentSettings, append, new_segment

NOW = 1_000


def segment(base_offset: int) -> Segment:
    """A segment of ten offsets and 100 bytes, whose records are as old as their offsets."""
    settings = SegmentSettings()
    batch = Batch(base_offset, base_offset + 9, size=100, max_timestamp=base_offset)
    return append(new_segment(base_offset, settings), [batch], settings)


LOG = StoredLog([segment(0), segment(10), segment(20)], start=0, end=30, high_watermark=30)


def bases(segments: Sequence[Segment]) -> list[int]:
    return [one.base_offset for one in segments]


# -- remote storage -------------------------------------------------------------------------------

LOCAL = RetentionSettings(
    retention_ms=FOREVER, local_retention_ms=FOREVER, local_retention_bytes=100
)
"""One segment of three is to stay on the local disk."""


@pytest.mark.parametrize(
    ("tiering", "deleted"),
    [
        (Tiering(highest_remote_offset=-1), []),
        (Tiering(highest_remote_offset=8), []),
        (Tiering(highest_remote_offset=9), [0]),
        (Tiering(highest_remote_offset=19), [0, 10]),
        (Tiering(highest_remote_offset=29), [0, 10]),
        (Tiering(highest_remote_offset=29, copy_disabled=True), []),
        (Tiering(highest_remote_offset=-1, local_start=10), []),
        (None, []),
    ],
)
def test_a_local_segment_is_deleted_once_it_was_copied(
    tiering: Tiering | None, deleted: list[int]
) -> None:
    """Without copies, `retention.bytes` counts instead of `local.retention.bytes`."""
    log = attrs.evolve(LOG, tiering=tiering)
    assert bases(expired(log, LOCAL, NOW)) == deleted


def test_what_is_below_the_log_start_needs_no_copy() -> None:
    log = attrs.evolve(LOG, start=20, tiering=Tiering(local_start=10))
    assert bases(expired(log, LOCAL, NOW)) == [0, 10]


def test_local_retention_is_that_of_the_topic_unless_it_is_set() -> None:
    settings = RetentionSettings(retention_ms=985)
    assert bases(expired(LOG, settings, NOW)) == [0, 10]
    tiered = attrs.evolve(LOG, tiering=Tiering(highest_remote_offset=29))
    assert bases(expired(tiered, settings, NOW)) == [0, 10]
    shorter = attrs.evolve(settings, local_retention_ms=975)
    assert bases(expired(tiered, shorter, NOW)) == [0, 10, 20]
    assert bases(expired(LOG, shorter, NOW)) == [0, 10]


# -- DeleteRecords --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "start"),
    [(HIGH_WATERMARK, 20), (20, 20), (21, None), (-2, None), (5, 5), (3, 4), (0, 4)],
)
def test_delete_records_moves_the_log_start_up_to_the_high_watermark(
    offset: int, start: int | None
) -> None:
    assert deleted_to(offset, log_start=4, high_watermark=20) == start


def test_the_low_watermark_is_that_of_the_slowest_live_replica() -> None:
    assert low_watermark(7, []) == 7
    assert low_watermark(7, [(9, True), (5, True), (3, False)]) == 5
    assert low_watermark(7, [(9, True)]) == 7


# -- cleaning -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clean", "dirty", "delay", "due"),
    [
        (50, 50, 0, False),  # the ratio has to be exceeded
        (49, 51, 0, True),
        (99, 1, 0, False),
        (99, 1, 1, True),
        (100, 0, 1, False),
        (0, 0, 1, False),
    ],
)
def test_a_log_is_cleaned_if_it_is_dirty_enough_or_for_too_long(
    clean: int, dirty: int, delay: int, due: bool
) -> None:
    assert is_due(Filth(clean, dirty), delay, CleanerSettings()) == due


# -- producer snapshots ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("snapshots", "kept"),
    [
        ([0, 10, 20], [0, 10, 20]),
        ([10, 12, 20, 25], [10, 20, 25]),
        ([25, 27, 20], [20, 27]),
        ([12, 15], []),
        ([], []),
    ],
)
def test_a_broker_that_starts_keeps_a_snapshot_for_each_segment_and_the_latest(
    snapshots: list[int], kept: list[int]
) -> None:
    assert kept_snapshots(snapshots, [0, 10, 20]) == kept


def test_without_segments_the_latest_snapshot_is_kept() -> None:
    assert kept_snapshots([3, 5], []) == [5]


@pytest.mark.parametrize(
    ("snapshots", "start"), [([], 4), ([4], 4), ([4, 5, 9], 9), ([5, 20], 20), ([5, 21], 5)]
)
def test_producers_are_rebuilt_from_the_latest_snapshot_within_the_log(
    snapshots: list[int], start: int
) -> None:
    assert replay_from(snapshots, log_start=4, log_end=20) == start
