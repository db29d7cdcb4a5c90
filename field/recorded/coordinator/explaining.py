"""How a response is explained: the worlds that have sent it, with the ids that it shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any

import attrs

from kspec.field.conform.responses import comparable
from kspec.field.conform.worlds import Names, same
from kspec.field.recorded.coordinator.messages import ERRORS
from kspec.field.recorded.coordinator.partial import errors_in
from kspec.field.recorded.coordinator.worlds import (
    SLACK,
    UNNAMED,
    Call,
    World,
    fail_over,
    steps,
    write_completes,
)
from kspec.spec.coordinator.sessions import Timer
from kspec.spec.core import evolve
from kspec.spec.messages import Error, HeartbeatResponse, JoinGroupResponse, Settings

FAILOVER = frozenset(ERRORS["failover"])
"""Errors of a coordinator that moves."""
ENVIRONMENT = FAILOVER | set(ERRORS["environment"])
"""Errors that depend on what a trace does not show: settings, rights, other brokers."""
OF_PARTITIONS = frozenset(ERRORS["partitions"])
"""Errors of single partitions in the response to an OffsetCommit."""


class TooMany(Exception):
    """More states explain the trace than are kept."""


def explain(
    worlds: Iterable[World],
    call: Call,
    observed: Any,
    now: float,
    *,
    known_delay: bool,
    most: int,
) -> tuple[World, ...]:
    """The worlds after a response was seen; none if nothing explains it."""
    from_environment = bool(errors_in(observed) & ENVIRONMENT)
    found: list[World] = []
    todo: list[World] = []
    for world in worlds:
        explained, is_settled = seen_in(world, call, observed)
        found += explained
        if not is_settled:
            todo.append(world)
    seen = set(todo)
    while todo:
        world = todo.pop()
        if from_environment:
            found += unanswerable(world, call, observed)
        for following in steps(world, now, known_delay):
            explained, is_settled = seen_in(following, call, observed)
            found += explained
            if not is_settled and following not in seen:
                if len(seen) >= most:
                    raise TooMany
                seen.add(following)
                todo.append(following)
    return merged(found)


def seen_in(world: World, call: Call, observed: Any) -> tuple[list[World], bool]:
    """The world after the response, if it has sent it, and whether no step changes that."""
    if not call.changes_group:
        for each, answers in world.possible:
            if each == call:
                agrees = any(is_same(expected, observed) for expected in answers)
                return ([without_possible(world, call, observed)] if agrees else []), agrees
        return [world], True  # the connection was closed
    for each, expected in world.sent:
        if each == call:
            rest = evolve(world, sent=tuple(pair for pair in world.sent if pair[0] != call))
            named = bind(rest, call, expected, observed)
            return ([] if named is None else [named]), True
    return [], False


def without_possible(world: World, call: Call, observed: Any) -> World:
    """The world after the response to a request that does not change the group was seen."""
    rest = evolve(world, possible=tuple(pair for pair in world.possible if pair[0] != call))
    renews = Error.NONE in errors_in(observed) or (
        isinstance(observed, HeartbeatResponse) and observed.error is Error.REBALANCE_IN_PROGRESS
    )
    request: Any = call.request
    member = world.group.member(request.member)
    if not renews or member is None:
        return rest
    timer, expiry = Timer("session", member.id), call.since + member.session_timeout - SLACK
    renewed = tuple((t, max(e, expiry) if t == timer else e) for t, e in rest.timers)
    return evolve(rest, timers=renewed)


def unanswerable(world: World, call: Call, observed: Any) -> Iterator[World]:
    """The worlds after an error that the group does not explain."""
    fails = bool(errors_in(observed) & FAILOVER)
    if call in world.waiting or not call.changes_group:
        rest = evolve(
            world,
            waiting=tuple(c for c in world.waiting if c != call),
            possible=tuple(p for p in world.possible if p[0] != call),
        )
        yield rest
        if fails:
            yield from fail_over(rest)
    elif fails:
        for moved in fail_over(world):
            kept = tuple(pair for pair in moved.sent if pair[0] != call)
            if kept != moved.sent:
                yield evolve(moved, sent=kept)
        if world.writes:
            for failed in write_completes(world, observed.error):
                explained, _ = seen_in(failed, call, observed)
                yield from explained


def is_same(expected: Any, observed: Any) -> bool:
    """Whether the response to a request that does not change the group is the expected one."""
    if isinstance(expected, HeartbeatResponse):
        return bool(expected == observed)
    return errors_in(observed) - OF_PARTITIONS <= errors_in(expected)


def bind(world: World, call: Call, expected: Any, observed: Any) -> World | None:
    """The world with the ids and the generation that a response shows; None if it differs."""
    if (
        isinstance(expected, JoinGroupResponse)
        and expected.generation >= 0
        and observed.generation >= 0
        and not world.has_generation
    ):
        later = observed.generation - expected.generation
        expected = evolve(expected, generation=observed.generation)
        world = with_later_generation(world, later)
    members = [m.id for m in world.group.members] + list(world.group.pending)
    known = {*members, *ids_in(expected)}
    names = Names((m, m) for m in known if not m.startswith(UNNAMED))
    if not same(names, comparable(call, expected), comparable(call, observed)):
        return None
    revealed = {s: a for s, a in names.actual.items() if s != a}
    if not revealed:
        return world
    bound: World = rename(world, revealed)
    members_in_order = tuple(sorted(bound.group.members, key=lambda m: m.id))
    return evolve(bound, group=evolve(bound.group, members=members_in_order))


def ids_in(response: Any) -> set[str]:
    """The member ids that a response names."""
    if not isinstance(response, JoinGroupResponse):
        return set()
    named = {response.member, response.leader, *(m[0] for m in response.members)}
    return named - {""}


def with_later_generation(world: World, later: int) -> World:
    """The world of a group that had generations before the trace began."""
    sent = tuple(
        (c, evolve(r, generation=r.generation + later))
        if isinstance(r, JoinGroupResponse) and r.generation >= 0
        else (c, r)
        for c, r in world.sent
    )
    return evolve(
        world,
        group=evolve(world.group, generation=world.group.generation + later),
        writes=tuple(w + later if isinstance(w, int) else w for w in world.writes),
        stored=tuple(evolve(r, generation=r.generation + later) for r in world.stored),
        sent=sent,
        has_generation=True,
    )


def rename(value: Any, names: dict[str, str]) -> Any:
    """The value with other names of members, wherever they stand."""
    match value:
        case str():
            return names.get(value, value)
        case Call() | Settings():
            return value
        case frozenset():
            return frozenset(rename(item, names) for item in value)
        case tuple():
            items = [rename(item, names) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        case _ if attrs.has(type(value)):
            changes = {
                field.name: rename(getattr(value, field.name), names)
                for field in attrs.fields(type(value))
            }
            return evolve(value, **changes)
        case _:
            return value


def merged(worlds: Sequence[World]) -> tuple[World, ...]:
    """The worlds, of those that differ in times alone only one: with the earliest times."""
    if len(worlds) <= 1:
        return tuple(worlds)
    found: dict[World, World] = {}
    for world in worlds:
        key = evolve(world, timers=tuple((t, 0.0) for t, _ in world.timers), time=0.0)
        other = found.get(key)
        if other is not None:
            earliest = dict(other.timers)
            timers = tuple((t, min(e, earliest.get(t, inf))) for t, e in world.timers)
            world = evolve(world, timers=timers, time=min(world.time, other.time))
        found[key] = world
    return tuple(found.values())
