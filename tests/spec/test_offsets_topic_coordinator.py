"""The group of the model `offsets-topic` answers as the group of `spec.coordinator`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kspec.checkers.graph.graph import states_of
from kspec.checkers.models.find import find_model
from kspec.spec.coordinator import Group, GroupMember, first_error
from kspec.spec.coordinator.admin import delete
from kspec.spec.coordinator.failover import load
from kspec.spec.coordinator.offsets import commit
from kspec.spec.core import Rule
from kspec.spec.messages import GroupMetadata, OffsetCommit, Settings
from kspec.spec.offsets_topic.administrator import admin_deletes_group
from kspec.spec.offsets_topic.expiry import GroupStatus, status_of
from kspec.spec.offsets_topic.group import member_commits, standalone_commits
from kspec.spec.offsets_topic.state import PARTITIONS, OffsetsTopic

OFFSETS_TOPIC = find_model("offsets-topic")
MEMBER = GroupMember("m")
BY_MEMBER, STANDALONE = OffsetCommit((), "m", generation=1), OffsetCommit(())


def states() -> Iterator[OffsetsTopic]:
    """Every reachable state in small bounds."""
    for bounds in OFFSETS_TOPIC.baseline.bounds[:2]:
        yield from states_of(OFFSETS_TOPIC.system(bounds=bounds))


def group_of(status: GroupStatus | None) -> Group:
    """The group in this state, with one member if it has any; a new one if there is none."""
    if status is None:
        return Group()
    members = (MEMBER,) if status.has_members else ()
    return Group(
        state=status.state, protocol_type=status.protocol_type, generation=1, members=members
    )


def holds(rule: Rule[Any], guard: str, s: OffsetsTopic, *choice: object) -> bool | None:
    """Whether a guard of the rule holds; None where it is not asked."""
    return dict(rule.guards(s, choice)).get(guard)


def test_the_group_accepts_the_commits_that_the_coordinator_accepts() -> None:
    answers = set()
    for s in states():
        if not s.is_loaded:
            continue
        group = group_of(s.group)
        accepts = first_error(commit(group, BY_MEMBER, "m")) is None
        guard = "group accepts commits of members"
        assert holds(member_commits, guard, s, PARTITIONS[0]) == accepts, s.group
        alone = first_error(commit(group, STANDALONE, "standalone")) is None
        guard = "group has no members"
        assert holds(standalone_commits, guard, s, PARTITIONS[0]) == alone, s.group
        answers.add((accepts, alone))
    assert answers == {(True, False), (False, True), (False, False)}


def test_an_administrator_deletes_the_groups_that_the_coordinator_deletes() -> None:
    deleted = set()
    for s in states():
        if s.group is None:
            continue
        group = group_of(s.group)
        may = first_error(delete(group, "administrator")) is None
        assert holds(admin_deletes_group, "group has no members", s) == may, s.group
        deleted.add(may)
    assert deleted == {False, True}


def test_a_group_is_loaded_as_the_coordinator_loads_it() -> None:
    loaded = set()
    for s in states():
        for entry in s.log:
            if isinstance(entry.value, GroupMetadata):
                status, group = status_of(entry), load(entry.value, Settings())
                assert (status.state, status.protocol_type) == (group.state, group.protocol_type)
                loaded.add(group.state)
    assert len(loaded) == 2
