"""What the coordinator does to the group that lies on the desk: generations begin and end."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    ALL_IDS,
    ANSWERED_GENERATION,
    ANSWERED_MEMBER,
    AT_REST,
    CALL,
    CALL_SAYS,
    COMPLETING,
    CONSUMER_SIZE,
    CONSUMERS,
    DELAY_LEFT,
    EMPTY,
    FOLLOWS,
    GENERATION,
    GIVEN,
    HELD,
    IDS_EACH,
    JOIN_FAILS,
    JOINED_MEANWHILE,
    JOINS,
    JOINS_NEW,
    LEADER,
    LEADS,
    LISTS,
    LONGER_AT,
    MEMBERS,
    MOST_MEMBERS,
    NEW_UNHEARD,
    NOTHING,
    NTH,
    OWES_SYNC,
    OWNER,
    PENDING,
    PREPARING,
    PREVIOUS,
    REBALANCING,
    STABLE,
    STATE,
    STATIC,
    STORED_GENERATION,
    STORED_GIVEN,
    STORED_LEADER,
    STORED_MEMBERS,
    SYNC_FAILS,
    SYNCED,
    SYNCS,
    SYNCS_UNHEARD,
    UNKNOWN_MEMBER,
    WAIT,
)

NOBODY = -1
"""Where a member id is expected, and there is none."""

# -- places on the desk -----------------------------------------------------------------------


@compiled
def place(consumer: int) -> int:
    """Where the fields of a consumer begin."""
    return CONSUMERS + CONSUMER_SIZE * consumer


@compiled
def place_of_owner(desk: Words, member: int) -> int:
    """Where the fields of the consumer begin that a member id was given to."""
    return CONSUMERS + CONSUMER_SIZE * desk[OWNER + member]  # type: ignore[no-any-return]


@compiled
def is_static(desk: Words, member: int) -> bool:
    """Whether the member has an instance id."""
    return bool(desk[OWNER + member] < desk[STATIC])


@compiled
def listed(desk: Words) -> int:
    """The members in their order: each as its id and one in four bits, the first one lowest."""
    return desk[LISTS + desk[MEMBERS]]  # type: ignore[no-any-return]


@compiled
def longer(desk: Words, members: int, member: int) -> int:
    """The list with one more member at its end."""
    table = desk[LONGER_AT]
    return desk[table + members * MOST_MEMBERS + member]  # type: ignore[no-any-return]


@compiled
def is_member(desk: Words, member: int) -> bool:
    """Whether an id is a member's."""
    left = listed(desk)
    while left:
        if (left & 15) - 1 == member:
            return True
        left >>= 4
    return False


@compiled
def member_of(desk: Words, consumer: int) -> int:
    """The first member that is a consumer's, or NOBODY."""
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        if desk[OWNER + member] == consumer:
            return member
        left >>= 4
    return NOBODY


# -- answers ----------------------------------------------------------------------------------


@compiled
def clear_call(desk: Words, c: int) -> None:
    """Nothing is on its way to or from a consumer any more."""
    if desk[c + CALL] == SYNCED:
        desk[c + HELD] = 0
    desk[c + CALL] = NOTHING
    desk[c + ANSWERED_MEMBER] = 0
    desk[c + ANSWERED_GENERATION] = 0
    desk[c + CALL_SAYS] = 0


@compiled
def answer_join(desk: Words, member: int, call: int) -> None:
    """A JoinGroup is answered, and the answer names this member."""
    c = place_of_owner(desk, member)
    clear_call(desk, c)
    desk[c + CALL] = call
    desk[c + ANSWERED_MEMBER] = desk[NTH + member]


@compiled
def answer_generation(desk: Words, member: int, leads: int) -> None:
    """A member is told the generation; `leads` is how that is said to the leader."""
    c = place_of_owner(desk, member)
    leader = desk[LEADER]
    answer_join(desk, member, leads if member == leader else FOLLOWS)
    desk[c + ANSWERED_GENERATION] = desk[GENERATION]
    desk[c + CALL_SAYS] = desk[MEMBERS] if member == leader else leader


@compiled
def answer_sync(desk: Words, member: int, error: int) -> None:
    """A SyncGroup is refused."""
    c = place_of_owner(desk, member)
    clear_call(desk, c)
    desk[c + CALL] = SYNC_FAILS + error


@compiled
def answer_assignment(desk: Words, member: int) -> None:
    """A SyncGroup is answered with what the member was given."""
    c = place_of_owner(desk, member)
    clear_call(desk, c)
    desk[c + CALL] = SYNCED
    desk[c + HELD] = desk[GIVEN + member]


# -- members ----------------------------------------------------------------------------------


@compiled
def everyone_joined(desk: Words) -> bool:
    """Whether every member waits for the next generation, and every id came back."""
    if desk[PENDING]:
        return False
    left = listed(desk)
    while left:
        if desk[WAIT - 1 + (left & 15)] < JOINS:
            return False
        left >>= 4
    return True


