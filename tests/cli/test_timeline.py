"""`kspec timeline` and `kspec validate --from` at the prompt."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kspec.checkers.cli.main import run
from tests.field.logs.recorded import FOLDER, brokers

LOG = FOLDER / "4.0.0" / "broker-2" / "server.log.gz"


def test_the_timeline_as_text_json_and_page(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "timeline.html"
    assert run(["timeline", str(LOG), "--html", str(page)]) == 0
    assert "Group billing: 9 rebalances" in capsys.readouterr().out
    assert "Group billing" in page.read_text(encoding="utf-8")
    assert run(["timeline", str(LOG), "--json", "--zone", "Europe/Berlin"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [group["group"] for group in record["groups"]] == ["billing", "static"]
    assert record["groups"][0]["rounds"][4]["setting"] == "max.poll.interval.ms"
    assert record["files"][0]["protocol_lines"] > 100
    assert record["not_shown"]


def test_a_group_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["timeline", str(LOG), "--group", "static"]) == 0
    assert "billing" not in capsys.readouterr().out.split("What was read")[0]
    assert run(["timeline", str(LOG), "--group", "other"]) == 151
    assert "no line is about the group other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "name a FILE"),
        (["none.log"], 151, "cannot read none.log"),
        (["notes.txt"], 151, "consumers (2 read)"),
        (["notes.txt", "--zone", "Nowhere"], 151, "there is no time zone Nowhere"),
        (["--broker", "notes.txt"], 151, "--broker takes ID=FILE"),
    ],
)
def test_what_cannot_be_read_is_named_in_a_line(
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("one\ntwo\n")
    assert run(["timeline", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_log_is_validated_and_an_altered_line_is_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(folder) for folder in brokers("4.0.0")]
    assert run(["validate", "--from", "kafka-log", *folders]) == 0
    assert "9 accepted" in capsys.readouterr().out
    text = gzip.decompress(LOG.read_bytes()).decode()
    right = "Stabilized group billing generation 6 with"
    file = tmp_path / "server.log"
    file.write_text(text.replace(right, right.replace("6", "4")))
    number = text[: text.index(right)].count("\n") + 1
    assert run(["validate", "--from", "kafka-log", str(file), "--json"]) == 3
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["file"], record["line"]) == ("rejected", str(file), number)
    assert record["guard"] == "the generation increases by one"
    assert record["difference"][0]["observed"] == 4
    assert "stabilized generation 6" in record["allowed"]


def test_a_lost_line_is_excused_unless_no_line_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress(LOG.read_bytes()).decode().splitlines(keepends=True)
    file = tmp_path / "server.log"
    file.write_text("".join(line for line in lines if "billing generation 6 with" not in line))
    assert run(["validate", "--from", "kafka-log", str(file)]) == 0
    assert "Lines must be missing in 1 place" in capsys.readouterr().out
    assert run(["validate", "--from", "kafka-log", "--set", "lines=all", str(file)]) == 3
    assert run(["validate", "--from", "kafka-log", "--set", "lines=none", str(file)]) == 151


def test_one_mapping_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "replica", "--from", "kafka-log", *map(str, brokers("4.0.0"))]) == 0
    assert "5 accepted" in capsys.readouterr().out
    assert run(["validate", "--from", "consumer-log", str(LOG)]) == 151
    assert "is it a consumer-log?" in capsys.readouterr().err
