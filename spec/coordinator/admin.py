"""An administrator's requests about a group: DescribeGroups and DeleteGroups.

Kafka: `GroupMetadataManager.describeGroups` and `GroupCoordinatorShard.deleteGroups`.
"""

from __future__ import annotations

from collections.abc import Hashable

import attrs

from kspec.spec.coordinator.state import Caller, Group, Handler, Outcome
from kspec.spec.core import Check, Checked
from kspec.spec.messages import NO_ASSIGNMENT, DeleteGroupResponse, Error, GroupState


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


def delete(group: Group, caller: Caller) -> Handler:
    """An administrator deletes a group; pending members do not keep it.

    Kafka: `ClassicGroup.validateDeleteGroup`.
    """
    yield from validate_known(group)
    yield Check("group is empty", group.state is GroupState.EMPTY, Error.NON_EMPTY_GROUP)
    deleted = Group(state=GroupState.DEAD, settings=group.settings)
    return Outcome(deleted, ((caller, DeleteGroupResponse()),))


def validate_known(group: Group) -> Checked[None]:
    """The coordinator knows the group."""
    yield Check("group exists", group.state is not GroupState.DEAD, Error.GROUP_ID_NOT_FOUND)
