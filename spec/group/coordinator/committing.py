"""OffsetCommit: who may say how far the group has read.

Kafka: `ClassicGroup.validateOffsetCommit`. Offsets are neither compared with the log nor
required to grow.
"""

from __future__ import annotations

from spec.group.coordinator.checks import Handling, is_a_member, is_alive
from spec.group.coordinator.group import Caller, Group, Outcome
from spec.java import utf16
from spec.messages import NOBODY, Committed, Error, GroupState, Offset, OffsetCommit


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
    answer = Committed(tuple((tp, fared(group, offset)) for tp, offset in request.offsets))
    taken = tuple(o for o in request.offsets if fared(group, o[1]) is Error.NONE)
    return Outcome(group, ((caller, answer),), offsets=taken)


def fared(group: Group, offset: Offset) -> Error:
    """How the commit for one partition is answered: what is noted beside it may be too long.

    Kafka counts UTF-16 units, though it calls the setting `offset.metadata.max.bytes`.
    """
    too_long = len(utf16(offset.metadata)) // 2 > group.settings.max_metadata
    return Error.OFFSET_METADATA_TOO_LARGE if too_long else Error.NONE
