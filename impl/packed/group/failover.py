"""One coordinator lets go of the group, and the next one finds it."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    ALL_IDS,
    AT_REST,
    COORDINATOR,
    DEAD,
    DELAY_LEFT,
    EMPTY,
    GENERATION,
    GIVEN,
    HOW_MANY,
    JOIN_FAILS,
    JOINED_MEANWHILE,
    JOINS,
    JOINS_NEW,
    LEADER,
    MEMBERS,
    NOT_COORDINATOR,
    PENDING,
    PREVIOUS,
    STABLE,
    STATE,
    STORED_GENERATION,
    STORED_GIVEN,
    STORED_LEADER,
    STORED_MEMBERS,
    SYNCS,
    WAIT,
)
from impl.packed.group.group import answer_join, answer_sync, enter, listed
from impl.packed.group.requests import take


@compiled
def resigns(sheet: Words) -> None:
    """The coordinator lets go: who waits is told, the group in memory is gone, and requests."""
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        if wait in (JOINS, JOINS_NEW):
            answer_join(sheet, member, JOIN_FAILS + NOT_COORDINATOR)
        if wait == SYNCS:
            answer_sync(sheet, member, NOT_COORDINATOR)
        sheet[WAIT + member] = AT_REST
        sheet[GIVEN + member] = 0
    enter(sheet, DEAD)
    sheet[GENERATION] = 0
    sheet[LEADER] = 0
    sheet[MEMBERS] = 0
    sheet[PENDING] = 0
    sheet[JOINED_MEANWHILE] = 0
    sheet[DELAY_LEFT] = 0
    for consumer in range(sheet[HOW_MANY]):
        take(sheet, consumer, 1)


@compiled
def loads(sheet: Words) -> None:
    """The next coordinator finds the group as it is stored."""
    sheet[COORDINATOR] += 1
    sheet[PREVIOUS] = DEAD
    sheet[STATE] = STABLE if sheet[STORED_MEMBERS] else EMPTY
    sheet[GENERATION] = sheet[STORED_GENERATION]
    sheet[LEADER] = sheet[STORED_LEADER]
    sheet[MEMBERS] = sheet[STORED_MEMBERS]
    for i in range(sheet[ALL_IDS]):
        sheet[GIVEN + i] = sheet[STORED_GIVEN + i]
