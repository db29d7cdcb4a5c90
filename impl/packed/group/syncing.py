"""What the coordinator makes of a SyncGroup."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.checks import beat_error
from impl.packed.group.fields import (
    ALL_IDS,
    AT_REST,
    CALL_SAYS,
    COMPLETING,
    GIVEN,
    LATE_GENERATION,
    LATE_GROWN,
    LATE_PLAN,
    LEADER,
    MEMBERS,
    NO_ERROR,
    NOT_AVAILABLE,
    OF_GENERATION,
    OWES_SYNC,
    PARTITIONS,
    PLANNED,
    STABLE,
    STATE,
    SYNCS,
    WAIT,
)
from impl.packed.group.group import (
    answer_every_sync,
    answer_sync,
    enter,
    listed,
    place,
    prepare_rebalance,
    store,
)
from impl.packed.group.requests import asked_as, take


@compiled
def sync_error(sheet: Words, consumer: int, late: int) -> int:
    """Why a SyncGroup cannot be taken, if it cannot."""
    c = place(consumer)
    generation = sheet[c + (LATE_GENERATION if late else OF_GENERATION)]
    return beat_error(sheet, consumer, asked_as(sheet, consumer, late), generation)


@compiled
def share_out(sheet: Words, ids: int, partitions: int) -> None:
    """Members get what the plan among those ids says; who is not in it gets nothing."""
    count = 0
    for i in range(sheet[ALL_IDS]):
        count += ids >> i & 1
    each = extra = 0
    if count:
        each = partitions // count
        extra = partitions - each * count
    begin = 0
    for i in range(sheet[ALL_IDS]):
        here = 0
        if ids >> i & 1:
            size = each + (extra > 0)
            extra -= 1
            here = ((1 << size) - 1) << begin
            begin += size
        sheet[GIVEN + i] = here
    kept = 0
    for member in listed(sheet, sheet[MEMBERS]):
        kept |= 1 << member
    for i in range(sheet[ALL_IDS]):
        sheet[GIVEN + i] &= -(kept >> i & 1)


@compiled
def takes_sync(sheet: Words, consumer: int, late: int) -> bool:
    """A member asks for its assignment; the leader's request brings everybody's."""
    if sync_error(sheet, consumer, late) != NO_ERROR:
        return False
    c = place(consumer)
    member = asked_as(sheet, consumer, late)
    plan = sheet[c + (LATE_PLAN if late else CALL_SAYS)]
    grown = sheet[c + LATE_GROWN] if late else sheet[c + PLANNED] - 1
    take(sheet, consumer, late)
    if sheet[STATE] == STABLE:
        if sheet[WAIT + member] == OWES_SYNC:
            sheet[WAIT + member] = AT_REST
        if not late:
            answer_sync(sheet, member, NO_ERROR)
        return True
    sheet[WAIT + member] = SYNCS + late
    if member != sheet[LEADER]:
        return True
    share_out(sheet, plan, sheet[PARTITIONS] + grown)
    store(sheet)
    answer_every_sync(sheet, NO_ERROR)
    enter(sheet, STABLE)
    return True


@compiled
def cannot_store(sheet: Words, consumer: int, late: int) -> bool:
    """The leader's assignments cannot be written: who waits is told, and all join again."""
    if sync_error(sheet, consumer, late) != NO_ERROR:
        return False
    leader = asked_as(sheet, consumer, late)
    if sheet[STATE] != COMPLETING or leader != sheet[LEADER]:
        return False
    take(sheet, consumer, late)
    sheet[WAIT + leader] = SYNCS + late
    answer_every_sync(sheet, NOT_AVAILABLE)
    prepare_rebalance(sheet)
    return True
