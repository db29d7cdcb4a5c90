"""The states that a coordinator may be in, given the requests and responses that were seen.

Between the two events of a call the coordinator handles it, and nothing shows when. So a response
is explained lazily: by what may have happened before it (other requests that are in flight, a write
to the offsets topic, a timer that has had time to expire), in every order, until the specification
answers as was seen. What is not needed for that stays possible later.

A Heartbeat or OffsetCommit does not change the group. Instead of an order among the others, each
keeps the set of responses that were possible since it was sent.

A timer may expire late, since a busy broker does; never early. A failover is considered where a
response shows one (NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or COORDINATOR_LOAD_IN_PROGRESS),
where a request goes to another broker, and after every connection of the group was closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import attrs

from kspec.field.conform.history import Ask
from kspec.field.conform.worlds import Write, orders, outcomes, ties
from kspec.spec.coordinator import Group, Outcome, handle, handle_unknown
from kspec.spec.coordinator.clock import duration, starts
from kspec.spec.coordinator.failover import load, unload
from kspec.spec.coordinator.membership import replacement_stored
from kspec.spec.coordinator.rebalance import assignments_stored
from kspec.spec.coordinator.sessions import Timer, armed, fire
from kspec.spec.coordinator.state import Replacement
from kspec.spec.core import evolve
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    GroupState,
    Heartbeat,
    JoinGroup,
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


@attrs.frozen
class Place:
    """Where a group is coordinated, as far as connections show it."""

    broker: str | None = None
    """The broker that answered as the coordinator."""
    connections: frozenset[str] | None = None
    """The open connections that asked it; None before the first one."""

    def may_have_moved(self, broker: str | None) -> bool:
        """Whether the coordinator may be another one when a request goes to a broker.

        A broker that crashes says nothing: it closes every connection, and the client goes to the
        next coordinator, which may have loaded the group already.
        """
        is_elsewhere = None not in (self.broker, broker) and self.broker != broker
        return is_elsewhere or self.connections == frozenset()


def has_unnamed(world: World) -> bool:
    """Whether a member may have an id that no response has shown."""
    members = {*world.group.pending, *(m.id for m in world.group.members)}
    return any(m.startswith(UNNAMED) for m in members) or any(
        isinstance(call.request, JoinGroup) and call.request.member == NO_MEMBER_ID
        for call in world.waiting
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
