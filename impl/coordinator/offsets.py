"""OffsetCommit and OffsetFetch, and the expiry of offsets."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from kspec.impl.coordinator.rebalance import COMPLETING, EMPTY, STABLE
from kspec.impl.coordinator.responses import commit_response, response_error
from kspec.impl.coordinator.shard import Caller, Shard
from kspec.impl.coordinator.state import Commit, CommittedOffset, Group, Parked
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    OffsetsTopicRecord,
)
from kspec.spec.vocabulary import TopicPartition

# -- OffsetCommit --------------------------------------------------------------------------


def offset_commit(
    shard: Shard, group_id: str, caller: Caller, request: OffsetCommit
) -> OffsetCommitResponse | None:
    """Write the offsets; the response is sent once they are replicated.

    Offsets of partitions that do not exist are rejected first: if no others are left, the group
    does not learn of the request. Kafka: `KafkaApis.handleOffsetCommitRequest`.
    """
    if not any(shard.partition_exists(partition) for partition, _ in request.offsets):
        return commit_response(request, Error.UNKNOWN_TOPIC_OR_PARTITION)
    group = shard.groups.get(group_id)
    if group is None:
        if request.generation >= 0:
            return reject_commit(shard, request, _unknown_group_error(shard, request))
        group = shard.create(group_id)
    error = _validate_commit(group, request)
    if error is not Error.NONE:
        return reject_commit(shard, request, error)
    member = group.members.get(request.member)
    if member is not None:
        shard.reschedule_session(member)
    errors = tuple(
        (partition, _validate_offset(shard, partition, o)) for partition, o in request.offsets
    )
    offsets = {
        partition: offset
        for (partition, offset), (_, refused) in zip(request.offsets, errors, strict=True)
        if refused is Error.NONE
    }
    if not offsets:
        return OffsetCommitResponse(errors)
    commit = Commit(offsets, shard.clock())
    waiting = CommitWrite(group, commit, shard.park(caller), errors)
    records = [
        OffsetsTopicRecord(group_id, p, offset, commit.time) for p, offset in offsets.items()
    ]
    group.commits[shard.write_and_wait(waiting, *records)] = commit
    return None


def _unknown_group_error(shard: Shard, request: OffsetCommit) -> Error:
    names_it = request.version >= 9 and shard.settings.variant.commit_misses_group
    return Error.GROUP_ID_NOT_FOUND if names_it else Error.ILLEGAL_GENERATION


def reject_commit(shard: Shard, request: OffsetCommit, error: Error) -> OffsetCommitResponse:
    """The response with the same error for every partition that exists."""
    missing = Error.UNKNOWN_TOPIC_OR_PARTITION
    return OffsetCommitResponse(
        tuple((p, error if shard.partition_exists(p) else missing) for p, _ in request.offsets)
    )


def _validate_commit(group: Group, request: OffsetCommit) -> Error:
    """NONE, or why this member, or a consumer that assigns itself, may not commit."""
    if request.generation < 0 and group.state is EMPTY:
        return Error.NONE
    if request.generation < 0 and request.member == NO_MEMBER_ID and request.instance is None:
        return Error.UNKNOWN_MEMBER_ID
    error = group.validate_generation(request.member, request.instance, request.generation)
    if error is Error.NONE and group.state is COMPLETING:
        return Error.REBALANCE_IN_PROGRESS
    return error


def _validate_offset(shard: Shard, partition: TopicPartition, offset: Offset) -> Error:
    if not shard.partition_exists(partition):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if _utf16_length(offset.metadata) > shard.settings.max_metadata:
        return Error.OFFSET_METADATA_TOO_LARGE
    return Error.NONE


def _utf16_length(text: str) -> int:
    """The length in UTF-16 code units, as Java counts."""
    return len(text) if text.isascii() else len(text) + sum(c > "\uffff" for c in text)


@attrs.frozen(eq=False)
class CommitWrite:
    """The write of a commit, whose offsets may be fetched once it completes."""

    group: Group
    commit: Commit
    parked: Parked
    errors: tuple[tuple[TopicPartition, Error], ...]

    def stored(self, shard: Shard, ticket: int, error: Error) -> None:
        """Make the offsets visible if the write succeeded, and answer the commit."""
        group = self.group
        group.commits.pop(ticket, None)
        if error is Error.NONE:
            for partition, offset in self.commit.offsets.items():
                known = group.offsets.get(partition)
                if known is None or known.ticket < ticket:
                    group.offsets[partition] = CommittedOffset(offset, self.commit.time, ticket)
        shard.release(self.parked, self.answer(response_error(error)))

    def answer(self, error: Error) -> OffsetCommitResponse:
        """The result of each partition: its own error, or that of the write."""
        return OffsetCommitResponse(
            tuple((p, e if e is not Error.NONE else error) for p, e in self.errors)
        )


# -- OffsetFetch ---------------------------------------------------------------------------


def offset_fetch(
    shard: Shard, group_id: str, caller: Caller, request: OffsetFetch
) -> OffsetFetchResponse:
    """The committed offsets; a partition without one is not an error."""
    group = shard.groups.get(group_id)
    offsets = group.offsets if group is not None else {}
    if request.partitions is None:
        return OffsetFetchResponse(offsets=tuple((p, known.offset) for p, known in offsets.items()))
    found = ((partition, offsets.get(partition)) for partition in request.partitions)
    return OffsetFetchResponse(
        offsets=tuple((p, known.offset if known else None) for p, known in found)
    )


# -- expiry --------------------------------------------------------------------------------


def expire_offsets(shard: Shard, now: int, retention: int) -> None:
    """Delete expired offsets, and empty groups without offsets."""
    for group in list(shard.groups.values()):
        _drop(shard, group, list(_expired(shard, group, now, retention)))
        _delete_if_empty(shard, group)


def _delete_if_empty(shard: Shard, group: Group) -> None:
    """Delete a group that has neither members nor offsets."""
    if group.state is EMPTY and not group.offsets and not group.commits:
        shard.write(OffsetsTopicRecord(group.id, None, None, shard.clock()))
        dissolve(shard, group)


def _expired(shard: Shard, group: Group, now: int, retention: int) -> Iterable[TopicPartition]:
    """The expired offsets: of groups that are empty, or no longer subscribe to the topic.

    A group that rebalances keeps its offsets (KAFKA-13636). A partition with a commit in progress
    keeps its offset: the tombstone would follow the newer record and delete it.
    """
    subscribed: Collection[str] = ()
    if group.state is STABLE and group.protocol_type == "consumer":
        topics = shard.subscribed_topics(group)
        if topics is None:
            return
        subscribed = topics
    elif group.state is not EMPTY:
        return
    in_progress = {partition for commit in group.commits.values() for partition in commit.offsets}
    counts_from_state = group.state is EMPTY and group.protocol_type is not None
    for partition, known in group.offsets.items():
        if partition.topic in subscribed or partition in in_progress:
            continue
        since = (counts_from_state and group.since) or known.time
        expires = known.offset.expires
        if (since + retention if expires is None else expires) <= now:
            yield partition


def topics_deleted(shard: Shard, topics: Collection[str]) -> None:
    """Delete the offsets of deleted topics, including those whose write is in progress."""
    for group in shard.groups.values():
        _drop(shard, group, [p for p in _all_partitions(group) if p.topic in topics])


def _all_partitions(group: Group) -> Iterable[TopicPartition]:
    """The partitions with an offset, including those whose write is in progress."""
    in_progress = (partition for commit in group.commits.values() for partition in commit.offsets)
    return dict.fromkeys([*group.offsets, *in_progress])


# -- administration ------------------------------------------------------------------------


def delete_group(shard: Shard, group_id: str) -> Error:
    """Delete a group without members, and its offsets.

    Kafka: `GroupCoordinatorShard.deleteGroups`.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return Error.GROUP_ID_NOT_FOUND
    if group.state is not EMPTY:
        return Error.NON_EMPTY_GROUP
    _drop(shard, group, list(_all_partitions(group)))
    shard.write(OffsetsTopicRecord(group_id, None, None, shard.clock()))
    dissolve(shard, group)
    return Error.NONE


