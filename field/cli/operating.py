"""What `kspec lag`, `kspec reset` and `kspec start` share: their sources, and options."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click

from kspec.checkers.cli.options import FILE, Parsed, all_of, number_option, option, reads, repeated
from kspec.field.groups.describe import parse_describe
from kspec.field.groups.groups import Group, chosen, from_json, with_starts
from kspec.field.groups.offsets import parse_offsets
from kspec.field.groups.times import parse_datetime, parse_duration, parse_rate
from kspec.spec.storage.retention import FOREVER, RetentionSettings
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.source import read_with

DURATION = Parsed("duration", parse_duration)
DATETIME = Parsed("datetime", parse_datetime)
RATE = Parsed("rate", parse_rate)
RETENTION = Parsed("duration", lambda text: FOREVER if text == "-1" else parse_duration(text))
"""A duration, or -1 for no limit."""


file_argument = click.argument("file", metavar="FILE", type=FILE)

group_option = repeated(
    "--group",
    "names",
    "Only this group, or the name of the group if the file has none. Repeatable.",
    metavar="G",
)

starts_option = reads(
    "--starts", "Log start offsets: the output of kafka-get-offsets --time earliest (or -2)."
)

retention_options = all_of(
    option(
        "--retention",
        "The topic's retention.ms, such as 7d; -1 for no limit.",
        type=RETENTION,
        metavar="D",
    ),
    number_option(
        "--retention-bytes",
        "The topic's retention.bytes; -1 for no limit. Needs --record-bytes.",
        low=-1,
        high=2**63 - 1,
    ),
    number_option("--record-bytes", "The mean size of a record on disk.", low=1, high=2**31 - 1),
)


def retention_of(
    retention: int | None, retention_bytes: int | None, record_bytes: int | None
) -> tuple[RetentionSettings | None, Fraction | None]:
    """The topic's retention, None if it is not given, and the mean size of a record."""
    if retention_bytes not in (None, FOREVER) and record_bytes is None:
        raise click.UsageError("--retention-bytes needs --record-bytes")
    size = None if record_bytes is None else Fraction(record_bytes)
    if retention is None and retention_bytes is None:
        return None, size
    settings = RetentionSettings(
        retention_ms=FOREVER if retention is None else retention,
        retention_bytes=FOREVER if retention_bytes is None else retention_bytes,
    )
    return settings, size


def read_groups(path: Path, starts: Path | None = None, names: Sequence[str] = ()) -> list[Group]:
    """The groups in a file, with the log start offsets of another one."""

    def parse(text: str) -> list[Group]:
        is_json = text.lstrip().startswith("{")
        return chosen(from_json(text) if is_json else parse_describe(text), names)

    if starts and "-" in (str(path), str(starts)) and str(path) == str(starts):
        raise click.UsageError("standard input can be read only once")
    return with_starts(read_with(path, parse), read_offsets(starts))


def read_offsets(path: Path | None) -> dict[TopicPartition, int | None]:
    """The offsets in a file of `kafka-get-offsets`; none without a file."""
    return {} if path is None else read_with(path, parse_offsets)
