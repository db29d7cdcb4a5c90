"""What the coordinator may do in the state on the sheet: every request, every timer, failover."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.acts import (
    ADDS_MEMBER,
    CANNOT_STORE,
    DELAY_IS_OVER,
    GIVES_ID,
    GROWS,
    JOIN_TIMER,
    LOADS,
    PENDING_TIMER,
    REFUSES,
    REPLACES_MEMBER,
    RESIGNS,
    SESSION_TIMER,
    SYNC_TIMER,
    TAKES_COMMIT_OF_OUTSIDER,
    TAKES_REJOIN,
    TAKES_SYNC,
)
from impl.packed.group.checks import not_a_member
from impl.packed.group.failover import loads, resigns
from impl.packed.group.fields import (
    BEFORE_394,
    BEFORE_12890,
    CALL,
    COMMIT_BESIDE,
    COORDINATOR,
    DEAD,
    DELAY_LEFT,
    EMPTY,
    FAILOVERS,
    GROWN,
    GROWTHS,
    HOW_MANY,
    JOIN,
    JOIN_FAILS,
    JOINED_MEANWHILE,
    JOINS_NEW,
    LATE,
    LOSSES,
    MEMBERS,
    MOST_LOSSES,
    NO_ERROR,
    NOT_AVAILABLE,
    NOT_COORDINATOR,
    OWES_SYNC,
    PENDING,
    PREPARING,
    PREVIOUS,
    STATE,
    SYNC,
    SYNC_FAILS,
    VARIANT,
    WAIT,
)
from impl.packed.group.group import (
    after_a_loss,
    complete_rebalance,
    end_the_wait,
    listed,
    place,
    prepare_rebalance,
    remove,
    without,
)
from impl.packed.group.holding import (
    all_expected,
    is_expected,
    is_heard,
    may_fire,
    who_owes_sync,
)
from impl.packed.group.joining import (
    AGAIN,
    FIRST,
    NEW,
    adds_member,
    gives_id,
    kind_of_join,
    replaces_member,
    takes_rejoin,
)
from impl.packed.group.requests import asked_as, finds, take
from impl.packed.group.syncing import cannot_store, sync_error, takes_sync
from impl.packed.group.writing import (
    Out,
    put,
    put_fitting,
    put_same,
    restore,
)


@compiled
def refuses(sheet: Words, consumer: int, late: int) -> bool:
    """A request is answered with an error, if there is one to answer with."""
    c = place(consumer)
    is_join = sheet[c + (LATE if late else CALL)] == JOIN
    error = NO_ERROR
    if not late and not finds(sheet, c):
        error = NOT_COORDINATOR
    elif not is_join:
        error = sync_error(sheet, consumer, late)
    else:
        member = asked_as(sheet, consumer, late)
        if sheet[STATE] == DEAD:
            error = NOT_AVAILABLE
        elif kind_of_join(sheet, consumer, member) == AGAIN:
            error = not_a_member(sheet, consumer, member)
    if error == NO_ERROR:
        return False
    take(sheet, consumer, late)
    if not late:
        sheet[c + CALL] = (JOIN_FAILS if is_join else SYNC_FAILS) + error
    return True


@compiled
def expand_asks(sheet: Words, of: int, out: Out, n: int) -> int:
    """What becomes of every request on its way."""
    for consumer in range(sheet[HOW_MANY]):
        c = place(consumer)
        for late in range(2):
            call = sheet[c + (LATE if late else CALL)]
            if call != JOIN and call != SYNC:
                continue
            choice = consumer << 1 | late
            if refuses(sheet, consumer, late):
                n = put(sheet, of | REFUSES << 8 | choice, out, n)
                continue
            if call == SYNC:
                if takes_sync(sheet, consumer, late):
                    n = put(sheet, of | TAKES_SYNC << 8 | choice, out, n)
                if sheet[LOSSES] < sheet[MOST_LOSSES] and cannot_store(sheet, consumer, late):
                    sheet[LOSSES] += 1
                    n = put_fitting(sheet, of | CANNOT_STORE << 8 | choice, out, n)
                continue
            kind = kind_of_join(sheet, consumer, asked_as(sheet, consumer, late))
            if kind == FIRST and sheet[VARIANT] != BEFORE_394:
                act, taken = GIVES_ID, gives_id(sheet, consumer, late)
            elif kind == FIRST:
                act, taken = GIVES_ID, adds_member(sheet, consumer, late)
            elif kind == NEW:
                act, taken = ADDS_MEMBER, adds_member(sheet, consumer, late)
            elif kind == AGAIN:
                act, taken = TAKES_REJOIN, takes_rejoin(sheet, consumer, late)
            else:
                act, taken = REPLACES_MEMBER, replaces_member(sheet, consumer, late)
            if taken:
                n = put_fitting(sheet, of | act << 8 | choice, out, n)
            else:
                restore(sheet)
    return n


@compiled
def expand_timers(sheet: Words, of: int, out: Out, n: int) -> int:
    """What the timers do that may fire."""
    state = sheet[STATE]
    if state == PREPARING:
        if sheet[PREVIOUS] == EMPTY:
            act = DELAY_IS_OVER
            may = True
            if sheet[JOINED_MEANWHILE] and sheet[DELAY_LEFT] > 0:
                sheet[JOINED_MEANWHILE] = 0
                sheet[DELAY_LEFT] -= 1
            else:
                complete_rebalance(sheet)
        else:
            act = JOIN_TIMER
            may = may_fire(sheet, all_expected(sheet, False))
            if may:
                complete_rebalance(sheet)
        if may:
            n = put_fitting(sheet, of | act << 8, out, n)
    owing = who_owes_sync(sheet)
    if owing and sheet[VARIANT] != BEFORE_12890 and may_fire(sheet, all_expected(sheet, True)):
        without(sheet, owing)
        prepare_rebalance(sheet)
        n = put_fitting(sheet, of | SYNC_TIMER << 8, out, n)
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        is_watched = wait <= OWES_SYNC or wait >= JOINS_NEW
        if is_watched and may_fire(sheet, is_heard(sheet, member)):
            remove(sheet, member)
            if sheet[STATE] == PREPARING:
                end_the_wait(sheet)
            else:
                after_a_loss(sheet)
            n = put_fitting(sheet, of | SESSION_TIMER << 8 | member, out, n)
    pending = sheet[PENDING]
    for member in range(8):
        if pending >> member & 1 and may_fire(sheet, is_expected(sheet, member)):
            sheet[PENDING] &= ~(1 << member)
            end_the_wait(sheet)
            n = put_fitting(sheet, of | PENDING_TIMER << 8 | member, out, n)
    return n


@compiled
def expand_world(sheet: Words, of: int, out: Out, n: int) -> int:
    """What the coordinator does as a whole, the topic, and a consumer that is no member."""
    if sheet[STATE] == EMPTY:
        if sheet[MEMBERS] == 0:
            n = put_same(sheet, of | TAKES_COMMIT_OF_OUTSIDER << 8, out, n)
        else:
            sheet[COMMIT_BESIDE] = 1
            n = put(sheet, of | TAKES_COMMIT_OF_OUTSIDER << 8, out, n)
    if sheet[STATE] == DEAD:
        loads(sheet)
        n = put(sheet, of | LOADS << 8, out, n)
    elif sheet[COORDINATOR] < sheet[FAILOVERS]:
        resigns(sheet)
        n = put(sheet, of | RESIGNS << 8, out, n)
    if sheet[GROWN] < sheet[GROWTHS]:
        sheet[GROWN] += 1
        n = put(sheet, of | GROWS << 8, out, n)
    return n
