"""What a broker makes of the files of a log when it starts.

After a clean shutdown everything was flushed and the files are taken as they are. Otherwise the
segments from the recovery point on are read batch by batch: the log ends before the first batch
that is not valid, and indexes are rebuilt. Segments below the recovery point were flushed, so
their indexes are trusted.

Kafka: `LogLoader`, `ProducerStateManager`. The model `log-recovery` has the same rules step by
step, with the crashes that make them necessary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.storage.segments import (
    Segment,
    SegmentSettings,
    new_segment,
    recover,
    reopened,
    with_room,
)


@attrs.frozen
class FoundLog:
    """The files of a log, as a broker finds them."""

    segments: tuple[Segment, ...]
    """The segments, oldest first."""
    recovery_point: int
    """`recovery-point-offset-checkpoint`: every offset below was flushed."""
    log_start: int
    """`log-start-offset-checkpoint`: no reader gets an offset below."""
    leader_epochs: LeaderEpochs = attrs.field(factory=LeaderEpochs)
    """`leader-epoch-checkpoint`."""
    had_clean_shutdown: bool = False
    """Whether `.kafka_cleanshutdown` was there."""


@attrs.frozen
class LoadedLog:
    """The log that the broker serves."""

    segments: tuple[Segment, ...]
    """The segments, oldest first; the last one is active."""
    log_start: int
    """The log start offset."""
    recovery_point: int
    """The recovery point: not beyond what was flushed (KAFKA-10101)."""
    end: int
    """The log end offset."""
    leader_epochs: LeaderEpochs
    """The leader-epoch cache."""


def load(found: FoundLog, settings: SegmentSettings, now: int = 0) -> LoadedLog:
    """The log after the broker has started. Kafka: `LogLoader.load`.

    A log whose end is below its log start offset lost files: it starts empty at that offset.
    """
    segments = tuple(reopened(segment, now) for segment in found.segments)
    epochs = found.leader_epochs
    if not found.had_clean_shutdown:
        segments = recovered(segments, found.recovery_point, settings, now)
        epochs = epochs_of(epochs, from_offset(segments, found.recovery_point))
    if segments and segments[-1].next_offset < found.log_start:
        segments, epochs = (), epochs.clear()
    if not segments:
        segments = (new_segment(found.log_start, settings, now),)
    segments = (*segments[:-1], with_room(segments[-1], settings))
    end = segments[-1].next_offset
    flushed = end if found.had_clean_shutdown else min(found.recovery_point, end)
    kept = epochs.truncate_from_end(end).truncate_from_start(found.log_start)
    log_start = max(found.log_start, segments[0].base_offset)
    return LoadedLog(
        segments,
        log_start=log_start,
        recovery_point=max(flushed, log_start),
        end=end,
        leader_epochs=kept,
    )


def from_offset(segments: Sequence[Segment], offset: int) -> tuple[Segment, ...]:
    """The segment that holds this offset, and those after it."""
    first = max((s.base_offset for s in segments if s.base_offset <= offset), default=-1)
    return tuple(segment for segment in segments if segment.base_offset >= first)


def recovered(
    segments: Sequence[Segment], recovery_point: int, settings: SegmentSettings, now: int = 0
) -> tuple[Segment, ...]:
    """The segments, up to the first batch from the recovery point on that is not valid.

    Recovery begins with the segment of the recovery point and ends with the first that it has to
    cut; segments after that one are deleted. Kafka: `LogLoader.recoverLog`.
    """
    unflushed = from_offset(segments, recovery_point)
    kept = list(segments[: len(segments) - len(unflushed)])
    for segment in unflushed:
        read = recover(segment, settings, now)
        kept.append(read)
        if read.size < segment.size:
            break
    return tuple(kept)


def epochs_of(epochs: LeaderEpochs, recovered: Iterable[Segment]) -> LeaderEpochs:
    """The leader-epoch cache with the later epochs that recovery reads in batches.

    Kafka: `LogSegment.recover` (for epoch 0 since 2.6.1, KAFKA-10432). An entry that the batches
    contradict stays, if it is within the log: see the variant `kafka-3.8` of `log-recovery`.
    """
    for segment in recovered:
        for batch in segment.batches:
            latest = epochs.latest_epoch
            if batch.leader_epoch >= 0 and (latest is None or batch.leader_epoch > latest):
                epochs = epochs.assign(batch.leader_epoch, batch.base_offset)
    return epochs


# -- producer snapshots ---------------------------------------------------------------------------


def kept_snapshots(snapshots: Iterable[int], base_offsets: Sequence[int]) -> list[int]:
    """The producer snapshots that a broker keeps when it starts, by their offsets.

    One at the base offset of each segment, from which that segment can be recovered; and the
    latest of all, if it is not below the active segment: the one of a clean shutdown. Kafka:
    `ProducerStateManager.removeStraySnapshots`.
    """
    found = sorted(snapshots)
    stray = [offset for offset in found if offset not in base_offsets][-1:]
    if stray and base_offsets and stray[0] < max(base_offsets):
        stray = []
    return [offset for offset in found if offset in base_offsets or offset in stray]


def replay_from(snapshots: Iterable[int], log_start: int, log_end: int) -> int:
    """The offset from which batches are read to rebuild the state of producers.

    The latest usable snapshot: those above the log end, or not above the log start, are deleted.
    Kafka: `ProducerStateManager.truncateAndReload`, `UnifiedLog.rebuildProducerState`.
    """
    return max((s for s in snapshots if log_start < s <= log_end), default=log_start)
