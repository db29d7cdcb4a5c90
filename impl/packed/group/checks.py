"""Why a request is answered with an error, by who asks and with which generation."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    COMPLETING,
    DEAD,
    EMPTY,
    FENCED_INSTANCE,
    GENERATION,
    ILLEGAL_GENERATION,
    NO_ERROR,
    NOT_AVAILABLE,
    PREPARING,
    REBALANCING,
    STATE,
    STATIC,
    UNKNOWN_MEMBER,
)
from impl.packed.group.group import NOBODY, is_member, member_of


@compiled
def not_a_member(sheet: Words, consumer: int, member: int) -> int:
    """The error for who is no member, or an older self of a static one."""
    if sheet[STATE] == DEAD:
        return NOT_AVAILABLE
    if consumer < sheet[STATIC]:
        known = member_of(sheet, consumer)
        if known == NOBODY:
            return UNKNOWN_MEMBER
        return NO_ERROR if known == member else FENCED_INSTANCE
    return NO_ERROR if member != NOBODY and is_member(sheet, member) else UNKNOWN_MEMBER


@compiled
def not_current(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """The same, or the error for another generation than the group's."""
    error = not_a_member(sheet, consumer, member)
    if error == NO_ERROR and generation != sheet[GENERATION]:
        return ILLEGAL_GENERATION
    return error


@compiled
def beat_error(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """How a heartbeat is answered, and a SyncGroup that cannot be taken."""
    error = not_current(sheet, consumer, member, generation)
    if error == NO_ERROR and sheet[STATE] == PREPARING:
        return REBALANCING
    return error


@compiled
def commit_error(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """How a commit is answered."""
    if sheet[STATE] == DEAD:
        return NOT_AVAILABLE
    if generation == 0:
        if sheet[STATE] == EMPTY:
            return NO_ERROR
        if member == NOBODY and consumer >= sheet[STATIC]:
            return UNKNOWN_MEMBER
        error = not_a_member(sheet, consumer, member)
        return ILLEGAL_GENERATION if error == NO_ERROR else error
    error = not_current(sheet, consumer, member, generation)
    if error == NO_ERROR and sheet[STATE] == COMPLETING:
        return REBALANCING
    return error
