"""The mapping `coordinator`: requests and responses of a group, as a broker or a proxy saw them.

- `messages`: events as requests and responses of the specification.
- `worlds`: the states that the coordinator may be in, and the steps that no event shows.
- `explaining`: the worlds that explain a response; `diagnosis`: why none does.
- `partial`: what holds of any subset of the events.

Header: `"group"` restricts the trace to one group. `"settings"` has the broker's settings under
Kafka's names; `"variant"` is `java`, or `scala` up to Kafka 3.9.

As long as no event is missing, each response has to be one that the specification gives in some
state that the coordinator may be in. Recorders number events by `sequence`, so that a gap is
noticed; a header with `"observed": "all"` says the same of events without numbers. The trace begins
when the group has no members. From the first gap on, the other events are checked against facts
that hold whatever is missing.

OffsetFetch and the groups of KIP-848 are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from math import inf
from typing import Any, TypeAlias

import attrs

from kspec.field.recorded.coordinator.diagnosis import (
    expectations,
    nearest_reason,
    of_fact,
    show,
    show_group,
    who,
)
from kspec.field.recorded.coordinator.explaining import FAILOVER, TooMany, explain
from kspec.field.recorded.coordinator.messages import (
    Answered,
    AnyEvent,
    Asked,
    CallId,
    Disconnected,
    read_event,
    read_response,
)
from kspec.field.recorded.coordinator.partial import (
    Facts,
    Known,
    answered,
    asked,
    contradicted,
    errors_in,
    named_in,
)
from kspec.field.recorded.coordinator.worlds import (
    Call,
    Place,
    World,
    arrive,
    disconnect,
    fail_over,
    has_unnamed,
    new_worlds,
)
from kspec.field.recorded.mapping import (
    Difference,
    Reason,
    Schemas,
    TraceMapping,
    read_schemas,
)
from kspec.field.recorded.sequence import IN_ORDER, Progress, nothing_seen, sequence_of
from kspec.spec.core import SpecError, look_up
from kspec.spec.messages import GROUP_SETTINGS, JAVA, SCALA, Settings

MOST_WORLDS = 2_000
"""In how many states a coordinator may be before the trace is given up as undecided."""

MOST_CALLS = 1_000
"""How many open calls are remembered; responses may be missing."""

Numbered: TypeAlias = tuple[int | None, AnyEvent]
"""An event and its sequence."""

SETTINGS = {key: name for key, name in GROUP_SETTINGS.items() if name != "max_metadata"}
"""The settings that a header may have, and their names in the specification."""

UNKNOWN_SETTINGS = {"min_session_timeout": 0, "max_session_timeout": 2**31 - 1}
"""The widest limits, where the header does not name them."""


class Lost(Enum):
    """Why the states of a group are not known any more; the facts of `partial` are checked on."""

    TOO_MANY = "too many"
    UNSEEN = "unseen"
    """A request names a member whose id no response has shown, but DescribeGroups may have."""


Worlds: TypeAlias = tuple[World, ...] | Lost
"""The states that a group may be in."""


@attrs.frozen
class SeenGroup:
    """What the events so far show of a group."""

    worlds: Worlds = ()
    """The states that it may be in; empty if it is new, or if events were missing before it."""
    facts: Facts = attrs.field(factory=Facts)
    """What is known of it even if events are missing."""
    place: Place = attrs.field(factory=Place)
    """Where it is coordinated."""

    @property
    def listed(self) -> tuple[World, ...]:
        """The states that it may be in; empty if they are lost."""
        return () if isinstance(self.worlds, Lost) else self.worlds


@attrs.frozen
class Seen:
    """What the events so far show."""

    groups: tuple[tuple[str, SeenGroup], ...] = ()
    """The groups."""
    calls: tuple[tuple[CallId, str, Call, Known], ...] = ()
    """The open calls, with their groups, and what was known of the member when they began."""
    progress: Progress = attrs.field(factory=lambda: Progress(is_whole=False))
    """Whether events are missing."""
    requests: int = 0
    """How many requests there were."""

    def group(self, name: str) -> SeenGroup:
        """What is known of a group."""
        return dict(self.groups).get(name) or SeenGroup()

    def with_group(self, name: str, **changes: Any) -> Seen:
        """With more knowledge of a group."""
        changed = attrs.evolve(self.group(name), **changes)
        others = tuple(pair for pair in self.groups if pair[0] != name)
        return attrs.evolve(self, groups=(*others, (name, changed)))

    def call(self, wanted: CallId) -> tuple[str, Call, Known] | None:
        """An open call, its group, and what was known when it began."""
        return next((call[1:] for call in self.calls if call[0] == wanted), None)


class CoordinatorMapping(TraceMapping):
    """Requests and responses, explained by `spec.coordinator`."""

    name = "coordinator"
    hidden_names = (
        "coordinator handles a request",
        "write to the offsets topic completes",
        "timer expires",
        "coordinator moves",
        "empty group is deleted",
    )

    setting_names = tuple(SETTINGS)

    def __init__(self, header: Mapping[str, Any]) -> None:
        given = header.get("settings") or {}
        if not isinstance(given, dict) or not all(type(v) is int for v in given.values()):
            raise SpecError('"settings" in the header are not whole numbers by name')
        variants = {variant.name: variant for variant in (JAVA, SCALA)}
        named = header.get("variant") or JAVA.name
        variant = look_up("variant of the coordinator", str(named), variants)
        known = {SETTINGS[key]: value for key, value in given.items()}
        self.settings = Settings(**{**UNKNOWN_SETTINGS, **known}, variant=variant)
        self.knows_delay = "initial_rebalance_delay" in known
        self.only_group = header.get("group")
        self.begin = nothing_seen(header)
        self.may_lack_events = not self.begin.is_whole

    def initial(self) -> Iterable[Seen]:
        """Nothing is known."""
        return (Seen(progress=self.begin),)

    def read(self, content: Mapping[str, Any]) -> Numbered:
        """The event with its request or response, and its sequence."""
        return sequence_of(content), read_event(content)

    def successors(self, state: Seen, event: Numbered) -> Iterator[Seen]:
        """What is known after the event, if anything explains it."""
        sequence, content = event
        if not state.progress.follows(sequence):
            return
        state = attrs.evolve(state, progress=state.progress.after(sequence))
        match content:
            case Asked():
                yield self.asked(state, content)
            case Answered():
                yield from self.answered(state, content)
            case Disconnected():
                yield self.disconnected(state, content)
            case _:
                yield state

    # -- events ----------------------------------------------------------------------------

    def asked(self, state: Seen, event: Asked) -> Seen:
        """A request is in flight."""
        group = event.group
        if self.only_group not in (None, group):
            return state
        number = state.requests + 1
        since = 0.0 if event.time is None else float(event.time)
        call = Call(number, event.request, event.version, event.id.connection, since)
        seen = state.group(group)
        if state.progress.is_whole:
            connections = (seen.place.connections or frozenset()) | {event.id.connection}
            place = attrs.evolve(seen.place, connections=connections)
            state = state.with_group(
                group, worlds=self.arrived(seen, call, event.broker), place=place
            )
        state = state.with_group(group, facts=asked(seen.facts, event.request))
        others = tuple(c for c in state.calls if c[0] != event.id)
        if len(others) >= MOST_CALLS:
            others = others[1:]
            state = attrs.evolve(state, progress=attrs.evolve(state.progress, is_whole=False))
        known = state.group(group).facts.of(event.request)
        calls = (*others, (event.id, group, call, known))
        return attrs.evolve(state, calls=calls, requests=number)

    def arrived(self, seen: SeenGroup, call: Call, broker: str | None) -> Worlds:
        """The states that a group may be in after a request, which may go to another broker."""
        worlds = seen.worlds
        if isinstance(worlds, Lost):
            return worlds
        named = named_in(call.request)
        if named - seen.facts.members.keys() and any(has_unnamed(world) for world in worlds):
            return Lost.UNSEEN
        if seen.place.may_have_moved(broker):
            moved = (after for world in worlds for after in fail_over(world))
            worlds = tuple(dict.fromkeys((*worlds, *moved)))
        return tuple(arrive(world, call) for world in worlds or new_worlds(self.settings))

    def answered(self, state: Seen, event: Answered) -> Iterator[Seen]:
        """A response was seen; one whose request is missing shows nothing."""
        found = state.call(event.id)
        if found is None:
            is_meant = self.only_group in (None, event.group)
            if not (state.progress.is_whole and is_meant):
                yield state
            return
        group, call, before = found
        observed = read_response(call.request, event.fields)
        seen = state.group(group)
        if contradicted(seen.facts, before, call.request, observed) is not None:
            return
        after = state.with_group(group, facts=answered(seen.facts, call.request, observed))
        if state.progress.is_whole:
            worlds = seen.worlds
            if not isinstance(worlds, Lost):
                worlds = self.explained(worlds, call, observed, event.time)
                if not worlds:
                    return
            place = seen.place
            if event.broker is not None and not errors_in(observed) & FAILOVER:
                place = attrs.evolve(place, broker=event.broker)
            after = after.with_group(group, worlds=worlds, place=place)
        yield attrs.evolve(after, calls=tuple(c for c in state.calls if c[0] != event.id))

    def explained(
        self, worlds: tuple[World, ...], call: Call, observed: Any, time: float | None
    ) -> Worlds:
        """The worlds after a response."""
        now = inf if time is None else float(time)
        try:
            return explain(
                worlds, call, observed, now, known_delay=self.knows_delay, most=MOST_WORLDS
            )
        except TooMany:
            return Lost.TOO_MANY

    def disconnected(self, state: Seen, event: Disconnected) -> Seen:
        """A connection was closed: no more responses are seen on it."""
        closed = [c for c in state.calls if c[0].connection == event.connection]
        if state.progress.is_whole:
            asking = {call[1] for call in closed}
            for group, seen in state.groups:
                worlds, place = seen.worlds, seen.place
                if group in asking and not isinstance(worlds, Lost):
                    worlds = tuple(disconnect(world, event.connection) for world in worlds)
                if place.connections and event.connection in place.connections:
                    rest = place.connections - {event.connection}
                    place = attrs.evolve(place, connections=rest)
                state = state.with_group(group, worlds=worlds, place=place)
        return attrs.evolve(state, calls=tuple(c for c in state.calls if c not in closed))

    # -- reasons ---------------------------------------------------------------------------

    def reason(self, state: Seen, event: Numbered) -> Reason:
        """Why no state explains a response: the guard that decides the request."""
        sequence, content = event
        if not state.progress.follows(sequence):
            earlier = Difference("sequence", f"more than {state.progress.latest}", sequence)
            return Reason(IN_ORDER, (earlier,))
        if not isinstance(content, Answered):
            return Reason()
        found = state.call(content.id)
        if found is None:
            return Reason("a response follows its request")
        group, call, before = found
        observed = read_response(call.request, content.fields)
        reasons = []
        seen = state.group(group)
        if state.progress.after(sequence).is_whole and seen.listed:
            now = inf if content.time is None else float(content.time)
            known = self.knows_delay
            reasons = [nearest_reason(seen.listed, call, observed, now, known_delay=known)]
        fact = contradicted(seen.facts, before, call.request, observed)
        if fact is not None:
            reasons.append(of_fact(fact))
        return min(reasons, key=lambda reason: reason.distance, default=Reason())

    def allowed(self, state: Seen) -> Sequence[str]:
        """The responses that may come next."""
        found: dict[str, None] = {}
        for _, group, call, _ in state.calls:
            for world in state.group(group).listed:
                for expected in expectations(world, call):
                    found[f"{type(call.request).__name__} of {who(call)}: {show(expected)}"] = None
        return tuple(found)

    def show(self, state: Seen) -> Any:
        """The states of the groups."""
        return {
            group: [show_group(world) for world in seen.listed[:3]]
            for group, seen in state.groups
            if seen.worlds
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
        }

    @classmethod
    def schema(cls) -> Schemas:
        """The keys of its events and header."""
        return read_schemas(cls.name)

    def undecided(self, state: Seen) -> str:
        """Why a trace that is accepted so far is undecided."""
        lost = [group for group, seen in state.groups if seen.worlds is Lost.TOO_MANY]
        if not lost:
            return ""
        return f"group {lost[0]} may be in more than {MOST_WORLDS:,} states"
