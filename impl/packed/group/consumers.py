"""What consumers do on the sheet, and what happens to them."""

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
from impl.packed.group.group import clear_call, hangs_up, listed, place
from impl.packed.group.leaving import leaves
from impl.packed.group.requests import finds, take

# -- what it gives up -------------------------------------------------------------------------


@compiled
def gives_up(sheet: Words, consumer: int) -> None:
    """A consumer waits for no answer any more; its request may still arrive."""
    c = place(consumer)
    call = sheet[c + CALL]
    if (call in (JOIN, SYNC)) and finds(sheet, c):
        take(sheet, consumer, 1)
        sheet[c + LATE] = call
        sheet[c + LATE_MEMBER] = sheet[c + MEMBER]
        if call == SYNC:
            sheet[c + LATE_GENERATION] = sheet[c + OF_GENERATION]
            sheet[c + LATE_PLAN] = sheet[c + CALL_SAYS]
            if sheet[c + CALL_SAYS]:
                sheet[c + LATE_GROWN] = sheet[c + PLANNED] - 1
    clear_call(sheet, c)
    hangs_up(sheet, consumer)


@compiled
def is_out(sheet: Words, c: int) -> None:
    """A consumer will join again; what it was told and did not do is void."""
    if sheet[c + TOLD]:
        sheet[c + HELD] = 0
    sheet[c + PHASE] = OUT
    sheet[c + TOLD] = 0
    sheet[c + WANTS_TO_REJOIN] = 0
    sheet[c + PLANNED] = 0


@compiled
def is_fenced(sheet: Words, consumer: int) -> None:
    """Another one has its instance id: it ends, but for a request of its own of before."""
    c = place(consumer)
    clear_call(sheet, c)
    hangs_up(sheet, consumer)
    is_out(sheet, c)
    sheet[c + PHASE] = FENCED
    sheet[c + MEMBER] = 0
    sheet[c + OF_GENERATION] = 0
    sheet[c + HELD] = 0
    sheet[c + KNOWS] = 0
    sheet[c + BEAT] = NO_ERROR
    sheet[c + BEAT_IS_OLD] = 0


@compiled
def forgets(sheet: Words, c: int, error: int) -> None:
    """What an error makes void is forgotten; an answer under way is then to an earlier self."""
    if error == UNKNOWN_MEMBER:
        sheet[c + MEMBER] = 0
    if error in (UNKNOWN_MEMBER, ILLEGAL_GENERATION):
        sheet[c + OF_GENERATION] = 0
        if sheet[c + BEAT] != NO_ERROR:
            sheet[c + BEAT_IS_OLD] = 1
    if error in (NOT_COORDINATOR, NOT_AVAILABLE):
        sheet[c + KNOWS] = 0


@compiled
def starts_over(sheet: Words, consumer: int, error: int) -> None:
    """A consumer reads an error, and joins again with what the error leaves it."""
    c = place(consumer)
    if error == FENCED_INSTANCE:
        is_fenced(sheet, consumer)
        return
    gives_up(sheet, consumer)
    is_out(sheet, c)
    forgets(sheet, c, error)


# -- what it does when it polls ---------------------------------------------------------------


@compiled
def joins(sheet: Words, c: int) -> None:
    """A consumer gives up what it owns, and asks to be in the next generation."""
    sheet[c + PHASE] = JOINING
    sheet[c + HELD] = 0
    sheet[c + WANTS_TO_REJOIN] = 0
    sheet[c + PLANNED] = 0
    sheet[c + CALL] = JOIN


@compiled
def takes_join_answer(sheet: Words, consumer: int) -> None:
    """A consumer reads the answer to its JoinGroup."""
    c = place(consumer)
    call = sheet[c + CALL]
    if call > JOIN_FAILS:
        starts_over(sheet, consumer, call - JOIN_FAILS)
        return
    sheet[c + MEMBER] = sheet[c + ANSWERED_MEMBER]
    sheet[c + BEAT_IS_OLD] = int(sheet[c + BEAT] != NO_ERROR)
    if call == TAKE_ID:
        clear_call(sheet, c)
        sheet[c + CALL] = JOIN
        return
    sheet[c + OF_GENERATION] = sheet[c + ANSWERED_GENERATION]
    sheet[c + PHASE] = SYNCING
    plan = 0
    if call == LEADS:
        for member in listed(sheet, sheet[c + CALL_SAYS]):
            plan |= 1 << member
    if call in (LEADS, SKIPS):
        sheet[c + PLANNED] = sheet[GROWN] + 1
    clear_call(sheet, c)
    sheet[c + CALL] = SYNC
    sheet[c + CALL_SAYS] = plan


@compiled
def takes_sync_answer(sheet: Words, consumer: int) -> None:
    """A consumer reads the answer to its SyncGroup; its assignment stays where it is."""
    c = place(consumer)
    call = sheet[c + CALL]
    if call != SYNCED:
        starts_over(sheet, consumer, call - SYNC_FAILS)
        return
    sheet[c + CALL] = NOTHING
    sheet[c + PHASE] = AT_WORK
    sheet[c + TOLD] = 1


@compiled
def hears_error(sheet: Words, consumer: int) -> None:
    """The answer to a heartbeat or a commit has come, and is an error."""
    c = place(consumer)
    error = sheet[c + BEAT]
    is_old = sheet[c + BEAT_IS_OLD]
    at_work = sheet[c + PHASE] == AT_WORK
    sheet[c + BEAT] = NO_ERROR
    sheet[c + BEAT_IS_OLD] = 0
    if error == NOT_COORDINATOR and at_work:
        sheet[c + KNOWS] = 0
    elif error == NOT_COORDINATOR:
        starts_over(sheet, consumer, error)
    elif error == REBALANCING:
        if at_work:
            sheet[c + WANTS_TO_REJOIN] = 1
    elif is_old:
        return
    elif sheet[VARIANT] == BEFORE_8104 and sheet[c + TOLD] and error != FENCED_INSTANCE:
        sheet[c + WANTS_TO_REJOIN] = 1
        forgets(sheet, c, error)
    else:
        starts_over(sheet, consumer, error)


# -- what happens to it -----------------------------------------------------------------------


@compiled
def ends(sheet: Words, consumer: int, phase: int) -> None:
    """A consumer's process ends; all that is left is a request on its way."""
    gives_up(sheet, consumer)
    c = place(consumer)
    for k in range(CONSUMER_SIZE):
        if k < LATE or (k > LATE_GROWN and k != IDS):
            sheet[c + k] = 0
    sheet[c + PHASE] = phase


@compiled
def closes(sheet: Words, consumer: int, phase: int) -> None:
    """A consumer leaves, and then it ends."""
    leaves(sheet, consumer)
    ends(sheet, consumer, phase)


@compiled
def leaves_unasked(sheet: Words, consumer: int) -> None:
    """The heartbeat thread leaves for an application that does not poll; that holds on."""
    c = place(consumer)
    leaves(sheet, consumer)
    gives_up(sheet, consumer)
    is_out(sheet, c)
    sheet[c + MEMBER] = 0
    sheet[c + OF_GENERATION] = 0
    sheet[c + BEAT_IS_OLD] = int(sheet[c + BEAT] != NO_ERROR)
