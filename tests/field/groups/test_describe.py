"""The output of `kafka-consumer-groups --describe` is read or refused, and never misread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from kspec.field.groups.describe import TABLES, parse_describe
from kspec.field.groups.groups import Group, GroupPartition, from_json
from kspec.spec.core import SpecError
from kspec.spec.vocabulary import TopicPartition
from tests.field.groups.recorded import (
    COMMITTED,
    ENDS,
    FAILED,
    RECORDED,
    name_of,
    outputs,
    partition,
)

DESCRIBED = [
    each
    for each in outputs("--describe", without=FAILED)
    if "missing" not in each["arguments"] or each["release"] < "4"
]
ALL = "--all-groups"


def rows_of(groups: list[Group]) -> set[tuple[str | None, GroupPartition]]:
    return {(group.name, each) for group in groups for each in group.partitions}


def expected(group: str) -> set[tuple[str, int | None, int]]:
    """The partitions of a recorded group, with commit and end."""
    committed = COMMITTED.get(group, {})
    names = ["orders-0", "orders-1", "orders-2"] if group == "shipping" else list(committed)
    return {(name, committed.get(name), ENDS[name]) for name in names}


@pytest.mark.parametrize("each", DESCRIBED, ids=name_of)
def test_the_outputs_of_nine_releases_are_read(each: dict[str, Any]) -> None:
    groups = parse_describe(each["output"])
    names = list(COMMITTED) if ALL in each["arguments"] else [each["arguments"][2]]
    assert sorted(str(group.name) for group in groups if group.name) == sorted(
        name for name in names if (each["release"], name) not in UNNAMED
    )
    for group in groups:
        name = group.name or "shipping"
        found = {(str(p.partition), p.committed, p.end) for p in group.partitions}
        assert found == expected(name)
        has_members = {p.consumer is not None for p in group.partitions}
        assert has_members <= {name == "shipping"}
        assert group.state == {"shipping": "active", "missing": "missing"}.get(name, "empty")


UNNAMED = {("2.1.1", "shipping"), ("2.2.2", "shipping")}
"""Until 2.2 the table has no column GROUP, and only a message names the group."""


@pytest.mark.parametrize("each", outputs("--members") + outputs("--state"), ids=name_of)
def test_other_descriptions_are_refused(each: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="without --members and --state"):
        parse_describe(each["output"])


def test_every_layout_was_recorded() -> None:
    seen = {tuple(line.split()) for each in RECORDED for line in each["output"].split("\n")}
    assert set(TABLES) <= seen


# -- damaged outputs ------------------------------------------------------------------------------


def tables() -> Iterator[tuple[str, str]]:
    """Each different header with each of its rows."""
    seen = set()
    for each in DESCRIBED:
        header = ""
        for line in each["output"].split("\n"):
            if "CURRENT-OFFSET" in line:
                header = line
            elif header and line.strip() and "group '" not in line:
                kind = (header, re.sub(r"-[0-9a-f-]{36}", "", line))
                if kind not in seen:
                    seen.add(kind)
                    yield header, line


ROWS = list(tables())


def read(header: str, line: str) -> set[tuple[str | None, GroupPartition]] | None:
    """The rows, or None where they are refused."""
    try:
        return rows_of(parse_describe(f"{header}\n{line}\n"))
    except SpecError:
        return None


@pytest.mark.parametrize(("header", "line"), ROWS, ids=[line[:30] for _, line in ROWS])
def test_a_row_or_header_that_was_cut_is_refused_or_reads_the_same(header: str, line: str) -> None:
    whole = read(header, line)
    assert whole
    for place in range(1, len(line)):
        for cut in (line[:place], line[place:]):
            assert not cut.strip() or read(header, cut) in (None, whole), cut
    for place in range(1, len(header)):
        for cut in (header[:place], header[place:]):
            assert read(cut, line) in (None, whole), cut
    for place in range(len(line)):
        assert read(header, line[:place] + line[place + 1 :]) in (None, whole) or (
            a_name_is_shorter(line, place)
        )


def a_name_is_shorter(line: str, place: int) -> bool:
    """Whether the character belongs to the last cell, whose loss nothing shows."""
    return place >= line.rindex(" ")


@pytest.mark.parametrize(("header", "line"), ROWS, ids=[line[:30] for _, line in ROWS])
def test_columns_that_changed_places_are_refused(header: str, line: str) -> None:
    whole = read(header, line)
    names = re.findall(r"\S+\s*", header)
    for a, b in combinations(range(len(names)), 2):
        swapped = list(names)
        swapped[a], swapped[b] = f"{names[b].strip()} ", f"{names[a].strip()} "
        assert read("".join(swapped), line) is None
    starts = [found.start() for found in re.finditer(r"\S+", header)]
    cells = [line[i:j] for i, j in zip(starts, [*starts[1:], None], strict=True)]
    for a, b in combinations(range(len(cells)), 2):
        lag = cells[header.split().index("LAG")].strip()
        if may_change_places({names[a].strip(), names[b].strip()}, lag):
            continue
        swapped = [cell.rstrip() for cell in cells]
        swapped[a], swapped[b] = swapped[b], swapped[a]
        padded = [c.ljust(len(cell)) for c, cell in zip(swapped, cells, strict=True)]
        found = read(header, "".join(padded))
        assert found in (None, whole), "".join(padded)


NAMES = {"GROUP", "TOPIC", "CONSUMER-ID", "HOST", "CLIENT-ID"}


NUMBERS = {"PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET"}


def may_change_places(columns: set[str], lag: str) -> bool:
    """Whether two cells of a row may change places without a sign of it.

    Two names may; the commit and the lag, which add up to the end; and without a lag, two numbers.
    """
    return (
        columns <= NAMES
        or columns == {"CURRENT-OFFSET", "LAG"}
        or (columns <= NUMBERS and lag == "-")
    )


@pytest.mark.parametrize("each", DESCRIBED, ids=name_of)
def test_crlf_and_squeezed_blanks_read_the_same(each: dict[str, Any]) -> None:
    text = each["output"]
    whole = parse_describe(text)
    assert parse_describe(text.replace("\n", "\r\n")) == whole
    for squeezed in (re.sub(r" +", " ", text), re.sub(r"(?<=\S) {2,}(?=\S)", "\t", text)):
        try:
            assert rows_of(parse_describe(squeezed)) == rows_of(whole)
        except SpecError:
            assert re.search(r"my group|shipping app|\t", squeezed)  # a blank within a cell


@pytest.mark.slow
@pytest.mark.parametrize("release", ["2.8.2", "4.1.0"])
def test_the_beginning_of_a_file_has_no_other_rows(release: str) -> None:
    [text] = [e["output"] for e in outputs(ALL, without=("--offsets",)) if e["release"] == release]
    whole = rows_of(parse_describe(text))
    for end in range(len(text)):
        try:
            found = rows_of(parse_describe(text[:end]))
        except SpecError:
            continue
        assert found <= whole


HEADER, ROW = next(pair for pair in ROWS if pair[1].startswith("billing"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no group found"),
        ("hello\n", "line 1: neither"),
        ("Error: Executing consumer group command failed due to x\n", "Kafka's tool failed"),
        (f"{HEADER}\n{ROW}\n{ROW}\n", "has orders-0 twice"),
        (f"{HEADER}\n{ROW}{ROW}\n", "CLIENT-ID"),
        (f"{HEADER}\n{ROW.replace('12 ', '1２ ')}\n", "a number or - is expected"),
        (f"{HEADER}\n{ROW.replace('12 ', '012')}\n", "columns|number"),
        (f"{HEADER}\n{ROW.replace(' 8 ', ' 9 ')}\n", "LAG is 9"),
        (f"{HEADER}\n{ROW.replace('orders', 'ord/rs')}\n", "not a topic name"),
        (f"{HEADER}\n{ROW.replace(' 0 ', ' - ', 1)}\n", "PARTITION is missing"),
        (f"{HEADER.replace('TOPIC', '    	')}\n{ROW}\n", "unknown columns"),
    ],
)
def test_what_does_not_add_up_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        parse_describe(text)


def test_a_name_is_padded_as_java_counts_its_characters() -> None:
    """A surrogate pair is two characters in Java, and one in Python."""
    row = ROW.replace("billing  ", "bill😀ng ")
    assert {name for name, _ in rows_of(parse_describe(f"{HEADER}\n{row}\n"))} == {"bill😀ng"}


def test_members_without_partitions_make_a_group_active() -> None:
    cells = ["g", "-", "-", "-", "-", "-", "c-1", "/10.0.0.1", "c"]
    [group] = parse_describe(f"{' '.join(HEADER.split())}\n{' '.join(cells)}\n")
    assert (group.state, group.partitions) == ("active", [])


def test_a_number_that_is_too_wide_moves_the_others() -> None:
    """Kafka pads numbers to 15 characters, and an offset may have 19 digits."""
    row = ROW.replace("12             ", str(2**62)).replace(" 20 ", f" {2**62 + 8} ")
    [group] = parse_describe(f"{HEADER}\n{row}\n")
    assert group.partitions[0].committed == 2**62
    for place in range(1, len(row)):
        for cut in (row[:place], row[place:]):
            assert read(HEADER, cut) in (None, rows_of([group]))


def test_a_rebalance_is_a_state_and_not_an_error() -> None:
    text = f"\nWarning: Consumer group 'billing' is rebalancing.\n\n{HEADER}\n{ROW}\n"
    [group] = parse_describe(text)
    assert (group.state, group.has_members, len(group.partitions)) == ("rebalancing", True, 1)


def test_a_group_without_members_has_none() -> None:
    row = ROW.replace("-               -               -", "c-1             /10.0.0.1       c")
    with pytest.raises(SpecError, match="group billing has members, although its state is empty"):
        parse_describe(f"Consumer group 'billing' has no active members.\n{HEADER}\n{row}\n")


def test_since_4_0_a_group_that_does_not_exist_fails_the_whole_command() -> None:
    for each in outputs("--describe", "missing"):
        if each["release"] > "4":
            with pytest.raises(SpecError, match="GroupIdNotFoundException"):
                parse_describe(each["output"])


# -- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", DESCRIBED[:12], ids=name_of)
def test_the_json_of_groups_reads_the_same(each: dict[str, Any]) -> None:
    groups = parse_describe(each["output"])
    assert from_json(json.dumps({"groups": [group.to_json() for group in groups]})) == groups


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"lag": 9}, r"groups\[0\].partitions\[0\].lag: it contradicts the offsets"),
        ({"committed": -1}, "committed: expected a whole number"),
        ({"committed": True}, "committed: expected a whole number"),
        ({"end": 2**63}, "end: expected a whole number"),
        ({"partition": None}, "partition: expected a whole number"),
        ({"topic": 7}, "topic: expected a string"),
        ({"start": 30, "lead": -18, "deleted": 18}, "starts at 30, above its end 20"),
    ],
)
def test_json_that_contradicts_itself_is_refused(fields: dict[str, Any], reason: str) -> None:
    found = GroupPartition(TopicPartition("orders", 0), 12, 20, 5)
    record = {"group": "g", "partitions": [found.to_json() | fields]}
    with pytest.raises(SpecError, match=reason):
        from_json(json.dumps({"groups": [record]}))


def test_partitions_have_their_names() -> None:
    assert partition("my-topic-0") == TopicPartition("my-topic", 0)
