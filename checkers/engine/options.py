"""Options of an exploration, and the progress that a run reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs

from kspec.checkers.engine.memory import MOST, machine_bytes, size_text

INTERRUPTED = "interrupted"
"""The reason in the verdict of a run that was ended by Ctrl-C or a signal."""

NOT_WRITTEN = "a checkpoint that cannot be written"
"""The beginning of the reason where a checkpoint could not be written."""


@attrs.frozen
class Progress:
    """The state of a run; reported several times a second."""

    level: int
    distinct: int
    queue: int
    """States found but not expanded yet."""
    seconds: float
    learned: int | None = None
    """Paths of rules learned so far, if some were learned since the last report."""

    @property
    def rate(self) -> float:
        """Distinct states per second so far."""
        return self.distinct / self.seconds if self.seconds else 0.0


OnProgress = Callable[[Progress], None]


@attrs.frozen
class Options:
    """How to explore, and the limits at which to stop."""

    engine: str = "auto"
    """`auto` explores by the rules themselves and by learned rules: the first to end wins."""
    max_states: int | None = None
    whole_levels: bool = False
    """Complete the level in which the limit on states is reached: the result then depends neither
    on the engine nor on its workers."""
    max_depth: int | None = None
    keep_going: bool = False
    """Continue after a violation until the whole graph is explored, and report the shortest
    counterexample of every property."""
    max_memory: int = attrs.field(factory=lambda: int(machine_bytes() * MOST))
    """Limit in bytes. The default leaves the machine some memory, so that the run ends before the
    machine is exhausted."""
    workers: int | None = None
    """Number of workers; all cores by default, and one with the reference engine."""
    coverage: bool = False
    """Report how often each rule was enabled, and which guards blocked it."""
    symmetry: bool = False
    checkpoint: Path | None = None
    """The folder that keeps the levels, so that the run can be resumed."""
    resume: bool = False
    """Resume the run in the checkpoint."""
    master: str | None = None
    """The URL of the Spark master."""
    check_learning: bool = False
    """Run the real rule for every learned answer, and compare."""
    use_cache: bool = False
    """Load what earlier runs learned from the user's cache folder, and save it there."""
    on_progress: OnProgress | None = None
    on_compiling: Callable[[], None] | None = None
    """Called before anything that is not in the cache is compiled."""

    @property
    def cores(self) -> int:
        """The number of workers to use."""
        return self.workers or cores()

    def limit(self, name: str) -> str:
        """Name a limit that ended a run, with its value."""
        value = getattr(self, name)
        return f"{name.replace('_', '-')} {size_text(value) if name == 'max_memory' else value}"


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
