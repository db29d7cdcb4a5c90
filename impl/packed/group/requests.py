"""What the coordinator makes of each request: what it does, or with which error it says no."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.fields import (
    ALL_IDS,
    AT_REST,
    BEFORE_9801,
    CALL,
    CALL_SAYS,
    COMPLETING,
    COORDINATOR,
    DEAD,
    DELAY_LEFT,
    EMPTY,
    FENCED_INSTANCE,
    GENERATION,
    GIVEN,
    HOW_MANY,
    IDS,
    IDS_EACH,
    ILLEGAL_GENERATION,
    JOIN,
    JOIN_FAILS,
    JOINED_MEANWHILE,
    JOINS,
    JOINS_NEW,
    KNOWS,
    LATE,
    LATE_GENERATION,
    LATE_GROWN,
    LATE_MEMBER,
    LATE_PLAN,
    LEADER,
    LEADS,
    MEMBER,
    MEMBERS,
    NO_ERROR,
    NOT_AVAILABLE,
    NOT_COORDINATOR,
    NOTHING,
    OF_GENERATION,
    OWES_SYNC,
    PARTITIONS,
    PENDING,
    PLANNED,
    PREPARING,
    PREVIOUS,
    REBALANCING,
    SKIPS,
    STABLE,
    STATE,
    STATIC,
    STORED_GENERATION,
    STORED_GIVEN,
    STORED_LEADER,
    STORED_MEMBERS,
    SYNC_FAILS,
    SYNCS,
    SYNCS_UNHEARD,
    TAKE_ID,
    UNKNOWN_MEMBER,
    VARIANT,
    WAIT,
)
from impl.packed.group.group import (
    NOBODY,
    add,
    after_a_loss,
    answer_assignment,
    answer_generation,
    answer_join,
    answer_sync,
    clear_call,
    is_member,
    listed,
    longer,
    member_of,
    place,
    prepare_or_complete,
    prepare_rebalance,
    remove,
    store,
)

# -- who asks ---------------------------------------------------------------------------------


@compiled
def finds(sheet: Words, c: int) -> bool:
    """Whether the coordinator that a consumer knows is the one."""
    return bool(sheet[c + KNOWS] == sheet[COORDINATOR] + 1 and sheet[STATE] != DEAD)


@compiled
def member_id(sheet: Words, consumer: int, nth: int) -> int:
    """The id that a consumer was given as its nth, or NOBODY."""
    return consumer * sheet[IDS_EACH] + nth - 1 if nth else NOBODY


@compiled
def asked_as(sheet: Words, consumer: int, late: int) -> int:
    """The member id that a request on its way brings, or NOBODY."""
    nth = sheet[place(consumer) + (LATE_MEMBER if late else MEMBER)]
    return member_id(sheet, consumer, nth)


@compiled
def take(sheet: Words, consumer: int, late: int) -> None:
    """The coordinator has the request."""
    c = place(consumer)
    if late:
        sheet[c + LATE] = NOTHING
        sheet[c + LATE_MEMBER] = 0
        sheet[c + LATE_GENERATION] = 0
        sheet[c + LATE_PLAN] = 0
        sheet[c + LATE_GROWN] = 0
    else:
        clear_call(sheet, c)


@compiled
def not_a_member(sheet: Words, consumer: int, member: int) -> int:
    """The error for who is no member, or an older self of a static one."""
    if sheet[STATE] == DEAD:
        return NOT_AVAILABLE
    if consumer < sheet[STATIC]:
        known = member_of(sheet, consumer)
        if known == NOBODY:
            return UNKNOWN_MEMBER
        return NO_ERROR if known == member else FENCED_INSTANCE
    return NO_ERROR if member != NOBODY and is_member(sheet, member) else UNKNOWN_MEMBER


@compiled
def not_current(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """The same, or the error for another generation than the group's."""
    error = not_a_member(sheet, consumer, member)
    if error == NO_ERROR and generation != sheet[GENERATION]:
        return ILLEGAL_GENERATION
    return error


