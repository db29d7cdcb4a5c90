"""OffsetCommit: which clients may commit offsets for a group.

Kafka: `OffsetMetadataManager.commitOffset`. Offsets are neither compared with the log nor
required to grow.
"""

from __future__ import annotations

from kspec.spec.coordinator.state import (
    Caller,
    Group,
    Handler,
    Outcome,
    validate_alive,
    validate_generation,
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
)


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
            yield from validate_generation(group, request.generation)
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
