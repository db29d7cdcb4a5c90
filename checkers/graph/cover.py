"""Traces that take every step of a graph at least once, with the fewest steps in all.

Each trace begins in an initial state. Where more steps leave a state than enter it, some steps must
be repeated to return to it; a minimum-cost flow finds which. With these repeats every state is left
as often as it is entered, except where traces begin and end, and Eulerian paths are the traces. So
no other such set of traces has fewer steps in all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from kspec.checkers.engine.steps import Numbers
from kspec.checkers.graph.graph import Graph
from kspec.spec.core import SpecError

Steps: TypeAlias = list[int]
"""A trace: the numbers of its steps, beginning in an initial state."""

ANY = 1 << 60
"""Any number of traces may begin in an initial state."""


def edge_cover(graph: Graph[Any], longest: int | None = None) -> list[Steps]:
    """Traces that together take every step; if `longest` is given, none has more steps."""
    uses = (1 + cheapest_repeats(graph)).tolist()
    traces = list(drawn(graph, uses))
    return traces if longest is None else list(cut(graph, traces, longest))


def way_to(graph: Graph[Any], state: int) -> Steps:
    """A shortest trace to a state; to an initial one it has no step."""
    steps = []
    while (step := int(graph.parents[state])) >= 0:
        steps.append(step)
        state = int(graph.origins[step])
    return steps[::-1]


# -- repeated steps -------------------------------------------------------------------------------


def cheapest_repeats(graph: Graph[Any]) -> Numbers:
    """How often each step is repeated, with the fewest repeats in all: a minimum-cost flow.

    A state that is left more often than it is entered needs arrivals. They come from a state that
    is entered more often, where a trace may end or continue, or from an initial state, where
    another trace may begin. Each round finds the distances from these to all states (a step
    forward costs 1, a repeat undone costs -1) and sends arrivals along shortest paths only, so
    the flow has minimum cost after each round.
    """
    size = len(graph.keys)
    surplus = np.bincount(graph.to, minlength=size) - np.diff(graph.begins)
    needs: list[int] = np.maximum(-surplus, 0).tolist()
    spare: list[int] = np.maximum(surplus, 0).tolist()
    spare[: graph.initial] = [ANY] * graph.initial
    needs[: graph.initial] = [0] * graph.initial
    net = Net(graph)
    far = [0] * size
    while any(needs):
        far = net.distances(far, [state for state in range(size) if spare[state]])
        send_along_shortest(net, far, needs, spare)
    return np.array(net.repeats, np.int64)


class Net:
    """The graph as lists, and how often each step is repeated so far."""

    def __init__(self, graph: Graph[Any]) -> None:
        size = len(graph.keys)
        entered = np.bincount(graph.to, minlength=size)
        self.begins: list[int] = graph.begins.tolist()
        self.to: list[int] = graph.to.tolist()
        self.origins: list[int] = graph.origins.tolist()
        self.entering: list[int] = np.argsort(graph.to, kind="stable").tolist()
        """The steps, by the state that they lead to."""
        self.entered: list[int] = np.concatenate([[0], np.cumsum(entered)]).tolist()
        """By state: where its steps begin in `entering`."""
        self.repeats = [0] * len(self.to)

    def leaving(self, state: int) -> range:
        """The steps out of a state."""
        return range(self.begins[state], self.begins[state + 1])

    def arriving(self, state: int) -> list[int]:
        """The steps that lead to a state."""
        return self.entering[self.entered[state] : self.entered[state + 1]]

    def distances(self, before: list[int], sources: Iterable[int]) -> list[int]:
        """The distance to each state, given the distances before the last repeats.

        Reduced by these, no cost is negative, as Dijkstra's algorithm requires.
        """
        to, origins, repeats = self.to, self.origins, self.repeats
        found = [ANY] * len(before)
        queue = []
        for state in sources:
            found[state] = -before[state]
            queue.append((found[state], state))
        heapq.heapify(queue)
        while queue:
            reached, state = heapq.heappop(queue)
            if reached > found[state]:
                continue
            here = reached + before[state]
            ways = [(1, to[step]) for step in self.leaving(state)]
            ways += [(-1, origins[step]) for step in self.arriving(state) if repeats[step]]
            for cost, after in ways:
                further = here + cost - before[after]
                if further < found[after]:
                    found[after] = further
                    heapq.heappush(queue, (further, after))
        return [reached + known for reached, known in zip(found, before, strict=True)]

    def shortest_into(self, state: int, far: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """The last steps of the shortest paths to a state: cost, step, state before.

        An undone step costs -1 and is taken backwards.
        """
        for step in self.arriving(state):
            if far[self.origins[step]] + 1 == far[state]:
                yield 1, step, self.origins[step]
        for step in self.leaving(state):
            if self.repeats[step] and far[self.to[step]] - 1 == far[state]:
                yield -1, step, self.to[step]


def send_along_shortest(net: Net, far: Sequence[int], needs: list[int], spare: list[int]) -> None:
    """Send arrivals to the states that need them, along shortest paths."""
    useless: set[int] = set()
    for target in [state for state, need in enumerate(needs) if need]:
        while needs[target]:
            found = way_from_spare(net, far, spare, target, useless)
            if found is None:
                break
            source, steps = found
            undone = [net.repeats[step] for cost, step in steps if cost < 0]
            sent = min(needs[target], spare[source], *undone)
            for cost, step in steps:
                net.repeats[step] += cost * sent
            needs[target] -= sent
            spare[source] -= sent


def way_from_spare(
    net: Net, far: Sequence[int], spare: Sequence[int], target: int, useless: set[int]
) -> tuple[int, list[tuple[int, int]]] | None:
    """A shortest path from a state with spare arrivals, found backwards.

    States from which none was found are not tried again in this round.
    """
    if target in useless:
        return None
    useless.add(target)
    way: list[tuple[int, int]] = []
    states = [target]
    choices = [net.shortest_into(target, far)]
    while choices:
        if spare[states[-1]] and far[states[-1]] == 0:
            useless.difference_update(states)
            return states[-1], way
        for cost, step, before in choices[-1]:
            if before not in useless:
                useless.add(before)
                way.append((cost, step))
                states.append(before)
                choices.append(net.shortest_into(before, far))
                break
        else:
            choices.pop()
            states.pop()
            if way:
                way.pop()
    return None


# -- Eulerian paths --------------------------------------------------------------------------------


def drawn(graph: Graph[Any], uses: list[int]) -> Iterator[Steps]:
    """Traces that take each step as often as `uses` says.

    Each state is left as often as it is entered, except where traces begin and end. An extra
    state closes the gap: a step leads to it from each end, and from it to each beginning. The
    graph then has an Eulerian circuit, which is cut into traces at the extra state.
    """
    nowhere = len(graph.keys)
    to = graph.to.tolist()
    ways: list[list[tuple[int, int]]] = [[] for _ in range(nowhere + 1)]
    """By state: the steps still to be taken, and where they lead; -1 is an added step."""
    balance = [0] * nowhere
    for state in range(nowhere):
        for step in range(graph.begins[state], graph.begins[state + 1]):
            ways[state] += [(step, to[step])] * uses[step]
            balance[state] -= uses[step]
            balance[to[step]] += uses[step]
    for state, entered in enumerate(balance):
        ways[state] += [(-1, nowhere)] * entered
        ways[nowhere] += [(-1, state)] * -entered
        ways[state].reverse()
    for begin in (nowhere, *range(graph.initial)):
        trace: Steps = []
        for step in line(begin, ways):
            if step >= 0:
                trace.append(step)
            elif trace:
                yield trace
                trace = []
        if trace:
            yield trace


def line(begin: int, ways: list[list[tuple[int, int]]]) -> Steps:
    """An Eulerian circuit: follow unused steps back to the start, then splice in the others."""
    going = [(-1, begin)]
    steps: Steps = []
    while going:
        step, state = going[-1]
        if ways[state]:
            going.append(ways[state].pop())
        else:
            steps.append(step)
            going.pop()
    return steps[-2::-1]


def cut(graph: Graph[Any], traces: Iterable[Steps], longest: int) -> Iterator[Steps]:
    """The same steps in traces of at most `longest` steps, each from an initial state.

    SpecError if a step is further away than that. Each further piece begins with a shortest way
    to the next step that no earlier trace has taken.
    """
    furthest = int(graph.levels[graph.origins].max(initial=0)) + 1
    if longest < furthest:
        raise SpecError(f"some steps are {furthest} steps away: no trace of {longest} takes them")
    taken: set[int] = set()
    for trace in traces:
        rest = trace
        while len(rest) > longest:
            yield rest[:longest]
            taken.update(rest[:longest])
            new = next((i for i, s in enumerate(rest) if i >= longest and s not in taken), None)
            if new is None:
                break
            rest = way_to(graph, int(graph.origins[rest[new]])) + rest[new:]
        else:
            yield rest
            taken.update(rest)