@compiled
def beat_error(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """How a heartbeat is answered, and a SyncGroup that cannot be taken."""
    error = not_current(sheet, consumer, member, generation)
    if error == NO_ERROR and sheet[STATE] == PREPARING:
        return REBALANCING
    return error


@compiled
def commit_error(sheet: Words, consumer: int, member: int, generation: int) -> int:
    """How a commit is answered."""
    if sheet[STATE] == DEAD:
        return NOT_AVAILABLE
    if generation == 0:
        if sheet[STATE] == EMPTY:
            return NO_ERROR
        if member == NOBODY and consumer >= sheet[STATIC]:
            return UNKNOWN_MEMBER
        error = not_a_member(sheet, consumer, member)
        return ILLEGAL_GENERATION if error == NO_ERROR else error
    error = not_current(sheet, consumer, member, generation)
    if error == NO_ERROR and sheet[STATE] == COMPLETING:
        return REBALANCING
    return error


# -- JoinGroup --------------------------------------------------------------------------------

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
    left = listed(sheet)
    while left:
        member = (left & 15) - 1
        left >>= 4
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


# -- SyncGroup --------------------------------------------------------------------------------


@compiled
def sync_error(sheet: Words, consumer: int, late: int) -> int:
    """Why a SyncGroup cannot be taken, if it cannot."""
    c = place(consumer)
    generation = sheet[c + (LATE_GENERATION if late else OF_GENERATION)]
    return beat_error(sheet, consumer, asked_as(sheet, consumer, late), generation)


@compiled
def share_out(sheet: Words, ids: int, partitions: int) -> None:
    """Members get what the plan among those ids says; who is not in it gets nothing."""
    count = 0
    for i in range(sheet[ALL_IDS]):
        count += ids >> i & 1
    each = extra = 0
    if count:
        each = partitions // count
        extra = partitions - each * count
    begin = 0
    for i in range(sheet[ALL_IDS]):
        here = 0
        if ids >> i & 1:
            size = each + (extra > 0)
            extra -= 1
            here = ((1 << size) - 1) << begin
            begin += size
        sheet[GIVEN + i] = here
    kept = 0
    left = listed(sheet)
    while left:
        kept |= 1 << (left & 15) - 1
        left >>= 4
    for i in range(sheet[ALL_IDS]):
        sheet[GIVEN + i] &= -(kept >> i & 1)


@compiled
def takes_sync(sheet: Words, consumer: int, late: int) -> bool:
    """A member asks for its assignment; the leader's request brings everybody's."""
    if sync_error(sheet, consumer, late) != NO_ERROR:
        return False
    c = place(consumer)
    member = asked_as(sheet, consumer, late)
    plan = sheet[c + (LATE_PLAN if late else CALL_SAYS)]
    grown = sheet[c + LATE_GROWN] if late else sheet[c + PLANNED] - 1
    take(sheet, consumer, late)
    if sheet[STATE] == STABLE:
        if sheet[WAIT + member] == OWES_SYNC:
            sheet[WAIT + member] = AT_REST
        if not late:
            answer_assignment(sheet, member)
        return True
    sheet[WAIT + member] = SYNCS + late
    if member != sheet[LEADER]:
        return True
    share_out(sheet, plan, sheet[PARTITIONS] + grown)
    store(sheet)
    left = listed(sheet)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = sheet[WAIT + member]
        if wait == SYNCS:
            answer_assignment(sheet, member)
        if wait in (SYNCS, SYNCS_UNHEARD):
            sheet[WAIT + member] = AT_REST
    sheet[PREVIOUS] = COMPLETING
    sheet[STATE] = STABLE
    return True


@compiled
def cannot_store(sheet: Words, consumer: int, late: int) -> bool:
    """The leader's assignments cannot be written: who waits is told, and all join again."""
    if sync_error(sheet, consumer, late) != NO_ERROR:
        return False
    leader = asked_as(sheet, consumer, late)
    if sheet[STATE] != COMPLETING or leader != sheet[LEADER]:
        return False
    take(sheet, consumer, late)
    sheet[WAIT + leader] = SYNCS + late
    left = listed(sheet)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = sheet[WAIT + member]
        if wait == SYNCS:
            answer_sync(sheet, member, NOT_AVAILABLE)
        if wait in (SYNCS, SYNCS_UNHEARD):
            sheet[WAIT + member] = AT_REST
    prepare_rebalance(sheet)
    return True


# -- whatever it is ---------------------------------------------------------------------------


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
def leaves(sheet: Words, consumer: int) -> None:
    """A consumer's LeaveGroup; a static one sends none, nor one that has no id."""
    c = place(consumer)
    member = member_id(sheet, consumer, sheet[c + MEMBER])
    if consumer < sheet[STATIC] or member == NOBODY or not finds(sheet, c):
        return
    if sheet[PENDING] >> member & 1:
        sheet[PENDING] &= ~(1 << member)
    elif is_member(sheet, member):
        remove(sheet, member)
    else:
        return
    after_a_loss(sheet)


# -- failover ---------------------------------------------------------------------------------


@compiled
def resigns(sheet: Words) -> None:
    """The coordinator lets go: who waits is told, the group in memory is gone, and requests."""
    left = listed(sheet)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = sheet[WAIT + member]
        if wait in (JOINS, JOINS_NEW):
            answer_join(sheet, member, JOIN_FAILS + NOT_COORDINATOR)
        if wait == SYNCS:
            answer_sync(sheet, member, NOT_COORDINATOR)
        sheet[WAIT + member] = AT_REST
        sheet[GIVEN + member] = 0
    sheet[PREVIOUS] = sheet[STATE]
    sheet[STATE] = DEAD
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
