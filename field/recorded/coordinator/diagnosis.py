"""Why no world explains a response, in the words of the specification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from kspec.field.conform.responses import comparable
from kspec.field.recorded.coordinator.partial import errors_in
from kspec.field.recorded.coordinator.worlds import UNNAMED, Call, World, handled, steps
from kspec.field.recorded.mapping import Difference, Reason
from kspec.spec.core import Check
from kspec.spec.messages import Error, GroupState, JoinGroup, SyncGroup

MOST_REACHED = 200
"""In how many worlds a reason is looked for."""


def answers(world: World, call: Call) -> list[Any]:
    """The responses to a call that a world has sent, or may have sent."""
    sent: list[Any] = [r for c, r in world.sent if c == call]
    return sent + [r for c, responses in world.possible if c == call for r in responses]


def expectations(world: World, call: Call) -> list[Any]:
    """The responses to a call that a world has sent or may send at once."""
    sent = answers(world, call)
    if not sent and call in world.waiting:
        sent = [r for after in handled(world, call) for c, r in after.sent if c == call]
    return list(dict.fromkeys(sent))


def nearest_reason(
    worlds: Iterable[World], call: Call, observed: Any, now: float, *, known_delay: bool
) -> Reason:
    """Why none of the worlds, nor any that hidden steps reach, explains a response."""
    found: list[Reason] = []
    for world in reachable(worlds, now, known_delay=known_delay):
        found += why(world, call, observed)
    return min(found, key=lambda r: r.distance, default=Reason(waits_for(call), distance=PARKED))


PARKED = 100.0
"""The distance of a response that is not sent yet; that of another error is ten."""


def reachable(worlds: Iterable[World], now: float, *, known_delay: bool) -> list[World]:
    """The worlds and those that hidden steps reach, nearest first, up to a limit."""
    found = dict.fromkeys(worlds)
    latest = list(found)
    while latest and len(found) < MOST_REACHED:
        after = [w for world in latest for w in steps(world, now, known_delay)]
        latest = [w for w in dict.fromkeys(after) if w not in found]
        found |= dict.fromkeys(latest)
    return list(found)


def why(world: World, call: Call, observed: Any) -> list[Reason]:
    """Why a world that has answered a call does not explain a response: once for each answer."""
    found = []
    for expected in answers(world, call):
        differences = fields_that_differ(comparable(call, expected), comparable(call, observed))
        wrong_error = errors_in(expected) != errors_in(observed)
        guard = failing_guard(world, call, expected) if wrong_error else None
        distance = len(differences) + 10 * wrong_error
        if distance:
            found.append(Reason(guard, tuple(differences), (show(expected),), distance))
    return found


def waits_for(call: Call) -> str:
    """What a parked request waits for."""
    if isinstance(call.request, JoinGroup):
        return "every member has joined, or the rebalance timeout has expired"
    if isinstance(call.request, SyncGroup):
        return "the leader's assignments are stored"
    return "an earlier request on the connection is answered"


def failing_guard(world: World, call: Call, expectation: Any) -> str | None:
    """The guard of the specification that fails for a request; None if all hold."""
    if Error.MEMBER_ID_REQUIRED in errors_in(expectation):
        return "a client without a member id is issued one (KIP-394)"
    request: Any = call.request
    outcome = world.handle(call, request, call.symbol)
    if world.group.state is GroupState.DEAD:
        return None if outcome.group.state is not GroupState.DEAD else "group exists"
    failed = outcome.decision and outcome.decision.failed
    return failed.guard if failed else None


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
    if value is None or isinstance(value, bool | int):
        return value
    return "a new member id" if str(value).startswith(UNNAMED) else str(value)


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


def of_fact(fact: Check) -> Reason:
    """A fact that a response contradicts, whatever is missing."""
    variable, expected, observed, _ = fact.error
    difference = Difference(variable, plain(expected), plain(observed))
    return Reason(fact.guard, (difference,), distance=20)
