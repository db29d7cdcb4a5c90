"""When a run stops, and what it says while it goes on: the same for every engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from checkers.memory import MOST, machine_bytes, size_text

INTERRUPTED = "interrupted"
"""What stopped a run that somebody ended with Ctrl-C, or a signal."""


@attrs.frozen
class Limits:
    """When to stop before everything has been seen."""

    max_states: int | None = None
    max_depth: int | None = None
    keep_going: bool = False
    """Go on after a violation: to the shortest one of every property, and the whole graph."""
    max_memory: int = attrs.field(factory=lambda: int(machine_bytes() * MOST))
    """In bytes; if nothing is said, so much that the run ends before the machine does."""

    def says(self, name: str) -> str:
        """What ended a run, as it is told: a limit with its value, or whatever else it was."""
        if name not in attrs.fields_dict(Limits):
            return name
        value = getattr(self, name)
        told = size_text(value) if name == "max_memory" else value
        return f"{name.replace('_', '-')} {told}"


@attrs.frozen
class Keep:
    """Where a run is kept, so that it can go on after whatever ends it."""

    folder: Path
    resume: bool
    """Go on with what is kept there, instead of beginning."""


@attrs.frozen
class Progress:
    """Where a run is; said several times a second."""

    level: int
    distinct: int
    queue: int
    """States that are found and not yet expanded."""
    seconds: float

    @property
    def rate(self) -> float:
        """Distinct states a second, so far."""
        return self.distinct / self.seconds if self.seconds else 0.0


OnProgress = Callable[[Progress], None]
