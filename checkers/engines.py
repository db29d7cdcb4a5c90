"""Which engine explores: the reference engine, or a faster one where the model has a kernel."""

from __future__ import annotations

from typing import Any

from checkers.explore import Limits, OnProgress, explore
from checkers.verdict import Verdict
from spec.core import SpecError, System


def run(
    engine: str,
    system: System[Any],
    limits: Limits,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Verdict:
    """Explore with the engine of that name; `auto` takes the fastest that can."""
    del workers  # the reference engine explores on one core
    if engine in ("native", "spark"):
        raise SpecError(f"{system.model.name} has no kernel for --engine {engine}; use reference")
    return explore(system, limits, on_progress)
