"""Compare the specification of producers with Kafka's own classes, by random calls.

`python -m tests.spec.producer.kafka.compare 100000` makes so many calls of each kind to each
version, and ends with exit code 1 if an answer differs. `--record 200` also writes the first calls,
with Kafka's answers, to `tests/cases/producer`, where `test_kafka_cases.py` finds them.

Needs Java and Maven. To add a kind of call: write a Java program in this folder that answers each
line of its input with a line, and a `Kind`, and name it in `KINDS`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kspec.field.oracle.draws import Draw
from tests.real_broker import classpath, require_compiler
from tests.spec.producer.kafka.batching import BATCHING
from tests.spec.producer.kafka.kinds import Kind
from tests.spec.producer.kafka.partitioners import PARTITIONERS
from tests.spec.producer.kafka.producer_states import PRODUCER_STATE
from tests.spec.producer.kafka.settings import SETTINGS
from tests.spec.producer.kafka.transaction_logs import TRANSACTION_LOG

FOLDER = Path(__file__).parent
CASES = FOLDER.parents[2] / "cases" / "producer"

KINDS: Sequence[Kind] = (*PARTITIONERS, *BATCHING, *SETTINGS, *PRODUCER_STATE, TRANSACTION_LOG)

SHOWN = 5
"""How many differences are shown of each kind and version."""


def kafka_answers(kind: Kind, version: str, calls: Sequence[str]) -> list[str]:
    """The answers of Kafka's own classes; skips where Java, Maven or the jars are missing."""
    require_compiler()
    opened = ("java.lang", "java.util", "java.util.concurrent")
    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in opened]
    jars = classpath(version, kind.artifact)
    ran = subprocess.run(
        ["java", *opens, "-cp", jars, str(FOLDER / kind.program), kind.name, version],
        input="".join(f"{call}\n" for call in calls),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    answers = ran.stdout.splitlines()
    assert len(answers) == len(calls), f"{len(answers)} answers to {len(calls)} calls"
    return answers


def drawn(kind: Kind, version: str, count: int, seed: int) -> list[str]:
    """Random calls; a larger count begins with the same ones."""
    return [kind.draw(Draw(seed, number), version) for number in range(count)]


def compare(kind: Kind, version: str, count: int, seed: int) -> tuple[int, list[tuple[str, str]]]:
    """The number of answers that differ, and every call with Kafka's answer."""
    calls = drawn(kind, version, count, seed)
    cases = list(zip(calls, kafka_answers(kind, version, calls), strict=True))
    different = 0
    for call, kafkas in cases:
        ours = kind.answer(version, call)
        if ours != kafkas:
            different += 1
            if different <= SHOWN:
                print(f"  call:  {call}\n  Kafka: {kafkas}\n  kspec: {ours}")
    return different, cases


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare every kind with every version."""
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(prog="compare", description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=1000, help="calls of each kind")
    parser.add_argument("--kind", action="append", choices=names, help="only this kind; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=int, metavar="N", help="write the first N calls as cases")
    asked = parser.parse_args(arguments)
    failed = False
    for kind in KINDS:
        if asked.kind and kind.name not in asked.kind:
            continue
        recorded = {}
        for version in kind.versions:
            try:
                different, cases = compare(kind, version, asked.count, asked.seed)
            except pytest.skip.Exception as reason:
                print(f"{kind.name} {version}: not compared, {reason}")
                failed = True
                continue
            print(f"{kind.name} {version}: {asked.count:,} calls, {different:,} differ", flush=True)
            failed = failed or different > 0
            recorded[version] = cases[: asked.record or 0]
        if asked.record and recorded:
            write_cases(kind, recorded)
    return int(failed)


def write_cases(kind: Kind, recorded: dict[str, list[tuple[str, str]]]) -> None:
    """Write the cases of a kind, a line for each."""
    CASES.mkdir(exist_ok=True)
    versions = []
    for version, cases in recorded.items():
        lines = ",\n".join(json.dumps(case) for case in cases)
        versions.append(f'"{version}": [\n{lines}\n]')
    (CASES / f"{kind.name}.json").write_text("{" + ",\n".join(versions) + "}\n")


if __name__ == "__main__":
    sys.exit(main())
