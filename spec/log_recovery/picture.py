"""The picture of `log-recovery`: memory, checkpoints, and each segment with its index."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Cell, Lane, Mark, Picture
from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.log_recovery.properties import place_of
from kspec.spec.log_recovery.state import SegmentFiles, StoredLog

WORDS = {
    "memory": "what the running broker knows; a crash takes it",
    "checkpoints": "the files beside the log, which are on disk as soon as they are written",
    "recovery point": "every offset below is taken for flushed",
    "epochs": "each leader epoch, and the offset at which it began",
    "0–1 e0": "a batch with the records at offsets 0 and 1, of leader epoch 0",
    "✗": "a part of a batch",
    "disk": "the batches before this mark survive a power loss",
    "index": "offsets and the positions at which a look-up begins to scan",
}


def picture(s: StoredLog, taken: Taken | None) -> Picture:
    """A lane for the memory, one for the checkpoints, and one for each segment."""
    return Picture(
        lanes=[memory_lane(s), checkpoint_lane(s), *map(segment_lane, s.segments)],
        arrows=arrows(taken) if taken else [],
        words=WORDS,
        colour="leader epoch",
    )


MESSAGES = {
    "broker_writes_recovery_point": ("memory", "checkpoints", "recovery point"),
    "scheduler_writes_epochs": ("memory", "checkpoints", "epochs"),
    "broker_shuts_down": ("memory", "checkpoints", "recovery point, clean shutdown"),
    "broker_starts_after_shutdown": ("checkpoints", "memory", "recovery point, epochs"),
    "broker_recovers_log": ("checkpoints", "memory", "recovery point, epochs"),
}
"""What is written to a checkpoint or read from one, by rule."""


def arrows(taken: Taken) -> list[Arrow]:
    """What this step writes to a checkpoint, or reads from one."""
    return [Arrow(*MESSAGES[taken.rule])] if taken.rule in MESSAGES else []


def memory_lane(s: StoredLog) -> Lane:
    """What the broker has in memory."""
    if s.memory is None:
        return Lane("memory", "down", {}, place="memory")
    facts = {"recovery point": str(s.memory.recovery_point), "epochs": epochs_of(s.memory.epochs)}
    return Lane("memory", "running", facts, place="memory")


def checkpoint_lane(s: StoredLog) -> Lane:
    """The checkpoint files."""
    facts = {"recovery point": str(s.recovery_file), "epochs": epochs_of(s.epoch_file)}
    if s.is_clean:
        facts["shutdown"] = "clean"
    return Lane("checkpoints", facts=facts, place="checkpoints")


def segment_lane(segment: SegmentFiles) -> Lane:
    """The batches of a segment, how far they are flushed, and the index."""
    cells = []
    for batch in segment.batches:
        span = str(batch.base_offset)
        if batch.last_offset > batch.base_offset:
            span += f"–{batch.last_offset}"
        text = f"{span} e{batch.epoch}" if batch.is_valid else f"{span} ✗"
        title = f"offsets {span}, leader epoch {batch.epoch}"
        cells.append(Cell(text, batch.epoch, place_of(batch.base_offset), title))
    name = f"segment {segment.base_offset}"
    entries = " ".join(f"{entry.offset}→{entry.position}" for entry in segment.index)
    facts = {"index": entries} if entries else {}
    return Lane(name, facts=facts, cells=cells, marks=[Mark("disk", segment.flushed)], place=name)


def epochs_of(cache: LeaderEpochs) -> str:
    """The leader epochs in a few characters."""
    return " ".join(f"{entry.epoch} from {entry.start}" for entry in cache.entries) or "–"
