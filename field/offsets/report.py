"""Everything that was read of `__consumer_offsets`, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import attrs

from kspec.field.disk.checkpoints import METADATA
from kspec.field.disk.folders import (
    NAME,
    LogDirectory,
    PartitionFolder,
    children,
    find_partitions,
    is_segment,
    read_small,
)
from kspec.field.disk.problems import Problem
from kspec.field.offsets.entries import Entry
from kspec.field.offsets.formatters import read_formatted
from kspec.field.offsets.groups import Group, groups_of
from kspec.field.offsets.partition import OffsetsPartition, read_partition
from kspec.spec.core import SpecError
from kspec.spec.placement import OFFSETS_PARTITIONS, group_partition
from kspec.spec.storage.checkpoints import read_topic_id
from kspec.spec.storage.varint import Malformed

OFFSETS_TOPIC = "__consumer_offsets"
LONGEST_TRANSACTION_MS = 15 * 60 * 1000
"""The longest timeout that a broker allows a transaction (`transaction.max.timeout.ms`)."""

UNCOMMITTED = (
    "offsets of aborted and of open transactions are among these, unless the console consumer had "
    "--isolation-level read_committed"
)
"""What text does not tell."""


@attrs.frozen
class OffsetsReport:
    """What was found."""

    now: int
    """The time to which it refers, in milliseconds."""
    retention_ms: int
    """How long offsets are kept."""
    offsets_partitions: int
    """How many partitions the topic has."""
    groups: list[Group]
    """The groups, by name."""
    partitions: list[OffsetsPartition]
    """The partitions, by number; none for printed text."""
    skipped: list[Path]
    """The folders of other replicas of these partitions, which were not read."""
    problems: list[Problem]
    """What is wrong."""
    notes: list[str]
    """What the reader should know."""

    @property
    def more_problems(self) -> int:
        """How many problems of partitions are not listed."""
        return sum(partition.more_problems for partition in self.partitions)

    def to_json(self) -> dict[str, object]:
        """The report, for a machine."""
        return {
            "now": self.now,
            "retention_minutes": self.retention_ms // 60_000,
            "offsets_partitions": self.offsets_partitions,
            "groups": [group.to_json(self.now) for group in self.groups],
            "partitions": [partition.to_json() for partition in self.partitions],
            "skipped": [str(path) for path in self.skipped],
            "problems": [attrs.asdict(problem) for problem in self.problems],
            "more_problems": self.more_problems,
            "notes": self.notes,
        }


@attrs.frozen
class Content:
    """What was read."""

    entries: list[Entry] = attrs.field(factory=list)
    """The latest record of each key that counts."""
    pending: list[Entry] = attrs.field(factory=list)
    """The commits of open transactions."""
    topics: dict[str, str] = attrs.field(factory=dict)
    """The names of topic ids."""
    has_groups: bool = True
    """Whether the records of groups were read, not offsets alone."""
    partitions: list[OffsetsPartition] = attrs.field(factory=list)
    """The partitions; none for printed text."""
    skipped: list[Path] = attrs.field(factory=list)
    """The folders of other replicas."""
    problems: list[Problem] = attrs.field(factory=list)
    """What is wrong."""
    notes: list[str] = attrs.field(factory=list)
    """What the reader should know."""


def report_offsets(
    paths: Sequence[Path],
    now: int,
    retention_ms: int,
    offsets_partitions: int | None = None,
    only: str | None = None,
    counted: Callable[[list[PartitionFolder]], Iterable[PartitionFolder]] = iter,
) -> OffsetsReport:
    """Read folders or printed text; `only` limits the groups of the report to one."""
    folders = [path for path in paths if path.is_dir()]
    if folders and len(folders) < len(paths):
        raise SpecError("name folders or files that Kafka's formatters wrote, not both")
    content = read_folders(folders, now, counted) if folders else read_text(paths)
    partitions = content.partitions
    groups = groups_of(
        content.entries,
        content.pending,
        retention_ms,
        content.topics,
        has_groups=content.has_groups,
    )
    number = count_partitions(groups, partitions, offsets_partitions)
    problems = [*content.problems, *misplaced(groups, partitions, number)]
    problems += [problem for one in partitions for problem in standstill(one, now)]
    if only is not None:
        groups = [group for group in groups if group.name == only]
        if not groups:
            raise SpecError(f"no group {only!r:.100} among the records that were read")
    return OffsetsReport(
        now, retention_ms, number, groups, partitions, content.skipped, problems, content.notes
    )


def read_text(files: Sequence[Path]) -> Content:
    """What is in text that Kafka's formatters printed, each file after the one before."""
    for file in files:
        if file.suffix == ".log":
            raise SpecError(f"{file} is a segment: name its folder")
    entries, problems = read_formatted(files)
    types = {entry.record.type for entry in entries}
    notes = [UNCOMMITTED] if types & {0, 1} else []
    return Content(
        entries, has_groups=any(kind > 1 for kind in types), problems=problems, notes=notes
    )