def delete_offsets(
    shard: Shard, group_id: str, partitions: Iterable[TopicPartition]
) -> tuple[Error, tuple[tuple[TopicPartition, Error], ...]]:
    """Delete a group's offsets of topics that it does not subscribe to.

    The subscriptions are those with which the generation began. A Scala coordinator also deletes an
    empty group that has no offsets any more.

    Kafka: `OffsetMetadataManager.deleteOffsets`, `ClassicGroup.isSubscribedToTopic`.
    """
    group = shard.groups.get(group_id)
    if group is None:
        return Error.GROUP_ID_NOT_FOUND, ()
    is_consumer = group.protocol_type == "consumer"
    if group.state is not EMPTY and not is_consumer:
        return Error.NON_EMPTY_GROUP, ()
    topics = group.subscribed
    errors = []
    for partition in partitions:
        error = Error.NONE
        if not shard.partition_exists(partition):
            error = Error.UNKNOWN_TOPIC_OR_PARTITION
        elif is_consumer if topics is None else partition.topic in topics:
            error = Error.GROUP_SUBSCRIBED_TO_TOPIC
        elif partition in group.offsets:
            _drop(shard, group, [partition])
        errors.append((partition, error))
    if shard.settings.variant.offset_deletion_dissolves and any(e is Error.NONE for _, e in errors):
        _delete_if_empty(shard, group)
    return Error.NONE, tuple(errors)


def _drop(shard: Shard, group: Group, partitions: Collection[TopicPartition]) -> None:
    for partition in partitions:
        group.offsets.pop(partition, None)
        for commit in group.commits.values():
            commit.offsets.pop(partition, None)
        shard.write(OffsetsTopicRecord(group.id, partition, None, shard.clock()))


def dissolve(shard: Shard, group: Group) -> None:
    """Delete a group."""
    for timer in group.timers():
        shard.timers.cancel(timer)
    group.transition_to(GroupState.DEAD, shard.clock())
    del shard.groups[group.id]
