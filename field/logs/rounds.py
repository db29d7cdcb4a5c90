"""Rebalances: what began each, who joined and left, how long it took, who was late."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from kspec.field.logs.adapter import Event
from kspec.field.logs.causes import (
    CAME_BACK,
    JOINED,
    LEFT,
    POLL_TIMEOUT,
    REBALANCE_TIMEOUT,
    SESSION_TIMEOUT,
    SYNC_TIMEOUT,
    UNKNOWN,
    Cause,
    Trigger,
    by_client_reason,
    fenced_for,
    short,
    trigger_of,
)
from kspec.field.logs.departures import Clients, Departure, between
from kspec.field.logs.request_log import text
from kspec.field.logs.traces import by_group
from kspec.field.logs.wordings import TOLD
from kspec.spec.observed.group_log import client_of

LONG_ROUND_MS = 1_000
"""In a shorter rebalance, who was waited for does not matter."""
SOON_MS = 5_000
"""A client leaves within this time of logging that it will."""
NEAR_MS = 20
"""Two logs give one event times that differ by at most this."""


@attrs.define
class Round:
    """From the first line of a rebalance to its assignment."""

    node: str
    trigger: Trigger
    reason: str = ""
    start_ms: int | None = None
    end_ms: int | None = None
    """When the JoinGroup requests were answered."""
    assigned_ms: int | None = None
    generation: int | None = None
    members: int | None = None
    """How many members the generation has; 0 if the group became empty."""
    joined: list[str] = attrs.field(factory=list)
    departed: list[Departure] = attrs.field(factory=list)
    waited_for: str = ""
    """Who re-joined last, if a client's log or the request log tells."""
    waited_ms: int | None = None
    source: dict[str, Any] = attrs.field(factory=dict)

    @property
    def took_ms(self) -> int | None:
        """How long it took until the assignment, or the end."""
        return between(self.start_ms, self.end_ms if self.assigned_ms is None else self.assigned_ms)

    def to_json(self) -> dict[str, Any]:
        """The round as JSON."""
        trigger = self.trigger
        return {
            "generation": self.generation,
            "start_ms": self.start_ms,
            "took_ms": self.took_ms,
            "join_ms": between(self.start_ms, self.end_ms),
            "members": self.members,
            "broker": self.node,
            "cause": trigger.cause.name,
            "setting": trigger.cause.setting,
            "triggered_by": list(trigger.members),
            "reason": self.reason,
            "joined": self.joined,
            "departed": [one.to_json() for one in self.departed],
            "waited_for": self.waited_for,
            "waited_ms": self.waited_ms,
            "source": self.source,
        }


@attrs.define
class Group:
    """A group as the logs show it."""

    name: str
    rounds: list[Round] = attrs.field(factory=list)
    notes: list[Event] = attrs.field(factory=list)
    """Loads, moves to other brokers, deletions, fenced members and failed writes."""

    def causes(self) -> list[tuple[Cause, int, list[str]]]:
        """The causes of its rounds, timeouts and then the most frequent first, with clients."""
        counts: Counter[Cause] = Counter()
        members: dict[Cause, Counter[str]] = {}
        for one in self.rounds:
            departures = [d for d in one.departed if d.cause in (REBALANCE_TIMEOUT, SYNC_TIMEOUT)]
            for cause, names in [
                (one.trigger.cause, one.trigger.members),
                *((d.cause, (d.member,)) for d in departures),
            ]:
                counts[cause] += 1
                members.setdefault(cause, Counter()).update(map(client_of, names))
        order = sorted(counts.items(), key=lambda item: (not item[0].is_timeout, -item[1]))
        return [(c, n, [name for name, _ in members[c].most_common(5)]) for c, n in order]

    def to_json(self) -> dict[str, Any]:
        """The group as JSON."""
        return {
            "group": self.name,
            "rounds": [one.to_json() for one in self.rounds],
            "causes": [
                {
                    "cause": cause.name,
                    "rounds": count,
                    "clients": names,
                    "setting": cause.setting,
                    "advice": cause.advice,
                }
                for cause, count, names in self.causes()
            ],
            "notes": self.notes,
        }


