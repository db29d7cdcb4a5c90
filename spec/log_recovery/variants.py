"""The variants: versions of Kafka, faults that it had, and faults that its recovery avoids."""

from __future__ import annotations

from kspec.spec.core import Step, Variant, Violated, evolve, limit, present, rule
from kspec.spec.log_recovery import machine, recovery, replica
from kspec.spec.log_recovery.state import (
    Memory,
    Segments,
    StoredLog,
    batch_offsets,
    ends,
    holding,
    kept_ends,
)

KAFKA_2_8 = Variant(
    "kafka-2.8",
    rules=(*replica.RULES, *machine.RULES, *recovery.RULES),
    why=(
        "Kafka from 2.8 to 3.6. After a crash, every segment that may not be on disk is read, and "
        "only flushed data is trusted (KAFKA-10101, KAFKA-10471)."
    ),
)

# -- leader epochs --------------------------------------------------------------------------------


@rule(by="replica", offset=batch_offsets)
def replica_truncates_and_writes_epochs_later(s: StoredLog, offset: int) -> Step[StoredLog]:
    """A follower truncates; `leader-epoch-checkpoint` is not yet written to disk.

    Kafka: `LeaderEpochFileCache.truncateFromEnd` (3.7.0), which leaves the file to the operating
    system, and `truncateFromEndAsyncFlush` (3.8.0), which leaves it to the scheduler.
    """
    memory = yield from present("broker is running", s.memory)
    cache = memory.epochs.truncate_from_end(offset)
    return replica.truncated(s, offset).with_memory(epochs=cache)


@rule(by="machine")
def process_crashes_with_epochs_written(s: StoredLog) -> Step[StoredLog]:
    """The process ends, and the operating system still writes the leader epochs.

    Kafka: `LeaderEpochCheckpointFile.write` without a flush (3.7.0).
    """
    memory = yield from present("broker is running", s.memory)
    yield limit("a crash remains"), s.crashes < s.bounds.crashes
    return evolve(s, epoch_file=memory.epochs, memory=None, crashes=s.crashes + 1)


@rule(by="scheduler")
def scheduler_writes_epochs(s: StoredLog) -> Step[StoredLog]:
    """The leader epochs are written to disk, some time after a truncation.

    Kafka: `LeaderEpochFileCache.writeIfDirExists`, by the scheduler (3.8.0); in 3.7.0 by the
    operating system.
    """
    memory = yield from present("broker is running", s.memory)
    yield "leader epochs have changed", s.epoch_file != memory.epochs
    return evolve(s, epoch_file=memory.epochs)


KAFKA_3_7 = KAFKA_2_8.derive(
    "kafka-3.7",
    replace={
        replica.replica_truncates: replica_truncates_and_writes_epochs_later,
        machine.process_crashes: process_crashes_with_epochs_written,
    },
    add=(scheduler_writes_epochs,),
    why=(
        "A truncation no longer flushes the leader epochs (KAFKA-15046). After a power loss a "
        "truncated epoch may return. Recovery removes it unless the log has grown past its start "
        "offset again, with batches of an older epoch."
    ),
    violates={
        "EpochCacheMatchesLog": Violated(states=7),
    },
)

KAFKA_3_8 = KAFKA_2_8.derive(
    "kafka-3.8",
    replace={replica.replica_truncates: replica_truncates_and_writes_epochs_later},
    add=(scheduler_writes_epochs,),
    why=(
        "The scheduler writes the leader epochs after a truncation (KAFKA-16541), since a file "
        "that was not flushed could be damaged. Now a crash of the process is enough to bring a "
        "truncated epoch back. Kafka 4.1 does the same."
    ),
    violates={
        "EpochCacheMatchesLog": Violated(states=7),
    },
)


@rule(by="replica", offset=batch_offsets)
def replica_truncates_but_keeps_epochs(s: StoredLog, offset: int) -> Step[StoredLog]:
    """A follower truncates its log, but not its leader-epoch cache.

    Not in Kafka: `UnifiedLog.truncateTo` truncates both.
    """
    yield from present("broker is running", s.memory)
    return replica.truncated(s, offset)


