"""The recorded traces of real clients, and changes to them.

`python -m tests.impl.recording.record` made them, with Kafka 4.0.0.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import ZipFile

from kspec.field.recorded import from_objects, validate_recordings
from kspec.field.recorded.verdict import Validation

CASES = Path(__file__).parents[2] / "cases" / "recorded"
Line: TypeAlias = dict[str, Any]
"""A header or an event."""


def names(mapping: str) -> list[str]:
    """The traces of a mapping."""
    with ZipFile(CASES / "kafka-4.0.0.zip") as cases:
        return [n.removesuffix(".ndjson") for n in cases.namelist() if n.startswith(mapping)]


def load(name: str) -> list[Line]:
    """A trace, header first."""
    with ZipFile(CASES / "kafka-4.0.0.zip") as cases:
        return [json.loads(line) for line in cases.read(f"{name}.ndjson").splitlines()]


def check(lines: Iterable[Line], **options: Any) -> Validation:
    """The verdict on a trace."""
    return validate_recordings([from_objects("trace", lines)], options)


def thinned(lines: Sequence[Line], seed: int, kept: float) -> list[Line]:
    """The trace without some of its events."""
    chance = random.Random(seed)
    return [lines[0], *(line for line in lines[1:] if chance.random() < kept)]


def index_of(lines: Sequence[Line], holds: Callable[[Line], bool], count: int = 1) -> int:
    """The place of the event, the first or a later one, of which something holds."""
    places = [place for place, line in enumerate(lines) if place and holds(line)]
    return places[count - 1]


def rejected_at(lines: Sequence[Line]) -> tuple[int, str | None]:
    """The place of the event that is rejected, and the guard."""
    verdict = check(lines)
    assert verdict.rejection is not None, verdict.verdict
    assert verdict.rejection.event is not None
    return verdict.rejection.event.number, verdict.rejection.guard
