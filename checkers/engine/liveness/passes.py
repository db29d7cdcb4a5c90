"""Passes over the steps of a graph: loops that are compiled where the graph is large.

The steps out of state `n` are those from `begins[n]` to `begins[n + 1]`. Sets of fairness
conditions are bits, BITS to a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

BITS = 62
ALL = (1 << BITS) - 1

MANY = 20_000
"""With fewer steps than this, compiled code is not worth loading."""


def fitting(function: F, steps: int) -> F:
    """The function, compiled if it is to pass over many steps."""
    return as_compiled(function) if steps >= MANY else function


@cache
def as_compiled(function: Any) -> Any:
    """The compiled function."""
    from kspec.impl.compiled import compiled

    return compiled(function)


def find_levels(parents: Any, levels: Any) -> None:
    """Write how many steps each state is from the nearest initial state."""
    for n in range(len(parents)):
        levels[n] = 0 if parents[n] < 0 else levels[parents[n]] + 1


def reach(
    begins: Any, to: Any, levels: Any, first: Any, goal: Any,
    entered: Any, depths: Any, came_from: Any,
) -> int:  # fmt: skip
    """Find the states that are reached from those in `first` before the goal, nearest first.

    Writes them to `entered`; by state, the steps that a shortest behaviour needs to it by way of
    `first`, or -1; and the state before it after `first`, or -1. Returns their number.
    """
    count, done, unseen, depth = 0, 0, 0, 0
    while unseen < len(levels) or done < count:
        last = count
        while unseen < len(levels) and levels[unseen] == depth:
            if first[unseen] and depths[unseen] < 0:
                depths[unseen] = depth
                entered[count] = unseen
                count += 1
            unseen += 1
        while done < last:
            n = entered[done]
            done += 1
            for step in range(begins[n], begins[n + 1]):
                after = to[step]
                if depths[after] < 0 and not goal[after]:
                    depths[after] = depth
                    came_from[after] = n
                    entered[count] = after
                    count += 1
        depth += 1
    return count


def components(begins: Any, to: Any, alive: Any, component: Any) -> int:
    """Number the strongly connected components of the states that are alive; returns how many.

    Tarjan's algorithm, without recursion. `component` is -1 for the others.
    """
    size = len(alive)
    index = np.zeros(size, np.int32)  # the order of visits, from 1
    low = np.zeros(size, np.int32)
    stack = np.empty(size, np.int32)
    way = np.empty(size, np.int32)
    place = np.empty(size, np.int64)  # the next step of each state on the way
    component[:] = -1
    visited, kept, found = 0, 0, 0
    for root in range(size):
        if not alive[root] or index[root]:
            continue
        depth = 0
        way[0] = root
        place[root] = begins[root]
        visited += 1
        index[root] = low[root] = visited
        stack[kept] = root
        kept += 1
        while depth >= 0:
            n = way[depth]
            if place[n] < begins[n + 1]:
                after = to[place[n]]
                place[n] += 1
                if not alive[after] or component[after] >= 0:
                    continue
                if index[after]:
                    low[n] = min(low[n], index[after])
                    continue
                visited += 1
                index[after] = low[after] = visited
                stack[kept] = after
                kept += 1
                depth += 1
                way[depth] = after
                place[after] = begins[after]
                continue
            if low[n] == index[n]:
                while True:
                    kept -= 1
                    member = stack[kept]
                    component[member] = found
                    if member == n:
                        break
                found += 1
            depth -= 1
            if depth >= 0:
                low[way[depth]] = min(low[way[depth]], low[n])
    return found


def summarize(
    begins: Any, to: Any, labels: Any, component: Any, able: Any, takes: Any,
    every: Any, some: Any, taken: Any, sizes: Any,
) -> None:  # fmt: skip
    """For each component: conditions enabled in every and in some state, and those taken inside."""
    words = able.shape[1]
    for n in range(len(component)):
        c = component[n]
        if c < 0:
            continue
        sizes[c] += 1
        for w in range(words):
            every[c, w] &= able[n, w]
            some[c, w] |= able[n, w]
        for step in range(begins[n], begins[n + 1]):
            if component[to[step]] == c:
                for w in range(words):
                    taken[c, w] |= takes[labels[step], w]


def enabled(
    begins: Any, to: Any, labels: Any, takes: Any, beyond: Any, able: Any, cut: Any
) -> None:
    """For each state: the conditions that are enabled, and those that only limits block."""
    words = able.shape[1]
    for n in range(len(begins) - 1):
        for step in range(begins[n], begins[n + 1]):
            label = labels[step]
            if beyond[label]:
                for w in range(words):
                    cut[n, w] |= takes[label, w]
            elif to[step] != n:
                for w in range(words):
                    able[n, w] |= takes[label, w]


def restrict(begins: Any, to: Any, labels: Any, states: Any, local: Any, kept: Any) -> int:
    """Collect the steps among some states, without stuttering: where they begin, targets, labels.

    `local` has the new number of each state, or -1. Returns the number of steps.
    """
    kept_begins, kept_to, kept_labels = kept
    count = 0
    for place in range(len(states)):
        n = states[place]
        kept_begins[place] = count
        for step in range(begins[n], begins[n + 1]):
            after = local[to[step]]
            if after >= 0 and after != place:
                kept_to[count] = after
                kept_labels[count] = labels[step]
                count += 1
    kept_begins[len(states)] = count
    return count
