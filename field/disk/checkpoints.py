"""Checkpoints against the log: leader epochs, and offsets that should be within the log."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from kspec.field.disk.batches import Continuity, EpochStart
from kspec.field.disk.folders import LogDirectory, read_if_there, read_small
from kspec.field.disk.problems import Problems
from kspec.spec.leader_epochs import EpochEntry
from kspec.spec.storage.checkpoints import read_leader_epochs, read_topic_id
from kspec.spec.vocabulary import TopicPartition

LEADER_EPOCHS = "leader-epoch-checkpoint"
METADATA = "partition.metadata"


def read_epochs(folder: Path, problems: Problems) -> tuple[EpochEntry, ...] | None:
    """The leader epochs of a partition's checkpoint; None if there is none to compare."""
    file = folder / LEADER_EPOCHS
    entries = read_if_there(file, read_leader_epochs, problems)
    for number, (one, other) in enumerate(pairwise(entries or ()), 1):
        if other.epoch <= one.epoch or other.start <= one.start:
            position = position_of(read_small(file), number)
            text_ = f"epoch {other.epoch} from {other.start} follows epoch {one.epoch}"
            problems.add(file, position, f"{text_} from {one.start}")
            return None
    return entries


def position_of(text: str, entry: int) -> int:
    """The byte at which an entry of a checkpoint begins."""
    return sum(len(line.encode()) for line in text.splitlines(keepends=True)[: entry + 2])


def check_epochs(
    folder: Path, entries: tuple[EpochEntry, ...], log: Continuity, problems: Problems
) -> None:
    """Compare the checkpoint with the epochs of the batches.

    The first batch of an epoch is at the epoch's start, unless compaction removed it. An epoch in
    which nothing was written has an entry, but no batch.
    """
    file = folder / LEADER_EPOCHS
    text = read_small(file)
    by_epoch = {entry.epoch: (number, entry) for number, entry in enumerate(entries)}
    for found in log.epochs:
        number, entry = by_epoch.get(found.epoch, (-1, None))
        if entry is None:
            says = f"leader epoch {found.epoch} begins here, at offset {found.offset}"
            problems.add(found.file, found.position, f"{says}, but is not in {LEADER_EPOCHS}")
        elif not earliest(found, log) <= entry.start <= found.offset:
            says = f"epoch {entry.epoch} starts at {entry.start}, but in the log at {found.offset}"
            problems.add(file, position_of(text, number), says)
    for number, entry in enumerate(entries):
        if entry.start > log.end:
            says = f"epoch {entry.epoch} starts at {entry.start}, beyond the end {log.end}"
            problems.add(file, position_of(text, number), says)


def earliest(found: EpochStart, log: Continuity) -> int:
    """The lowest start that an epoch may have, if its first batch in the log is this one."""
    if found is log.epochs[0]:
        return 0  # its first records may have been deleted
    return found.after if log.may_be_compacted else found.offset


def check_topic_id(folder: Path, problems: Problems) -> str | None:
    """The topic id of a partition, where it has one."""
    return read_if_there(folder / METADATA, read_topic_id, problems)


def check_offsets(
    directory: LogDirectory, name: TopicPartition, log: Continuity, problems: Problems
) -> None:
    """Report offsets of the log directory's checkpoints that are beyond the end of the log."""
    for file, what, offsets in (
        ("replication-offset-checkpoint", "the high watermark", directory.high_watermarks),
        ("recovery-point-offset-checkpoint", "the recovery point", directory.recovery_points),
        ("log-start-offset-checkpoint", "the log start offset", directory.log_starts),
    ):
        offset = offsets.get(name)
        if offset is not None and offset > log.end:
            path = directory.path / file
            says = f"{what} of {name} is {offset}, beyond the end {log.end}"
            problems.add(path, line_of(path, name), says)


def line_of(file: Path, name: TopicPartition) -> int:
    """The byte at which the line of a partition begins."""
    position = 0
    for line in read_small(file).splitlines(keepends=True):
        if line.split()[:2] == [name.topic, str(name.partition)]:
            return position
        position += len(line.encode())
    return 0
