"""Members that were removed or left, and clients that come back."""

from __future__ import annotations

from typing import Any

import attrs

from kspec.field.logs.causes import Cause
from kspec.spec.observed.group_log import client_of

RETURNS_WITHIN_MS = 30 * 60_000
"""A client that joins so long after it was removed is taken to have come back."""


def between(start_ms: int | None, end_ms: int | None) -> int | None:
    """How long it is from one moment to another, if both are known."""
    return None if start_ms is None or end_ms is None else end_ms - start_ms


@attrs.define
class Departure:
    """A member that was removed or left."""

    member: str
    time_ms: int | None
    cause: Cause
    timeout_ms: int | None = None
    """The timeout that it met, if a line tells."""
    back_ms: int | None = None
    """When its client joined again."""

    @property
    def late_ms(self) -> int | None:
        """By how much it was late: from the timeout to its return."""
        return between(self.time_ms, self.back_ms)

    def to_json(self) -> dict[str, Any]:
        """The departure as JSON."""
        return {
            "member": self.member,
            "time_ms": self.time_ms,
            "cause": self.cause.name,
            "setting": self.cause.setting,
            "timeout_ms": self.timeout_ms,
            "late_ms": self.late_ms,
        }


class Clients:
    """The clients of a group, known by their client ids, or by group.instance.id if static.

    If two members had one client id at the same time, it tells nothing: by default, every process
    with one Java consumer has the same, `consumer-GROUP-1`.
    """

    def __init__(self) -> None:
        """No member was seen."""
        self.present: dict[str, set[str]] = {}
        """The members that joined and did not depart, by client id."""
        self.shared: set[str] = set()
        """The client ids that members share."""
        self.away: dict[str, Departure] = {}
        """The latest departure of each client."""

    def joined(self, member: str) -> None:
        """A member joins."""
        client = client_of(member)
        members = self.present.setdefault(client, set())
        members.add(member)
        if len(members) > 1:
            self.shared.add(client)

    def departed(self, departure: Departure) -> None:
        """A member is gone."""
        client = client_of(departure.member)
        others = self.present.setdefault(client, set())
        others.discard(departure.member)
        if others:
            self.shared.add(client)
        self.away[client] = departure

    def returned(self, member: str, time_ms: int | None) -> Departure | None:
        """The departure of the client that joins now, if it did not long ago."""
        client = client_of(member)
        departure = self.away.get(client)
        if departure is None or departure.member == member or client in self.shared:
            return None
        away = between(departure.time_ms, time_ms)
        if away is None or away > RETURNS_WITHIN_MS:
            return None
        if departure.back_ms is None:
            departure.back_ms = time_ms
        return departure
