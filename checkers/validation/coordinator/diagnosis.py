"""Why no world explains a response, in the words of the specification."""

from __future__ import annotations

from typing import Any

import attrs

from checkers.conformance.guards import follow
from checkers.validation.coordinator.partial import Contradiction, errors_in
from checkers.validation.coordinator.worlds import UNNAMED, Call, World, handled
from checkers.validation.mapping import Difference, Reason
from spec.coordinator.requests import handle_unknown, handler_of
from spec.messages import Error, GroupState, JoinGroup, SyncGroup


def expectations(world: World, call: Call) -> list[Any]:
    """The responses to a call that a world has sent or may send at once."""
    sent = [r for c, r in world.sent if c == call]
    sent += [r for c, responses in world.possible if c == call for r in responses]
    if not sent and call in world.waiting:
        sent = [r for after in handled(world, call) for c, r in after.sent if c == call]
    return list(dict.fromkeys(sent))


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
        guard = failing_guard(world, call, nearest)
    return Reason(guard, tuple(differences), allowed, distance=len(differences))


def waits_for(call: Call) -> str:
    """What a parked request waits for."""
    if isinstance(call.request, JoinGroup):
        return "every member has joined, or the rebalance timeout has expired"
    if isinstance(call.request, SyncGroup):
        return "the leader's assignments are stored"
    return "an earlier request on the connection is answered"


def failing_guard(world: World, call: Call, expectation: Any) -> str | None:
    """The guard of the specification that fails for a request; None if all hold."""
    group = world.group
    request: Any = call.request
    if Error.MEMBER_ID_REQUIRED in errors_in(expectation):
        return "a client without a member id is issued one (KIP-394)"
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


def of_fact(fact: Contradiction) -> Reason:
    """A fact that a response contradicts, whatever is missing."""
    difference = Difference(fact.variable, plain(fact.expected), plain(fact.observed))
    return Reason(fact.guard, (difference,), distance=5)
