"""Liveness: the search for a fair behaviour that violates a leads-to property.

Such a behaviour reaches the trigger and never the goal after it. Either it ends, or it is a lasso
whose cycle lies in a strongly connected component and satisfies every fairness condition. Strong
fairness is a Streett condition: where a rule is enabled in a component but never taken, the states
that enable it are removed, and the rest is decomposed again.

A behaviour that ends because limits alone block every rule is no violation: beyond the bounds it
might go on. The verdict counts such states. A property with `may_stop` judges more: its behaviours
may end wherever no fair rule is enabled, and only the limits of fair rules excuse such an end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import attrs
import networkx as nx
import numpy as np

from checkers.graph.graph import Act, Graph, Numbers, Source, graph_from
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
    """By state: the step by which a shortest behaviour within the region enters it; BEGINS where
    a behaviour that begins with the trigger is as short; OUTSIDE if it is not in the region."""
    weak: Flags
    """By label: whether its rule is weakly fair."""
    strong: Flags
    """By label: whether its rule is strongly fair."""

    def labels(self, state: int) -> list[int]:
        """The labels of the steps out of a state, including those that leave the region."""
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
    """A fair behaviour that reaches the trigger and never the goal after it, or None.

    The source must be new. `go_on` is called from time to time with the number of states that
    are found and not yet expanded.
    """
    judged = source.judged(prop) if source.is_complete else None
    graph = graph_from(
        source,
        on_progress=lambda progress: go_on(progress.queue),
        left_out=set(judged[1].tolist()) if judged else (),
    )
    region = region_of(graph, source.parents, prop, *(judged or source.judged(prop)))
    system = graph.system
    moves = region.weak | region.strong if prop.may_stop else np.ones(len(region.acts), np.bool_)
    steps = steps_out(graph, region.states)
    idle = region.states[~np.isin(region.states, graph.origins[steps[moves[graph.labels[steps]]]])]
    fair = {rule.name for rule in (*prop.weakly_fair, *prop.strongly_fair)}
    rules = [r for r in system.rules if r.name in fair] if prop.may_stop else system.rules
    for number in idle.tolist():
        state = graph.state(number)
        if system.is_final(state) or system.is_deadlock(state, rules):
            says = f"{prop.name} fails: the behaviour ends without it"
            return Found(says, as_trace(graph, region.way_to(number), prop.name, None))
    for component in fair_components(region, region.states):
        cycle = round_trip(region, component)
        prefix = region.way_to(cycle[0])
        says = f"{prop.name} fails: the behaviour repeats without it"
        return Found(says, as_trace(graph, [*prefix, *cycle[1:]], prop.name, len(prefix) - 1))
    return None


def region_of(
    graph: Graph[Any],
    parents: Sequence[int],
    prop: LeadsTo[Any],
    triggered: Numbers,
    reached: Numbers,
) -> Region:
    """The states reachable from the trigger before the goal, nearest first."""
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
    """The strongly connected parts of these states that a fair behaviour can stay in forever.

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

    def by_name(label: int) -> str:
        rule, choice = acts[label]
        return repr((rule.name, choice))

    for label in sorted(set().union(*able.values()), key=by_name):
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
