"""The log cleaner: compaction, and the removal of tombstones."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, rule
from kspec.spec.offsets_topic.records import LogEntry, compact, hides, without
from kspec.spec.offsets_topic.state import Loading, OffsetsTopic, ends, tombstones


@rule(by="log", end=ends)
def cleaner_compacts_log(s: OffsetsTopic, end: int) -> Step[OffsetsTopic]:
    """Below some offset, only the latest entry of each key stays, tombstones included.

    Kafka: `Cleaner.doClean`. Simplification: compaction may reach the log end; Kafka leaves the
    active segment alone.
    """
    left = compact(s.log, end)
    yield "compaction removes a record", left != s.log
    return evolve(s, log=left)


@rule(by="log", entry=tombstones)
def cleaner_removes_tombstone(s: OffsetsTopic, entry: LogEntry) -> Step[OffsetsTopic]:
    """The cleaner removes a tombstone that hides nothing.

    Kafka: `Cleaner.shouldRetainRecord`, `delete.retention.ms` after the tombstone was first
    cleaned. Simplification: that time is taken to be long enough for a reader to pass it.
    """
    yield "tombstone hides no earlier record", not hides(s.log, entry)
    yield "no coordinator has yet to load it", not is_to_be_loaded(s, entry)
    return evolve(s, log=without(s.log, entry))


def is_to_be_loaded(s: OffsetsTopic, entry: LogEntry) -> bool:
    """Whether a coordinator has begun to load, and has not reached this entry."""
    return isinstance(s.coordinator, Loading) and 0 < s.coordinator.position <= entry.offset


RULES = (cleaner_compacts_log, cleaner_removes_tombstone)
