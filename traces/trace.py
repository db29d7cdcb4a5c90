"""A behaviour: states, the steps between them, and what it is evidence of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from spec.core import System, Taken


@attrs.frozen
class Trace:
    """A behaviour of a system, from an initial state on."""

    system: System[Any]
    """The system that behaves so."""
    states: tuple[Any, ...]
    """The states, the initial one first."""
    steps: tuple[Taken, ...]
    """What led from each state to the next; in a behaviour that goes on for ever, the last one
    leads from the last state back into the loop."""
    property: str = ""
    """The property that it violates, or is a witness of."""
    where: str = ""
    """The place in the last state where the property fails; what comes before a comma is the
    name of a cell or lane in the picture."""
    loop: int | None = None
    """The index of the state that follows the last one, if the behaviour goes on for ever."""


def between(system: System[Any], before: Any, after: Any) -> Taken:
    """The first step of the system that leads from one state to the other."""
    for rule, choice, state in system.steps(before):
        if state == after:
            return Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))
    raise ValueError("no rule leads from the one state to the other")


def settings(bounds: Any) -> Mapping[str, int]:
    """Bounds as names and values."""
    return attrs.asdict(bounds, recurse=False)
