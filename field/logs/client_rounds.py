"""Rounds of rebalancing as the logs of consumers show them, where no coordinator's log was read."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kspec.field.logs.adapter import Event
from kspec.field.logs.causes import (
    JOINED,
    POLL_TIMEOUT,
    SESSION_TIMEOUT,
    Cause,
    Trigger,
    by_client_reason,
)
from kspec.field.logs.rounds import Group, Round

JOINS = Cause("join or re-join", "joined or re-joined: its log does not tell why")
OTHERS = Cause("another member", "or another member began it: its log, or the broker's, tells why")
EXPIRED = "UNKNOWN_MEMBER_ID"
RECENT = 4
"""Among so many rounds one is looked for by its generation, which a new group uses again."""


@attrs.define
class Attempt:
    """A client that is about to join."""

    start_ms: int | None
    trigger: Trigger


def groups_of_clients(events: Iterable[Event]) -> list[Group]:
    """The groups of clients' logs, each round by its generation."""
    found: dict[str, ClientReader] = {}
    for event in events:
        if event.get("side") == "client" and "group" in event:
            found.setdefault(event["group"], ClientReader()).read(event)
    return [Group(name, reader.finish()) for name, reader in found.items()]


class ClientReader:
    """Puts the events of a group's clients together to rounds."""

    def __init__(self) -> None:
        """No event was read."""
        self.rounds: list[Round] = []
        self.attempts: dict[str, Attempt] = {}

    def read(self, event: Event) -> None:
        """Take an event of a client."""
        client, name = event["node"], event["event"]
        cause = cause_of(event)
        if cause is not None:
            trigger = Trigger(cause, (client,), event.get("reason", ""))
            attempt = self.attempts.setdefault(client, Attempt(event.get("time_ms"), trigger))
            if attempt.trigger.cause in (JOINS, OTHERS):
                attempt.trigger = trigger
        elif name in ("joined", "synced"):
            self.arrive(event)

    def arrive(self, event: Event) -> None:
        """A client that is in a generation."""
        client, time_ms = event["node"], event.get("time_ms")
        recent = (one for one in self.rounds[-RECENT:] if one.generation == event["generation"])
        one = next(recent, None)
        if one is None:
            one = Round("", Trigger(JOINS), generation=event["generation"], members=0)
            one.source = event["source"]
            self.rounds.append(one)
        attempt = self.attempts.pop(client, None)
        if attempt:
            one.members = (one.members or 0) + 1
            if None not in (attempt.start_ms, one.start_ms):
                one.start_ms = min(attempt.start_ms, one.start_ms)  # type: ignore[type-var]
            else:
                one.start_ms = attempt.start_ms
            if one.trigger.cause in (JOINS, OTHERS):
                one.trigger = attempt.trigger
        if event["event"] == "joined":
            one.end_ms = time_ms
        else:
            one.assigned_ms = time_ms
            one.end_ms = time_ms if one.end_ms is None else one.end_ms

    def finish(self) -> list[Round]:
        """The rounds in the order of their times; one for each client that did not return."""
        for attempt in self.attempts.values():
            if attempt.trigger.cause.is_timeout:
                self.rounds.append(Round("", attempt.trigger, start_ms=attempt.start_ms))
        return sorted(self.rounds, key=lambda one: one.end_ms or one.start_ms or 0)


def cause_of(event: Event) -> Cause | None:
    """Why a client joins, by one of its lines; None if the line does not tell."""
    name, reason = event["event"], event.get("reason", "")
    if name == "poll_timeout":
        return POLL_TIMEOUT
    if name == "heartbeat_failed" and EXPIRED in event.get("error", ""):
        return SESSION_TIMEOUT
    if name == "joining":
        return JOINS
    if name == "rejoin_requested":
        if "given member-id" in reason:
            return JOINED
        return by_client_reason(reason) or OTHERS
    return None
