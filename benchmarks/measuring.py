"""What the benchmarks have in common: their options, JSON, and the best of several turns."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import attrs


def options_of(about: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark, which its docstring begins to describe."""
    options = argparse.ArgumentParser(description=about.splitlines()[0] if about else None)
    options.add_argument("--json", action="store_true", help="print JSON in place of tables")
    return options


def numbers(text: str) -> list[int]:
    """Whole numbers, separated by commas."""
    return [int(number) for number in text.split(",")]


def print_json(found: object) -> None:
    """Print what was measured as JSON."""
    print(json.dumps(found, default=attrs.asdict, indent=1))


def best(
    repeat: int, *tasks: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The best time of each task, in seconds; they take turns."""
    seconds: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeat):
        for task, taken in zip(tasks, seconds, strict=True):
            begun = clock()
            task()
            taken.append(clock() - begun)
    return [min(taken) for taken in seconds]
