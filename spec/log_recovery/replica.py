"""A running broker: it appends, rolls, truncates, flushes and writes checkpoints."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, present, rule
from kspec.spec.log_recovery.state import (
    SegmentFiles,
    StoredBatch,
    StoredLog,
    batch_offsets,
    batches,
    counts,
    ends,
    epochs,
    flushed_end,
    holding,
)

# -- appends and truncation -----------------------------------------------------------------------


@rule(by="replica", epoch=epochs, records=counts)
def replica_appends(s: StoredLog, epoch: int, records: int) -> Step[StoredLog]:
    """A leader appends a producer's batch, or a follower appends one of the leader's.

    The log rolls first if the active segment is full. A new leader epoch is written to
    `leader-epoch-checkpoint` at once. Kafka: `UnifiedLog.append`, `LogSegment.append`,
    `LeaderEpochFileCache.assign`.
    """
    memory = yield from present("broker is running", s.memory)
    last = max((batch.epoch for batch in batches(s.segments)), default=-1)
    yield "leader epoch is not below that of the last batch", epoch >= last
    yield limit("log has room"), s.end + records <= s.bounds.offsets
    batch = StoredBatch(s.end, s.end + records - 1, epoch)
    cache = memory.epochs.assign(epoch, s.end)
    if cache != memory.epochs:
        s = evolve(s, epoch_file=cache)
    if len(s.segments[-1].batches) >= s.bounds.segment_batches:
        s = evolve(s, segments=(*s.segments, SegmentFiles(s.end)))
    return s.with_active(s.segments[-1].append(batch)).with_memory(epochs=cache)


@rule(by="replica", offset=batch_offsets)
def replica_truncates(s: StoredLog, offset: int) -> Step[StoredLog]:
    """A follower truncates its log to an offset from which it diverges from the leader.

    It truncates index, leader-epoch cache and recovery point as well, and writes the checkpoints.
    Kafka: `LogManager.truncateTo`, `UnifiedLog.truncateTo`. Simplification: truncated batches do
    not come back after a power loss, and no truncation is to an offset within a batch.
    """
    memory = yield from present("broker is running", s.memory)
    cache = memory.epochs.truncate_from_end(offset)
    cut = truncated(s, offset)
    return evolve(cut.with_memory(epochs=cache), epoch_file=cache)


def truncated(s: StoredLog, offset: int) -> StoredLog:
    """The log without the batches from an offset on, and with its recovery point within it."""
    memory = s.memory
    assert memory is not None, "the guard holds"
    kept = tuple(segment for segment in s.segments if segment.base_offset <= offset)
    active = kept[-1].keep(sum(b.base_offset < offset for b in kept[-1].batches))
    index = tuple(entry for entry in active.index if entry.offset < offset)
    point = min(memory.recovery_point, offset)
    s = evolve(s, segments=kept).with_active(evolve(active, index=index))
    s = evolve(s, recovery_file=point, durable=min(s.durable, offset))
    return s.with_memory(recovery_point=point)


# -- flushes and checkpoints ----------------------------------------------------------------------


@rule(by="replica", offset=ends)
def log_flushes(s: StoredLog, offset: int) -> Step[StoredLog]:
    """The segments from the recovery point to an offset are flushed: after a roll, or periodically.

    The recovery point advances once all of them are on disk. Kafka: `UnifiedLog.flush`, by the
    scheduler; `LocalLog.flush`, `markFlushed`.
    """
    memory = yield from present("broker is running", s.memory)
    yield "offset is above the recovery point", offset > memory.recovery_point
    return with_flushed(s, offset).with_memory(recovery_point=offset)


def with_flushed(s: StoredLog, offset: int) -> StoredLog:
    """The segments from the recovery point up to an offset are on disk."""
    assert s.memory is not None, "the guard holds"
    first = holding(s.segments, s.memory.recovery_point)
    segments = tuple(
        segment.flush() if index >= first and segment.base_offset < offset else segment
        for index, segment in enumerate(s.segments)
    )
    s = evolve(s, segments=segments)
    return evolve(s, durable=max(s.durable, flushed_end(s)))


@rule(by="replica")
def broker_writes_recovery_point(s: StoredLog) -> Step[StoredLog]:
    """The broker writes the recovery point to its checkpoint.

    Kafka: `LogManager.checkpointLogRecoveryOffsets`, every
    log.flush.offset.checkpoint.interval.ms (a minute).
    """
    memory = yield from present("broker is running", s.memory)
    yield "recovery point has changed", s.recovery_file != memory.recovery_point
    return evolve(s, recovery_file=memory.recovery_point)


@rule(by="replica")
def broker_shuts_down(s: StoredLog) -> Step[StoredLog]:
    """The broker flushes the log, and writes the checkpoints and `.kafka_cleanshutdown`.

    Kafka: `LogManager.shutdown`.
    """
    memory = yield from present("broker is running", s.memory)
    flushed = with_flushed(s, s.end)
    return evolve(
        flushed, recovery_file=s.end, epoch_file=memory.epochs, is_clean=True, memory=None
    )


RULES = (
    replica_appends,
    replica_truncates,
    log_flushes,
    broker_writes_recovery_point,
    broker_shuts_down,
)