EPOCHS_NOT_TRUNCATED = KAFKA_2_8.derive(
    "epochs-not-truncated",
    replace={replica.replica_truncates: replica_truncates_but_keeps_epochs},
    why="The epoch of truncated batches stays, and is taken for the epoch of later batches.",
    violates={
        "EpochCacheMatchesLog": Violated(states=5),
    },
)


@rule(by="broker")
def broker_recovers_log_but_keeps_epochs(s: StoredLog) -> Step[StoredLog]:
    """After a crash the broker recovers the log, but not the leader-epoch cache.

    Not in Kafka: `LogLoader.load` truncates them to the log end.
    """
    yield "broker is down", s.memory is None
    yield "shutdown was not clean", not s.is_clean
    s = evolve(s, segments=recovery.recovered(s.segments, s.recovery_file))
    return evolve(s, memory=Memory(min(s.recovery_file, s.end), s.epoch_file))


EPOCHS_NOT_RECOVERED = KAFKA_2_8.derive(
    "epochs-not-recovered",
    replace={recovery.broker_recovers_log: broker_recovers_log_but_keeps_epochs},
    why=(
        "An epoch is written before its first batch. If a power loss takes the batch, the epoch "
        "must be removed as well, or it is taken for the epoch of the batches fetched in its place."
    ),
    violates={
        "EpochCacheMatchesLog": Violated(states=6),
    },
)

# -- indexes --------------------------------------------------------------------------------------


@rule(by="broker")
def broker_recovers_log_but_trusts_index(s: StoredLog) -> Step[StoredLog]:
    """After a crash the broker removes invalid batches, but does not rebuild the indexes.

    Not in Kafka: `LogSegment.recover` rebuilds them.
    """
    yield "broker is down", s.memory is None
    yield "shutdown was not clean", not s.is_clean
    found = {segment.base_offset: segment.index for segment in s.segments}
    segments = tuple(
        evolve(segment, index=found[segment.base_offset])
        for segment in recovery.recovered(s.segments, s.recovery_file)
    )
    s = evolve(s, segments=segments)
    cache = s.epoch_file.truncate_from_end(s.end)
    return evolve(s, memory=Memory(min(s.recovery_file, s.end), cache), epoch_file=cache)


INDEX_TRUSTED = KAFKA_2_8.derive(
    "index-trusted",
    replace={recovery.broker_recovers_log: broker_recovers_log_but_trusts_index},
    why=(
        "Log and index are separate files. The index entry of a batch may be on disk when the "
        "batch is not, and then points past the batch that takes its place."
    ),
    violates={
        "LookupFindsBatch": Violated(states=6),
    },
)


@rule(by="replica", offset=batch_offsets)
def replica_truncates_but_keeps_index(s: StoredLog, offset: int) -> Step[StoredLog]:
    """A follower truncates the log file, but not the index.

    Not in Kafka: `LogSegment.truncateTo` truncates both.
    """
    memory = yield from present("broker is running", s.memory)
    cache = memory.epochs.truncate_from_end(offset)
    cut = replica.truncated(s, offset)
    index = s.segments[len(cut.segments) - 1].index
    cut = cut.with_active(evolve(cut.segments[-1], index=index))
    return evolve(cut.with_memory(epochs=cache), epoch_file=cache)


INDEX_NOT_TRUNCATED = KAFKA_2_8.derive(
    "index-not-truncated",
    replace={replica.replica_truncates: replica_truncates_but_keeps_index},
    why="The index entry of a truncated batch points past a longer batch that takes its place.",
    violates={
        "LookupFindsBatch": Violated(states=5),
    },
)

# -- recovery points ------------------------------------------------------------------------------


