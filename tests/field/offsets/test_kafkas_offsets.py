"""What a real broker wrote is read as Kafka's own tools read it.

`real_offsets` recorded the files and the output of the tools.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kspec.field.offsets.formatters import read_formatted
from kspec.field.offsets.report import OffsetsReport, report_offsets
from kspec.spec.storage.schema import Message
from tests.field.offsets.logs import DAY
from tests.field.offsets.real_offsets import CLASSIC, CONSUMERS, RECORDED

NOW = 1_795_100_800_000
"""Shortly after the recording."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    with zipfile.ZipFile(RECORDED) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def report(recorded: Path) -> OffsetsReport:
    return report_offsets([recorded], NOW, 7 * DAY)


def rows_of(text: str) -> Iterator[dict[str, str]]:
    """The rows of the tables that kafka-consumer-groups prints, by column."""
    columns: list[str] = []
    for line in text.replace("COORDINATOR (ID)", "COORDINATOR ID").splitlines():
        cells = line.replace(" (1)", " 1").split()
        if cells[:1] == ["GROUP"]:
            columns = cells
        elif cells:
            yield dict(zip(columns, cells, strict=True))


def test_the_groups_are_those_that_the_broker_describes(
    recorded: Path, report: OffsetsReport
) -> None:
    described = {
        row["GROUP"]: (row["STATE"], int(row["#MEMBERS"]))
        for row in rows_of((recorded / "state.txt").read_text())
    }
    assert {g.name: (g.state, len(g.members)) for g in report.groups} == described
    assert {group.kind for group in report.groups} == {"classic", "simple", "consumer"}
    assert report.offsets_partitions == 4


def test_the_offsets_are_those_that_the_broker_describes(
    recorded: Path, report: OffsetsReport
) -> None:
    described = {
        (row["GROUP"], row["TOPIC"], int(row["PARTITION"]), int(row["CURRENT-OFFSET"]))
        for row in rows_of((recorded / "describe.txt").read_text())
        if row["CURRENT-OFFSET"] != "-"
    }
    found = {(g.name, o.topic, o.partition, o.offset) for g in report.groups for o in g.offsets}
    assert found == described


def test_the_members_are_those_that_the_broker_describes(
    recorded: Path, report: OffsetsReport
) -> None:
    described = {}
    for row in rows_of((recorded / "members.txt").read_text()):
        topic, _, numbers = row["CURRENT-ASSIGNMENT"].partition(":")
        facts = (row["HOST"], row["CLIENT-ID"], row.get("GROUP-INSTANCE-ID"))
        owned = {topic: [int(number) for number in numbers.split(",")]}
        described[row["GROUP"], row["CONSUMER-ID"]] = (*facts, owned, row["CURRENT-EPOCH"])
    assert described == {
        (g.name, m.id): (m.host, m.client, m.instance, m.assignment, str(m.epoch or "-"))
        for g in report.groups
        for m in g.members
    }


def test_each_offset_expires_by_its_group(report: OffsetsReport) -> None:
    reasons = {
        re.sub(r"-\d+$", "", group.name): {o.topic: o.expiry.reason for o in group.offsets}
        for group in report.groups
    }
    assert reasons == {
        "dynamic": {"t": "a member subscribes", "u": "commit"},
        "left": {"t": "Empty since"},
        "modern": {"t": "a member subscribes", "u": "commit"},
        "modern-left": {"t": "commit"},
        "simple": {"u": "commit"},
        "static": {"u": "a member subscribes"},
        "transactional": {"t": "commit"},
    }
    (left,) = (group for group in report.groups if group.name.startswith("left"))
    assert left.since is not None
    assert {o.expiry.time for o in left.offsets} == {left.since + 7 * DAY}


def test_only_the_committed_transaction_counts(report: OffsetsReport) -> None:
    (group,) = (group for group in report.groups if group.name.startswith("transactional"))
    assert [(o.partition, o.offset) for o in group.offsets] == [(0, 5)]
    assert [(o.partition, o.offset) for o in group.pending] == [(1, 7)]
    (partition,) = (one for one in report.partitions if one.open_transactions)
    assert partition.last_stable_offset == partition.end - 1
    assert report.problems == []


def test_the_cleaner_has_cleaned(report: OffsetsReport) -> None:
    cleaned = [one for one in report.partitions if one.cleaner.checkpoint]
    assert len(cleaned) == 1
    assert all(one.cleaner.is_known for one in report.partitions)
    assert all(0 < one.live_bytes <= one.bytes for one in report.partitions)


@pytest.mark.parametrize("version", CONSUMERS)
def test_the_formatters_print_the_same_records(
    recorded: Path, report: OffsetsReport, version: str
) -> None:
    """The old formatter leaves some fields out, and so does the comparison."""
    is_text = version == "2.8.2"
    partitions = CLASSIC if version != "4.0.0" else range(4)
    for name, kind in (("OffsetsMessageFormatter", 1), ("GroupMetadataMessageFormatter", 2)):
        entries, problems = read_formatted([recorded / f"{name}-{version}.txt"])
        assert problems == []
        stored = [
            entry.record
            for one in report.partitions
            if one.folder.name.partition in partitions
            for entry in one.entries
            if entry.record.type == kind
        ]
        assert stored
        printed = {tuple(e.record.key.values()): e.record.value or {} for e in entries}
        assert printed.keys() == {tuple(record.key.values()) for record in stored}
        for record in stored:
            value = record.value or {}
            found = printed[tuple(record.key.values())]
            if is_text:
                found, value = common(found, value)
            assert found == value


def common(found: Message, value: Message) -> tuple[Message, Message]:
    """The fields that the old formatter prints."""
    if "members" in value:
        members = [sorted(each["members"], key=lambda m: m["memberId"]) for each in (found, value)]
        for one, other in zip(*members, strict=True):
            printed = {name: field for name, field in one.items() if field is not None}
            assert printed == {name: other[name] for name in printed}
    names = [name for name, field in found.items() if field is not None and name != "members"]
    return {name: found[name] for name in names}, {name: value[name] for name in names}
