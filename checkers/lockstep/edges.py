"""Every step from every state, where random walks would miss some."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search
from kspec.checkers.lockstep.adapter import Adapter
from kspec.checkers.lockstep.step import Compared, attempts, compare_loaded, compare_step
from kspec.spec.core import SpecError, System


def compare_edges(
    adapter: Adapter[Any, Any], system: System[Any], states: Iterable[Any], *, at_most: int = 1
) -> Compared:
    """Take each step from each of these states, with a subject loaded for each step.

    Ends with `at_most` differences. The states may be any part of a graph, and the result is
    plain data: results from other processes can be added with `+=`.
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
    """Take each step from each reachable state; the first difference has a shortest behaviour."""
    reference = Reference(system)
    verdict = Search(system.with_properties(()), reference, Options(keep_going=True)).run()
    if verdict.stopped_by:
        raise SpecError(
            f"the exploration stopped early ({verdict.stopped_by}): choose smaller bounds"
        )
    compared = compare_edges(adapter, system, reference.came_from, at_most=at_most)
    for index, difference in enumerate(compared.differences):
        way = reference.way_to(difference.states[0])
        compared.differences[index] = difference.after(way.states, way.steps)
    return compared