def groups_of(events: Sequence[Event]) -> list[Group]:
    """The groups of broker logs, with what clients' logs and request logs add."""
    coordinators = list(by_group(events))
    groups = {name: GroupReader(name) for name in dict.fromkeys(e["group"] for e in coordinators)}
    for event in events:
        if "side" in event and event.get("group") in groups:
            groups[event["group"]].read_client(event)
    for event in coordinators:
        groups[event["group"]].read(event)
    return [reader.finish() for reader in groups.values()]


class GroupReader:
    """Puts the events of a group together to rounds."""

    def __init__(self, name: str) -> None:
        """No event was read."""
        self.group = Group(name)
        self.open: Round | None = None
        self.joined: list[str] = []
        self.departed: list[Departure] = []
        self.clients = Clients()
        self.timeouts: dict[str, tuple[int, int]] = {}
        """Session and rebalance timeout of a client."""
        self.client_events: list[Event] = []

    def read(self, event: Event) -> None:
        """Take an event of a coordinator."""
        name, time_ms = event["event"], event.get("time_ms")
        member = event.get("member", "")
        if "session_timeout" in event:
            client = client_of(member)
            self.timeouts[client] = (event["session_timeout"], event["rebalance_timeout"])
        if name == "preparing":
            self.begin(event)
        elif name in ("member_id_issued", "member_added", "static_member_added"):
            self.clients.returned(member, time_ms)
            if name != "member_id_issued":
                self.join(member)
        elif name in ("members_removed", "sync_removed"):
            for one in event["removed"]:
                is_join = name == "members_removed"
                self.depart(str(one), time_ms, REBALANCE_TIMEOUT if is_join else SYNC_TIMEOUT)
        elif name == "member_expired":
            self.depart(member, time_ms, SESSION_TIMEOUT)
        elif name == "member_left":
            self.depart(member, time_ms, by_client_reason(event.get("reason", "")) or LEFT)
        elif name == "member_fenced":
            why = fenced_for(event.get("reason", ""))
            self.depart(member, time_ms, why, event.get("milliseconds"))
        elif name == "epoch_bumped":
            self.bump(event)
        elif name in ("stabilized", "emptied"):
            self.end(event)
        elif name == "assigned":
            last = self.group.rounds[-1] if self.group.rounds else None
            if last and last.generation == event["generation"] and last.assigned_ms is None:
                last.assigned_ms = time_ms
        elif name in TOLD["group"]:
            self.group.notes.append(event)

    def begin(self, event: Event) -> None:
        """A round begins."""
        trigger = trigger_of(event.get("reason", ""))
        for member in trigger.members if trigger.cause is JOINED else ():
            self.join(member)
            if self.clients.returned(member, event.get("time_ms")):
                trigger = attrs.evolve(trigger, cause=CAME_BACK)
        self.close()
        self.open = Round(
            event["node"],
            trigger,
            event.get("reason", ""),
            event.get("time_ms"),
            generation=event["generation"] + 1,
            source=event["source"],
        )

    def end(self, event: Event) -> None:
        """A round ends: with a generation, or without members."""
        one = self.open or Round(event["node"], trigger_of(""))
        one.source = one.source or event["source"]
        one.end_ms, one.generation = event.get("time_ms"), event["generation"]
        one.members = 0 if event["event"] == "emptied" else event.get("members")
        if one.members == 0:
            self.clients.present.clear()
        self.open = one
        self.close()

    def bump(self, event: Event) -> None:
        """A new group epoch of the consumer protocol (KIP-848): there is no round to wait for."""
        trigger = Trigger(UNKNOWN)
        if self.joined:
            trigger = Trigger(JOINED, tuple(self.joined))
        elif self.departed:
            trigger = Trigger(self.departed[-1].cause, (self.departed[-1].member,))
        time_ms = event.get("time_ms")
        self.open = Round(event["node"], trigger, "", time_ms, time_ms)
        self.open.generation, self.open.source = event["epoch"], event["source"]
        self.close()

    def close(self) -> None:
        """Keep the open round, with who joined and departed until now."""
        if self.open is not None:
            self.open.joined, self.open.departed = self.joined, self.departed
            self.joined, self.departed = [], []
            self.group.rounds.append(self.open)
            self.open = None

    def join(self, member: str) -> None:
        """A member joins."""
        if member not in self.joined:
            self.joined.append(member)
        self.clients.joined(member)

    def depart(
        self, member: str, time_ms: int | None, cause: Cause, met_ms: int | None = None
    ) -> None:
        """A member was removed or left, perhaps because it met a timeout of `met_ms`."""
        client = client_of(member)
        session, rebalance = self.timeouts.get(client, (None, None))
        timeout = met_ms or (session if cause is SESSION_TIMEOUT else rebalance)
        if cause is REBALANCE_TIMEOUT and timeout is None and self.open:
            timeout = between(self.open.start_ms, time_ms)
        departure = Departure(member, time_ms, cause, timeout if cause.is_timeout else None)
        self.departed.append(departure)
        self.clients.departed(departure)

    def read_client(self, event: Event) -> None:
        """Take an event of a client's log, or of the request log."""
        self.client_events.append(event)
        fields = event.get("fields", {})
        session = fields.get("sessionTimeoutMs")
        rebalance = fields.get("rebalanceTimeoutMs", session)
        if event["event"] == "request" and type(session) is type(rebalance) is int:
            client = client_of(text(fields, "memberId") or event["client"])
            self.timeouts[client] = (session, rebalance)

    def finish(self) -> Group:
        """The group, when every event was read."""
        self.close()
        last = self.group.rounds[-1] if self.group.rounds else None
        if last:
            last.departed = [*last.departed, *self.departed]
        refine_triggers(self.group.rounds)
        add_clients(self.group.rounds, self.client_events, self.timeouts)
        return self.group


