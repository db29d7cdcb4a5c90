"""Who goes by a member id, and whether a timer that waits for it would be early."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    ANSWERED_MEMBER,
    AT_WORK,
    CALL,
    EARLY,
    FOLLOWS,
    JOINS,
    JOINS_NEW,
    KNOWS,
    MEMBER,
    MEMBERS,
    MOST_EARLY,
    NTH,
    OWES_SYNC,
    OWNER,
    PENDING,
    PHASE,
    STALLED,
    SYNCED,
    SYNCING,
    SYNCS,
    WAIT,
)
from impl.packed.group.group import (
    listed,
    place,
)


@compiled
def polls(sheet: Words, c: int) -> bool:
    """Whether a consumer's application runs and polls."""
    return bool(sheet[c + PHASE] <= AT_WORK and sheet[c + STALLED] == 0)


@compiled
def beats(sheet: Words, c: int) -> bool:
    """Whether its heartbeat thread is at work."""
    phase = sheet[c + PHASE]
    return bool((phase in (SYNCING, AT_WORK)) and sheet[c + KNOWS] != 0)


@compiled
def is_held(sheet: Words, member: int) -> bool:
    """Whether its consumer runs, and goes by this id or is about to hear of it."""
    c = place(sheet[OWNER + member])
    if sheet[c + PHASE] > AT_WORK:
        return False
    nth = sheet[NTH + member]
    if sheet[c + MEMBER] == nth:
        return True
    wait = sheet[WAIT + member]
    if wait in (JOINS, JOINS_NEW, SYNCS):
        return True
    is_answer = FOLLOWS <= sheet[c + CALL] < SYNCED
    return bool(is_answer and sheet[c + ANSWERED_MEMBER] == nth)


@compiled
def is_expected(sheet: Words, member: int) -> bool:
    """Whether somebody who polls goes by this id."""
    return is_held(sheet, member) and sheet[place(sheet[OWNER + member]) + STALLED] == 0


@compiled
def is_heard(sheet: Words, member: int) -> bool:
    """Whether heartbeats come for this id, or will."""
    c = place(sheet[OWNER + member])
    return is_held(sheet, member) and (sheet[c + STALLED] == 0 or beats(sheet, c))


@compiled
def may_fire(sheet: Words, early: bool) -> bool:
    """Whether a timer may fire, be it early; it is counted then."""
    if early:
        if sheet[EARLY] == sheet[MOST_EARLY]:
            return False
        sheet[EARLY] += 1
    return True


@compiled
def all_expected(sheet: Words, syncing: bool) -> bool:
    """Whether all who are waited for will come: to sync, or to join."""
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        missing = wait == OWES_SYNC if syncing else wait < JOINS
        if missing and not is_expected(sheet, member):
            return False
    if not syncing:
        for member in range(8):
            if sheet[PENDING] >> member & 1 and not is_expected(sheet, member):
                return False
    return True


@compiled
def who_owes_sync(sheet: Words) -> int:
    """The mask of the members that have not asked for their assignment."""
    owing = 0
    for member in listed(sheet, sheet[MEMBERS]):
        owing |= int(sheet[WAIT + member] == OWES_SYNC) << member
    return owing
