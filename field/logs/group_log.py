"""The mapping `group-log`: a group as the log of one coordinator shows it.

`spec.observed.group_log` has its checks. An event is a line about the group, as `kspec validate
--from kafka-log` makes it; a `gap` stands where lines are missing, and nothing is known after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Content, read_schemas
from kspec.field.recorded.observed import ObservedMapping
from kspec.spec.core import Checked
from kspec.spec.observed.group_log import GroupLife, Line, blocked, coordinator_logs

GROUP_EVENTS = frozenset(read_schemas("group-log").event["event"]["enum"])
"""The events of a trace of `group-log`."""
CONSUMER_PROTOCOL_EVENTS = frozenset({"epoch_bumped", "member_fenced"})
"""Events of groups of the new consumer protocol (KIP-848), which `group-log` does not check."""
NUMBERS = ("generation", "members")
NEED_GENERATION = ("preparing", "stabilized", "emptied", "assigned")


class GroupLog(ObservedMapping):
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

    def observe(self, state: GroupLife, event: Content) -> Checked[GroupLife]:
        """The group after the line, if it may follow."""
        return coordinator_logs(state, event)

    def allowed(self, state: GroupLife) -> Sequence[str]:
        """The lines about rounds that may follow."""
        return possible(state)

    def show(self, state: GroupLife) -> dict[str, Any]:
        """The group's phase, generation and number of members."""
        return attrs.asdict(state)

    def describe(self) -> dict[str, Any]:
        """The group, and where missing lines excuse what no line explains."""
        return self.about


def possible(life: GroupLife) -> list[str]:
    """The lines about rebalances that may follow, in words."""
    generation, members = life.generation, life.members
    now = "any generation" if generation is None else f"generation {generation}"
    old = "of any generation" if generation is None else f"with old generation {generation}"
    following = None if generation is None else generation + 1
    then = "any generation" if following is None else f"generation {following}"
    count = "" if members is None else f" with {members} members"
    lines: list[tuple[str, Line]] = [
        (f"preparing to rebalance {old}", {"event": "preparing", "generation": generation}),
        (f"stabilized {then}", {"event": "stabilized", "generation": following}),
        (f"{then} is now empty", {"event": "emptied", "generation": following}),
        (
            f"assignment received for {now}{count}",
            {"event": "assigned", "generation": generation, "members": members},
        ),
    ]
    return [text for text, line in lines if blocked(life, line) is None]
