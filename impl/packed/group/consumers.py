"""What consumers do on the desk, and what happens to them."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    ANSWERED_GENERATION,
    ANSWERED_MEMBER,
    AT_WORK,
    BEAT,
    BEAT_IS_OLD,
    BEFORE_8104,
    CALL,
    CALL_SAYS,
    CONSUMER_SIZE,
    FENCED,
    FENCED_INSTANCE,
    GROWN,
    HELD,
    IDS,
    ILLEGAL_GENERATION,
    JOIN,
    JOIN_FAILS,
    JOINING,
    KNOWS,
    LATE,
    LATE_GENERATION,
    LATE_GROWN,
    LATE_MEMBER,
    LATE_PLAN,
    LEADS,
    LISTS,
    MEMBER,
    NO_ERROR,
    NOT_AVAILABLE,
    NOT_COORDINATOR,
    NOTHING,
    OF_GENERATION,
    OUT,
    PHASE,
    PLANNED,
    REBALANCING,
    SKIPS,
    SYNC,
    SYNC_FAILS,
    SYNCED,
    SYNCING,
    TAKE_ID,
    TOLD,
    UNKNOWN_MEMBER,
    VARIANT,
    WANTS_TO_REJOIN,
)
from impl.packed.group.group import clear_call, hangs_up, place
from impl.packed.group.requests import finds, leaves, take

# -- what it gives up -------------------------------------------------------------------------


@compiled
def gives_up(desk: Words, consumer: int) -> None:
    """A consumer waits for no answer any more; its request may still arrive."""
    c = place(consumer)
    call = desk[c + CALL]
    if (call in (JOIN, SYNC)) and finds(desk, c):
        take(desk, consumer, 1)
        desk[c + LATE] = call
        desk[c + LATE_MEMBER] = desk[c + MEMBER]
        if call == SYNC:
            desk[c + LATE_GENERATION] = desk[c + OF_GENERATION]
            desk[c + LATE_PLAN] = desk[c + CALL_SAYS]
            if desk[c + CALL_SAYS]:
                desk[c + LATE_GROWN] = desk[c + PLANNED] - 1
    clear_call(desk, c)
    hangs_up(desk, consumer)


@compiled
def is_out(desk: Words, c: int) -> None:
    """A consumer will join again; what it was told and did not do is void."""
    if desk[c + TOLD]:
        desk[c + HELD] = 0
    desk[c + PHASE] = OUT
    desk[c + TOLD] = 0
    desk[c + WANTS_TO_REJOIN] = 0
    desk[c + PLANNED] = 0


@compiled
def is_fenced(desk: Words, consumer: int) -> None:
    """Another one has its instance id: it ends, but for a request of its own of before."""
    c = place(consumer)
    clear_call(desk, c)
    hangs_up(desk, consumer)
    is_out(desk, c)
    desk[c + PHASE] = FENCED
    desk[c + MEMBER] = 0
    desk[c + OF_GENERATION] = 0
    desk[c + HELD] = 0
    desk[c + KNOWS] = 0
    desk[c + BEAT] = NO_ERROR
    desk[c + BEAT_IS_OLD] = 0


@compiled
def forgets(desk: Words, c: int, error: int) -> None:
    """What an error makes void is forgotten; an answer under way is then to an earlier self."""
    if error == UNKNOWN_MEMBER:
        desk[c + MEMBER] = 0
    if error in (UNKNOWN_MEMBER, ILLEGAL_GENERATION):
        desk[c + OF_GENERATION] = 0
        if desk[c + BEAT] != NO_ERROR:
            desk[c + BEAT_IS_OLD] = 1
    if error in (NOT_COORDINATOR, NOT_AVAILABLE):
        desk[c + KNOWS] = 0


@compiled
def starts_over(desk: Words, consumer: int, error: int) -> None:
    """A consumer reads an error, and joins again with what the error leaves it."""
    c = place(consumer)
    if error == FENCED_INSTANCE:
        is_fenced(desk, consumer)
        return
    gives_up(desk, consumer)
    is_out(desk, c)
    forgets(desk, c, error)


# -- what it does when it polls ---------------------------------------------------------------


@compiled
def joins(desk: Words, c: int) -> None:
    """A consumer gives up what it owns, and asks to be in the next generation."""
    desk[c + PHASE] = JOINING
    desk[c + HELD] = 0
    desk[c + WANTS_TO_REJOIN] = 0
    desk[c + PLANNED] = 0
    desk[c + CALL] = JOIN


@compiled
def takes_join_answer(desk: Words, consumer: int) -> None:
    """A consumer reads the answer to its JoinGroup."""
    c = place(consumer)
    call = desk[c + CALL]
    if call > JOIN_FAILS:
        starts_over(desk, consumer, call - JOIN_FAILS)
        return
    desk[c + MEMBER] = desk[c + ANSWERED_MEMBER]
    desk[c + BEAT_IS_OLD] = int(desk[c + BEAT] != NO_ERROR)
    if call == TAKE_ID:
        clear_call(desk, c)
        desk[c + CALL] = JOIN
        return
    desk[c + OF_GENERATION] = desk[c + ANSWERED_GENERATION]
    desk[c + PHASE] = SYNCING
    plan = 0
    if call == LEADS:
        left = desk[LISTS + desk[c + CALL_SAYS]]
        while left:
            plan |= 1 << (left & 15) - 1
            left >>= 4
    if call in (LEADS, SKIPS):
        desk[c + PLANNED] = desk[GROWN] + 1
    clear_call(desk, c)
    desk[c + CALL] = SYNC
    desk[c + CALL_SAYS] = plan


@compiled
def takes_sync_answer(desk: Words, consumer: int) -> None:
    """A consumer reads the answer to its SyncGroup; its assignment stays where it is."""
    c = place(consumer)
    call = desk[c + CALL]
    if call != SYNCED:
        starts_over(desk, consumer, call - SYNC_FAILS)
        return
    desk[c + CALL] = NOTHING
    desk[c + PHASE] = AT_WORK
    desk[c + TOLD] = 1


@compiled
def hears_error(desk: Words, consumer: int) -> None:
    """The answer to a heartbeat or a commit has come, and is an error."""
    c = place(consumer)
    error = desk[c + BEAT]
    is_old = desk[c + BEAT_IS_OLD]
    at_work = desk[c + PHASE] == AT_WORK
    desk[c + BEAT] = NO_ERROR
    desk[c + BEAT_IS_OLD] = 0
    if error == NOT_COORDINATOR and at_work:
        desk[c + KNOWS] = 0
    elif error == NOT_COORDINATOR:
        starts_over(desk, consumer, error)
    elif error == REBALANCING:
        if at_work:
            desk[c + WANTS_TO_REJOIN] = 1
    elif is_old:
        return
    elif desk[VARIANT] == BEFORE_8104 and desk[c + TOLD] and error != FENCED_INSTANCE:
        desk[c + WANTS_TO_REJOIN] = 1
        forgets(desk, c, error)
    else:
        starts_over(desk, consumer, error)


# -- what happens to it -----------------------------------------------------------------------


@compiled
def ends(desk: Words, consumer: int, phase: int) -> None:
    """A consumer's process ends; all that is left is a request on its way."""
    gives_up(desk, consumer)
    c = place(consumer)
    for k in range(CONSUMER_SIZE):
        if k < LATE or (k > LATE_GROWN and k != IDS):
            desk[c + k] = 0
    desk[c + PHASE] = phase


@compiled
def closes(desk: Words, consumer: int, phase: int) -> None:
    """A consumer leaves, and then it ends."""
    leaves(desk, consumer)
    ends(desk, consumer, phase)


@compiled
def leaves_unasked(desk: Words, consumer: int) -> None:
    """The heartbeat thread leaves for an application that does not poll; that holds on."""
    c = place(consumer)
    leaves(desk, consumer)
    gives_up(desk, consumer)
    is_out(desk, c)
    desk[c + MEMBER] = 0
    desk[c + OF_GENERATION] = 0
    desk[c + BEAT_IS_OLD] = int(desk[c + BEAT] != NO_ERROR)
