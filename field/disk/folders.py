"""The partitions in a folder, and what the log directory around them says of each.

A broker keeps each partition in a folder `TOPIC-PARTITION` of a log directory, which also has the
checkpoints of all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import attrs

from kspec.field.disk.problems import Problem, Problems
from kspec.impl.storage.indexes import DamagedFile
from kspec.spec.consumer.subscription import INTERNAL_TOPICS
from kspec.spec.core import SpecError
from kspec.spec.storage.checkpoints import MetaProperties, read_meta_properties, read_offsets
from kspec.spec.storage.varint import Malformed
from kspec.spec.vocabulary import TopicPartition

NAME = re.compile(r"(.{1,249})-(0|[1-9][0-9]{0,9})")
"""The name of a partition's folder."""
SEGMENT = re.compile(r"[0-9]{20}\.log")
"""The name of a segment: its base offset."""
REMOVED_SEGMENT = re.compile(SEGMENT.pattern + r"\.deleted")
"""The name of a segment that Kafka removed from the log, and has yet to delete."""

MOST_TEXT = 2**26
"""The largest checkpoint that is read."""

T = TypeVar("T")


@attrs.frozen
class LogDirectory:
    """A log directory of a broker: what it says of its partitions."""

    path: Path
    """The folder."""
    meta: MetaProperties | None = None
    """The node that it belongs to."""
    high_watermarks: dict[TopicPartition, int] = attrs.field(factory=dict)
    """`replication-offset-checkpoint`."""
    recovery_points: dict[TopicPartition, int] = attrs.field(factory=dict)
    """`recovery-point-offset-checkpoint`."""
    log_starts: dict[TopicPartition, int] = attrs.field(factory=dict)
    """`log-start-offset-checkpoint`."""
    cleaned: dict[TopicPartition, int] | None = None
    """`cleaner-offset-checkpoint`: up to where the cleaner came; None if this is not known."""
    problems: tuple[Problem, ...] = ()
    """The checkpoints that cannot be read."""

    def to_json(self) -> dict[str, object]:
        """The directory, for a machine."""
        return {
            "directory": str(self.path),
            "node": self.meta.node if self.meta else None,
            "cluster": self.meta.cluster if self.meta else None,
            "problems": [attrs.asdict(problem) for problem in self.problems],
        }


@attrs.frozen
class PartitionFolder:
    """The folder of a partition."""

    path: Path
    """The folder."""
    name: TopicPartition
    """The partition."""
    directory: LogDirectory
    """The log directory that it is in."""

    @property
    def was_cleaned(self) -> bool | None:
        """Whether the partition was compacted; None if nothing says so.

        The cleaner writes its checkpoint after it has replaced segments, and a broker may be killed
        in between. The replaced segments are then still there, renamed, at offsets of the log;
        those that retention removed are below it.
        """
        cleaned = self.directory.cleaned
        if self.name.topic in INTERNAL_TOPICS or (cleaned and self.name in cleaned):
            return True
        names = [path.name for path in children(self.path)]
        replaced = [name for name in names if REMOVED_SEGMENT.fullmatch(name)]
        start = min(name for name in names if SEGMENT.fullmatch(name))
        return None if cleaned is None or max(replaced, default="") >= start else False


def find_partitions(folders: Iterable[Path]) -> tuple[list[LogDirectory], list[PartitionFolder]]:
    """The log directories and the partitions in these folders."""
    partitions: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise SpecError(f"{folder} is not a folder")
        found = [folder] if is_partition(folder) else sorted(filter(is_partition, children(folder)))
        if not found:
            raise SpecError(f"{folder} is not the folder of a partition, and contains none")
        partitions += found
    return with_directories(partitions)


def with_directories(
    partitions: Iterable[Path],
) -> tuple[list[LogDirectory], list[PartitionFolder]]:
    """The log directories around these partitions' folders, and each partition once."""
    directories: dict[Path, LogDirectory] = {}
    folders: dict[Path, PartitionFolder] = {}
    for path in partitions:
        parent = path.absolute().parent
        if parent not in directories:
            directories[parent] = read_directory(path.parent if path.name else parent)
        folders[path.absolute()] = PartitionFolder(path, name_of(path), directories[parent])
    return list(directories.values()), list(folders.values())


def children(folder: Path) -> list[Path]:
    """What is in a folder."""
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise SpecError(f"cannot read {folder}: {error.strerror}") from None


def is_partition(folder: Path) -> bool:
    """Whether a folder is named after a partition and has segments."""
    return bool(
        NAME.fullmatch(folder.absolute().name)
        and folder.is_dir()
        and any(is_segment(path) for path in children(folder))
    )


def is_segment(path: Path) -> bool:
    """Whether a path is named after the base offset of a segment."""
    return bool(SEGMENT.fullmatch(path.name)) and int(path.stem) < 2**63


def segments_of(folder: Path) -> list[Path]:
    """The segments of a partition's folder, in order."""
    segments = sorted(path for path in children(folder) if is_segment(path) and path.is_file())
    if not segments:
        raise SpecError(f"no segment in {folder} is a file")
    return segments


def name_of(folder: Path) -> TopicPartition:
    """The partition that a folder is named after."""
    match = NAME.fullmatch(folder.absolute().name)
    assert match, "such folders were chosen"
    return TopicPartition(match[1], int(match[2]))


def read_directory(path: Path) -> LogDirectory:
    """The checkpoints of a log directory; those that it lacks have no entries."""
    problems = Problems()

    def read(name: str, parse: Callable[[str], T]) -> T | None:
        return read_if_there(path / name, parse, problems)

    meta = read("meta.properties", read_meta_properties)
    cleaned = read("cleaner-offset-checkpoint", read_offsets)
    if cleaned is None and meta is not None:
        cleaned = {}  # a broker whose cleaner has never run
    return LogDirectory(
        path,
        meta,
        read("replication-offset-checkpoint", read_offsets) or {},
        read("recovery-point-offset-checkpoint", read_offsets) or {},
        read("log-start-offset-checkpoint", read_offsets) or {},
        cleaned,
        tuple(problems.kept),
    )


def read_if_there(file: Path, parse: Callable[[str], T], problems: Problems) -> T | None:
    """What a checkpoint says; None if there is none, or if it cannot be read."""
    return read_beside(file, lambda raw: parse(as_text(raw)), problems, MOST_TEXT)


def read_beside(file: Path, parse: Callable[[bytes], T], problems: Problems, most: int) -> T | None:
    """What a file beside a log has; None if there is none, or if it cannot be read."""
    if not file.is_file():
        return None
    try:
        return parse(read_bytes(file, most))
    except (DamagedFile, Malformed) as error:
        position = error.position if isinstance(error, DamagedFile) else 0
        problems.add(file, position, str(error))
        return None


def read_small(file: Path) -> str:
    """The text of a checkpoint."""
    return as_text(read_bytes(file, MOST_TEXT))


def as_text(raw: bytes) -> str:
    """Text in which a damaged character is replaced."""
    return raw.decode(errors="replace")


def read_bytes(file: Path, most: int) -> bytes:
    """The content of a file that is not larger than it should be."""
    try:
        if file.stat().st_size > most:
            raise Malformed(f"the file has more than {most} bytes")
        return file.read_bytes()
    except OSError as error:
        raise Malformed(f"cannot be read: {error.strerror}") from None
