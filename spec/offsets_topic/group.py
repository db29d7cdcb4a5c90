"""The group and its consumers: rebalances, and commits of offsets."""

from __future__ import annotations

from kspec.spec.core import Step, evolve, limit, rule
from kspec.spec.messages import GroupState
from kspec.spec.offsets_topic.expiry import CONSUMER, GroupStatus
from kspec.spec.offsets_topic.state import (
    OffsetsTopic,
    commit,
    metadata,
    partitions,
    subscriptions,
)
from kspec.spec.vocabulary import TopicPartition

# -- rebalances -------------------------------------------------------------------------------


@rule(by="group")
def group_begins_rebalance(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """A member joins or is removed, and the coordinator waits for the others. Nothing is written.

    Kafka: `GroupMetadataManager.prepareRebalance`. Simplification: the identity of the members
    does not matter, only whether there are any.
    """
    yield "coordinator is loaded", s.is_loaded
    yield "no rebalance is in progress", not s.is_in(GroupState.PREPARING_REBALANCE)
    subscribed = s.group.subscribed if s.group else frozenset()
    return s.with_group(GroupStatus(GroupState.PREPARING_REBALANCE, CONSUMER, subscribed))


@rule(by="group", subscription=subscriptions)
def group_completes_join(s: OffsetsTopic, subscription: tuple[str, ...]) -> Step[OffsetsTopic]:
    """All members have joined, and wait for their assignment. Nothing is written.

    Kafka: `GroupMetadataManager.completeClassicGroupJoin`.
    """
    yield "group is in PreparingRebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    completing = GroupStatus(GroupState.COMPLETING_REBALANCE, CONSUMER, frozenset(subscription))
    return s.with_group(completing)


@rule(by="group")
def leader_assigns(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The leader's assignment arrives: the group is written with it, and becomes Stable.

    Kafka: `GroupMetadataManager.classicGroupSync`.
    """
    yield "group is in CompletingRebalance", s.is_in(GroupState.COMPLETING_REBALANCE)
    group = s.group
    assert group is not None, "the guard holds"
    yield limit("a write remains"), s.has_room()
    written = s.with_written(metadata(sorted(group.subscribed)))
    return written.with_group(evolve(group, state=GroupState.STABLE))


@rule(by="group")
def last_member_leaves(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The rebalance completes without members: the group becomes Empty, and is written.

    Kafka: `GroupMetadataManager.completeClassicGroupJoin`.
    """
    yield "group is in PreparingRebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    yield limit("a write remains"), s.has_room()
    empty = GroupStatus(GroupState.EMPTY, CONSUMER, since=s.clock)
    return s.with_written(metadata()).with_group(empty)


# -- commits ----------------------------------------------------------------------------------


@rule(by="member", partition=partitions)
def member_commits(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """A member commits an offset of any partition: the coordinator does not check its owner.

    It rejects the commit in CompletingRebalance (REBALANCE_IN_PROGRESS), and the broker rejects
    one of a topic that does not exist. Kafka: `ClassicGroup.validateOffsetCommit`.
    """
    accepts = s.is_in(GroupState.PREPARING_REBALANCE, GroupState.STABLE)
    yield "group accepts commits of members", accepts
    yield "topic exists", partition.topic in s.topics
    yield limit("a write remains"), s.has_room()
    return s.with_written(commit(s, partition))


@rule(by="standalone", partition=partitions)
def standalone_commits(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """A standalone consumer commits into a group without members, or creates a simple group.

    A simple group has no protocol type and no record of its own, only offsets. Kafka:
    `OffsetMetadataManager.validateOffsetCommit`.
    """
    yield "coordinator is loaded", s.is_loaded
    yield "group has no members", s.group is None or s.is_in(GroupState.EMPTY)
    yield "topic exists", partition.topic in s.topics
    yield limit("a write remains"), s.has_room()
    return s.with_written(commit(s, partition)).with_group(s.group or GroupStatus())


RULES = (
    group_begins_rebalance,
    group_completes_join,
    leader_assigns,
    last_member_leaves,
    member_commits,
    standalone_commits,
)
