"""An administrator's requests about a group: DescribeGroups, DeleteGroups and OffsetDelete.

Kafka: `GroupMetadataManager.describeGroups`, `GroupCoordinatorShard.deleteGroups` and
`OffsetMetadataManager.deleteOffsets`.
"""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from kspec.spec.coordinator.state import Group
from kspec.spec.messages import NO_ASSIGNMENT, Error, GroupState

CONSUMER = "consumer"
"""The protocol type of a group of consumers. Kafka: `ConsumerProtocol.PROTOCOL_TYPE`."""


@attrs.frozen
class DescribedMember:
    """A member in the response to DescribeGroups. Kafka: `DescribedGroupMember`."""

    id: str
    """Its member id."""
    instance: str | None
    """Its `group.instance.id`, if it is a static member."""
    metadata: Hashable = NO_ASSIGNMENT
    """Its subscription for the selected protocol, if the group is stable."""
    assignment: Hashable = NO_ASSIGNMENT
    """Its assignment."""


@attrs.frozen
class Description:
    """A group in the response to DescribeGroups. Kafka: `DescribedGroup`."""

    state: GroupState
    """The state of the group; Dead for a group that the coordinator does not know."""
    protocol_type: str = ""
    """The group's protocol type."""
    protocol: str = ""
    """The selected protocol, if the group is stable."""
    members: tuple[DescribedMember, ...] = ()
    """The members; pending members are not among them."""


def describe(group: Group) -> Description:
    """The group as an administrator sees it.

    Only a stable group shows its protocol and the members' subscriptions.
    Kafka: `GroupMetadataManager.describeGroups`.
    """
    if group.state is GroupState.DEAD:
        return Description(GroupState.DEAD)
    stable = group.state is GroupState.STABLE
    assigned = stable or group.settings.variant.describes_assignments
    members = tuple(
        DescribedMember(
            m.id,
            m.instance,
            m.metadata(group.protocol) if stable else NO_ASSIGNMENT,
            m.assignment if assigned else NO_ASSIGNMENT,
        )
        for m in group.members
    )
    protocol = group.protocol if stable else None
    return Description(group.state, group.protocol_type or "", protocol or "", members)


def refuse_deletion(group: Group) -> Error:
    """Why the group cannot be deleted; NONE if it can.

    Pending members do not keep it. Kafka: `ClassicGroup.validateDeleteGroup`.
    """
    if group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    return Error.NONE if group.state is GroupState.EMPTY else Error.NON_EMPTY_GROUP


def refuse_offset_deletion(group: Group) -> Error:
    """Why none of the group's offsets can be deleted; NONE if some may.

    Kafka: `ClassicGroup.validateOffsetDelete`.
    """
    if group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    consumes = group.protocol_type == CONSUMER or group.state is GroupState.EMPTY
    return Error.NONE if consumes else Error.NON_EMPTY_GROUP


def refuse_deletion_of_one(group: Group, emptied_as: str | None = None) -> Error:
    """Why the offset of a partition that exists cannot be deleted; NONE if it can.

    The subscriptions count that the members had when the generation began: none while a group
    of consumers that was empty waits for the initial delay. Of a new group, or one of another
    kind, nothing is known. `emptied_as` is the protocol type with which the group became empty.
    Kafka: `ClassicGroup.isSubscribedToTopic`. Simplification: subscriptions are opaque here, as
    they are to Kafka if it cannot read them; then it takes members for subscribed to every topic.
    """
    begins_again = group.in_initial_delay and group.generation > 0 and emptied_as == CONSUMER
    if group.state is GroupState.EMPTY or begins_again:
        return Error.NONE
    return Error.GROUP_SUBSCRIBED_TO_TOPIC


def after_offset_deletion(group: Group, *, has_offsets: bool) -> Group:
    """The group after offsets were deleted. Scala deletes an empty group that has no more."""
    dissolves = group.settings.variant.offset_deletion_dissolves
    if dissolves and group.state is GroupState.EMPTY and not has_offsets:
        return Group(state=GroupState.DEAD, settings=group.settings)
    return group
