"""What the coordinator does to the group that lies on the sheet: generations begin and end."""

from __future__ import annotations

from collections.abc import Iterator

from impl.packed.compiled import Words, compiled, compiled_generator
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
    NO_ERROR,
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

# -- places on the sheet ----------------------------------------------------------------------


@compiled
def place(consumer: int) -> int:
    """Where the fields of a consumer begin."""
    return CONSUMERS + CONSUMER_SIZE * consumer


@compiled
def place_of_owner(sheet: Words, member: int) -> int:
    """Where the fields of the consumer begin that a member id was given to."""
    return CONSUMERS + CONSUMER_SIZE * sheet[OWNER + member]  # type: ignore[no-any-return]


@compiled
def is_static(sheet: Words, member: int) -> bool:
    """Whether the member has an instance id."""
    return bool(sheet[OWNER + member] < sheet[STATIC])


@compiled_generator
def listed(sheet: Words, members: int) -> Iterator[int]:
    """The members of a list in their order."""
    left = sheet[LISTS + members]
    while left:
        yield (left & 15) - 1
        left >>= 4


@compiled
def longer(sheet: Words, members: int, member: int) -> int:
    """The list with one more member at its end."""
    table = sheet[LONGER_AT]
    return sheet[table + members * MOST_MEMBERS + member]  # type: ignore[no-any-return]


@compiled
def is_member(sheet: Words, member: int) -> bool:
    """Whether an id is a member's."""
    found = False
    for other in listed(sheet, sheet[MEMBERS]):
        found |= other == member
    return found


@compiled
def member_of(sheet: Words, consumer: int) -> int:
    """The first member that is a consumer's, or NOBODY."""
    for member in listed(sheet, sheet[MEMBERS]):
        if sheet[OWNER + member] == consumer:
            return member
    return NOBODY


# -- answers ----------------------------------------------------------------------------------


@compiled
def clear_call(sheet: Words, c: int) -> None:
    """Nothing is on its way to or from a consumer any more."""
    if sheet[c + CALL] == SYNCED:
        sheet[c + HELD] = 0
    sheet[c + CALL] = NOTHING
    sheet[c + ANSWERED_MEMBER] = 0
    sheet[c + ANSWERED_GENERATION] = 0
    sheet[c + CALL_SAYS] = 0


@compiled
def answer_join(sheet: Words, member: int, call: int) -> None:
    """A JoinGroup is answered, and the answer names this member."""
    c = place_of_owner(sheet, member)
    clear_call(sheet, c)
    sheet[c + CALL] = call
    sheet[c + ANSWERED_MEMBER] = sheet[NTH + member]


@compiled
def answer_generation(sheet: Words, member: int, leads: int) -> None:
    """A member is told the generation; `leads` is how that is said to the leader."""
    c = place_of_owner(sheet, member)
    leader = sheet[LEADER]
    answer_join(sheet, member, leads if member == leader else FOLLOWS)
    sheet[c + ANSWERED_GENERATION] = sheet[GENERATION]
    sheet[c + CALL_SAYS] = sheet[MEMBERS] if member == leader else leader


@compiled
def answer_sync(sheet: Words, member: int, error: int) -> None:
    """A SyncGroup is refused, or answered with what the member was given."""
    c = place_of_owner(sheet, member)
    clear_call(sheet, c)
    if error == NO_ERROR:
        sheet[c + CALL] = SYNCED
        sheet[c + HELD] = sheet[GIVEN + member]
    else:
        sheet[c + CALL] = SYNC_FAILS + error


@compiled
def answer_every_sync(sheet: Words, error: int) -> None:
    """All who wait for an assignment hear of it, or why there is none."""
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        if wait == SYNCS:
            answer_sync(sheet, member, error)
        if wait in (SYNCS, SYNCS_UNHEARD):
            sheet[WAIT + member] = AT_REST


# -- members ----------------------------------------------------------------------------------


@compiled
def everyone_joined(sheet: Words) -> bool:
    """Whether every member waits for the next generation, and every id came back."""
    missing = sheet[PENDING] != 0
    for member in listed(sheet, sheet[MEMBERS]):
        missing |= sheet[WAIT + member] < JOINS
    return not missing


@compiled
def without(sheet: Words, gone: int) -> None:
    """Some members, given as a mask, are no longer; the first of the others may have to lead."""
    if gone == 0:
        return
    kept = 0
    first = NOBODY
    for member in listed(sheet, sheet[MEMBERS]):
        if gone >> member & 1:
            sheet[WAIT + member] = AT_REST
            sheet[GIVEN + member] = 0
        else:
            kept = longer(sheet, kept, member)
            if first == NOBODY:
                first = member
    sheet[MEMBERS] = kept
    if gone >> sheet[LEADER] & 1:
        sheet[LEADER] = max(first, 0)


