"""Which files belong to which broker, and in which order they were written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, tzinfo
from itertools import islice
from pathlib import Path

import attrs

from kspec.field.logs.layout import read_entry
from kspec.field.logs.lines import read_lines
from kspec.spec.core import SpecError

COMPRESSED = re.compile(r"\.(gz|bz2|xz)$")
ROLLED = re.compile(r"[.-](\d{4}-\d\d-\d\d(-\d\d)?(-\d+)?|\d+)(?=\.log$|$)")
NAMES = re.compile(
    r"^(server|state-change|controller|kafka-request|kafkaServer|kafka)[.-].*", re.IGNORECASE
)
"""Names of the logs that brokers write, in a folder that has others as well."""
FIRST_LINES = 50
"""The time of a file is looked for in so many of its first lines."""


@attrs.frozen
class LogFile:
    """A log file and what is known about it before it is read."""

    path: Path
    node: str = ""
    """The broker that wrote it, if an option or nothing but a folder's name says so."""

    @property
    def series(self) -> tuple[str, str, str]:
        """What a file shares with the others that it was rolled from."""
        name = ROLLED.sub("", COMPRESSED.sub("", self.path.name))
        return str(self.path.parent), name, self.node


def find_files(
    paths: Iterable[Path], brokers: Sequence[str], zone: tzinfo = UTC
) -> list[list[LogFile]]:
    """The series of files in folders and by name, each in the order in which it was written.

    `brokers` are `ID=FILE` from the command line.
    """
    files = [LogFile(path) for given in paths for path in inside(given)]
    for option in brokers:
        broker, equals, given = option.partition("=")
        if not equals or not broker or not given:
            raise SpecError(f"--broker takes ID=FILE, such as 1=broker1/server.log, not {option}")
        files += [LogFile(path, broker) for path in inside(Path(given))]
    series: dict[tuple[str, str, str], list[LogFile]] = {}
    for file in dict.fromkeys(files):
        series.setdefault(file.series, []).append(file)
    return [in_order(rolled, zone) for rolled in series.values()]


def inside(path: Path) -> list[Path]:
    """The file, or the logs of brokers in a folder and those below it."""
    if str(path) == "-" or not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and NAMES.match(file.name))
    logs = [file for file in found if ".log" in file.name]
    if not logs:
        raise SpecError(f"no broker's log is in {path}, such as server.log: name the files")
    return logs


def in_order(files: Sequence[LogFile], zone: tzinfo) -> list[LogFile]:
    """Rolled files, the oldest first: by their first times, which names do not always tell."""
    if len(files) == 1:
        return list(files)
    return sorted(files, key=lambda file: (first_time(file.path, zone), file.path.name))


def first_time(path: Path, zone: tzinfo) -> float:
    """The first time in a file; infinite if it has none."""
    for line in islice(read_lines(path), FIRST_LINES):
        time_ms = read_entry(line.text, zone).time_ms
        if time_ms is not None:
            return time_ms
    return float("inf")
