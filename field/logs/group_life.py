"""What a coordinator's log may say about a group, line after line.

The model of a group as its coordinator logs it: a round begins (`preparing`), ends with the next
generation (`stabilized`, or `emptied` without members), and gets an assignment (`assigned`).
Members join and leave at any time. `step` says whether a line may follow.

Kafka: GroupMetadataManager of the Java coordinator, GroupCoordinator.scala of the Scala one.
Simplification: members are counted from line to line of a generation and not followed by name,
because at INFO neither coordinator logs each member that joins a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs

Line: TypeAlias = Mapping[str, Any]
"""An event: `event`, and the fields of its wording."""

UNKNOWN, EMPTY, PREPARING, COMPLETING, DEAD = "unknown", "empty", "preparing", "completing", "dead"
"""Phases. COMPLETING is CompletingRebalance or Stable: no coordinator logs the step between."""

STATES = {
    EMPTY: {"Empty", "Dead"},
    PREPARING: {"PreparingRebalance"},
    COMPLETING: {"CompletingRebalance", "Stable"},
    DEAD: {"Empty", "Dead"},
}
"""The states of Kafka that a line may name in a phase."""

GROUP_EVENTS = frozenset(
    [
        "member_id_issued",
        "member_added",
        "static_member_added",
        "static_member_replaced",
        "preparing",
        "members_removed",
        "none_rejoined",
        "leader_elected",
        "stabilized",
        "emptied",
        "assigned",
        "sync_removed",
        "member_expired",
        "pending_expired",
        "member_left",
        "pending_left",
        "fenced",
        "refused_rejoin",
        "deleted",
        "dead",
        "loaded",
        "unloaded",
        "converted",
        "write_failed",
        "gap",
    ]
)
"""The events of a trace of `group-log`."""


CONSUMER_PROTOCOL_EVENTS = frozenset({"epoch_bumped", "member_fenced"})
"""Events of groups of the new consumer protocol (KIP-848), which `group-log` does not check."""


@attrs.frozen
class GroupLife:
    """A group, as far as the log has shown it."""

    phase: str = UNKNOWN
    generation: int | None = None
    members: int | None = None
    """How many members the generation has; None if no line says."""


def guards(life: GroupLife, line: Line) -> Iterator[tuple[str, bool]]:
    """The conditions under which a line may follow."""
    event, generation = line["event"], line.get("generation")
    known = life.generation
    if event == "preparing":
        yield "no rebalance is in progress", life.phase != PREPARING
        # Java does not log the expiry of an empty group, whose name may be used again.
        is_new = life.phase in (EMPTY, UNKNOWN) and generation == 0
        yield "a rebalance begins in the current generation", known in (None, generation) or is_new
    elif event in ("stabilized", "emptied"):
        yield "a rebalance is in progress", life.phase in (PREPARING, UNKNOWN)
        yield "the generation increases by one", known is None or generation == known + 1
        yield "a generation has members", event == "emptied" or line.get("members") != 0
    elif event == "assigned":
        yield "the generation waits for its assignment", life.phase in (COMPLETING, UNKNOWN)
        yield "the assignment is for the current generation", known in (None, generation)
        count = line.get("members")
        yield (
            "the generation keeps its members",
            None in (life.members, count) or (life.members == count),
        )
    elif event in ("unloaded", "dead"):
        yield (
            "the generation is the current one",
            None in (known, generation) or (known == generation),
        )
    elif event == "deleted":
        yield "a group with members is not deleted", life.phase not in (PREPARING, COMPLETING)
    elif event in ("none_rejoined", "members_removed"):
        yield "a rebalance is in progress", life.phase in (PREPARING, UNKNOWN)
    elif "state" in line:
        named = line["state"]
        yield "the line names the group's state", named in STATES.get(life.phase, {named})


def blocked(life: GroupLife, line: Line) -> str | None:
    """The first guard that a line does not pass; None if it may follow."""
    return next((name for name, holds in guards(life, line) if not holds), None)


def after(life: GroupLife, line: Line) -> GroupLife:
    """The group after a line that may follow."""
    event = line["event"]
    if event == "preparing":
        return GroupLife(PREPARING, line["generation"])
    if event == "stabilized":
        return GroupLife(COMPLETING, line["generation"], line.get("members"))
    if event == "emptied":
        return GroupLife(EMPTY, line["generation"], 0)
    if event == "assigned":
        return GroupLife(COMPLETING, line["generation"], line.get("members", life.members))
    if event in ("dead", "deleted"):
        return GroupLife(DEAD)
    if event == "loaded":
        return GroupLife(UNKNOWN, line.get("generation"))
    if event in ("unloaded", "converted", "gap"):  # to or from the protocol of KIP-848
        return GroupLife()
    if event == "write_failed":
        return attrs.evolve(life, phase=UNKNOWN)
    return life


def possible(life: GroupLife) -> list[str]:
    """The lines about rounds that may follow, in words."""
    generation = life.generation
    now = "of any generation" if generation is None else f"with old generation {generation}"
    then = "any generation" if generation is None else f"generation {generation + 1}"
    lines = []
    if life.phase != PREPARING:
        lines.append(f"preparing to rebalance {now}")
    if life.phase in (PREPARING, UNKNOWN):
        lines += [f"stabilized {then}", f"{then} is now empty"]
    if life.phase in (COMPLETING, UNKNOWN):
        count = "" if life.members is None else f" with {life.members} members"
        of = "any generation" if generation is None else f"generation {generation}"
        lines.append(f"assignment received for {of}{count}")
    return lines
