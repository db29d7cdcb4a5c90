"""The states that a coordinator may be in, given the requests and responses that were seen.

Between the two events of a call the coordinator handles it, and nothing shows when. So a response
is explained lazily: by what may have happened before it (other requests that are in flight, a write
to the offsets topic, a timer that has had time to expire), in every order, until the specification
answers as was seen. What is not needed for that stays possible later.

A Heartbeat or OffsetCommit does not change the group. Instead of an order among the others, each
keeps the set of responses that were possible since it was sent.

A timer may expire late, since a busy broker does; never early. A failover is considered where a
response shows one: NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or COORDINATOR_LOAD_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Any, TypeAlias

import attrs

from checkers.conformance.history import Ask
from checkers.conformance.translate import comparable
from checkers.conformance.worlds import Names, Write, orders, outcomes, same, ties
from checkers.validation.coordinator.partial import errors_in
from spec.coordinator import Group, Outcome, handle, handle_unknown
from spec.coordinator.clock import duration, starts
from spec.coordinator.failover import load, unload
from spec.coordinator.membership import replacement_stored
from spec.coordinator.rebalance import assignments_stored
from spec.coordinator.sessions import Timer, armed, fire
from spec.coordinator.state import Replacement
from spec.core import evolve
from spec.messages import (
    Error,
    GroupMetadata,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommit,
    Response,
    Settings,
)

SLACK = 100.0
"""How much earlier than its time a timer may seem to expire, in milliseconds: clocks are coarse."""
UNNAMED = "m?"
"""How the name of a member begins whose id no response has shown."""
MOST_STORED = 3
"""How many of the latest records of the group a failover may load."""

FAILOVER = frozenset(
    {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
)
"""Errors of a coordinator that moves."""
ENVIRONMENT = FAILOVER | {
    "GROUP_AUTHORIZATION_FAILED",
    "GROUP_MAX_SIZE_REACHED",
    "INVALID_GROUP_ID",
    "INVALID_REQUEST",
    "INVALID_SESSION_TIMEOUT",
    "REQUEST_TIMED_OUT",
    "UNSUPPORTED_VERSION",
}
"""Errors that depend on what a trace does not show: settings, rights, other brokers."""
OF_PARTITIONS = frozenset(
    {
        "OFFSET_METADATA_TOO_LARGE",
        "TOPIC_AUTHORIZATION_FAILED",
        "UNKNOWN_TOPIC_ID",
        "UNKNOWN_TOPIC_OR_PARTITION",
    }
)
"""Errors of single partitions in the response to an OffsetCommit."""


class TooMany(Exception):
    """More states explain the trace than are kept."""


@attrs.frozen
class Call(Ask):
    """A request that was seen, and whose response was not yet."""

    connection: str
    since: float
    """When it was seen, in milliseconds."""

    @property
    def symbol(self) -> str:
        """The name of a new member until a response shows its id."""
        return f"{UNNAMED}{self.number}"

    @property
    def changes_group(self) -> bool:
        """Whether the request may change the group, and not its offsets and timers alone."""
        return not isinstance(self.request, Heartbeat | OffsetCommit)


Answers: TypeAlias = tuple[tuple[Call, Any], ...]


@attrs.frozen
class World:
    """A state that the coordinator may be in."""

    group: Group
    """The group; Dead if the coordinator does not know it."""
    has_generation: bool = False
    """Whether a response has shown the generation: the group may be older than the trace."""
    waiting: tuple[Call, ...] = ()
    """Requests that are not handled yet."""
    possible: tuple[tuple[Call, frozenset[Response]], ...] = ()
    """The responses that were possible to each open request that does not change the group."""
    sent: tuple[tuple[Call, Response], ...] = ()
    """Responses that are sent, and not seen yet."""
    writes: tuple[Write, ...] = ()
    """The writes to the offsets topic in progress, oldest first."""
    stored: tuple[GroupMetadata, ...] = ()
    """The latest records of the group in the offsets topic."""
    timers: tuple[tuple[Timer, float], ...] = ()
    """The armed timers, and when each may expire."""
    time: float = 0.0
    """The earliest time at which the latest step may have happened."""

    def may_handle(self, call: Call) -> bool:
        """Whether all earlier requests on the connection are answered, as Kafka does it."""
        parked = (c for m in self.group.members for c in (m.awaiting_join, m.awaiting_sync))
        unanswered = [*self.waiting, *(c for c in parked if isinstance(c, Call))]
        return not any(
            c.connection == call.connection and c.number < call.number for c in unanswered
        )


def new_worlds(settings: Settings) -> tuple[World, ...]:
    """The worlds before the first event: the group is unknown, or has no members."""
    unknown = World(Group(state=GroupState.DEAD, settings=settings))
    return unknown, World(Group(settings=settings))


# -- requests ---------------------------------------------------------------------------------


def arrive(world: World, call: Call) -> World:
    """The world after a request was seen."""
    if call.changes_group:
        return evolve(world, waiting=(*world.waiting, call))
    answers = frozenset({answer(world.group, call)})
    return evolve(world, possible=(*world.possible, (call, answers)))


def answer(group: Group, call: Call) -> Response:
    """The response to a request that does not change the group."""
    request: Any = call.request
    if group.state is GroupState.DEAD:
        outcome = handle_unknown(call, request, call.symbol, group.settings)
    else:
        outcome = handle(group, call, request, call.symbol)
    return outcome.responses[0][1]


def disconnect(world: World, connection: str) -> World:
    """The world after a connection was closed: its requests may still be handled."""
    return evolve(
        world,
        possible=tuple(pair for pair in world.possible if pair[0].connection != connection),
        sent=tuple(pair for pair in world.sent if pair[0].connection != connection),
    )


# -- hidden steps -----------------------------------------------------------------------------


def steps(world: World, now: float, known_delay: bool) -> Iterator[World]:
    """The worlds after one step that no event shows."""
    for call in world.waiting:
        if world.may_handle(call):
            yield from handled(world, call)
    if world.writes:
        yield from write_completes(world)
    if world.group.state is GroupState.EMPTY:
        yield deleted(world)
    timed = armed(world.group)
    for timer, earliest in world.timers:
        is_delay = timer.kind == "initial delay"
        if timer in timed and (earliest <= now or (is_delay and not known_delay)):
            begin = max(world.time, min(earliest, now))
            stopped = evolve(world, timers=tuple(t for t in world.timers if t[0] != timer))
            for group in orders(world.group):
                yield from after(stopped, fire(group, timer), begin)


def deleted(world: World) -> World:
    """The world after an administrator, or the expiry of offsets, has deleted an empty group.

    Kafka: `GroupCoordinatorShard.cleanupGroupMetadata`.
    """
    unknown = Group(state=GroupState.DEAD, settings=world.group.settings)
    return evolve(
        world,
        group=unknown,
        stored=(),
        timers=(),
        has_generation=True,
        possible=tuple((c, a | {answer(unknown, c)}) for c, a in world.possible),
    )


def handled(world: World, call: Call) -> Iterator[World]:
    """The worlds after a request is handled."""
    rest = evolve(world, waiting=tuple(c for c in world.waiting if c != call))
    for outcome in outcomes(world.group, call, call.request):
        yield from after(rest, outcome, max(world.time, call.since), call)


def write_completes(world: World, error: Error = Error.NONE) -> Iterator[World]:
    """The worlds after the oldest write has succeeded, or failed."""
    write, rest = world.writes[0], world.writes[1:]
    written = evolve(world, writes=rest)
    for group in orders(world.group):
        if isinstance(write, Replacement):
            outcome = replacement_stored(group, write, error)
        else:
            outcome = assignments_stored(group, write, error)
        yield from after(written, outcome, world.time)


def after(
    world: World,
    outcome: Outcome,
    begin: float,
    call: Call | None = None,
) -> Iterator[World]:
    """The worlds after an outcome; ties of the vote are broken in every way."""
    for group, responses in ties(world.group, outcome):
        in_order = evolve(group, members=tuple(sorted(group.members, key=lambda m: m.id)))
        writes, stored = world.writes, world.stored
        if outcome.replacement is not None:
            writes = (*writes, outcome.replacement)
        if outcome.record is not None:
            stored = (*stored, outcome.record)[-MOST_STORED:]
            if in_order.unstored is not None and in_order.generation not in writes:
                writes = (*writes, in_order.generation)
        yield evolve(
            world,
            group=in_order,
            writes=writes,
            stored=stored,
            sent=(*world.sent, *((c, r) for c, r in responses if isinstance(c, Call))),
            possible=tuple((c, a | {answer(in_order, c)}) for c, a in world.possible),
            timers=timers_after(world, in_order, begin, call),
            time=begin,
        )


def timers_after(
    world: World, group: Group, begin: float, call: Call | None
) -> tuple[tuple[Timer, float], ...]:
    """The timers after a step: new ones start, and those that have no effect any more stop."""
    request: Any = None if call is None else call.request
    running = dict(world.timers)
    sessions = {Timer("session", member.id) for member in group.members}
    found = []
    for timer in sorted(armed(group) | sessions):
        if starts(timer, world.group, group, running):
            length = duration(timer, world.group, group, request)
            found.append((timer, begin + max(length - SLACK, 0.0)))
        elif timer in running:
            found.append((timer, running[timer]))
    return tuple(found)


def fail_over(world: World) -> Iterator[World]:
    """The coordinator moves: parked requests are answered, and the group is loaded."""
    moved = unload(world.group)
    responses = [(c, r) for c, r in moved.responses if isinstance(c, Call)]
    for stored in dict.fromkeys((None, *world.stored)):
        group = load(stored, world.group.settings)
        if stored is None:
            group = evolve(group, state=GroupState.DEAD)
        blank = evolve(world, group=Group(settings=group.settings), timers=(), writes=())
        yield evolve(
            blank,
            group=group,
            sent=(*world.sent, *responses),
            possible=tuple((c, a | {answer(group, c)}) for c, a in world.possible),
            timers=timers_after(blank, group, world.time, None),
        )


# -- responses --------------------------------------------------------------------------------


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
    if call in world.waiting:
        yield evolve(world, waiting=tuple(c for c in world.waiting if c != call))
        if fails:
            rest = evolve(world, waiting=tuple(c for c in world.waiting if c != call))
            yield from fail_over(rest)
    elif not call.changes_group:
        rest = evolve(world, possible=tuple(p for p in world.possible if p[0] != call))
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
