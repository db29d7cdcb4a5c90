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

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from kspec.field.conform.history import Ask
from kspec.spec.coordinator import Group, Outcome
from kspec.spec.coordinator.clock import Start
from kspec.spec.coordinator.failover import load, unload
from kspec.spec.coordinator.followed import Followed, possible_answers, possible_outcomes
from kspec.spec.coordinator.sessions import Timer, armed, fire
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


@attrs.frozen
class World(Followed):
    """A state that the coordinator may be in; each timer has the time at which it may expire."""

    has_generation: bool = False
    """Whether a response has shown the generation: the group may be older than the trace."""
    waiting: tuple[Call, ...] = ()
    """Requests that are not handled yet."""
    possible: tuple[tuple[Call, frozenset[Response]], ...] = ()
    """The responses that were possible to each open request that does not change the group."""
    sent: tuple[tuple[Call, Response], ...] = ()
    """Responses that are sent, and not seen yet."""
    stored: tuple[GroupMetadata, ...] = ()
    """The latest records of the group in the offsets topic."""
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
    return evolve(world, possible=(*world.possible, (call, frozenset({answer(world, call)}))))


def answer(world: Followed, call: Call) -> Response:
    """The response to a request that does not change the group."""
    request: Any = call.request
    return world.handle(call, request, call.symbol).responses[0][1]


def with_possible(world: World) -> World:
    """The world with the responses that are possible now to requests that do not change it."""
    possible = tuple((c, answers | {answer(world, c)}) for c, answers in world.possible)
    return evolve(world, possible=possible)


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
            yield from expired(world, timer, begin)


def expired(world: World, timer: Timer, begin: float) -> Iterator[World]:
    """The worlds after a timer has expired."""
    fired = possible_outcomes(world.group, lambda group: fire(group, timer))
    yield from each_after(world.without_timer(timer), fired, begin)


def deleted(world: World) -> World:
    """The world after an administrator, or the expiry of offsets, has deleted an empty group.

    Kafka: `GroupCoordinatorShard.cleanupGroupMetadata`.
    """
    unknown = Group(state=GroupState.DEAD, settings=world.group.settings)
    gone = world.after(Outcome(unknown), starting(world.time))
    return with_possible(evolve(gone, stored=(), has_generation=True))


def handled(world: World, call: Call) -> Iterator[World]:
    """The worlds after a request is handled."""
    rest = evolve(world, waiting=tuple(c for c in world.waiting if c != call))
    outcomes = possible_answers(world, call, call.request, call.symbol)
    yield from each_after(rest, outcomes, max(world.time, call.since), call)


def write_completes(world: World, error: Error = Error.NONE) -> Iterator[World]:
    """The worlds after the oldest write has succeeded, or failed."""
    yield from each_after(world.without_write(), world.completed_writes(error), world.time)


def each_after(
    world: World, outcomes: Iterable[Outcome], begin: float, call: Call | None = None
) -> Iterator[World]:
    """The worlds after each outcome."""
    request: Any = None if call is None else call.request
    for outcome in outcomes:
        after = world.after(outcome, starting(begin), request)
        stored = world.stored if outcome.record is None else (*world.stored, outcome.record)
        sent = (pair for pair in outcome.responses if isinstance(pair[0], Call))
        changed = evolve(after, stored=stored[-MOST_STORED:], sent=(*world.sent, *sent), time=begin)
        yield with_possible(changed)


def starting(begin: float) -> Start[float]:
    """When a timer may expire that starts at this time."""
    return lambda _, milliseconds: begin + max(milliseconds - SLACK, 0.0)


def fail_over(world: World) -> Iterator[World]:
    """The coordinator moves: parked requests are answered, and the group is loaded."""
    moved = unload(world.group)
    responses = [(c, r) for c, r in moved.responses if isinstance(c, Call)]
    for stored in dict.fromkeys((None, *world.stored)):
        group = load(stored, world.group.settings)
        if stored is None:
            group = evolve(group, state=GroupState.DEAD)
        loaded = world.loaded(group, starting(world.time))
        yield with_possible(evolve(loaded, sent=(*world.sent, *responses)))
