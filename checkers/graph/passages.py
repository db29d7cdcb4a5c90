"""What every shortest counterexample has in common.

A property may have many shortest counterexamples. A reader of one of them cannot tell which of its
steps matter. Here all of them are looked at together: a step, a state or a rule that each of them
contains is something that the fault needs. The states of all shortest counterexamples form an
acyclic graph, level by level, in which paths can be counted exactly; a state that all paths pass
through is a dominator of the violation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.options import OnProgress
from kspec.checkers.engine.search import shows
from kspec.checkers.graph.diagram import values_of
from kspec.checkers.graph.graph import Graph, graph_up_to, source_of
from kspec.spec.core import Always, Reachable, System


@attrs.frozen
class Passages:
    """All shortest paths to the states in which a property fails, or a witness holds."""

    graph: Graph[Any]
    """The states and steps up to the level of the violation."""
    targets: tuple[int, ...]
    """The nearest states in which it fails."""
    paths: int
    """How many shortest paths lead to them; each step with other choices is another path."""
    steps: tuple[int, ...]
    """The steps that every path takes, in order."""
    rules: dict[str, int]
    """The rules that every path takes, each with how often at least."""
    some_rules: frozenset[str]
    """The rules that some of the paths take."""
    on_paths: tuple[int, ...]
    """The steps that some of the paths take, in order of their levels."""

    @property
    def length(self) -> int:
        """The number of states of each path."""
        return int(self.graph.levels[self.targets[0]]) + 1

    def values(self, fields: Sequence[str]) -> list[dict[str, str]]:
        """The values of these fields that every path passes through, in some state."""
        graph, found = self.graph, []
        forward = list(self.on_paths)
        states = {*map(int, graph.origins[forward]), *self.targets}
        boxes = {state: values_of(graph.state(state), fields) for state in states}
        for values in dict.fromkeys(boxes[state] for state in sorted(states)):
            avoiding = [
                step
                for step in forward
                if values not in (boxes[int(graph.origins[step])], boxes[int(graph.to[step])])
            ]
            begin = [n for n in range(graph.initial) if boxes.get(n, values) != values]
            counts = paths_to(graph, avoiding, begin)
            if not any(counts[target] for target in self.targets):
                found.append(dict(zip(fields, values, strict=True)))
        return found


def passages(
    system: System[Any],
    prop: Always[Any] | Reachable[Any],
    *,
    max_states: int,
    on_progress: OnProgress | None = None,
) -> Passages | None:
    """What the shortest paths have in common; None if no state within the bounds ends one."""
    graph, targets = graph_up_to(
        source_of(system),
        lambda state: shows(prop, state),
        max_states=max_states,
        too_many=f"{prop.name} is decided in none of the first {{:,}} states",
        on_progress=on_progress,
    )
    return common(graph, targets) if targets else None


def common(graph: Graph[Any], targets: Sequence[int]) -> Passages:
    """What all shortest paths to these states have in common. The states are of one level."""
    forward = np.flatnonzero(graph.levels[graph.to] == graph.levels[graph.origins] + 1)
    needed, steps = set(targets), []
    for step in forward[::-1].tolist():  # states are numbered level by level
        if int(graph.to[step]) in needed:
            steps.append(step)
            needed.add(int(graph.origins[step]))
    steps.reverse()
    before = paths_to(graph, steps, range(graph.initial))
    after = Counter(targets)  # by state: how many shortest paths lead from it to a target
    for step in reversed(steps):
        after[int(graph.origins[step])] += after[int(graph.to[step])]
    total = sum(before[target] for target in targets)
    taken = {step: graph.taken(step).rule for step in steps}
    often = {rule: least(graph, steps, targets, taken, rule) for rule in set(taken.values())}
    return Passages(
        graph,
        tuple(targets),
        total,
        tuple(
            step
            for step in steps
            if before[int(graph.origins[step])] * after[int(graph.to[step])] == total
        ),
        dict(sorted((rule, count) for rule, count in often.items() if count)),
        frozenset(taken.values()),
        tuple(steps),
    )


def paths_to(graph: Graph[Any], steps: Iterable[int], begin: Iterable[int]) -> Counter[int]:
    """By state: how many paths of these steps lead to it from one of the states `begin`."""
    counts = Counter(begin)
    for step in steps:
        counts[int(graph.to[step])] += counts[int(graph.origins[step])]
    return counts


def least(
    graph: Graph[Any],
    steps: Iterable[int],
    targets: Iterable[int],
    taken: Mapping[int, str],
    rule: str,
) -> int:
    """How often every path takes the rule at least."""
    fewest = dict.fromkeys(range(graph.initial), 0)
    for step in steps:
        count = fewest[int(graph.origins[step])] + (taken[step] == rule)
        to = int(graph.to[step])
        fewest[to] = min(count, fewest.get(to, count))
    return min(fewest[target] for target in targets)
