"""The nearest state that satisfies a condition, found by the engine of the model.

The search starts at any state: it explores the model with that state as its only initial one, and
with an invariant that fails where the condition holds. So its result is a shortest way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.run import run
from kspec.checkers.engine.search import Stopped
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.checkers.explore.expression import Expression, parse
from kspec.checkers.explore.session import Node
from kspec.spec.core import Always, System
from kspec.traces.trace import Trace


@attrs.frozen
class Found:
    """The result of a search."""

    trace: Trace | None
    """A shortest behaviour from the state; None if there is none, or if the search was stopped."""
    distinct: int
    """States that were explored."""
    stopped_by: str = ""
    """The limit or request that ended the search."""

    def says(self, goal: str) -> str:
        """The result, in a sentence."""
        explored = f"(states explored: {self.distinct:,})"
        if self.trace is None and self.stopped_by:
            return f"Not found before the {self.stopped_by}: {goal} {explored}."
        if self.trace is None:
            return f"Not reachable from here: {goal} {explored}."
        steps = len(self.trace.states) - 1
        if not steps:
            return f"This state already satisfies it: {goal}."
        return f"{steps} step{'s' * (steps > 1)} away: {goal} {explored}."


class Seeker:
    """A search that reports its progress and can be stopped by another thread."""

    def __init__(self, node: Node, goal: str) -> None:
        """Check the condition."""
        self.goal = goal.strip()
        self.progress: Progress | None = None
        self.is_stopped = False
        self.system = started_at(node.system, node.state, self.goal)

    def run(self, report: Callable[[Progress], None] | None = None) -> Found:
        """Explore until the condition holds."""

        def on_progress(progress: Progress) -> None:
            self.progress = progress
            if report:
                report(progress)
            if self.is_stopped:
                raise Stopped("stop")

        verdict = run(self.system, Options(use_cache=True, on_progress=on_progress))
        traces = [violation.trace for violation in verdict.violations]
        return Found(traces[0] if traces else None, verdict.distinct, verdict.stopped_by)


def started_at(system: System[Any], state: Any, goal: str) -> System[Any]:
    """The system with one initial state, and a violation where the goal is reached."""
    if goal == DEADLOCK:
        model = attrs.evolve(system.model, initial=lambda bounds: [state])
        return attrs.evolve(system, model=model, properties=())
    expression = parse(goal, state, system.model.all_properties)
    model = attrs.evolve(system.model, initial=lambda bounds: [state], final=lambda s: True)
    return attrs.evolve(system, model=model, properties=(never(expression),))


def never(goal: Expression) -> Always[Any]:
    """The invariant that the goal is never reached."""
    if goal.tree[0] == "not" and goal.tree[1][0] == "name":
        named = goal.properties.get(goal.tree[1][1])
        if isinstance(named, Always):
            return named  # an engine may have compiled it
    return Always("GoalIsNotReached", lambda s: not goal.holds(s))
