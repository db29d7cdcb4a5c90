"""Random scenarios on Kafka's own classes and on the specification.

    python -m tests.spec.storage.kafka.scenarios --compare 1000 --seed 11

plays segments on Kafka 4.0.0 and 4.1.0, and whole logs with retention, compaction and recovery on
4.1.0. It needs Java, and Maven to get Kafka. The exit code is 3 where one differs. With `--record`
it writes the cases that CI compares without Java.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import click

from tests.spec.storage.kafka import drawn_logs, logs, segments
from tests.spec.storage.kafka.java import LOGS, SEGMENTS, answers, compiled
from tests.spec.storage.kafka.segments import Command

Scenario: TypeAlias = Callable[[str], list[Command]]
Difference: TypeAlias = Callable[[Sequence[Command], Sequence[str]], str | None]


def played(version: str, program: str, scenarios: Sequence[list[Command]]) -> list[list[str]]:
    """What Kafka answers in each scenario."""
    with compiled(version, program) as command:
        lines = [c.line for scenario in scenarios for c in scenario]
        found = iter(answers(command, lines))
    return [[next(found) for _ in scenario] for scenario in scenarios]


CASES = Path(__file__).parents[3] / "cases" / "storage_scenarios.json"
"""Recorded scenarios: by kind and release, the lines of each with Kafka's answers."""
KINDS: dict[str, tuple[str, str, Scenario, Difference]] = {
    "segments, Kafka 4.0.0": (
        "4.0.0",
        SEGMENTS,
        segments.scenario,
        partial(segments.difference, version="4.0.0"),
    ),
    "segments, Kafka 4.1.0": (
        "4.1.0",
        SEGMENTS,
        segments.scenario,
        partial(segments.difference, version="4.1.0"),
    ),
    "logs, Kafka 4.1.0": ("4.1.0", LOGS, drawn_logs.scenario, logs.difference),
}
"""What is compared: the release, the Java program, the scenario of a seed, the comparison."""


def differing(kind: str, count: int, seed: int) -> list[str]:
    """The differences in random scenarios of one kind."""
    version, program, scenario, difference = KINDS[kind]
    scenarios = [scenario(f"{kind} {seed} {n}") for n in range(count)]
    compared = zip(scenarios, played(version, program, scenarios), strict=True)
    return [found for commands, kafka in compared if (found := difference(commands, kafka))]


def record(count: int, seed: int) -> None:
    """Write scenarios with Kafka's answers, a line for each scenario."""
    parts = []
    for kind, (version, program, scenario, _) in KINDS.items():
        scenarios = [scenario(f"{kind} {seed} {n}") for n in range(count)]
        cases = [
            json.dumps([[c.line, theirs] for c, theirs in zip(commands, kafka, strict=True)])
            for commands, kafka in zip(scenarios, played(version, program, scenarios), strict=True)
        ]
        parts.append(f"{json.dumps(kind)}: [\n" + ",\n".join(cases) + "\n]")
    CASES.write_text("{" + ",\n".join(parts) + "}\n")


@click.command()
@click.option("--compare", "count", default=100, help="How many scenarios of each kind.")
@click.option("--seed", default=0, help="The seed of the scenarios.")
@click.option("--record", "is_recorded", is_flag=True, help="Write them as cases instead.")
def main(count: int, seed: int, is_recorded: bool) -> None:
    """Compare random scenarios, and print those that differ."""
    if is_recorded:
        record(count, seed)
        return
    differences = []
    for kind in KINDS:
        found = differing(kind, count, seed)
        print(f"{count} scenarios of {kind}: {len(found)} differ", flush=True)
        differences += found
    for difference in differences[:3]:
        print(difference)
    sys.exit(3 if differences else 0)


if __name__ == "__main__":
    main()
