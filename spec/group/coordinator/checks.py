"""What a coordinator checks before it does what it is asked, and how it says no.

A handler yields its checks by name, in Kafka's order. A model takes them as the guards of its
rules; `refusal` turns the first that fails into the error of this table.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TypeAlias

from spec.group.coordinator.group import Group, GroupMember, Outcome
from spec.messages import Error, GroupState

Handling: TypeAlias = Generator[tuple[str, bool], None, Outcome]
"""What a handler is: its checks, one after the other, and then what the request comes to."""

ERRORS: Mapping[str, Error] = {
    "session timeout is allowed": Error.INVALID_SESSION_TIMEOUT,
    "group has room": Error.GROUP_MAX_SIZE_REACHED,
    "group is not dead": Error.COORDINATOR_NOT_AVAILABLE,
    "protocols go with the group's": Error.INCONSISTENT_GROUP_PROTOCOL,
    "instance is known": Error.UNKNOWN_MEMBER_ID,
    "instance has this id": Error.FENCED_INSTANCE_ID,
    "member is known": Error.UNKNOWN_MEMBER_ID,
    "generation is current": Error.ILLEGAL_GENERATION,
    "protocol is the group's": Error.INCONSISTENT_GROUP_PROTOCOL,
    "members are not waited for": Error.REBALANCE_IN_PROGRESS,
    "assignments are not waited for": Error.REBALANCE_IN_PROGRESS,
    "group has no members": Error.UNKNOWN_MEMBER_ID,
}
"""What each check that fails is called in the protocol."""


def is_a_member(
    group: Group, member_id: str, instance: str | None
) -> Generator[tuple[str, bool], None, GroupMember]:
    """Who asks is a member, and no older self of a static one. Pending ids are not members.

    Kafka: `ClassicGroup.validateMember`.
    """
    if instance is not None:
        static = group.instance(instance)
        yield "instance is known", static is not None
        yield "instance has this id", static is None or static.id == member_id
    member = group.member(member_id)
    yield "member is known", member is not None
    return member or GroupMember(member_id, instance)


def is_alive(group: Group) -> Generator[tuple[str, bool], None, None]:
    """The group has not moved to another coordinator, nor gone for good."""
    yield "group is not dead", group.state is not GroupState.DEAD