@compiled
def without(desk: Words, gone: int) -> None:
    """Some members, given as a mask, are no longer; the first of the others may have to lead."""
    if gone == 0:
        return
    kept = 0
    first = NOBODY
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        if gone >> member & 1:
            desk[WAIT + member] = AT_REST
            desk[GIVEN + member] = 0
        else:
            kept = longer(desk, kept, member)
            if first == NOBODY:
                first = member
    desk[MEMBERS] = kept
    if gone >> desk[LEADER] & 1:
        desk[LEADER] = max(first, 0)


@compiled
def remove(desk: Words, member: int) -> None:
    """A member is put out, and told so if it waits to join."""
    wait = desk[WAIT + member]
    without(desk, 1 << member)
    if wait in (JOINS, JOINS_NEW):
        answer_join(desk, member, JOIN_FAILS + UNKNOWN_MEMBER)


@compiled
def add(desk: Words, member: int, heard: bool) -> None:
    """Somebody new waits with the others; who is alone leads."""
    if desk[MEMBERS] == 0:
        desk[LEADER] = member
    desk[MEMBERS] = longer(desk, desk[MEMBERS], member)
    desk[WAIT + member] = JOINS_NEW if heard else NEW_UNHEARD
    desk[PENDING] &= ~(1 << member)
    if desk[STATE] == PREPARING and desk[PREVIOUS] == EMPTY:
        desk[JOINED_MEANWHILE] = 1


@compiled
def hangs_up(desk: Words, consumer: int) -> None:
    """Nobody waits for this consumer's answers any more."""
    ids = desk[IDS_EACH]
    for at in range(WAIT + consumer * ids, WAIT + (consumer + 1) * ids):
        wait = desk[at]
        if wait in (SYNCS, JOINS, JOINS_NEW):
            desk[at] = wait + 1


# -- rebalances -------------------------------------------------------------------------------


@compiled
def enter(desk: Words, state: int) -> None:
    """The group goes to another state."""
    desk[PREVIOUS] = desk[STATE]
    desk[STATE] = state


@compiled
def store(desk: Words) -> None:
    """The group is written to the offsets topic."""
    desk[STORED_GENERATION] = desk[GENERATION]
    desk[STORED_LEADER] = desk[LEADER]
    desk[STORED_MEMBERS] = desk[MEMBERS]
    for i in range(desk[ALL_IDS]):
        desk[STORED_GIVEN + i] = desk[GIVEN + i]


@compiled
def prepare_rebalance(desk: Words) -> None:
    """Everyone has to join again; those who wait for an assignment are told so."""
    state = desk[STATE]
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        if wait == SYNCS:
            answer_sync(desk, member, REBALANCING)
        if wait in (OWES_SYNC, SYNCS, SYNCS_UNHEARD):
            desk[WAIT + member] = AT_REST
        if state == COMPLETING:
            desk[GIVEN + member] = 0
    desk[JOINED_MEANWHILE] = 0
    desk[DELAY_LEFT] = int(state == EMPTY)
    enter(desk, PREPARING)
    if state != EMPTY and everyone_joined(desk):
        complete_rebalance(desk)


@compiled
def complete_rebalance(desk: Words) -> None:
    """The next generation is of those who joined; static members may still come."""
    gone = 0
    first = NOBODY
    leader_is_there = False
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        if desk[WAIT + member] >= JOINS:
            if first == NOBODY:
                first = member
            leader_is_there |= member == desk[LEADER]
        elif not is_static(desk, member):
            gone |= 1 << member
    without(desk, gone)
    if desk[MEMBERS] == 0:
        desk[GENERATION] += 1
        desk[LEADER] = 0
        enter(desk, EMPTY)
        store(desk)
        return
    if first == NOBODY:
        return
    desk[GENERATION] += 1
    if not leader_is_there:
        desk[LEADER] = first
    desk[JOINED_MEANWHILE] = 0
    desk[DELAY_LEFT] = 0
    enter(desk, COMPLETING)
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        if wait in (JOINS, JOINS_NEW):
            answer_generation(desk, member, LEADS)
        desk[WAIT + member] = OWES_SYNC


@compiled
def end_the_wait(desk: Words) -> None:
    """Nobody may be waited for any more, now that a timer took one away."""
    if desk[STATE] == PREPARING and everyone_joined(desk):
        complete_rebalance(desk)


@compiled
def try_to_complete(desk: Words) -> None:
    """The same; but a group that was empty waits for its initial delay."""
    if desk[PREVIOUS] != EMPTY:
        end_the_wait(desk)


@compiled
def prepare_or_complete(desk: Words) -> None:
    """A rebalance begins, or the one that goes on has one less to wait for."""
    if desk[STATE] == PREPARING:
        try_to_complete(desk)
    else:
        prepare_rebalance(desk)


@compiled
def after_a_loss(desk: Words) -> None:
    """A member, or an id that was given out, has gone."""
    if desk[STATE] == STABLE or desk[STATE] == COMPLETING:
        prepare_rebalance(desk)
    else:
        try_to_complete(desk)