def refine_triggers(rounds: Iterable[Round]) -> None:
    """Give a round its trigger's precise cause, where another line tells it.

    Java logs a member's leave, with its reason, before the round and Scala after it.
    """
    every = list(rounds)
    causes = {d.member: d.cause for one in every for d in one.departed}
    for one in every:
        if one.trigger.cause is LEFT and one.trigger.members:
            known = causes.get(one.trigger.members[0], LEFT)
            one.trigger = attrs.evolve(one.trigger, cause=known)


def add_clients(
    rounds: Sequence[Round], events: Iterable[Event], timeouts: Mapping[str, tuple[int, int]]
) -> None:
    """Who was waited for, and who did not poll, from the logs of clients and of requests."""
    joins: list[tuple[float, str]] = []
    unpolled: dict[str, list[int]] = {}
    for event in events:
        time_ms = event.get("time_ms")
        if time_ms is None:
            continue
        if event["event"] == "poll_timeout":
            unpolled.setdefault(event["node"], []).append(time_ms)
        elif event["event"] == "joining":
            joins.append((time_ms, event["node"]))
        elif event["event"] == "request" and event["api"] == "JoinGroup":
            joins.append((time_ms, text(event["fields"], "memberId") or event["client"]))
    joins.sort()
    for one in rounds:
        explain_leaves(one, unpolled, timeouts)
        add_waited_for(one, joins)


def explain_leaves(
    one: Round, unpolled: Mapping[str, Sequence[int]], timeouts: Mapping[str, tuple[int, int]]
) -> None:
    """A client that says that it did not poll: so it left for that reason."""
    for departure in one.departed:
        client, left_ms = client_of(departure.member), departure.time_ms
        if departure.cause is not LEFT or left_ms is None:
            continue
        if any(abs(time_ms - left_ms) < SOON_MS for time_ms in unpolled.get(client, ())):
            departure.cause = POLL_TIMEOUT
            departure.timeout_ms = timeouts.get(client, (None, None))[1]
            if departure.member in one.trigger.members:
                one.trigger = attrs.evolve(one.trigger, cause=POLL_TIMEOUT)


def add_waited_for(one: Round, joins: Sequence[tuple[float, str]]) -> None:
    """Who joined last in a round that took long, if nobody was removed for not joining at all."""
    took = between(one.start_ms, one.end_ms)
    if one.start_ms is None or one.end_ms is None or took is None or took < LONG_ROUND_MS:
        return
    if any(departure.cause is REBALANCE_TIMEOUT for departure in one.departed):
        return
    last = bisect_left(joins, (one.end_ms + NEAR_MS,)) - 1
    waited = joins[last][0] - one.start_ms if last >= 0 else 0
    if waited > took / 2:  # otherwise it waited for something else
        one.waited_for, one.waited_ms = joins[last][1], round(waited)


def headline(one: Round) -> str:
    """What began the round, in words."""
    who = ", ".join(map(short, one.trigger.members)) or "something"
    said = one.trigger.client_reason
    text = f"{who} {one.trigger.cause.says}"
    return f"{text} ({said})" if said and one.trigger.cause.name == "leader re-joined" else text
