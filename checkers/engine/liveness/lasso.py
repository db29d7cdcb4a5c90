"""The shortest lasso: a stem to a fair part of the region, and a fair loop in it.

It has the fewest states on the page: those of the stem and of the loop together, where a state that
the loop visits twice counts twice. From each state, nearest first, a breadth-first search finds the
shortest loop that satisfies every fairness condition; states too far away to improve on the best
lasso are not tried. The search ends after MOST_WORK steps; the lasso then says that a shorter one
may exist.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.liveness.passes import BITS
from kspec.checkers.engine.liveness.region import Flags, Region

MOST_WORK = 300_000
"""The steps that the search for the shortest loop may look at."""


@attrs.frozen
class Lasso:
    """The states of the loop; the stem leads to the first of them."""

    states: list[int]
    """In the numbers of the region; a single state stutters."""
    by_trigger: bool = True
    """Whether the stem passes the trigger of the property; if not, the loop does."""
    is_shortest: bool = True


def shortest_lasso(region: Region, stuttering: Flags, component: Any) -> Lasso:
    """The shortest lasso in the fair parts of a region: a nonempty set of states."""
    best: list[int] = []
    shortest = 1 << 60
    places = np.flatnonzero(stuttering)
    if len(places):
        nearest = int(places[np.argmin(region.depths[places])])
        best, shortest = [nearest], int(region.depths[nearest])
    fair = np.flatnonzero(component >= 0)
    search = LoopSearch(region, component)
    by_trigger = True
    for depth, start, after_trigger in starts(region, fair):
        if depth + 1 >= shortest:  # a loop has another state besides
            break
        required = region.required if after_trigger else region.triggers
        loop = search.shortest_loop(start, shortest - depth, required)
        if loop:
            best, shortest, by_trigger = loop, depth + len(loop) - 1, after_trigger
        if search.work > MOST_WORK:
            if not best:
                best = search.some_loop(int(fair[np.argmin(region.depths[fair])]))
            return Lasso(best, by_trigger, is_shortest=False)
    return Lasso(best, by_trigger)


def starts(region: Region, fair: Any) -> Iterator[tuple[int, int, bool]]:
    """Where a loop may begin, nearest first: steps to it, the state, whether by the trigger.

    A stem that does not pass the trigger may be shorter; the loop must then.
    """
    later = fair[region.levels[fair] < region.depths[fair]]
    depths = np.concatenate([region.depths[fair], region.levels[later]])
    states = np.concatenate([fair, later])
    for place in np.argsort(depths, kind="stable").tolist():
        yield int(depths[place]), int(states[place]), place < len(fair)


class LoopSearch:
    """Finds loops in fair components."""

    def __init__(self, region: Region, component: Any) -> None:
        """Nothing is looked at yet."""
        self.region = region
        self.component = component
        self.work = 0
        self.able = region.able | region.cut
        conditions = region.conditions
        self.weak, self.strong = as_number(conditions.weak), as_number(conditions.strong)

    def steps(self, state: int) -> Iterator[tuple[int, int]]:
        """The steps that stay in a component: where they lead, and the conditions they satisfy."""
        region, here = self.region, self.component[state]
        found: dict[int, int] = {}
        for step in range(int(region.begins[state]), int(region.begins[state + 1])):
            after = int(region.to[step])
            if self.component[after] == here:
                # A pair of states is a step of every rule that leads from the one to the other.
                taken = as_number(region.conditions.takes[region.labels[step]])
                found[after] = found.get(after, 0) | taken
        return iter(found.items())

    def met_at(self, state: int) -> int:
        """The weak conditions that a visit satisfies: those that are not enabled there."""
        return self.weak & ~as_number(self.able[state])

    def owed_at(self, state: int) -> int:
        """The strong conditions that a visit obliges to take: those that are enabled there."""
        return self.strong & as_number(self.able[state])

    def is_fair(self, met: int, owed: int, visited: bool) -> bool:
        """Whether a loop satisfies all conditions."""
        return visited and met & self.weak == self.weak and not owed & ~met

    def shortest_loop(self, start: int, most: int, required: Flags) -> list[int]:
        """The shortest fair loop through a state, with at most so many states; none if empty.

        It visits one of the required states.
        """
        begin = start, self.met_at(start), self.owed_at(start), bool(required[start])
        came_from: dict[Any, Any] = {begin: None}
        queue = deque([(begin, 1)])
        while queue and self.work <= MOST_WORK:
            node, length = queue.popleft()
            state, met, owed, visited = node
            for after, taken in self.steps(state):
                self.work += 1
                if after == start and self.is_fair(met | taken, owed, visited):
                    return way(came_from, node)
                if length == most:
                    continue
                there = (
                    after,
                    met | taken | self.met_at(after),
                    owed | self.owed_at(after),
                    visited or bool(required[after]),
                )
                if there not in came_from:
                    came_from[there] = node
                    queue.append((there, length + 1))
        return []

    def some_loop(self, start: int) -> list[int]:
        """A fair loop through a state: to each state and each step that a condition needs."""
        members = np.flatnonzero(self.component == self.component[start]).tolist()
        loop = [start]
        met, owed = self.met_at(start), 0
        visited = bool(self.region.required[start])

        def go_to(target: int) -> None:
            nonlocal met, visited
            for state, taken in self.path(loop[-1], target):
                loop.append(state)
                met |= taken | self.met_at(state)
                visited = visited or bool(self.region.required[state])

        for state in members:
            owed |= self.owed_at(state)
        for state in members:
            if self.met_at(state) & ~met or (not visited and self.region.required[state]):
                go_to(state)
            for after, taken in self.steps(state):
                if taken & (self.weak | owed) & ~met:
                    go_to(state)
                    loop.append(after)
                    met |= taken | self.met_at(after)
        if len(loop) == 1:
            loop.append(next(self.steps(start))[0])
        go_to(start)
        return loop[:-1]

    def path(self, begin: int, end: int) -> list[tuple[int, int]]:
        """A shortest path in a component: each state, and the conditions of the step to it."""
        came_from: dict[int, tuple[int, int] | None] = {begin: None}
        queue = deque([begin])
        while end not in came_from:
            state = queue.popleft()
            for after, taken in self.steps(state):
                if after not in came_from:
                    came_from[after] = state, taken
                    queue.append(after)
        found = []
        while (before := came_from[end]) is not None:
            found.append((end, before[1]))
            end = before[0]
        return found[::-1]


def way(came_from: dict[Any, Any], node: Any) -> list[int]:
    """The states on the way to a node."""
    states = []
    while node is not None:
        states.append(node[0])
        node = came_from[node]
    return states[::-1]


def as_number(bits: Any) -> int:
    """A set of conditions as one number."""
    number = 0
    for word in reversed(bits.tolist()):
        number = number << BITS | word
    return number
