"""The output of `kafka-consumer-groups --describe`, of Kafka 2.0 to 4.x.

A table has the columns of its release. Its cells are padded to the width of the column, and may
have blanks inside, as group ids do; or they are separated by single blanks or tabs (`tr -s ' '`).
A row has to fit twice: by its cells, and by its lag, which is the end minus the commit. One that
was cut short does not. The last column, CLIENT-ID, is not used, so it may be cut.

Kafka: `ConsumerGroupCommand.ConsumerGroupService.printOffsets`, `shouldPrintMemberState`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from kspec.field.groups.groups import (
    LARGEST,
    LARGEST_INDEX,
    TOPIC,
    Group,
    GroupPartition,
    assert_each_once,
)
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.text import printable

OFFSETS = ("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
TABLES = {
    ("TOPIC", "PARTITION", *OFFSETS): "2.0 to 2.2",
    ("GROUP", "TOPIC", "PARTITION", *OFFSETS): "since 2.3",
    ("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", *OFFSETS): "--verbose, since 4.0",
}
"""The columns, with the releases that print them."""

UNKNOWN = "-"
"""What Kafka prints for a value that is missing. Kafka: `MISSING_COLUMN_VALUE`."""

MESSAGES = (
    (re.compile(r"Consumer group '(.+)' has no active members\."), "empty"),
    (re.compile(r"Warning: Consumer group '(.+)' is rebalancing\."), "rebalancing"),
    (re.compile(r"Error: (?:The c|C)onsumer group '(.+)' does not exist\."), "missing"),
)
"""What Kafka says about a group, and the state that this means."""

NOISE = re.compile(
    r"SLF4J: |log4j:|Picked up |OpenJDK .* warning: |WARNING: |WARN:? |Note: This will "
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*\b(?:DEBUG|INFO|WARN)\b|DEPRECATED: "
    r"|Option .* (?:has been deprecated|is deprecated)"
)
"""The beginnings of lines that Java, its logging and warnings print in between."""


@attrs.frozen
class Row:
    """A row of a table."""

    group: str | None
    """None in a table without that column."""
    found: GroupPartition | None
    """None for a member without partitions."""
    has_member: bool


@attrs.frozen
class Table:
    """A header line, which says where the cells of each row are."""

    columns: Sequence[str]
    """The names of the columns."""
    places: Sequence[int] | None
    """Where each column begins; None if cells are separated by single blanks or tabs."""

    def cells(self, line: str) -> list[str]:
        """The cells of a row; SpecError if they are not where the header says."""
        if self.places is None:
            cells = re.split(r"[ \t]", line.rstrip())
            if len(cells) == len(self.columns) - 1:
                cells.append("")  # a client id may be empty
        else:
            cells = padded_cells(in_utf16(line), self.places)
        if len(cells) != len(self.columns) or not all(cells[:-1]):
            raise SpecError(f"{len(self.columns)} columns are expected: is the line cut short?")
        if "  " in cells[-1] or "Consumer group '" in cells[-1]:
            raise SpecError("CLIENT-ID is followed by more text: is a line ending missing?")
        return cells


def padded_cells(line: str, places: Sequence[int]) -> list[str]:
    """The cells of a row below a padded header.

    Each begins where its column does. Where one is too wide, the others stand farther to the
    right; none stands to the left, as in a row that lost its beginning.
    """
    words = list(re.finditer(r"\S+", line))
    if len(line) >= places[-1] and all(begins_at(line, p) for p in places[:-1]):
        ends = [*places[1:], len(line)]
        cells = [line[a:b].rstrip() for a, b in zip(places, ends, strict=True)]
    elif len(words) == len(places) and all(
        word.start() >= p for word, p in zip(words, places, strict=True)
    ):
        cells = [word[0] for word in words]
    else:
        raise SpecError("the columns are not below those of the header: is the line cut short?")
    return [cell.replace("\0", "") for cell in cells]


def begins_at(line: str, place: int) -> bool:
    """Whether a cell begins at a place, to the left of which is nothing or a blank."""
    return line[place] != " " and (place == 0 or line[place - 1] == " ")


def in_utf16(line: str) -> str:
    """The line with as many characters as Java counts: a surrogate pair is two."""
    return "".join(c if c <= "\uffff" else f"{c}\0" for c in line)


def parse_describe(text: str) -> list[Group]:
    """Read the groups, or refuse: a line is a header, a row, a known message, or an error."""
    table: Table | None = None
    states: dict[str, str] = {}
    rows: list[Row] = []
    unnamed_tables = 0
    for number, line in numbered(text):
        with located(f"line {number}"):
            if said := message_in(line):
                states[said[0]] = said[1]
            elif header := header_in(line):
                table = header
                unnamed_tables += "GROUP" not in header.columns
            elif NOISE.match(line):
                continue
            elif table is None:
                raise SpecError(not_understood(line))
            else:
                rows.append(read_row(table, line))
    if not rows and not states:
        raise SpecError(
            "no group found: the output of kafka-consumer-groups --describe is expected"
        )
    if unnamed_tables > 1 or (unnamed_tables and len(states) > 1):
        raise SpecError("tables without the column GROUP: give each in a file of its own")
    return grouped(rows, states)


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers, and without the end of line."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line.removesuffix("\r")


def assert_whole(text: str) -> None:
    """Refuse a text that may have lost its end."""
    if text.strip() and not text.endswith("\n"):
        raise SpecError("the last line has no line ending: is the file cut short?")


def message_in(line: str) -> tuple[str, str] | None:
    """The group and its state, if the line is one of Kafka's messages."""
    for pattern, state in MESSAGES:
        if found := pattern.fullmatch(line.strip()):
            return found[1], state
    return None


