"""The mapping `coordinator`: requests and responses of a group, as a broker or a proxy saw them.

- `messages`: events as requests and responses of the specification.
- `worlds`: the states that the coordinator may be in, if every event was observed.
- `partial`: what holds of any subset of the events.

Header: `"group"` restricts the trace to one group. `"settings"` has the broker's settings under
Kafka's names; `"variant"` is `java`, or `scala` up to Kafka 3.9. `"observed": "all"` says that
every request and response of the group is in the trace, from a time on when it had no members, in
the order in which they passed one observer. Otherwise any may be missing, and what remains is
checked against facts that hold of every behaviour.

OffsetFetch and the groups of KIP-848 are not checked. Needs the extra `broker`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

import attrs

from checkers.conformance.guards import follow
from checkers.validation.coordinator.messages import (
    Answered,
    AnyEvent,
    Asked,
    CallId,
    Disconnected,
    read_event,
    read_response,
)
from checkers.validation.coordinator.worlds import (
    Call,
    TooMany,
    World,
    arrive,
    disconnect,
    errors_in,
    explain,
    new_worlds,
    steps,
)
from checkers.validation.mapping import Difference, Reason, TraceMapping
from spec.coordinator.requests import handle_unknown, handler_of
from spec.core import SpecError, look_up
from spec.messages import JAVA, SCALA, Error, GroupState, JoinGroup, Settings, SyncGroup

MOST_WORLDS = 2_000
"""In how many states a coordinator may be before the trace is given up as undecided."""

SETTINGS: Mapping[str, str] = {
    "group.initial.rebalance.delay.ms": "initial_rebalance_delay",
    "group.min.session.timeout.ms": "min_session_timeout",
    "group.max.session.timeout.ms": "max_session_timeout",
    "group.max.size": "max_size",
}
"""The settings that a header may have, and their names in the specification."""

UNKNOWN_SETTINGS = {"min_session_timeout": 0, "max_session_timeout": 2**31 - 1}
"""The widest limits, where the header does not name them."""


@attrs.frozen
class Seen:
    """What the events so far show."""

    groups: tuple[tuple[str, frozenset[World] | None], ...] = ()
    """The states that each group may be in; None if there are too many."""
    calls: tuple[tuple[CallId, str, Call], ...] = ()
    """The open calls, with their groups."""
    requests: int = 0
    """How many requests there were."""

    def worlds(self, group: str) -> frozenset[World] | None:
        """The states that a group may be in; empty if it is new."""
        return dict(self.groups).get(group, frozenset())

    def call(self, wanted: CallId) -> tuple[str, Call] | None:
        """An open call and its group."""
        return next(((g, call) for i, g, call in self.calls if i == wanted), None)

    def with_worlds(self, group: str, worlds: frozenset[World] | None) -> Seen:
        """With other states of a group."""
        others = tuple(pair for pair in self.groups if pair[0] != group)
        return attrs.evolve(self, groups=(*others, (group, worlds)))


class CoordinatorMapping(TraceMapping):
    """Requests and responses, explained by `spec.coordinator`."""

    name = "coordinator"
    hidden_names = ("request handled", "write completed", "timer expired", "failover")

    def __init__(self, header: Mapping[str, Any]) -> None:
        given = header.get("settings") or {}
        if not isinstance(given, dict) or not all(type(v) is int for v in given.values()):
            raise SpecError('"settings" in the header are not whole numbers by name')
        variant = header.get("variant") or JAVA.name
        named = look_up("variant of the coordinator", variant, {v.name: v for v in (JAVA, SCALA)})
        known = {look_up("setting", key, SETTINGS): value for key, value in given.items()}
        self.settings = Settings(**{**UNKNOWN_SETTINGS, **known}, variant=named)
        self.knows_delay = "initial_rebalance_delay" in known
        self.only_group = header.get("group")
        self.is_whole = header.get("observed") == "all"

    def initial(self) -> Iterable[Seen]:
        """Nothing is known."""
        return (Seen(),)

    def read(self, content: Mapping[str, Any]) -> AnyEvent:
        """The event with its request or response."""
        return read_event(content)

    def successors(self, state: Seen, event: AnyEvent) -> Iterator[Seen]:
        """What is known after the event, if anything explains it."""
        match event:
            case Asked():
                yield self.asked(state, event)
            case Answered():
                yield from self.answered(state, event)
            case Disconnected():
                yield self.disconnected(state, event)
            case _:
                yield state

    # -- events ----------------------------------------------------------------------------

    def asked(self, state: Seen, event: Asked) -> Seen:
        """A request is in flight."""
        if self.only_group not in (None, event.group):
            return state
        number = state.requests + 1
        since = 0.0 if event.time is None else float(event.time)
        call = Call(number, event.request, event.version, event.id.connection, since)
        worlds = state.worlds(event.group)
        if worlds is not None:
            worlds = frozenset(arrive(w, call) for w in worlds or new_worlds(self.settings))
        calls = (*(c for c in state.calls if c[0] != event.id), (event.id, event.group, call))
        return attrs.evolve(state.with_worlds(event.group, worlds), calls=calls, requests=number)

    def answered(self, state: Seen, event: Answered) -> Iterator[Seen]:
        """A response was seen."""
        open_call = state.call(event.id)
        if open_call is None:
            yield state
            return
        group, call = open_call
        calls = tuple(c for c in state.calls if c[0] != event.id)
        worlds = state.worlds(group)
        if worlds is not None:
            worlds = self.explained(worlds, call, event)
        if worlds is None or worlds:
            yield attrs.evolve(state.with_worlds(group, worlds), calls=calls)

    def explained(
        self, worlds: frozenset[World], call: Call, event: Answered
    ) -> frozenset[World] | None:
        """The worlds after a response; None if there are too many."""
        observed = read_response(call.request, event.fields)
        now = inf if event.time is None else float(event.time)
        try:
            return explain(
                worlds, call, observed, now, known_delay=self.knows_delay, most=MOST_WORLDS
            )
        except TooMany:
            return None

    def disconnected(self, state: Seen, event: Disconnected) -> Seen:
        """A connection was closed: no more responses are seen on it."""
        closed = [c for c in state.calls if c[0].connection == event.connection]
        for group in dict.fromkeys(group for _, group, _ in closed):
            worlds = state.worlds(group)
            if worlds is not None:
                changed = frozenset(disconnect(world, event.connection) for world in worlds)
                state = state.with_worlds(group, changed)
        return attrs.evolve(state, calls=tuple(c for c in state.calls if c not in closed))

    # -- reasons ---------------------------------------------------------------------------

    def reason(self, state: Seen, event: AnyEvent) -> Reason:
        """Why no state explains a response: the guard that decides the request."""
        open_call = state.call(event.id) if isinstance(event, Answered) else None
        if open_call is None or not isinstance(event, Answered):
            return Reason()
        group, call = open_call
        observed = read_response(call.request, event.fields)
        reasons = [why(world, call, observed) for world in state.worlds(group) or ()]
        return min(reasons, key=lambda reason: reason.distance, default=Reason())

    def allowed(self, state: Seen) -> Sequence[str]:
        """The responses that may come next."""
        found: dict[str, None] = {}
        for _, group, call in state.calls:
            for world in state.worlds(group) or ():
                for expected in expectations(world, call):
                    found[f"{type(call.request).__name__} of {who(call)}: {show(expected)}"] = None
        return tuple(found)

    def show(self, state: Seen) -> Any:
        """The states of the groups."""
        return {
            group: None if worlds is None else [show_group(world) for world in worlds][:3]
            for group, worlds in state.groups
        }

    def describe(self) -> Mapping[str, Any]:
        """The settings and the variant."""
        settings = {
            key: getattr(self.settings, field)
            for key, field in SETTINGS.items()
            if getattr(self.settings, field) != getattr(Settings(), field)
        }
        return {
            "variant": self.settings.variant.name,
            "settings": settings,
            "observed": "all" if self.is_whole else "some",
        }

    def undecided(self, state: Seen) -> str:
        """Why a trace that is accepted so far is undecided."""
        lost = [group for group, worlds in state.groups if worlds is None]
        if not lost:
            return ""
        return f"group {lost[0]} may be in more than {MOST_WORLDS:,} states"


# -- diagnosis --------------------------------------------------------------------------------


def expectations(world: World, call: Call) -> list[Any]:
    """The responses to a call that a world has sent or may send at once."""
    sent = [r for c, r in world.sent if c == call]
    sent += [r for c, responses in world.possible if c == call for r in responses]
    if not sent and call in world.waiting:
        after = steps(evolve_waiting(world, call), 0.0, known_delay=True)
        sent = [r for w in after for c, r in w.sent if c == call]
    return list(dict.fromkeys(sent))


def evolve_waiting(world: World, call: Call) -> World:
    """The world in which only this request waits, and no write is in progress."""
    return attrs.evolve(world, waiting=(call,), writes=(), timers=())


def why(world: World, call: Call, observed: Any) -> Reason:
    """Why a world does not explain a response."""
    expected = expectations(world, call)
    allowed = tuple(sorted({show(response) for response in expected}))
    if not expected:
        return Reason(guard=waits_for(call), allowed=("no response yet",), distance=2)
    nearest = min(expected, key=lambda response: len(fields_that_differ(response, observed)))
    differences = fields_that_differ(nearest, observed)
    guard = None
    if Error.NONE in errors_in(observed) or errors_in(nearest) != errors_in(observed):
        guard = failing_guard(world, call)
    return Reason(guard, tuple(differences), allowed, distance=len(differences))


def waits_for(call: Call) -> str:
    """What a parked request waits for."""
    if isinstance(call.request, JoinGroup):
        return "every member has joined, or the rebalance timeout has expired"
    if isinstance(call.request, SyncGroup):
        return "the leader's assignments are stored"
    return "an earlier request on the connection is answered"


def failing_guard(world: World, call: Call) -> str | None:
    """The guard of the specification that fails for a request; None if all hold."""
    group = world.group
    request: Any = call.request
    if group.state is GroupState.DEAD:
        outcome = handle_unknown(call, request, call.symbol, group.settings)
        return None if outcome.group.state is not GroupState.DEAD else "group exists"
    checks, _ = follow(handler_of(group, call, request, call.symbol))
    return next((guard for guard, holds in checks if not holds), None)


def fields_that_differ(expected: Any, observed: Any) -> list[Difference]:
    """The fields of two responses that differ."""
    return [
        Difference(field.name, plain(getattr(expected, field.name)), plain(found))
        for field in attrs.fields(type(observed))
        if (getattr(expected, field.name) or None)
        != ((found := getattr(observed, field.name)) or None)
    ]


def plain(value: Any) -> Any:
    """A field of a response as JSON."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if attrs.has(type(value)):
        return {f.name: plain(getattr(value, f.name)) for f in attrs.fields(type(value))}
    return value if value is None or isinstance(value, bool | int) else str(value)


def show(response: Any) -> str:
    """A response in a line: its errors, and the generation and leader of a JoinGroup."""
    errors = ", ".join(sorted(map(str, errors_in(response)))) or "NONE"
    if getattr(response, "generation", -1) >= 0:
        return f"{errors}, generation {response.generation}, leader {response.leader}"
    if getattr(response, "assignment", ()):
        return f"{errors}, assignment {response.assignment}"
    return errors


def who(call: Call) -> str:
    """The member that sent a request, or its connection."""
    return getattr(call.request, "member", "") or f"connection {call.connection}"


def show_group(world: World) -> dict[str, Any]:
    """A group as JSON."""
    group = world.group
    return {
        "state": group.state.value,
        "generation": group.generation,
        "protocol": group.protocol,
        "leader": group.leader,
        "members": [
            {
                "id": m.id,
                "instance": m.instance,
                "awaiting": "JoinGroup"
                if m.awaiting_join is not None
                else "SyncGroup"
                if m.awaiting_sync is not None
                else None,
                "assignment": plain(m.assignment),
            }
            for m in group.members
        ],
        "pending": sorted(group.pending),
    }
