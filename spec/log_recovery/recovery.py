"""The start of a broker: it uses the files as they are, or recovers the log."""

from __future__ import annotations

from itertools import takewhile

from kspec.spec.core import Step, evolve, rule
from kspec.spec.log_recovery.state import Memory, Segments, StoredLog, holding


@rule(by="broker")
def broker_starts_after_shutdown(s: StoredLog) -> Step[StoredLog]:
    """After a clean shutdown the broker uses the files as they are.

    It removes `.kafka_cleanshutdown` first, so that a later crash is not mistaken for a clean
    shutdown (KAFKA-10471). Kafka: `LogManager.loadLogs`, `LogLoader.recoverLog`.
    """
    yield "broker is down", s.memory is None
    yield "shutdown was clean", s.is_clean
    return evolve(s, memory=Memory(s.end, s.epoch_file), is_clean=False)


@rule(by="broker")
def broker_recovers_log(s: StoredLog) -> Step[StoredLog]:
    """After a crash the broker reads every batch from the segment of the recovery point on.

    It truncates the log at the first invalid batch, and rebuilds the indexes of the segments that
    it reads. The recovery point stays, since nothing was flushed. The leader-epoch cache loses the
    epochs that begin at the log end or above. Kafka: `LogLoader.recoverLog`,
    `LogSegment.recover`. Simplification: recovery is one step; a crash during it counts as a crash
    before it.
    """
    yield "broker is down", s.memory is None
    yield "shutdown was not clean", not s.is_clean
    s = evolve(s, segments=recovered(s.segments, s.recovery_file))
    cache = s.epoch_file.truncate_from_end(s.end)
    return evolve(s, memory=Memory(min(s.recovery_file, s.end), cache), epoch_file=cache)


def recovered(segments: Segments, recovery_point: int) -> Segments:
    """The segments, up to the first invalid batch at or after the recovery point."""
    first = holding(segments, recovery_point)
    kept = list(segments[:first])
    for segment in segments[first:]:
        read = segment.rebuild(takewhile(lambda batch: batch.is_valid, segment.batches))
        kept.append(read)
        if len(read.batches) < len(segment.batches):
            break
    return tuple(kept)


RULES = (broker_starts_after_shutdown, broker_recovers_log)
