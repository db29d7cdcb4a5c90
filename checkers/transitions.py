"""How something in a system goes from one state to another: its diagram, from the explored graph.

A protocol's documentation draws the states of a group, of a connection, of a replica, and what
leads from one to the next. Here that is not drawn but found: every step of every behaviour
within the bounds is looked at, with the rule that took it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from spec.core import SpecError, System

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
        seen = dict.fromkeys(system.initial())
        waiting = list(seen)
        while waiting:
            before = waiting.pop()
            for rule, _, after in system.steps(before):
                for change in pairwise(passes(before, after)):
                    if change[0] != change[1]:
                        found.setdefault(change, set()).add(rule.name)
                if after not in seen:
                    seen[after] = None
                    waiting.append(after)
            if len(seen) > max_states:
                raise SpecError(f"{system.model.name} has more than {max_states:,} states")
    return {change: frozenset(rules) for change, rules in found.items()}