def read_folders(
    folders: Sequence[Path],
    now: int,
    counted: Callable[[list[PartitionFolder]], Iterable[PartitionFolder]],
) -> Content:
    """What is in the partitions of these folders."""
    directories, found = find_offsets(folders)
    chosen, skipped = choose_replicas(found)
    partitions = [read_partition(folder, now) for folder in counted(chosen)]
    problems = [problem for directory in directories for problem in directory.problems]
    problems += [problem for partition in partitions for problem in partition.problems]
    return Content(
        [entry for one in partitions for entry in one.entries],
        [entry for one in partitions for entry in one.pending],
        topics_in(directories),
        True,
        partitions,
        skipped,
        problems,
        [f"{path} was not read: another replica reaches further" for path in skipped],
    )


def topics_in(directories: Iterable[LogDirectory]) -> dict[str, str]:
    """The names of topic ids, from `partition.metadata` of all partitions in log directories."""
    names = {}
    for directory in directories:
        for file in sorted(directory.path.glob(f"*/{METADATA}")):
            with suppress(Malformed):  # what kspec log reports
                if match := NAME.fullmatch(file.parent.name):
                    names[read_topic_id(read_small(file))] = match[1]
    return names


def find_offsets(folders: Sequence[Path]) -> tuple[list[LogDirectory], list[PartitionFolder]]:
    """The partitions of the topic in these folders."""
    directories, found = find_partitions(folders)
    of_topic = [folder for folder in found if folder.name.topic == OFFSETS_TOPIC]
    if not of_topic:
        names = ", ".join(map(str, folders))
        raise SpecError(f"no partition of {OFFSETS_TOPIC} in {names}")
    return directories, of_topic


def choose_replicas(found: Sequence[PartitionFolder]) -> tuple[list[PartitionFolder], list[Path]]:
    """Of each partition the replica whose log reaches furthest, and the folders of the others."""

    def reach(folder: PartitionFolder) -> tuple[str, int]:
        last = max(path for path in children(folder.path) if is_segment(path))
        return last.name, last.stat().st_size

    chosen: dict[int, PartitionFolder] = {}
    for folder in found:
        number = folder.name.partition
        if number not in chosen or reach(folder) > reach(chosen[number]):
            chosen[number] = folder
    kept = [chosen[number] for number in sorted(chosen)]
    return kept, [folder.path for folder in found if folder not in kept]


def count_partitions(
    groups: Sequence[Group], partitions: Sequence[OffsetsPartition], given: int | None
) -> int:
    """How many partitions the topic has: as given, or 50.

    Or, if no group is where it is with 50, and all are where they are with as many as there are
    folders, that number: a cluster for development often has fewer.
    """
    here = max((one.folder.name.partition for one in partitions), default=0) + 1
    if given is not None:
        if here > given:
            raise SpecError(f"there is a partition {here - 1}, so the topic has more than {given}")
        return given
    placed = [group for group in groups if group.partition is not None]
    if any(group_partition(group.name) == group.partition for group in placed):
        return max(here, OFFSETS_PARTITIONS)
    fits = all(group_partition(group.name, here) == group.partition for group in placed)
    is_small = len(placed) > 1 and here == len(partitions)
    return here if here > OFFSETS_PARTITIONS or (fits and is_small) else OFFSETS_PARTITIONS


def misplaced(
    groups: Sequence[Group], partitions: Sequence[OffsetsPartition], number: int
) -> Iterator[Problem]:
    """Groups in a partition whose leader is not their coordinator, which never reads them."""
    paths = {one.folder.name.partition: str(one.folder.path) for one in partitions}
    for group in groups:
        if group.partition is None:
            continue
        right = group_partition(group.name, number)
        if right != group.partition:
            says = f"group {group.name} belongs in partition {right} of {number}, and its "
            says += "coordinator does not read it here (--partitions sets the number)"
            yield Problem(paths[group.partition], 0, says)


def standstill(partition: OffsetsPartition, now: int) -> Iterator[Problem]:
    """A cleaner that does not clean, and transactions that do not end."""
    path, status = str(partition.folder.path), partition.cleaner
    if status.is_behind and status.due_since is not None:
        hours = (now - status.due_since) // 3_600_000
        says = f"the log has been due for cleaning for {hours} h, and {status.dirty_ratio:.0%} of "
        yield Problem(path, 0, says + "it is dirty: is the log cleaner dead?")
    for one in partition.open_transactions:
        if now - one.since > LONGEST_TRANSACTION_MS:
            minutes = (now - one.since) // 60_000
            says = f"the transaction of producer {one.producer_id} has been open since offset "
            says += f"{one.first_offset}, for {minutes} minutes: it holds back the last stable "
            held = "offset, and cleaning that is due" if status.is_held_by_transaction else "offset"
            yield Problem(path, 0, says + held)
