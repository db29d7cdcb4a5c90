"""State diagrams of a part of a system, found by exploration.

A protocol's documentation draws the states of a group, a connection or a replica, and the
transitions between them. `transitions` finds them in the steps of the state graph, each with the
rules that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from kspec.checkers.graph.graph import graph_of
from kspec.spec.core import System

Passes: TypeAlias = Callable[[Any, Any], Sequence[Hashable]]
"""From the states before and after a step: the states that the part goes through in it."""

Transitions: TypeAlias = Mapping[tuple[Any, Any], frozenset[str]]
"""From where to where, and by which rules."""


def transitions(
    systems: Iterable[System[Any]], passes: Passes, *, max_states: int = 1_000_000
) -> Transitions:
    """Every transition that some behaviour of these systems takes, with its rules."""
    found: dict[tuple[Any, Any], set[str]] = {}
    for system in systems:
        graph = graph_of(system, max_states=max_states)
        states = [graph.state(number) for number in range(len(graph.keys))]
        columns = graph.origins.tolist(), graph.to.tolist()
        for step, (before, after) in enumerate(zip(*columns, strict=True)):
            for change in pairwise(passes(states[before], states[after])):
                if change[0] != change[1]:
                    rule = graph.taken(step).rule
                    found.setdefault(change, set()).add(rule)
    return {change: frozenset(rules) for change, rules in found.items()}