@rule(by="broker")
def broker_recovers_log_and_moves_point(s: StoredLog) -> Step[StoredLog]:
    """After a crash the broker recovers the log, and moves the recovery point to its end.

    Kafka: `Log.recoverLog` (2.7.0).
    """
    yield "broker is down", s.memory is None
    yield "shutdown was not clean", not s.is_clean
    s = evolve(s, segments=recovery.recovered(s.segments, s.recovery_file))
    cache = s.epoch_file.truncate_from_end(s.end)
    return evolve(s, memory=Memory(s.end, cache), epoch_file=cache)


BEFORE_KAFKA_10101 = KAFKA_2_8.derive(
    "before-kafka-10101",
    replace={recovery.broker_recovers_log: broker_recovers_log_and_moves_point},
    why=(
        "Until Kafka 2.7 recovery moved the recovery point to the log end without a flush. A "
        "power loss could then leave a torn batch below it, where recovery does not look."
    ),
    violates={
        "RecoveryPointWithinFlushed": Violated(states=4),
        "LogHasNoHole": Violated(states=9),
        "ServedBatchesAreValid": Violated(states=10),
        "EpochCacheMatchesLog": Violated(states=11),
    },
)


@rule(by="replica", offset=ends)
def log_flushes_after_moving_point(s: StoredLog, offset: int) -> Step[StoredLog]:
    """The recovery point advances, and the segments are flushed later, or never.

    Not in Kafka: `UnifiedLog.flush` moves it last.
    """
    memory = yield from present("broker is running", s.memory)
    yield "offset is above the recovery point", offset > memory.recovery_point
    return s.with_memory(recovery_point=offset)


POINT_BEFORE_FLUSH = KAFKA_2_8.derive(
    "point-before-flush",
    replace={replica.log_flushes: log_flushes_after_moving_point},
    why="A recovery point ahead of the flush hides the damage of a power loss from recovery.",
    violates={
        "RecoveryPointWithinFlushed": Violated(states=3),
        "ServedBatchesAreValid": Violated(states=9),
        "LogHasNoHole": Violated(states=9),
        "EpochCacheMatchesLog": Violated(states=11),
        "FlushedBatchesSurvive": Violated(states=14),
    },
)


@rule(by="replica", offset=batch_offsets)
def replica_truncates_but_keeps_point(s: StoredLog, offset: int) -> Step[StoredLog]:
    """A follower truncates, and the recovery point stays above the log end.

    Not in Kafka: `LocalLog.updateLogEndOffset` lowers it.
    """
    memory = yield from present("broker is running", s.memory)
    cache = memory.epochs.truncate_from_end(offset)
    cut = evolve(replica.truncated(s, offset), recovery_file=s.recovery_file, epoch_file=cache)
    return cut.with_memory(epochs=cache, recovery_point=memory.recovery_point)


POINT_NOT_TRUNCATED = KAFKA_2_8.derive(
    "point-not-truncated",
    replace={replica.replica_truncates: replica_truncates_but_keeps_point},
    why="Batches that take the place of truncated ones count as flushed, but are not.",
    violates={
        "RecoveryPointWithinFlushed": Violated(states=5),
        "LogHasNoHole": Violated(states=10),
        "ServedBatchesAreValid": Violated(states=11),
        "EpochCacheMatchesLog": Violated(states=12),
        "FlushedBatchesSurvive": Violated(states=14),
    },
)


@rule(by="broker")
def broker_cuts_log_at_recovery_point(s: StoredLog) -> Step[StoredLog]:
    """After a crash the broker keeps only the batches below the recovery point.

    Not in Kafka: `LogLoader.recoverLog` keeps every valid batch.
    """
    yield "broker is down", s.memory is None
    yield "shutdown was not clean", not s.is_clean
    s = evolve(s, segments=cut_at(s.segments, s.recovery_file))
    cache = s.epoch_file.truncate_from_end(s.end)
    return evolve(s, memory=Memory(s.end, cache), epoch_file=cache)


