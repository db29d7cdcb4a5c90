"""Every step from every state: what no walk can miss."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checkers.explore import Reference
from checkers.limits import Limits
from checkers.lockstep.adapter import Adapter
from checkers.lockstep.step import Compared, attempts, compare_loaded, compare_step
from checkers.search import Search
from spec.core import System


def compare_edges(
    adapter: Adapter[Any, Any], system: System[Any], states: Iterable[Any], *, at_most: int = 1
) -> Compared:
    """Take each step from each of these states, each with a subject loaded for it alone.

    Ends with so many differences. The states may be any part of a graph, and what is returned
    is plain data: parts that were compared elsewhere can be put together with `+=`.
    """
    compared = Compared()
    for state in states:
        found = compare_loaded(adapter, adapter.load(state), state)
        if found:
            compared.differences.append(found)
        for attempt in attempts(adapter, system, state):
            if len(compared.differences) >= at_most:
                return compared
            subject = adapter.load(state)
            found = compare_step(adapter, subject, state, attempt, compared)
            if found:
                compared.differences.append(found)
    return compared


def compare_everywhere(
    adapter: Adapter[Any, Any], system: System[Any], *, at_most: int = 1
) -> Compared:
    """Take each step from each reachable state; what is found first has the shortest story."""
    reference = Reference(system)
    Search(system.with_properties(()), reference, Limits(keep_going=True)).run()
    compared = compare_edges(adapter, system, reference.came_from, at_most=at_most)
    for index, difference in enumerate(compared.differences):
        way = reference.way_to(difference.states[0])
        compared.differences[index] = difference.after(way.states, way.steps)
    return compared
