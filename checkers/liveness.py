"""Whether one thing leads to another: the search for a fair behaviour in which it does not.

Such a behaviour reaches the trigger, and from there on never the goal: it ends too early, or
goes round in a part of the graph (a strongly connected one) in which every fair rule gets its
due. Strong fairness is dealt with as Streett conditions are: where a rule could be taken and
never is, the states in which it could are left out, and what remains is searched again.

A behaviour that limits alone stop is not judged: beyond the bounds it might go on. The verdict
says how many such states there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import attrs
import networkx as nx

from spec.core import LeadsTo, System
from traces.trace import Trace, between

Instance: TypeAlias = tuple[str, tuple[Any, ...]]
"""A rule with what it chooses: what fairness speaks of."""


@attrs.frozen
class Found:
    """A behaviour in which the goal is never reached."""

    says: str
    trace: Trace


@attrs.frozen
class Region:
    """The states that a behaviour may pass through without reaching the goal."""

    graph: Any
    """A directed graph of states; each edge has the set of instances that lead along it."""
    enabled: Mapping[Any, frozenset[Instance]]
    """What can be taken in each state, whether or not it stays in the region."""


def find_violation(
    system: System[Any], prop: LeadsTo[Any], came_from: Mapping[Any, Any]
) -> Found | None:
    """A fair behaviour with the trigger and then never the goal, or None if there is none."""
    triggered = [s for s in came_from if prop.body(s) == (True, False)]
    region = explore_without_goal(system, prop, triggered)
    for state in region.graph:
        if not region.enabled[state] and (system.is_final(state) or system.is_deadlock(state)):
            states = way_to(region, triggered, state, came_from)
            says = f"{prop.name} fails: the behaviour ends without it"
            return Found(says, as_trace(system, states, prop.name, None))
    weak = {r.name for r in prop.weakly_fair}
    strong = {r.name for r in prop.strongly_fair}
    for component in nx.strongly_connected_components(region.graph):
        cycle = fair_cycle(region, set(component), weak, strong)
        if cycle:
            prefix = way_to(region, triggered, cycle[0], came_from)
            says = f"{prop.name} fails: the behaviour goes round without it"
            return Found(says, as_trace(system, [*prefix, *cycle[1:]], prop.name, len(prefix) - 1))
    return None


def explore_without_goal(
    system: System[Any], prop: LeadsTo[Any], triggered: Iterable[Any]
) -> Region:
    """Everything that can be reached from the trigger before the goal."""
    graph: nx.DiGraph[Any] = nx.DiGraph()
    enabled: dict[Any, frozenset[Instance]] = {}
    todo = list(triggered)
    graph.add_nodes_from(todo)
    while todo:
        state = todo.pop()
        instances = set()
        for rule, choice, after in system.steps(state):
            instances.add((rule.name, choice))
            if prop.body(after)[1]:
                continue
            if after not in graph:
                todo.append(after)
            if graph.has_edge(state, after):
                graph[state][after]["by"].add((rule.name, choice))
            else:
                graph.add_edge(state, after, by={(rule.name, choice)})
        enabled[state] = frozenset(instances)
    return Region(graph, enabled)


def fair_cycle(
    region: Region, component: set[Any], weak: set[str], strong: set[str]
) -> list[Any] | None:
    """A cycle in this component that is fair, as states, or None."""
    part = region.graph.subgraph(component)
    if part.number_of_edges() == 0:
        return None
    taken = {instance for _, _, by in part.edges(data="by") for instance in by}
    could = frozenset().union(*(region.enabled[s] for s in component))
    always = frozenset.intersection(*(region.enabled[s] for s in component))
    if any(name in weak and (name, choice) not in taken for name, choice in always):
        return None
    neglected = {i for i in could if i[0] in strong and i not in taken}
    if neglected:
        rest = {s for s in component if not region.enabled[s] & neglected}
        for smaller in nx.strongly_connected_components(part.subgraph(rest)):
            cycle = fair_cycle(region, set(smaller), weak, strong)
            if cycle:
                return cycle
        return None
    return round_trip(region, part, could, weak, strong)


def round_trip(
    region: Region, part: Any, could: frozenset[Instance], weak: set[str], strong: set[str]
) -> list[Any]:
    """A cycle through a fair component that gives every fair instance its due."""
    start = next(iter(part))
    walk = [start]

    def go_to(target: Any) -> None:
        walk.extend(nx.shortest_path(part, walk[-1], target)[1:])

    for instance in sorted(could, key=repr):
        if instance[0] not in weak | strong:
            continue
        idle = [s for s in part if instance not in region.enabled[s]]
        if instance[0] not in strong and (idle and any(s in walk for s in idle)):
            continue
        edge = next(((a, b) for a, b, by in part.edges(data="by") if instance in by), None)
        if edge is not None:
            if edge not in pairwise(walk):
                go_to(edge[0])
                walk.append(edge[1])
        else:
            go_to(idle[0])
    if len(walk) == 1 and not part.has_edge(start, start):
        walk.append(next(iter(part[start])))
    if walk[-1] != start:
        go_to(start)
        walk.pop()
    elif len(walk) > 1:
        walk.pop()
    return walk


def way_to(
    region: Region, triggered: list[Any], state: Any, came_from: Mapping[Any, Any]
) -> list[Any]:
    """A behaviour from an initial state to this one, by way of the trigger."""
    graph = region.graph
    for start in triggered:
        if nx.has_path(graph, start, state):
            inside = nx.shortest_path(graph, start, state)
            break
    before = [inside[0]]
    while (earlier := came_from[before[-1]]) is not None:
        before.append(earlier)
    return [*reversed(before), *inside[1:]]


def as_trace(system: System[Any], states: list[Any], name: str, loop: int | None) -> Trace:
    """The states with the steps between them, and the step that closes the loop."""
    walked = states if loop is None else [*states, states[loop]]
    steps = tuple(between(system, a, b) for a, b in pairwise(walked))
    return Trace(system, tuple(states), steps, name, "", loop)
