"""What the log of a group coordinator may say about a group, line after line.

A group as its coordinator logs it: a rebalance begins (`preparing`) and ends with the next
generation (`stabilized`, or `emptied` without members), which then gets an assignment
(`assigned`). Members join and leave at any time.

Kafka: `GroupMetadataManager` of the Java coordinator, `GroupCoordinator.scala` of the Scala one.
Simplification: members are counted from line to line of a generation and not followed by name,
because at INFO neither coordinator logs each member that joins a rebalance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import Check, Checked, decide
from kspec.spec.messages import GroupState
from kspec.spec.observed.contradiction import Contradiction

Line: TypeAlias = Mapping[str, Any]
"""A line about the group: its `event`, and the fields of its wording."""

UNKNOWN, EMPTY, PREPARING, COMPLETING, DEAD = "unknown", "empty", "preparing", "completing", "dead"
"""Phases. COMPLETING is CompletingRebalance or Stable: no coordinator logs the step between."""

STATES = {
    EMPTY: {GroupState.EMPTY, GroupState.DEAD},
    PREPARING: {GroupState.PREPARING_REBALANCE},
    COMPLETING: {GroupState.COMPLETING_REBALANCE, GroupState.STABLE},
    DEAD: {GroupState.EMPTY, GroupState.DEAD},
}
"""The states that a line may name in a phase."""

SAME_COUNT = "the generation keeps its members"

UUID = re.compile(r"-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$")
"""What follows the client id in a member id."""


@attrs.frozen
class GroupLife:
    """A group, as far as the log has shown it."""

    phase: str = UNKNOWN
    generation: int | None = None
    members: int | None = None
    """How many members the generation has; None if no line says."""


def coordinator_logs(life: GroupLife, line: Line) -> Checked[GroupLife]:
    """A coordinator logs a line about the group.

    An empty group may end unseen, and its name be used again: Java does not log its expiry. Kafka:
    `ClassicGroup.transitionTo`, `GroupMetadata.transitionTo`.
    """
    event, generation, known = line["event"], line.get("generation"), life.generation
    ends = event in ("stabilized", "emptied")
    following = known + 1 if ends and known is not None else known
    here = Contradiction("generation", following, generation)
    agrees = None in (following, generation) or following == generation
    rebalances = life.phase in (PREPARING, UNKNOWN)
    if event == "preparing":
        yield Check("no rebalance is in progress", life.phase != PREPARING, here)
        is_new = life.phase in (EMPTY, UNKNOWN) and generation == 0
        yield Check("a rebalance begins in the current generation", agrees or is_new, here)
    elif ends:
        yield Check("a rebalance is in progress", rebalances, here)
        yield Check("the generation increases by one", agrees, here)
        has_members = event == "emptied" or line.get("members") != 0
        yield Check("a generation has members", has_members, here)
    elif event == "assigned":
        is_begun = life.phase in (COMPLETING, UNKNOWN)
        yield Check("the generation waits for its assignment", is_begun, here)
        yield Check("the assignment is for the current generation", agrees, here)
        count = line.get("members")
        is_same = None in (life.members, count) or life.members == count
        yield Check(SAME_COUNT, is_same, Contradiction("members", life.members, count))
    elif event in ("unloaded", "dead"):
        yield Check("the generation is the current one", agrees, here)
    elif event == "deleted":
        has_none = life.phase not in (PREPARING, COMPLETING)
        yield Check("a group with members is not deleted", has_none, here)
    elif event in ("none_rejoined", "members_removed"):
        yield Check("a rebalance is in progress", rebalances, here)
    elif "state" in line:
        is_named = line["state"] in STATES.get(life.phase, {line["state"]})
        yield Check("the line names the group's state", is_named, here)
    return after(life, line)


def blocked(life: GroupLife, line: Line) -> str | None:
    """The check that a line fails; None if it may follow."""
    failed = decide(coordinator_logs(life, line)).failed
    return None if failed is None else failed.guard


def after(life: GroupLife, line: Line) -> GroupLife:
    """The group after a line."""
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


def client_of(member: str) -> str:
    """The client id with which a member id begins; of a static member, its group.instance.id.

    A dynamic member that comes back has a new member id, so that only its client id tells that it
    is the same. Kafka: `ClassicGroup.generateMemberId`, which appends a random UUID.
    """
    return UUID.sub("", member)
