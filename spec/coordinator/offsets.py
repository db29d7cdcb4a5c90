"""The offsets of a group: OffsetCommit, OffsetFetch and OffsetDelete.

Kafka: `OffsetMetadataManager`. Offsets are neither compared with the log nor required to grow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kspec.spec.coordinator.admin import validate_known
from kspec.spec.coordinator.state import (
    Caller,
    Group,
    Handler,
    Outcome,
    validate_alive,
    validate_member,
)
from kspec.spec.core import Check
from kspec.spec.java import utf16
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupState,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetDelete,
    OffsetDeleteResponse,
    OffsetFetch,
    OffsetFetchResponse,
)
from kspec.spec.vocabulary import TopicPartition


def commit(group: Group, request: OffsetCommit, caller: Caller) -> Handler:
    """Members of the current generation may commit.

    An empty group accepts commits without a generation: from a consumer that assigns itself, or
    from an administrator who resets offsets. A group that is completing a rebalance accepts none:
    the partition may already belong to another member.

    Kafka: `ClassicGroup.validateOffsetCommit`.
    """
    yield from validate_alive(group)
    without_generation = request.generation < 0
    if not (without_generation and group.state is GroupState.EMPTY):
        if not without_generation or request.member != NO_MEMBER_ID or request.instance is not None:
            yield from validate_member(group, request.member, request.instance)
            is_current = request.generation == group.generation
            yield Check("generation is current", is_current, Error.ILLEGAL_GENERATION)
        else:
            is_empty = group.state is GroupState.EMPTY
            yield Check("group is empty", is_empty, Error.UNKNOWN_MEMBER_ID)
        completed = group.state is not GroupState.COMPLETING_REBALANCE
        yield Check("group is not completing a rebalance", completed, Error.REBALANCE_IN_PROGRESS)
    results = tuple((tp, validate_metadata(group, offset)) for tp, offset in request.offsets)
    valid = tuple(o for o in request.offsets if validate_metadata(group, o[1]) is Error.NONE)
    return Outcome(group, ((caller, OffsetCommitResponse(results)),), offsets=valid)


def validate_metadata(group: Group, offset: Offset) -> Error:
    """NONE, or OFFSET_METADATA_TOO_LARGE.

    Kafka: `OffsetMetadataManager.isMetadataInvalid`, which counts UTF-16 code units although the
    setting is called `offset.metadata.max.bytes`.
    """
    too_long = len(utf16(offset.metadata)) // 2 > group.settings.max_metadata
    return Error.OFFSET_METADATA_TOO_LARGE if too_long else Error.NONE


def refuse_partitions() -> Handler:
    """The coordinator does not see a commit of which no partition exists.

    Kafka: `KafkaApis.handleOffsetCommitRequest`.
    """
    yield Check("partition exists", False, Error.UNKNOWN_TOPIC_OR_PARTITION)
    raise AssertionError("the check fails")


def fetch(
    group: Group,
    request: OffsetFetch,
    caller: Caller,
    committed: Mapping[TopicPartition, Offset],
) -> Handler:
    """A client reads committed offsets, of these partitions or of all that have one.

    Kafka: `OffsetMetadataManager.fetchOffsets`.
    """
    yield from ()
    wanted = committed if request.partitions is None else request.partitions
    found = tuple((partition, committed.get(partition)) for partition in wanted)
    return Outcome(group, ((caller, OffsetFetchResponse(offsets=found)),))


# -- OffsetDelete -----------------------------------------------------------------------------

CONSUMER = "consumer"
"""The protocol type of a group of consumers. Kafka: `ConsumerProtocol.PROTOCOL_TYPE`."""


def delete_offsets(
    group: Group,
    request: OffsetDelete,
    caller: Caller,
    committed: Collection[TopicPartition],
    partitions: Collection[TopicPartition] | None = None,
    emptied_as: str | None = None,
) -> Handler:
    """An administrator deletes committed offsets, of a group of consumers or an empty one.

    Each partition has its own result; `partitions` are those that exist, if not all do. Scala
    deletes an empty group that has no more offsets.

    Kafka: `ClassicGroup.validateOffsetDelete`. The coordinator does not see partitions that do not
    exist: `KafkaApis.handleOffsetDeleteRequest`.
    """
    yield from validate_known(group)
    consumes = group.protocol_type == CONSUMER or group.state is GroupState.EMPTY
    yield Check("group is empty or of consumers", consumes, Error.NON_EMPTY_GROUP)
    kept = keeps_offsets(group, emptied_as)
    result = Error.GROUP_SUBSCRIBED_TO_TOPIC if kept else Error.NONE
    results = tuple(
        (tp, result if partitions is None or tp in partitions else Error.UNKNOWN_TOPIC_OR_PARTITION)
        for tp in request.partitions
    )
    deleted = tuple((tp, None) for tp, error in results if error is Error.NONE)
    dissolves = group.settings.variant.offset_deletion_dissolves
    is_empty = group.state is GroupState.EMPTY and set(committed) <= dict(deleted).keys()
    if deleted and dissolves and is_empty:
        group = Group(state=GroupState.DEAD, settings=group.settings)
    return Outcome(group, ((caller, OffsetDeleteResponse(Error.NONE, results)),), offsets=deleted)


def keeps_offsets(group: Group, emptied_as: str | None) -> bool:
    """Whether subscriptions keep the offsets of a group from being deleted.

    The subscriptions count that the members had when the generation began: none while a group
    of consumers that was empty waits for the initial delay. Of a new group, or one of another
    kind, nothing is known. `emptied_as` is the protocol type with which the group became empty.
    Kafka: `ClassicGroup.isSubscribedToTopic`. Simplification: subscriptions are opaque here, as
    they are to Kafka if it cannot read them; then it takes members for subscribed to every topic.
    """
    begins_again = group.in_initial_delay and group.generation > 0 and emptied_as == CONSUMER
    return not (group.state is GroupState.EMPTY or begins_again)
