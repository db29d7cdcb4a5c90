"""Logs with damaged lines are told and validated as far as they can be read, without an error."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

import pytest

from kspec.field.logs.adapter import read_logs
from kspec.field.logs.files import find_files
from kspec.field.logs.page import timeline_page
from kspec.field.logs.timeline import lines, timeline_of
from kspec.field.logs.validate import excuses, validate_logs
from tests.field.logs.recorded import FOLDER

NUMBERS = ("0", "7", "-3", "2024", "99999999999999999999")
SIGNS = ("(", ")", "{", "[", "]", ", ", "-", "\x00", "é")
VALUES = ("null", "[]", "{}", "-1", "1e999", '"x"', "true", "", '"\\ud800"')


def damaged(line: str, chance: random.Random) -> str:
    """A line with other numbers, signs or JSON values, or cut."""

    def other(choices: tuple[str, ...], begin: str, old: str) -> str:
        return begin + (chance.choice(choices) if chance.random() < 0.2 else old)

    place = chance.randrange(len(line) + 1)
    match chance.randrange(4):
        case 0:
            return re.sub(r"\d+", lambda found: other(NUMBERS, "", found[0]), line)
        case 1:
            return line[:place] + chance.choice(SIGNS) + line[place:]
        case 2:
            return line[:place]
    value = r':("[^"]*"|\d+|null|\[[^\]]*\])'
    return re.sub(value, lambda found: other(VALUES, ":", found[1]), line)


@pytest.mark.slow
def test_damaged_lines_are_never_fatal(chance: random.Random, tmp_path: Path) -> None:
    for _ in range(6):
        for file in sorted(FOLDER.glob("4.0.0/*/*.gz")):  # chance follows this order
            text = gzip.decompress(file.read_bytes()).decode().splitlines()
            copy = tmp_path / file.parent.name / file.stem
            copy.parent.mkdir(exist_ok=True)
            some = [damaged(line, chance) if chance.random() < 0.2 else line for line in text]
            copy.write_text("\n".join(some), errors="replace")
        reading = read_logs(
            find_files(sorted([*tmp_path.glob("broker-*"), *tmp_path.glob("clients/*")]), [])
        )
        timeline = timeline_of(reading)
        assert json.dumps(timeline.to_json())
        assert "\n".join(lines(timeline))
        assert timeline_page(timeline)
        for kind in ("kafka-log", "kafka-request-log", "consumer-log"):
            for verdict in validate_logs(kind, reading, {}):
                assert json.dumps(verdict.to_json())
                assert len(list(excuses(verdict))) <= 1
