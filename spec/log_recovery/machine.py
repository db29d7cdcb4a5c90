"""Failures: the process ends, or the machine loses power."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, present, rule
from kspec.spec.log_recovery.state import (
    SegmentFiles,
    Segments,
    StoredBatch,
    StoredLog,
    kept_ends,
)

BOTH = (False, True)


@rule(by="machine")
def process_crashes(s: StoredLog) -> Step[StoredLog]:
    """The broker's process ends without a shutdown; the operating system still writes its files.

    Kafka: `LogLoader.recoverLog` recovers the log at the restart.
    """
    yield from present("broker is running", s.memory)
    yield limit("a crash remains"), s.crashes < s.bounds.crashes
    return evolve(s, memory=None, crashes=s.crashes + 1)


@rule(by="machine", end=kept_ends, torn=lambda s: BOTH)
def machine_loses_power(s: StoredLog, end: int, torn: bool) -> Step[StoredLog]:
    """The machine loses power, and the unflushed batches from `end` on are lost.

    Part of the first lost batch may be left. Kafka: `LogLoader.recoverLog` keeps what is on disk.
    Simplification: files are written in the order of their offsets (but see `segments-apart`),
    checkpoints are flushed when they are written, and index entries survive, which is worse than
    losing them.
    """
    yield from present("broker is running", s.memory)
    yield limit("a crash remains"), s.crashes < s.bounds.crashes
    segments = after_power_loss(s.segments, end, torn)
    yield "power loss takes a batch, or none is torn", not torn or segments != s.segments
    return evolve(s, segments=segments, memory=None, crashes=s.crashes + 1)


def after_power_loss(segments: Segments, end: int, torn: bool) -> Segments:
    """The segments without the unflushed batches from `end` on, or with part of the first of them.

    A segment with no batch left is gone, except for the first segment.
    """
    left = []
    for segment in segments:
        kept, lost = parted(segment, end)
        if lost and torn:
            kept = evolve(kept, batches=(*kept.batches, evolve(lost, is_valid=False)))
            torn = False
        if kept.batches or segment.base_offset == 0:
            left.append(kept.flush())
    return tuple(left)


def parted(segment: SegmentFiles, end: int) -> tuple[SegmentFiles, StoredBatch | None]:
    """The part of a segment that is kept, and the first batch that is lost."""
    below = sum(batch.base_offset < end for batch in segment.batches)
    count = max(segment.flushed, below)
    lost = segment.batches[count] if count < len(segment.batches) else None
    return segment.keep(count), lost


RULES = (process_crashes, machine_loses_power)