def header_in(line: str) -> Table | None:
    """The table, if the line is a header; SpecError for one of other columns."""
    words = line.split()
    of_others = {"#PARTITIONS", "#MEMBERS", "COORDINATOR"} & set(words)
    if len(words) < 2 or not (of_others or {"GROUP", "TOPIC", "CURRENT-OFFSET"} & set(words)):
        return None
    if tuple(words) not in TABLES:
        known = "; ".join(" ".join(columns) for columns in TABLES)
        if of_others:
            raise SpecError("use --describe without --members and --state")
        raise SpecError(f"unknown columns; Kafka prints {known}")
    if "  " not in line.strip():
        return Table(words, None)
    if "\t" in line:
        raise SpecError("a tab between padded columns")
    places = [found.start() for found in re.finditer(r"\S+", line)]
    return Table(words, places)


def not_understood(line: str) -> str:
    """Why a line is refused that is neither a header nor a message."""
    if line.startswith("Error:"):
        return f"Kafka's tool failed: {printable(line)[:120]}"
    return "neither a header of kafka-consumer-groups --describe nor one of its messages"


def read_row(table: Table, line: str) -> Row:
    """A row of a table; SpecError where a cell is not what its column has."""
    cells = dict(zip(table.columns, table.cells(line), strict=True))
    topic, index = cells["TOPIC"], cells["PARTITION"]
    committed = number_in(cells["CURRENT-OFFSET"], "CURRENT-OFFSET")
    end = number_in(cells["LOG-END-OFFSET"], "LOG-END-OFFSET")
    number_in(cells.get("LEADER-EPOCH", UNKNOWN), "LEADER-EPOCH", LARGEST_INDEX)
    consumer = None if cells["CONSUMER-ID"] == UNKNOWN else cells["CONSUMER-ID"]
    others = {cells["HOST"] == UNKNOWN, cells["CLIENT-ID"] in (UNKNOWN, "")}
    if (consumer is None and others != {True}) or (consumer and cells["HOST"] == UNKNOWN):
        raise SpecError("CONSUMER-ID, HOST and CLIENT-ID are known together, or none of them is")
    lag = UNKNOWN if committed is None or end is None else str(end - committed)
    if cells["LAG"] != lag:
        raise SpecError(
            f"LAG is {printable(cells['LAG'])}, and LOG-END-OFFSET minus CURRENT-OFFSET {lag}"
        )
    found = None
    if (topic, index) != (UNKNOWN, UNKNOWN):
        partition = partition_in(topic, index, "PARTITION", "PARTITION is missing")
        found = GroupPartition(partition, committed, end, None, consumer)
    return Row(cells.get("GROUP"), found, consumer is not None)


def partition_in(topic: str, index: str, column: str, missing: str) -> TopicPartition:
    """The partition in two cells."""
    if not TOPIC.fullmatch(topic):
        raise SpecError(f"{printable(topic)} is not a topic name")
    whole = number_in(index, column, LARGEST_INDEX)
    if whole is None:
        raise SpecError(missing)
    return TopicPartition(topic, whole)


def number_in(cell: str, column: str, most: int = LARGEST) -> int | None:
    """The number in a cell, or None where it is unknown (-, and -1 of old brokers)."""
    if cell in (UNKNOWN, "-1"):
        return None
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", cell) or int(cell) > most:
        raise SpecError(f"{column} is {printable(cell)}: a number or - is expected")
    return int(cell)


def grouped(rows: Sequence[Row], states: dict[str, str]) -> list[Group]:
    """The groups of these rows, in their order, with their states."""
    only = next(iter(states), None)
    names = [only if row.group is None else row.group for row in rows]
    groups = []
    for name in dict.fromkeys([*names, *states]):
        own = [row for row, of in zip(rows, names, strict=True) if of == name]
        state = states.get(name) if name is not None else None
        has_members = any(row.has_member for row in own)
        if has_members and state in ("empty", "missing"):
            raise SpecError(
                f"group {printable(name or '')} has members, although its state is {state}"
            )
        partitions = [row.found for row in own if row.found]
        groups.append(Group(name, state or ("active" if has_members else None), partitions))
    assert_each_once(groups)
    return groups