@compiled
def remove(sheet: Words, member: int) -> None:
    """A member is put out, and told so if it waits to join."""
    wait = sheet[WAIT + member]
    without(sheet, 1 << member)
    if wait in (JOINS, JOINS_NEW):
        answer_join(sheet, member, JOIN_FAILS + UNKNOWN_MEMBER)


@compiled
def add(sheet: Words, member: int, heard: bool) -> None:
    """Somebody new waits with the others; who is alone leads."""
    if sheet[MEMBERS] == 0:
        sheet[LEADER] = member
    sheet[MEMBERS] = longer(sheet, sheet[MEMBERS], member)
    sheet[WAIT + member] = JOINS_NEW if heard else NEW_UNHEARD
    sheet[PENDING] &= ~(1 << member)
    if sheet[STATE] == PREPARING and sheet[PREVIOUS] == EMPTY:
        sheet[JOINED_MEANWHILE] = 1


@compiled
def hangs_up(sheet: Words, consumer: int) -> None:
    """Nobody waits for this consumer's answers any more."""
    ids = sheet[IDS_EACH]
    for at in range(WAIT + consumer * ids, WAIT + (consumer + 1) * ids):
        wait = sheet[at]
        if wait in (SYNCS, JOINS, JOINS_NEW):
            sheet[at] = wait + 1


# -- rebalances -------------------------------------------------------------------------------


@compiled
def enter(sheet: Words, state: int) -> None:
    """The group goes to another state."""
    sheet[PREVIOUS] = sheet[STATE]
    sheet[STATE] = state


@compiled
def store(sheet: Words) -> None:
    """The group is written to the offsets topic."""
    sheet[STORED_GENERATION] = sheet[GENERATION]
    sheet[STORED_LEADER] = sheet[LEADER]
    sheet[STORED_MEMBERS] = sheet[MEMBERS]
    for i in range(sheet[ALL_IDS]):
        sheet[STORED_GIVEN + i] = sheet[GIVEN + i]


@compiled
def prepare_rebalance(sheet: Words) -> None:
    """Everyone has to join again; those who wait for an assignment are told so."""
    state = sheet[STATE]
    answer_every_sync(sheet, REBALANCING)
    for member in listed(sheet, sheet[MEMBERS]):
        if sheet[WAIT + member] == OWES_SYNC:
            sheet[WAIT + member] = AT_REST
        if state == COMPLETING:
            sheet[GIVEN + member] = 0
    sheet[JOINED_MEANWHILE] = 0
    sheet[DELAY_LEFT] = int(state == EMPTY)
    enter(sheet, PREPARING)
    if state != EMPTY and everyone_joined(sheet):
        complete_rebalance(sheet)


@compiled
def complete_rebalance(sheet: Words) -> None:
    """The next generation is of those who joined; static members may still come."""
    gone = 0
    first = NOBODY
    leader_is_there = False
    for member in listed(sheet, sheet[MEMBERS]):
        if sheet[WAIT + member] >= JOINS:
            if first == NOBODY:
                first = member
            leader_is_there |= member == sheet[LEADER]
        elif not is_static(sheet, member):
            gone |= 1 << member
    without(sheet, gone)
    if sheet[MEMBERS] == 0:
        sheet[GENERATION] += 1
        sheet[LEADER] = 0
        enter(sheet, EMPTY)
        store(sheet)
        return
    if first == NOBODY:
        return
    sheet[GENERATION] += 1
    if not leader_is_there:
        sheet[LEADER] = first
    sheet[JOINED_MEANWHILE] = 0
    sheet[DELAY_LEFT] = 0
    enter(sheet, COMPLETING)
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        if wait in (JOINS, JOINS_NEW):
            answer_generation(sheet, member, LEADS)
        sheet[WAIT + member] = OWES_SYNC


@compiled
def end_the_wait(sheet: Words) -> None:
    """Nobody may be waited for any more, now that a timer took one away."""
    if sheet[STATE] == PREPARING and everyone_joined(sheet):
        complete_rebalance(sheet)


@compiled
def try_to_complete(sheet: Words) -> None:
    """The same; but a group that was empty waits for its initial delay."""
    if sheet[PREVIOUS] != EMPTY:
        end_the_wait(sheet)


@compiled
def prepare_or_complete(sheet: Words) -> None:
    """A rebalance begins, or the one that goes on has one less to wait for."""
    if sheet[STATE] == PREPARING:
        try_to_complete(sheet)
    else:
        prepare_rebalance(sheet)


@compiled
def after_a_loss(sheet: Words) -> None:
    """A member, or an id that was given out, has gone."""
    if sheet[STATE] == STABLE or sheet[STATE] == COMPLETING:
        prepare_rebalance(sheet)
    else:
        try_to_complete(sheet)
