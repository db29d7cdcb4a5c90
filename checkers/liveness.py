"""Whether one thing leads to another: the search for a fair behaviour in which it does not.

Such a behaviour reaches the trigger, and from there on never the goal: it ends too early, or
goes round in a part of the graph (a strongly connected one) in which every fair rule gets its
due. Strong fairness is dealt with as Streett conditions are: where a rule could be taken and
never is, the states in which it could are left out, and what remains is searched again.

A behaviour that limits alone stop is not judged: beyond the bounds it might go on. The verdict
says how many such states there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import attrs
import networkx as nx
import numpy as np

from checkers.graph import Act, Graph, Numbers, Source, graph_from
from spec.core import LeadsTo, System
from traces.trace import Trace, between

Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

OUTSIDE, BEGINS = -2, -1


@attrs.frozen
class Found:
    """A behaviour in which the goal is never reached."""

    says: str
    trace: Trace


@attrs.frozen(eq=False)
class Region:
    """The states that a behaviour may pass through after the trigger and before the goal."""

    graph: Graph[Any]
    parents: Sequence[int]
    """By state, of all: the one that it was found from."""
    acts: Sequence[Act]
    states: Numbers
    """Nearest first."""
    came_by: Numbers
    """By state: the step by which a shortest behaviour enters it from within the region; BEGINS
    where the trigger holds and that is as near; OUTSIDE of the region."""
    weak: Flags
    """By label: whether it is of a weakly fair rule."""
    strong: Flags
    """By label: whether it is of a strongly fair rule."""

    def labels(self, state: int) -> list[int]:
        """What can be taken in a state, whether or not it stays in the region."""
        labels: list[int] = self.graph.labels[steps_out(self.graph, [state])].tolist()
        return labels

    def way_to(self, state: int) -> list[int]:
        """A shortest behaviour to a state, by way of the trigger."""
        way = [state]
        while (step := int(self.came_by[way[-1]])) >= 0:
            way.append(int(self.graph.origins[step]))
        while (before := self.parents[way[-1]]) >= 0:
            way.append(before)
        return way[::-1]


def steps_out(graph: Graph[Any], states: Any) -> Numbers:
    """All steps out of some states."""
    states = np.asarray(states, np.int64)
    begins, degrees = graph.begins[states], graph.begins[states + 1] - graph.begins[states]
    within = np.arange(degrees.sum()) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    steps: Numbers = np.repeat(begins, degrees) + within
    return steps


def find_violation(
    source: Source[Any], prop: LeadsTo[Any], go_on: Callable[[int], None] = lambda queue: None
) -> Found | None:
    """A fair behaviour with the trigger and then never the goal, or None if there is none.

    The source is a new one. `go_on` is called now and then with how many states are found and
    not yet expanded.
    """
    judged = source.judged(prop) if source.is_complete else None
    graph = graph_from(
        source,
        on_progress=lambda progress: go_on(progress.queue),
        left_out=set(judged[1].tolist()) if judged else (),
    )
    region = region_of(graph, source.parents, prop, *(judged or source.judged(prop)))
    system = graph.system
    idle = region.states[graph.begins[region.states] == graph.begins[region.states + 1]]
    for number in idle.tolist():
        state = graph.state(number)
        if system.is_final(state) or system.is_deadlock(state):
            says = f"{prop.name} fails: the behaviour ends without it"
            return Found(says, as_trace(graph, region.way_to(number), prop.name, None))
    for component in fair_components(region, region.states):
        cycle = round_trip(region, component)
        prefix = region.way_to(cycle[0])
        says = f"{prop.name} fails: the behaviour goes round without it"
        return Found(says, as_trace(graph, [*prefix, *cycle[1:]], prop.name, len(prefix) - 1))
    return None


def region_of(
    graph: Graph[Any],
    parents: Sequence[int],
    prop: LeadsTo[Any],
    triggered: Numbers,
    reached: Numbers,
) -> Region:
    """Everything that can be reached from the trigger before the goal, nearest first."""
    assert graph.acts is not None, "a kernel knows no leads-to properties"
    came_by = np.full(len(graph.keys), OUTSIDE)
    is_goal = np.zeros(len(graph.keys), np.bool_)
    is_goal[reached] = True
    depth_begun = graph.levels[triggered]
    depth, found, last = 0, [], np.zeros(0, np.int64)
    while len(last) or (depth_begun >= depth).any():
        begun = triggered[depth_begun == depth]
        begun = begun[came_by[begun] == OUTSIDE]
        came_by[begun] = BEGINS
        steps = steps_out(graph, last)
        steps = steps[~is_goal[graph.to[steps]] & (came_by[graph.to[steps]] == OUTSIDE)]
        entered, first = np.unique(graph.to[steps], return_index=True)
        came_by[entered] = steps[first]
        last = np.concatenate([begun, entered])
        found.append(last)
        depth += 1
    weak, strong = (
        np.array([rule.name in names for rule, _ in graph.acts], np.bool_)
        for names in ({r.name for r in prop.weakly_fair}, {r.name for r in prop.strongly_fair})
    )
    states = np.concatenate([*found, last])
    return Region(graph, parents, graph.acts, states, came_by, weak, strong)


def fair_components(region: Region, states: Numbers) -> Iterator[Numbers]:
    """The strongly connected parts of these states that a fair behaviour can stay in for ever.

    Weak fairness: a rule that can be taken in all of its states is taken in it. Strong fairness:
    so is one that can be taken in any of them; where it is not, a behaviour may avoid the
    states in which it can be taken.
    """
    graph, size = region.graph, len(region.acts)
    component = components(graph, states)
    out = steps_out(graph, states)
    of, labels = component[graph.origins[out]], graph.labels[out]
    stays = of == component[graph.to[out]]
    taken = np.unique(of[stays] * size + labels[stays])
    weak = np.unique((graph.origins[out] * size + labels)[region.weak[labels]])
    able, times = np.unique(component[weak // size] * size + weak % size, return_counts=True)
    sizes = np.bincount(component[states])
    always = able[times == sizes[able // size]]
    unfair = np.setdiff1d(always, taken) // size
    for one in np.setdiff1d(of[stays], unfair).tolist():
        part = states[component[states] == one]
        could = np.unique(graph.labels[steps_out(graph, part)])
        could = could[region.strong[could]]
        neglected = could[~np.isin(one * size + could, taken)]
        if len(neglected):
            some = steps_out(graph, part)
            avoided = graph.origins[some][np.isin(graph.labels[some], neglected)]
            yield from fair_components(region, part[~np.isin(part, avoided)])
        else:
            yield part


def components(graph: Graph[Any], states: Numbers) -> Numbers:
    """By state: the number of its strongly connected component among these, or -1 elsewhere.

    Components are numbered in the order of `states`.
    """
    is_asked = np.zeros(len(graph.keys), np.bool_)
    is_asked[states] = True
    steps = steps_out(graph, states)
    steps = steps[is_asked[graph.to[steps]]]
    part: nx.DiGraph[int] = nx.DiGraph()
    part.add_nodes_from(states.tolist())
    part.add_edges_from(zip(graph.origins[steps].tolist(), graph.to[steps].tolist(), strict=True))
    found = np.full(len(graph.keys), -1)
    for number, some in enumerate(nx.strongly_connected_components(part)):
        found[list(some)] = number
    _, first, places = np.unique(found[states], return_index=True, return_inverse=True)
    found[states] = np.argsort(np.argsort(first))[places]
    return found


def round_trip(region: Region, states: Numbers) -> list[int]:
    """A cycle through a fair component that takes every fair rule as often as it must."""
    graph, acts = region.graph, region.acts
    part: nx.DiGraph[int] = nx.DiGraph()
    part.add_nodes_from(states.tolist())
    able = {state: set(region.labels(state)) for state in part}
    edges: dict[int, tuple[int, int]] = {}
    """By label: the first edge along which it is taken."""
    steps = steps_out(graph, states)
    steps = steps[np.isin(graph.to[steps], states)]
    for step in steps.tolist():
        edge = int(graph.origins[step]), int(graph.to[step])
        part.add_edge(*edge)
        edges.setdefault(int(graph.labels[step]), edge)
    start = int(states[0])
    walk = [start]

    def go_to(target: int) -> None:
        walk.extend(nx.shortest_path(part, walk[-1], target)[1:])

    def told(label: int) -> str:
        rule, choice = acts[label]
        return repr((rule.name, choice))

    for label in sorted(set().union(*able.values()), key=told):
        if not (region.weak[label] or region.strong[label]):
            continue
        idle = [state for state in part if label not in able[state]]
        if not region.strong[label] and any(state in walk for state in idle):
            continue
        if label not in edges:
            go_to(idle[0])
        elif edges[label] not in pairwise(walk):
            go_to(edges[label][0])
            walk.append(edges[label][1])
    if len(walk) == 1 and not part.has_edge(start, start):
        walk.append(next(iter(part[start])))
    if walk[-1] != start:
        go_to(start)
        walk.pop()
    elif len(walk) > 1:
        walk.pop()
    return walk


def as_trace(graph: Graph[Any], numbers: list[int], name: str, loop: int | None) -> Trace:
    """The states with the steps between them, and the step that closes the loop."""
    system: System[Any] = graph.system
    states = [graph.state(number) for number in numbers]
    walked = states if loop is None else [*states, states[loop]]
    steps = tuple(between(system, a, b) for a, b in pairwise(walked))
    return Trace(system, tuple(states), steps, name, "", loop)
