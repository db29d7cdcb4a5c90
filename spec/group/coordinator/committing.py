"""OffsetCommit: who may say how far the group has read.

Kafka: `ClassicGroup.validateOffsetCommit`. Offsets are neither compared with the log nor
required to grow.
"""

from __future__ import annotations

from spec.group.coordinator.checks import Handling, is_a_member, is_alive
from spec.group.coordinator.group import Caller, Group, Outcome
from spec.messages import NOBODY, Committed, Error, GroupState, Offset, OffsetCommit
from spec.vocabulary import TopicPartition


def commit(group: Group, request: OffsetCommit, caller: Caller) -> Handling:
    """Offsets are taken from the members of the current generation, and from nobody else.

    But a group without members takes them from anyone who claims no generation: a consumer that
    assigns itself, or an administrator who resets offsets. While assignments are being made it
    takes none: the partition may already be another member's.
    """
    yield from is_alive(group)
    claims_nothing = request.generation < 0
    if not (claims_nothing and group.state is GroupState.EMPTY):
        if not claims_nothing or request.member != NOBODY or request.instance is not None:
            yield from is_a_member(group, request.member, request.instance)
            yield "generation is current", request.generation == group.generation
        else:
            yield "group has no members", group.state is GroupState.EMPTY
        completing = group.state is GroupState.COMPLETING_REBALANCE
        yield "assignments are not waited for", not completing
    too_long = [tp for tp, offset in request.offsets if is_too_long(group, offset)]
    taken = tuple((tp, offset) for tp, offset in request.offsets if tp not in too_long)
    answer = Committed(tuple((tp, fared(tp, too_long)) for tp, _ in request.offsets))
    return Outcome(group, ((caller, answer),), offsets=taken)


def is_too_long(group: Group, offset: Offset) -> bool:
    """Whether what the member notes beside the offset is more than the broker keeps."""
    return len(offset.metadata.encode()) > group.settings.max_metadata


def fared(partition: TopicPartition, too_long: list[TopicPartition]) -> Error:
    """How the commit for one partition is answered."""
    return Error.OFFSET_METADATA_TOO_LARGE if partition in too_long else Error.NONE
