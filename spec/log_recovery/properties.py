"""The purpose of recovery: flushed batches survive, and batches that are served are whole."""

from __future__ import annotations

from itertools import pairwise

from kspec.spec.core import Claims, always, reachable
from kspec.spec.log_recovery.state import StoredLog, batches, unflushed


def place_of(offset: int) -> str:
    """The name of a batch in the log, in verdicts and pictures."""
    return f"batch at {offset}"


@always
def ServedBatchesAreValid(s: StoredLog) -> Claims:
    """The log of a running broker has no torn batch."""
    if s.is_running:
        for batch in batches(s.segments):
            yield place_of(batch.base_offset), batch.is_valid


@always
def LogHasNoHole(s: StoredLog) -> Claims:
    """Each batch of a running broker begins where the one before it ends.

    So do segments. Compaction, which leaves holes, is not modelled.
    """
    if s.is_running:
        for one, other in pairwise(batches(s.segments)):
            yield place_of(other.base_offset), one.next_offset == other.base_offset
        for segment, after in pairwise(s.segments):
            yield f"segment {after.base_offset}", segment.next_offset == after.base_offset


@always
def FlushedBatchesSurvive(s: StoredLog) -> Claims:
    """The log of a running broker has every batch that was flushed and not truncated."""
    if s.is_running:
        yield "log end", s.durable <= s.end


@always
def RecoveryPointWithinFlushed(s: StoredLog) -> Claims:
    """Every batch below the recovery point, in memory and in its checkpoint, is flushed."""
    for batch in unflushed(s.segments):
        yield "checkpoints", batch.base_offset >= s.recovery_file
        if s.memory is not None:
            yield "memory", batch.base_offset >= s.memory.recovery_point


@always
def LookupFindsBatch(s: StoredLog) -> Claims:
    """A look-up in the offset index finds the batch of each offset in the log."""
    if s.is_running:
        for segment in s.segments:
            for batch in segment.batches:
                for offset in range(batch.base_offset, batch.next_offset):
                    found = segment.lookup(offset)
                    yield place_of(batch.base_offset), found is not None and found == batch


@always
def EpochCacheMatchesLog(s: StoredLog) -> Claims:
    """The leader-epoch cache has the epoch of each batch.

    Otherwise the replica answers or truncates by a wrong end offset of an epoch.
    """
    if s.memory is not None:
        for batch in batches(s.segments):
            cached = s.memory.epochs.epoch_at(batch.base_offset)
            yield place_of(batch.base_offset), cached == batch.epoch


@reachable
def RecoveryCutsTornBatch(s: StoredLog) -> bool:
    """A power loss can leave a torn batch for recovery to remove."""
    return not s.is_running and not all(batch.is_valid for batch in batches(s.segments))


PROPERTIES = (
    ServedBatchesAreValid,
    LogHasNoHole,
    FlushedBatchesSurvive,
    RecoveryPointWithinFlushed,
    LookupFindsBatch,
    EpochCacheMatchesLog,
)
