"""How something in a system goes from one state to another: its diagram, from the explored graph.

A protocol's documentation draws the states of a group, of a connection, of a replica, and what
leads from one to the next. Here that is not drawn but found: every step of every behaviour
within the bounds is looked at, with the rule that took it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from checkers.graph import graph_of
from spec.core import System

Passes: TypeAlias = Callable[[Any, Any], Sequence[Hashable]]
"""From the states before and after a step: what the thing in question goes through in it."""

Transitions: TypeAlias = Mapping[tuple[Any, Any], frozenset[str]]
"""From where to where, and by which rules."""


def transitions(
    systems: Iterable[System[Any]], passes: Passes, *, max_states: int = 1_000_000
) -> Transitions:
    """Every change of state that some behaviour of these systems shows, with its rules."""
    found: dict[tuple[Any, Any], set[str]] = {}
    for system in systems:
        graph = graph_of(system, max_states=max_states)
        states = [graph.state(number) for number in range(len(graph.keys))]
        columns = graph.origins.tolist(), graph.to.tolist()
        for step, (before, after) in enumerate(zip(*columns, strict=True)):
            for change in pairwise(passes(states[before], states[after])):
                if change[0] != change[1]:
                    rule = graph.taken(step, states[before]).rule
                    found.setdefault(change, set()).add(rule)
    return {change: frozenset(rules) for change, rules in found.items()}
