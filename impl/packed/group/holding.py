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
def polls(desk: Words, c: int) -> bool:
    """Whether a consumer's application runs and polls."""
    return bool(desk[c + PHASE] <= AT_WORK and desk[c + STALLED] == 0)


@compiled
def beats(desk: Words, c: int) -> bool:
    """Whether its heartbeat thread is at work."""
    phase = desk[c + PHASE]
    return bool((phase in (SYNCING, AT_WORK)) and desk[c + KNOWS] != 0)


@compiled
def is_held(desk: Words, member: int) -> bool:
    """Whether its consumer runs, and goes by this id or is about to hear of it."""
    c = place(desk[OWNER + member])
    if desk[c + PHASE] > AT_WORK:
        return False
    nth = desk[NTH + member]
    if desk[c + MEMBER] == nth:
        return True
    wait = desk[WAIT + member]
    if wait in (JOINS, JOINS_NEW, SYNCS):
        return True
    is_answer = FOLLOWS <= desk[c + CALL] < SYNCED
    return bool(is_answer and desk[c + ANSWERED_MEMBER] == nth)


@compiled
def is_expected(desk: Words, member: int) -> bool:
    """Whether somebody who polls goes by this id."""
    return is_held(desk, member) and desk[place(desk[OWNER + member]) + STALLED] == 0


@compiled
def is_heard(desk: Words, member: int) -> bool:
    """Whether heartbeats come for this id, or will."""
    c = place(desk[OWNER + member])
    return is_held(desk, member) and (desk[c + STALLED] == 0 or beats(desk, c))


@compiled
def may_fire(desk: Words, early: bool) -> bool:
    """Whether a timer may fire, be it early; it is counted then."""
    if early:
        if desk[EARLY] == desk[MOST_EARLY]:
            return False
        desk[EARLY] += 1
    return True


@compiled
def all_expected(desk: Words, syncing: bool) -> bool:
    """Whether all who are waited for will come: to sync, or to join."""
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        missing = wait == OWES_SYNC if syncing else wait < JOINS
        if missing and not is_expected(desk, member):
            return False
    if not syncing:
        for member in range(8):
            if desk[PENDING] >> member & 1 and not is_expected(desk, member):
                return False
    return True


@compiled
def who_owes_sync(desk: Words) -> int:
    """The mask of the members that have not asked for their assignment."""
    owing = 0
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        owing |= int(desk[WAIT + member] == OWES_SYNC) << member
    return owing
