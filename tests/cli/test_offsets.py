"""`kspec offsets` at the prompt."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from kspec.spec.placement import group_partition
from tests.cli.conftest import Kspec
from tests.field.offsets.logs import DAY, T0, batch, classic, offset, write_partition
from tests.field.offsets.test_formatters import OFFSET

NOW = "--now=2023-11-15T00:00Z"
NUMBER = group_partition("orders")
FOLDER = f"data/__consumer_offsets-{NUMBER}"


def write_topic(root: Path) -> None:
    """A log directory with one group."""
    members = classic("orders", {"m-1": ["t"]})
    commits = [offset("orders", 0, 5), offset("orders", 0, 6), offset("orders", 0, 2, topic="v")]
    write_partition(root / "data", NUMBER, [batch(members), *(batch(row) for row in commits)])


def test_groups_and_partitions_are_listed(kspec: Kspec, tmp_path: Path) -> None:
    write_topic(tmp_path)
    ran = kspec("offsets", "data", NOW)
    assert (ran.code, ran.err) == (0, "")
    first, _, header, row, _, _, partition, *_, last = ran.out.splitlines()
    assert first == "2023-11-15 00:00 UTC; offsets are kept for 7 days"
    assert header.split()[:4] == ["members", "offsets", "live", "dead"]
    assert row.endswith("classic  Stable    3  2023-11-21 22:13 UTC  orders")
    assert row.split()[:2] == ["1", "2"]
    assert partition.endswith(FOLDER)
    assert last == "No problem was found."


def test_a_group_is_shown_with_its_members_and_offsets(kspec: Kspec, tmp_path: Path) -> None:
    write_topic(tmp_path)
    ran = kspec("offsets", "data", NOW, "--group", "orders")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert "member m-1, client c at /127.0.0.1" in lines
    assert "subscribes to t" in lines
    assert "owns t 0" in lines
    (kept,) = (line for line in lines if "never: a member subscribes" in line)
    assert kept.split()[:2] == ["0", "6"]
    assert any(line.endswith("2023-11-21 22:13 UTC (commit)") for line in lines)
    ran = kspec("offsets", "data", "--group", "other")
    assert (ran.code, ran.out) == (151, "")
    assert "no group 'other'" in ran.err


def test_the_json_has_the_documented_fields(kspec: Kspec, tmp_path: Path) -> None:
    write_topic(tmp_path)
    ran = kspec("offsets", "data", f"--now={T0 + 8 * DAY}", "--json")
    report = json.loads(ran.out)
    assert report["now"] == T0 + 8 * DAY
    assert report["retention_minutes"] == 7 * 24 * 60
    (group,) = report["groups"]
    facts = {name: group[name] for name in ("group", "type", "state", "generation", "partition")}
    assert facts == {
        "group": "orders",
        "type": "classic",
        "state": "Stable",
        "generation": 3,
        "partition": NUMBER,
    }
    assert [member["id"] for member in group["members"]] == ["m-1"]
    offsets = {o["topic"]: (o["offset"], o["expires"], o["expired"]) for o in group["offsets"]}
    assert offsets == {"t": (6, None, False), "v": (2, T0 + 7 * DAY, True)}
    (partition,) = report["partitions"]
    assert partition["live_bytes"] + partition["dead_bytes"] == partition["bytes"]
    assert report["problems"] == []


def test_the_retention_can_be_set(kspec: Kspec, tmp_path: Path) -> None:
    write_topic(tmp_path)
    ran = kspec("offsets", "data", NOW, "--retention-minutes", "60")
    assert "offsets are kept for 60 minutes" in ran.out
    assert "1 expired" in ran.out


def test_a_group_in_the_wrong_partition_is_a_problem(kspec: Kspec, tmp_path: Path) -> None:
    write_topic(tmp_path)
    (tmp_path / FOLDER).rename(tmp_path / "data/__consumer_offsets-0")
    ran = kspec("offsets", "data", NOW)
    assert ran.code == 3
    assert f"group orders belongs in partition {NUMBER} of 50" in ran.out


def test_the_text_of_a_formatter_is_read_from_a_file_or_a_pipe(
    kspec: Kspec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "offsets.txt").write_text(OFFSET)
    ran = kspec("offsets", "offsets.txt", NOW, "--json")
    (group,) = json.loads(ran.out)["groups"]
    assert (group["group"], group["type"], group["live_bytes"]) == ("g", None, None)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OFFSET.encode())))
    assert kspec("offsets", "-", NOW, "--json").out == ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["missing"], 151, "cannot read missing"),
        (["data"], 151, "data"),
        (["offsets.txt", "data"], 151, "not both"),
        (["00000000000000000000.log"], 151, "is a segment: name its folder"),
        (["offsets.txt", "--now", "yesterday"], 2, "--now takes a time"),
        (["offsets.txt", "--now", "9" * 5000], 2, "--now takes a time"),
        (["offsets.txt", "--now", "0001-01-01T00:00+14:00"], 2, "--now"),
        (["offsets.txt", "--retention-minutes", "0"], 2, "--retention-minutes"),
        (["text"], 151, "line 1: no committed offset"),
    ],
)
def test_bad_input_is_answered_in_one_line(
    kspec: Kspec, tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "offsets.txt").write_text(OFFSET)
    (tmp_path / "text").write_text("hello")
    ran = kspec("offsets", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1
