"""The mapping `group-log`: a group as the log of one coordinator shows it.

The rules are in `group_life`. An event is a line about the group, as `kspec validate --from
kafka-log` makes it; a `gap` stands where lines are missing, and nothing is known after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.logs.gaps import COUNT
from kspec.field.logs.group_life import GROUP_EVENTS, GroupLife, after, blocked, possible
from kspec.field.recorded.mapping import (
    BadEvent,
    Content,
    Difference,
    Reason,
    Schemas,
    TraceMapping,
)

NUMBERS = ("generation", "members")
NEED_GENERATION = ("preparing", "stabilized", "emptied", "assigned")


class GroupLog(TraceMapping):
    """The lines that a coordinator may log about a group."""

    name = "group-log"

    def __init__(self, header: Mapping[str, Any]) -> None:
        """The header names the group, the broker, and what missing lines excused."""
        self.about = {key: header[key] for key in ("group", "excused") if key in header}

    def initial(self) -> Iterable[GroupLife]:
        """A log begins anywhere in a group's life."""
        return [GroupLife()]

    def read(self, content: Content) -> Content:
        """The event, with whole numbers where there should be."""
        event = content.get("event")
        if not isinstance(event, str) or event not in GROUP_EVENTS:
            raise BadEvent(f"the event {event!r:.40} is not one of group-log")
        for name in NUMBERS:
            if name in content and type(content[name]) is not int:
                raise BadEvent(f"{name} of {event} is {content[name]!r:.40}, not a whole number")
        if event in NEED_GENERATION and "generation" not in content:
            raise BadEvent(f"{event} has no generation")
        return content

    def successors(self, state: GroupLife, event: Content) -> Iterable[GroupLife]:
        """The group after the line, if it may follow."""
        return [] if blocked(state, event) else [after(state, event)]

    def reason(self, state: GroupLife, event: Content) -> Reason:
        """The guard that the line does not pass, and how it differs from the group."""
        guard = blocked(state, event)
        differences = []
        expected = state.generation
        if event["event"] in ("stabilized", "emptied") and expected is not None:
            expected += 1
        if None not in (expected, event.get("generation")) and expected != event["generation"]:
            differences.append(Difference("generation", expected, event["generation"]))
        if guard == COUNT:
            differences.append(Difference("members", state.members, event["members"]))
        return Reason(guard, tuple(differences), tuple(possible(state)))

    def allowed(self, state: GroupLife) -> Sequence[str]:
        """The lines about rounds that may follow."""
        return possible(state)

    def show(self, state: GroupLife) -> dict[str, Any]:
        """The group's phase, generation and number of members."""
        return attrs.asdict(state)

    def describe(self) -> dict[str, Any]:
        """The group, and where missing lines excuse what no line explains."""
        return self.about

    @classmethod
    def schema(cls) -> Schemas:
        """The keys of events; each wording adds its own fields."""
        number = {"type": "integer", "minimum": 0}
        return Schemas(
            cls.name,
            event={
                "event": {"enum": sorted(GROUP_EVENTS)},
                "group": {"type": "string"},
                "member": {"type": "string"},
                "generation": number,
                "members": number,
                "state": {"type": "string"},
                "reason": {"type": "string"},
            },
            header={"group": {"type": "string"}, "excused": {"type": "array"}},
        )
