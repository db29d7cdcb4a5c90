"""The mutation baseline of `log-recovery`: its consistency invariants."""

from __future__ import annotations

from pathlib import Path

from kspec.spec.core import Baseline, Claims, always, reachable
from kspec.spec.log_recovery.state import StoredLog, batches, flushed_end, unflushed

# -- consistency invariants -------------------------------------------------------------------


@always
def SegmentsAreWellFormed(s: StoredLog) -> Claims:
    """Segments hold no more batches than fit, and no offset beyond the bounds; one begins at 0."""
    yield "segment 0", s.segments[0].base_offset == 0
    yield "log end", s.end <= s.bounds.offsets
    for segment in s.segments:
        count = len(segment.batches)
        yield f"segment {segment.base_offset}", count <= s.bounds.segment_batches
        yield f"segment {segment.base_offset}, flushed", 0 <= segment.flushed <= count


@always
def BatchesAreWellFormed(s: StoredLog) -> Claims:
    """Offsets and epochs ascend, and no batch has too many records."""
    found = batches(s.segments)
    for batch in found:
        place = f"batch at {batch.base_offset}"
        yield place, 1 <= batch.next_offset - batch.base_offset <= s.bounds.batch_records
        yield place, 0 <= batch.epoch < s.bounds.epochs
    epochs = [batch.epoch for batch in found]
    yield "log", epochs == sorted(epochs)


@always
def IndexHasEveryBatch(s: StoredLog) -> Claims:
    """The index of a running broker has an entry for every batch but the first of a segment."""
    if s.is_running:
        for segment in s.segments:
            wanted = [(b.last_offset, n) for n, b in enumerate(segment.batches)][1:]
            yield f"segment {segment.base_offset}, index", [*segment.index] == wanted


@always
def CheckpointsAreConsistent(s: StoredLog) -> Claims:
    """After a clean shutdown the log is on disk; a running broker's file has its epochs."""
    boundaries = [0, *(batch.next_offset for batch in batches(s.segments))]
    yield "checkpoints", s.recovery_file in boundaries
    if s.memory is None:
        yield "checkpoints, clean", not s.is_clean or s.recovery_file == s.end == flushed_end(s)
    else:
        yield "checkpoints, epochs", s.epoch_file == s.memory.epochs
        yield "checkpoints, clean", not s.is_clean
        yield "memory", s.recovery_file <= s.memory.recovery_point <= s.end


@always
def DurableIsFlushed(s: StoredLog) -> Claims:
    """The ghost variable counts exactly the flushed batches."""
    if s.memory is not None:
        yield "memory, durable", s.memory.recovery_point <= s.durable <= flushed_end(s)


@always
def PowerLossLeavesFlushedBatches(s: StoredLog) -> Claims:
    """After a power loss every remaining batch is on disk; entries of lost batches may remain."""
    if s.memory is None:
        for segment in s.segments:
            taken = len(segment.index) >= max(len(segment.batches), 1)
            yield f"segment {segment.base_offset}", not (taken and unflushed(s.segments))


@reachable
def FlushMovesRecoveryPoint(s: StoredLog) -> bool:
    """The recovery point can reach the log end before its checkpoint does."""
    return s.memory is not None and s.recovery_file < s.memory.recovery_point == s.end


@reachable
def ShutdownIsClean(s: StoredLog) -> bool:
    """The broker can shut down cleanly."""
    return s.is_clean


@reachable
def CrashLeavesUnflushedBatch(s: StoredLog) -> bool:
    """After a crash of the process, batches can be in the page cache only."""
    return s.memory is None and bool(unflushed(s.segments))


@reachable
def PowerLossTakesBatch(s: StoredLog) -> bool:
    """A power loss can take a whole batch, and leave its index entry."""
    whole = all(batch.is_valid for batch in batches(s.segments))
    return whole and any(len(x.index) >= max(len(x.batches), 1) for x in s.segments)


@reachable
def PowerLossTearsLastBatch(s: StoredLog) -> bool:
    """A power loss can leave part of the last batch of a full log."""
    full = s.end == s.bounds.offsets
    return full and not batches(s.segments)[-1].is_valid


@reachable
def PowerLossTakesSegment(s: StoredLog) -> bool:
    """A power loss can take the batch for which a full log rolled, and leave its leader epoch."""
    full = len(s.segments) == 1 and len(s.segments[0].batches) == s.bounds.segment_batches
    return (
        full and s.memory is None and s.epoch_file.epoch_at(s.end - 1) != s.epoch_file.latest_epoch
    )


@reachable
def RecoveryPointBehindFlush(s: StoredLog) -> bool:
    """A broker that has recovered can have a recovery point from before the last flush."""
    return s.memory is not None and s.memory.recovery_point < s.durable


BASELINE = Baseline(
    invariants=(
        SegmentsAreWellFormed,
        BatchesAreWellFormed,
        IndexHasEveryBatch,
        CheckpointsAreConsistent,
        DurableIsFlushed,
        PowerLossLeavesFlushedBatches,
        FlushMovesRecoveryPoint,
        ShutdownIsClean,
        CrashLeavesUnflushedBatch,
        PowerLossTakesBatch,
        PowerLossTearsLastBatch,
        PowerLossTakesSegment,
        RecoveryPointBehindFlush,
    ),
    mutants=Path(__file__).with_name("mutants.toml"),
)
