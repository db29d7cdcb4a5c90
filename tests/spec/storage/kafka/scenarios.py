"""Random scenarios on Kafka's own classes and on the specification.

    python -m tests.spec.storage.kafka.scenarios --compare 1000 --seed 11

plays segments on Kafka 4.0.0 and 4.1.0, and whole logs with retention, compaction and recovery on
4.1.0. It needs Java, and Maven to get Kafka. The exit code is 3 where one differs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from tests.spec.storage.kafka import logs, segments
from tests.spec.storage.kafka.java import LOGS, SEGMENTS, answers, compiled
from tests.spec.storage.kafka.segments import Command


def played(version: str, program: str, scenarios: Sequence[list[Command]]) -> list[list[str]]:
    """What Kafka answers in each scenario."""
    with compiled(version, program) as command:
        lines = [c.line for scenario in scenarios for c in scenario]
        found = iter(answers(command, lines))
    return [[next(found) for _ in scenario] for scenario in scenarios]


def differing_segments(version: str, count: int, seed: int) -> list[str]:
    """The differences in scenarios of one segment."""
    scenarios = [segments.scenario(f"segment {seed} {n}") for n in range(count)]
    found = played(version, SEGMENTS, scenarios)
    compared = zip(scenarios, found, strict=True)
    return [d for pair in compared if (d := segments.difference(*pair, version))]


def differing_logs(version: str, count: int, seed: int) -> list[str]:
    """The differences in scenarios of a whole log."""
    scenarios = [logs.scenario(f"log {seed} {n}") for n in range(count)]
    found = played(version, LOGS, scenarios)
    return [d for pair in zip(scenarios, found, strict=True) if (d := logs.difference(*pair))]


@click.command()
@click.option("--compare", "count", default=100, help="How many scenarios of each kind.")
@click.option("--seed", default=0, help="The seed of the scenarios.")
def main(count: int, seed: int) -> None:
    """Compare random scenarios, and print those that differ."""
    differences = []
    for kind, compare, version in (
        ("segments", differing_segments, "4.0.0"),
        ("segments", differing_segments, "4.1.0"),
        ("logs", differing_logs, "4.1.0"),
    ):
        found = compare(version, count, seed)
        print(f"{count} scenarios of {kind}, Kafka {version}: {len(found)} differ", flush=True)
        differences += found
    for difference in differences[:3]:
        print(difference)
    sys.exit(3 if differences else 0)


if __name__ == "__main__":
    main()
