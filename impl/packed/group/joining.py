"""What the coordinator makes of a JoinGroup."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.checks import not_a_member
from impl.packed.group.fields import (
    AT_REST,
    BEFORE_9801,
    COMPLETING,
    FENCED_INSTANCE,
    GIVEN,
    IDS,
    IDS_EACH,
    JOIN_FAILS,
    JOINS,
    JOINS_NEW,
    LEADER,
    LEADS,
    MEMBERS,
    NO_ERROR,
    OWES_SYNC,
    PENDING,
    SKIPS,
    STABLE,
    STATE,
    STATIC,
    SYNCS,
    TAKE_ID,
    VARIANT,
    WAIT,
)
from impl.packed.group.group import (
    NOBODY,
    add,
    answer_generation,
    answer_join,
    answer_sync,
    listed,
    longer,
    member_of,
    place,
    prepare_or_complete,
    store,
)
from impl.packed.group.requests import asked_as, member_id, take

FIRST, NEW, REPLACES, AGAIN = range(4)
"""What a JoinGroup can be."""


@compiled
def kind_of_join(sheet: Words, consumer: int, member: int) -> int:
    """What a JoinGroup is, by who it comes from and the id that it brings."""
    if member == NOBODY:
        if consumer >= sheet[STATIC]:
            return FIRST
        return NEW if member_of(sheet, consumer) == NOBODY else REPLACES
    is_pending = sheet[PENDING] >> member & 1 and consumer >= sheet[STATIC]
    return NEW if is_pending else AGAIN


@compiled
def new_id(sheet: Words, consumer: int) -> int:
    """Give a consumer its next id; NOBODY if none is left."""
    c = place(consumer)
    nth = sheet[c + IDS]
    if nth == sheet[IDS_EACH]:
        return NOBODY
    sheet[c + IDS] = nth + 1
    return member_id(sheet, consumer, nth + 1)


@compiled
def gives_id(sheet: Words, consumer: int, late: int) -> bool:
    """A first JoinGroup is answered with an id."""
    take(sheet, consumer, late)
    member = new_id(sheet, consumer)
    if member == NOBODY:
        return False
    sheet[PENDING] |= 1 << member
    if not late:
        answer_join(sheet, member, TAKE_ID)
    return True


@compiled
def adds_member(sheet: Words, consumer: int, late: int) -> bool:
    """Somebody new joins: with the id that it brings, or else with its next one."""
    member = asked_as(sheet, consumer, late)
    take(sheet, consumer, late)
    if member == NOBODY:
        member = new_id(sheet, consumer)
        if member == NOBODY:
            return False
    add(sheet, member, not late)
    prepare_or_complete(sheet)
    return True


@compiled
def takes_rejoin(sheet: Words, consumer: int, late: int) -> bool:
    """A member joins again: it waits for the next generation, or is told the current one."""
    member = asked_as(sheet, consumer, late)
    if not_a_member(sheet, consumer, member) != NO_ERROR:
        return False
    take(sheet, consumer, late)
    state = sheet[STATE]
    if state == COMPLETING or (state == STABLE and member != sheet[LEADER]):
        if not late:
            answer_generation(sheet, member, LEADS)
        return True
    is_new = sheet[WAIT + member] >= JOINS_NEW
    sheet[WAIT + member] = (JOINS_NEW if is_new else JOINS) + late
    prepare_or_complete(sheet)
    return True


@compiled
def replaces_member(sheet: Words, consumer: int, late: int) -> bool:
    """A static member that came back without its id takes the place of its old self."""
    old = member_of(sheet, consumer)
    take(sheet, consumer, late)
    new = new_id(sheet, consumer)
    if new == NOBODY:
        return False
    wait = sheet[WAIT + old]
    if wait in (JOINS, JOINS_NEW):
        answer_join(sheet, old, JOIN_FAILS + FENCED_INSTANCE)
    if wait == SYNCS:
        answer_sync(sheet, old, FENCED_INSTANCE)
    others = 0
    for member in listed(sheet, sheet[MEMBERS]):
        if member != old:
            others = longer(sheet, others, member)
    sheet[MEMBERS] = longer(sheet, others, new)
    sheet[GIVEN + new] = sheet[GIVEN + old]
    sheet[GIVEN + old] = 0
    sheet[WAIT + old] = AT_REST
    if sheet[LEADER] == old:
        sheet[LEADER] = new
    state = sheet[STATE]
    if state == STABLE or (state == COMPLETING and sheet[VARIANT] == BEFORE_9801):
        sheet[WAIT + new] = OWES_SYNC if wait == OWES_SYNC else AT_REST
        store(sheet)
        if not late:
            answer_generation(sheet, new, SKIPS)
        return True
    sheet[WAIT + new] = JOINS + late
    prepare_or_complete(sheet)
    return True
