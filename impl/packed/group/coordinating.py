"""What the coordinator may do in the state on the desk: every request, every timer, failover."""

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
    JOINED_MEANWHILE,
    JOINS_NEW,
    LATE,
    LOSSES,
    MEMBERS,
    MOST_LOSSES,
    OWES_SYNC,
    PENDING,
    PREPARING,
    PREVIOUS,
    STATE,
    SYNC,
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
from impl.packed.group.requests import (
    AGAIN,
    FIRST,
    NEW,
    adds_member,
    asked_as,
    cannot_store,
    gives_id,
    kind_of_join,
    loads,
    refuses,
    replaces_member,
    resigns,
    takes_rejoin,
    takes_sync,
)
from impl.packed.group.writing import (
    Out,
    fits,
    put,
    put_same,
    restore,
)


@compiled
def expand_asks(desk: Words, of: int, out: Out, n: int) -> int:
    """What becomes of every request on its way."""
    for consumer in range(desk[HOW_MANY]):
        c = place(consumer)
        for late in range(2):
            call = desk[c + (LATE if late else CALL)]
            if call != JOIN and call != SYNC:
                continue
            choice = consumer << 1 | late
            if refuses(desk, consumer, late):
                n = put(desk, of | REFUSES << 8 | choice, out, n)
                continue
            if call == SYNC:
                if takes_sync(desk, consumer, late):
                    n = put(desk, of | TAKES_SYNC << 8 | choice, out, n)
                if desk[LOSSES] < desk[MOST_LOSSES] and cannot_store(desk, consumer, late):
                    desk[LOSSES] += 1
                    if fits(desk):
                        n = put(desk, of | CANNOT_STORE << 8 | choice, out, n)
                    else:
                        restore(desk)
                continue
            kind = kind_of_join(desk, consumer, asked_as(desk, consumer, late))
            if kind == FIRST and desk[VARIANT] != BEFORE_394:
                act, taken = GIVES_ID, gives_id(desk, consumer, late)
            elif kind == FIRST:
                act, taken = GIVES_ID, adds_member(desk, consumer, late)
            elif kind == NEW:
                act, taken = ADDS_MEMBER, adds_member(desk, consumer, late)
            elif kind == AGAIN:
                act, taken = TAKES_REJOIN, takes_rejoin(desk, consumer, late)
            else:
                act, taken = REPLACES_MEMBER, replaces_member(desk, consumer, late)
            if taken and fits(desk):
                n = put(desk, of | act << 8 | choice, out, n)
            else:
                restore(desk)
    return n


@compiled
def expand_timers(desk: Words, of: int, out: Out, n: int) -> int:
    """What the timers do that may fire."""
    state = desk[STATE]
    if state == PREPARING:
        if desk[PREVIOUS] == EMPTY:
            act = DELAY_IS_OVER
            may = True
            if desk[JOINED_MEANWHILE] and desk[DELAY_LEFT] > 0:
                desk[JOINED_MEANWHILE] = 0
                desk[DELAY_LEFT] -= 1
            else:
                complete_rebalance(desk)
        else:
            act = JOIN_TIMER
            may = may_fire(desk, all_expected(desk, False))
            if may:
                complete_rebalance(desk)
        if may and fits(desk):
            n = put(desk, of | act << 8, out, n)
        else:
            restore(desk)
    owing = who_owes_sync(desk)
    if owing and desk[VARIANT] != BEFORE_12890 and may_fire(desk, all_expected(desk, True)):
        without(desk, owing)
        prepare_rebalance(desk)
        if fits(desk):
            n = put(desk, of | SYNC_TIMER << 8, out, n)
        else:
            restore(desk)
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        is_watched = wait <= OWES_SYNC or wait >= JOINS_NEW
        if is_watched and may_fire(desk, is_heard(desk, member)):
            remove(desk, member)
            if desk[STATE] == PREPARING:
                end_the_wait(desk)
            else:
                after_a_loss(desk)
            if fits(desk):
                n = put(desk, of | SESSION_TIMER << 8 | member, out, n)
            else:
                restore(desk)
    pending = desk[PENDING]
    for member in range(8):
        if pending >> member & 1 and may_fire(desk, is_expected(desk, member)):
            desk[PENDING] &= ~(1 << member)
            end_the_wait(desk)
            if fits(desk):
                n = put(desk, of | PENDING_TIMER << 8 | member, out, n)
            else:
                restore(desk)
    return n


@compiled
def expand_world(desk: Words, of: int, out: Out, n: int) -> int:
    """What the coordinator does as a whole, the topic, and a consumer that is no member."""
    if desk[STATE] == EMPTY:
        if desk[MEMBERS] == 0:
            n = put_same(desk, of | TAKES_COMMIT_OF_OUTSIDER << 8, out, n)
        else:
            desk[COMMIT_BESIDE] = 1
            n = put(desk, of | TAKES_COMMIT_OF_OUTSIDER << 8, out, n)
    if desk[STATE] == DEAD:
        loads(desk)
        n = put(desk, of | LOADS << 8, out, n)
    elif desk[COORDINATOR] < desk[FAILOVERS]:
        resigns(desk)
        n = put(desk, of | RESIGNS << 8, out, n)
    if desk[GROWN] < desk[GROWTHS]:
        desk[GROWN] += 1
        n = put(desk, of | GROWS << 8, out, n)
    return n