def cut_at(segments: Segments, offset: int) -> Segments:
    """The segments without the batches from an offset on."""
    first = holding(segments, offset)
    kept = (batch for batch in segments[first].batches if batch.base_offset < offset)
    return (*segments[:first], segments[first].rebuild(kept).flush())


CUT_AT_RECOVERY_POINT = KAFKA_2_8.derive(
    "cut-at-recovery-point",
    replace={recovery.broker_recovers_log: broker_cuts_log_at_recovery_point},
    why="The checkpoint is older than the last flush, so this loses batches that were on disk.",
    violates={
        "FlushedBatchesSurvive": Violated(states=5),
    },
)

# -- shutdown and the file system -----------------------------------------------------------------


@rule(by="broker")
def broker_starts_and_keeps_clean_file(s: StoredLog) -> Step[StoredLog]:
    """After a clean shutdown the broker starts, and does not delete `.kafka_cleanshutdown`.

    Not in Kafka: `LogManager.loadLogs` deletes it; until 2.7 only once all logs were loaded, so
    that a crash before that counted as a clean shutdown (KAFKA-10471).
    """
    yield "broker is down", s.memory is None
    yield "shutdown was clean", s.is_clean
    return evolve(s, memory=Memory(s.end, s.epoch_file))


CLEAN_FILE_KEPT = KAFKA_2_8.derive(
    "clean-file-kept",
    replace={recovery.broker_starts_after_shutdown: broker_starts_and_keeps_clean_file},
    why="The next crash is taken for a clean shutdown, and damaged files are served.",
    violates={
        "ServedBatchesAreValid": Violated(states=6),
        "RecoveryPointWithinFlushed": Violated(states=6),
        "LookupFindsBatch": Violated(states=8),
        "EpochCacheMatchesLog": Violated(states=8),
        "LogHasNoHole": Violated(states=11),
    },
)


def segments_of(s: StoredLog) -> range:
    """The index of each segment."""
    return range(len(s.segments))


@rule(by="machine", end=kept_ends, segment=segments_of)
def machine_loses_end_of_segment(s: StoredLog, end: int, segment: int) -> Step[StoredLog]:
    """The machine loses power, and one file loses its end, while later files are whole.

    File systems do not guarantee the order in which two files reach the disk. Kafka:
    `LogLoader.recoverLog`, which does not compare the end of a segment with the next one.
    """
    yield from present("broker is running", s.memory)
    yield limit("a crash remains"), s.crashes < s.bounds.crashes
    kept, lost = machine.parted(s.segments[segment], end)
    yield "power loss takes a batch of the segment", lost is not None
    segments = (*s.segments[:segment], kept, *s.segments[segment + 1 :])
    flushed = tuple(files.flush() for files in segments)
    return evolve(s, segments=flushed, memory=None, crashes=s.crashes + 1)


SEGMENTS_APART = KAFKA_2_8.derive(
    "segments-apart",
    add=(machine_loses_end_of_segment,),
    why=(
        "A roll flushes the old segment in the background. If a power loss takes its end but not "
        "the next segment, every remaining batch is valid, and the log looks to recovery as if "
        "it were compacted."
    ),
    violates={
        "LogHasNoHole": Violated(states=6),
        "EpochCacheMatchesLog": Violated(states=8),
        "FlushedBatchesSurvive": Violated(states=10),
        "RecoveryPointWithinFlushed": Violated(states=11),
    },
)

VARIANTS = (
    KAFKA_2_8,
    KAFKA_3_7,
    KAFKA_3_8,
    EPOCHS_NOT_TRUNCATED,
    EPOCHS_NOT_RECOVERED,
    INDEX_TRUSTED,
    INDEX_NOT_TRUNCATED,
    BEFORE_KAFKA_10101,
    POINT_BEFORE_FLUSH,
    POINT_NOT_TRUNCATED,
    CUT_AT_RECOVERY_POINT,
    CLEAN_FILE_KEPT,
    SEGMENTS_APART,
)
