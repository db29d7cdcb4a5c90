"""Record Kafka's own settings: names, types, defaults and ranges, of each release.

`python -m tests.field.advice.kafka.record VERSION=CLASSPATH…` writes
`field/advice/kafka_settings.json`. A class path is what Maven's `dependency:build-classpath`
writes for `org.apache.kafka:kafka_2.13:VERSION`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

PROGRAM = Path(__file__).parent / "KafkaSettings.java"
FILE = Path(__file__).parents[4] / "field" / "advice" / "kafka_settings.json"

Known: TypeAlias = dict[tuple[str, str], list[str]]
"""By kind and name: type, default and range."""


def settings_of(class_path: str) -> Known:
    """The settings of the Kafka on a class path."""
    command = ["java", "-cp", class_path, str(PROGRAM)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    known: Known = {}
    for line in ran.stdout.splitlines():
        kind, name, *about = line.split("\t")
        known[kind, name] = [re.sub("@[0-9a-f]+$", "", text) for text in about]
    return known


def changes(releases: Mapping[str, Known]) -> dict[str, dict[str, list[list[str]]]]:
    """By kind and name: each release in which the setting changed, and what it was from then on."""
    table: dict[str, dict[str, list[list[str]]]] = {}
    names = sorted({key for known in releases.values() for key in known})
    for kind, name in names:
        history: list[list[str]] = []
        for release, known in releases.items():
            now = known.get((kind, name), [])
            if now != (history[-1][1:] if history else []):
                history.append([release, *now])
        table.setdefault(kind, {})[name] = history
    return table


def main(arguments: Iterable[str]) -> None:
    """Write the file, a line for each setting."""
    releases = {}
    for argument in arguments:
        version, _, class_path = argument.partition("=")
        releases[re.sub(r"\.\d+$", "", version)] = settings_of(class_path)
    table = changes(releases)
    lines = ['{"releases": ' + json.dumps([*releases])]
    for kind, settings in table.items():
        rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(h)}" for name, h in settings.items())
        lines.append(f'"{kind}": {{\n{rows}\n}}')
    FILE.write_text(",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
