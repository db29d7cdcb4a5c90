"""A trace: states, the steps between them, and the property that it concerns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.spec.core import System, Taken

STUTTERING = "stuttering"
"""The step of a behaviour that stays in a state forever."""


@attrs.frozen
class Trace:
    """A behaviour of a system, from an initial state."""

    system: System[Any]
    """The system whose behaviour it is."""
    states: tuple[Any, ...]
    """The states, the initial one first."""
    steps: tuple[Taken, ...]
    """The step from each state to the next. In a lasso, the last step leads from the last state
    back into the loop."""
    property: str = ""
    """The property that it violates, or that it is a witness of."""
    where: str = ""
    """The place in the last state where the property fails; the part before a comma names a
    cell or a lane of the picture."""
    loop: int | None = None
    """In a lasso, the index of the state that follows the last one."""


def between(system: System[Any], before: Any, after: Any) -> Taken:
    """The first step of the system that leads from one state to the other, or stuttering."""
    for rule, choice, state in system.steps(before):
        if state == after:
            return Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))
    if before == after:
        return Taken(STUTTERING, {})
    raise ValueError("no rule leads from the first state to the second")


def settings(bounds: Any) -> Mapping[str, int]:
    """Bounds as names and values."""
    return attrs.asdict(bounds, recurse=False)
