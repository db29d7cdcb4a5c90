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
def finds(desk: Words, c: int) -> bool:
    """Whether the coordinator that a consumer knows is the one."""
    return bool(desk[c + KNOWS] == desk[COORDINATOR] + 1 and desk[STATE] != DEAD)


@compiled
def member_id(desk: Words, consumer: int, nth: int) -> int:
    """The id that a consumer was given as its nth, or NOBODY."""
    return consumer * desk[IDS_EACH] + nth - 1 if nth else NOBODY


@compiled
def asked_as(desk: Words, consumer: int, late: int) -> int:
    """The member id that a request on its way brings, or NOBODY."""
    nth = desk[place(consumer) + (LATE_MEMBER if late else MEMBER)]
    return member_id(desk, consumer, nth)


@compiled
def take(desk: Words, consumer: int, late: int) -> None:
    """The coordinator has the request."""
    c = place(consumer)
    if late:
        desk[c + LATE] = NOTHING
        desk[c + LATE_MEMBER] = 0
        desk[c + LATE_GENERATION] = 0
        desk[c + LATE_PLAN] = 0
        desk[c + LATE_GROWN] = 0
    else:
        clear_call(desk, c)


@compiled
def not_a_member(desk: Words, consumer: int, member: int) -> int:
    """The error for who is no member, or an older self of a static one."""
    if desk[STATE] == DEAD:
        return NOT_AVAILABLE
    if consumer < desk[STATIC]:
        known = member_of(desk, consumer)
        if known == NOBODY:
            return UNKNOWN_MEMBER
        return NO_ERROR if known == member else FENCED_INSTANCE
    return NO_ERROR if member != NOBODY and is_member(desk, member) else UNKNOWN_MEMBER


@compiled
def not_current(desk: Words, consumer: int, member: int, generation: int) -> int:
    """The same, or the error for another generation than the group's."""
    error = not_a_member(desk, consumer, member)
    if error == NO_ERROR and generation != desk[GENERATION]:
        return ILLEGAL_GENERATION
    return error


@compiled
def beat_error(desk: Words, consumer: int, member: int, generation: int) -> int:
    """How a heartbeat is answered, and a SyncGroup that cannot be taken."""
    error = not_current(desk, consumer, member, generation)
    if error == NO_ERROR and desk[STATE] == PREPARING:
        return REBALANCING
    return error


@compiled
def commit_error(desk: Words, consumer: int, member: int, generation: int) -> int:
    """How a commit is answered."""
    if desk[STATE] == DEAD:
        return NOT_AVAILABLE
    if generation == 0:
        if desk[STATE] == EMPTY:
            return NO_ERROR
        if member == NOBODY and consumer >= desk[STATIC]:
            return UNKNOWN_MEMBER
        error = not_a_member(desk, consumer, member)
        return ILLEGAL_GENERATION if error == NO_ERROR else error
    error = not_current(desk, consumer, member, generation)
    if error == NO_ERROR and desk[STATE] == COMPLETING:
        return REBALANCING
    return error


# -- JoinGroup --------------------------------------------------------------------------------

FIRST, NEW, REPLACES, AGAIN = range(4)
"""What a JoinGroup can be."""


@compiled
def kind_of_join(desk: Words, consumer: int, member: int) -> int:
    """What a JoinGroup is, by who it comes from and the id that it brings."""
    if member == NOBODY:
        if consumer >= desk[STATIC]:
            return FIRST
        return NEW if member_of(desk, consumer) == NOBODY else REPLACES
    is_pending = desk[PENDING] >> member & 1 and consumer >= desk[STATIC]
    return NEW if is_pending else AGAIN


@compiled
def new_id(desk: Words, consumer: int) -> int:
    """Give a consumer its next id; NOBODY if none is left."""
    c = place(consumer)
    nth = desk[c + IDS]
    if nth == desk[IDS_EACH]:
        return NOBODY
    desk[c + IDS] = nth + 1
    return member_id(desk, consumer, nth + 1)


@compiled
def gives_id(desk: Words, consumer: int, late: int) -> bool:
    """A first JoinGroup is answered with an id."""
    take(desk, consumer, late)
    member = new_id(desk, consumer)
    if member == NOBODY:
        return False
    desk[PENDING] |= 1 << member
    if not late:
        answer_join(desk, member, TAKE_ID)
    return True


@compiled
def adds_member(desk: Words, consumer: int, late: int) -> bool:
    """Somebody new joins: with the id that it brings, or else with its next one."""
    member = asked_as(desk, consumer, late)
    take(desk, consumer, late)
    if member == NOBODY:
        member = new_id(desk, consumer)
        if member == NOBODY:
            return False
    add(desk, member, not late)
    prepare_or_complete(desk)
    return True


@compiled
def takes_rejoin(desk: Words, consumer: int, late: int) -> bool:
    """A member joins again: it waits for the next generation, or is told the current one."""
    member = asked_as(desk, consumer, late)
    if not_a_member(desk, consumer, member) != NO_ERROR:
        return False
    take(desk, consumer, late)
    state = desk[STATE]
    if state == COMPLETING or (state == STABLE and member != desk[LEADER]):
        if not late:
            answer_generation(desk, member, LEADS)
        return True
    is_new = desk[WAIT + member] >= JOINS_NEW
    desk[WAIT + member] = (JOINS_NEW if is_new else JOINS) + late
    prepare_or_complete(desk)
    return True


@compiled
def replaces_member(desk: Words, consumer: int, late: int) -> bool:
    """A static member that came back without its id takes the place of its old self."""
    old = member_of(desk, consumer)
    take(desk, consumer, late)
    new = new_id(desk, consumer)
    if new == NOBODY:
        return False
    wait = desk[WAIT + old]
    if wait in (JOINS, JOINS_NEW):
        answer_join(desk, old, JOIN_FAILS + FENCED_INSTANCE)
    if wait == SYNCS:
        answer_sync(desk, old, FENCED_INSTANCE)
    others = 0
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        if member != old:
            others = longer(desk, others, member)
    desk[MEMBERS] = longer(desk, others, new)
    desk[GIVEN + new] = desk[GIVEN + old]
    desk[GIVEN + old] = 0
    desk[WAIT + old] = AT_REST
    if desk[LEADER] == old:
        desk[LEADER] = new
    state = desk[STATE]
    if state == STABLE or (state == COMPLETING and desk[VARIANT] == BEFORE_9801):
        desk[WAIT + new] = OWES_SYNC if wait == OWES_SYNC else AT_REST
        store(desk)
        if not late:
            answer_generation(desk, new, SKIPS)
        return True
    desk[WAIT + new] = JOINS + late
    prepare_or_complete(desk)
    return True


# -- SyncGroup --------------------------------------------------------------------------------


@compiled
def sync_error(desk: Words, consumer: int, late: int) -> int:
    """Why a SyncGroup cannot be taken, if it cannot."""
    c = place(consumer)
    generation = desk[c + (LATE_GENERATION if late else OF_GENERATION)]
    return beat_error(desk, consumer, asked_as(desk, consumer, late), generation)


@compiled
def share_out(desk: Words, ids: int, partitions: int) -> None:
    """Members get what the plan among those ids says; who is not in it gets nothing."""
    count = 0
    for i in range(desk[ALL_IDS]):
        count += ids >> i & 1
    each = extra = 0
    if count:
        each = partitions // count
        extra = partitions - each * count
    begin = 0
    for i in range(desk[ALL_IDS]):
        here = 0
        if ids >> i & 1:
            size = each + (extra > 0)
            extra -= 1
            here = ((1 << size) - 1) << begin
            begin += size
        desk[GIVEN + i] = here
    kept = 0
    left = listed(desk)
    while left:
        kept |= 1 << (left & 15) - 1
        left >>= 4
    for i in range(desk[ALL_IDS]):
        desk[GIVEN + i] &= -(kept >> i & 1)


@compiled
def takes_sync(desk: Words, consumer: int, late: int) -> bool:
    """A member asks for its assignment; the leader's request brings everybody's."""
    if sync_error(desk, consumer, late) != NO_ERROR:
        return False
    c = place(consumer)
    member = asked_as(desk, consumer, late)
    plan = desk[c + (LATE_PLAN if late else CALL_SAYS)]
    grown = desk[c + LATE_GROWN] if late else desk[c + PLANNED] - 1
    take(desk, consumer, late)
    if desk[STATE] == STABLE:
        if desk[WAIT + member] == OWES_SYNC:
            desk[WAIT + member] = AT_REST
        if not late:
            answer_assignment(desk, member)
        return True
    desk[WAIT + member] = SYNCS + late
    if member != desk[LEADER]:
        return True
    share_out(desk, plan, desk[PARTITIONS] + grown)
    store(desk)
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        if wait == SYNCS:
            answer_assignment(desk, member)
        if wait in (SYNCS, SYNCS_UNHEARD):
            desk[WAIT + member] = AT_REST
    desk[PREVIOUS] = COMPLETING
    desk[STATE] = STABLE
    return True


@compiled
def cannot_store(desk: Words, consumer: int, late: int) -> bool:
    """The leader's assignments cannot be written: who waits is told, and all join again."""
    if sync_error(desk, consumer, late) != NO_ERROR:
        return False
    leader = asked_as(desk, consumer, late)
    if desk[STATE] != COMPLETING or leader != desk[LEADER]:
        return False
    take(desk, consumer, late)
    desk[WAIT + leader] = SYNCS + late
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        if wait == SYNCS:
            answer_sync(desk, member, NOT_AVAILABLE)
        if wait in (SYNCS, SYNCS_UNHEARD):
            desk[WAIT + member] = AT_REST
    prepare_rebalance(desk)
    return True


# -- whatever it is ---------------------------------------------------------------------------


@compiled
def refuses(desk: Words, consumer: int, late: int) -> bool:
    """A request is answered with an error, if there is one to answer with."""
    c = place(consumer)
    is_join = desk[c + (LATE if late else CALL)] == JOIN
    error = NO_ERROR
    if not late and not finds(desk, c):
        error = NOT_COORDINATOR
    elif not is_join:
        error = sync_error(desk, consumer, late)
    else:
        member = asked_as(desk, consumer, late)
        if desk[STATE] == DEAD:
            error = NOT_AVAILABLE
        elif kind_of_join(desk, consumer, member) == AGAIN:
            error = not_a_member(desk, consumer, member)
    if error == NO_ERROR:
        return False
    take(desk, consumer, late)
    if not late:
        desk[c + CALL] = (JOIN_FAILS if is_join else SYNC_FAILS) + error
    return True


@compiled
def leaves(desk: Words, consumer: int) -> None:
    """A consumer's LeaveGroup; a static one sends none, nor one that has no id."""
    c = place(consumer)
    member = member_id(desk, consumer, desk[c + MEMBER])
    if consumer < desk[STATIC] or member == NOBODY or not finds(desk, c):
        return
    if desk[PENDING] >> member & 1:
        desk[PENDING] &= ~(1 << member)
    elif is_member(desk, member):
        remove(desk, member)
    else:
        return
    after_a_loss(desk)


# -- failover ---------------------------------------------------------------------------------


@compiled
def resigns(desk: Words) -> None:
    """The coordinator lets go: who waits is told, the group in memory is gone, and requests."""
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        if wait in (JOINS, JOINS_NEW):
            answer_join(desk, member, JOIN_FAILS + NOT_COORDINATOR)
        if wait == SYNCS:
            answer_sync(desk, member, NOT_COORDINATOR)
        desk[WAIT + member] = AT_REST
        desk[GIVEN + member] = 0
    desk[PREVIOUS] = desk[STATE]
    desk[STATE] = DEAD
    desk[GENERATION] = 0
    desk[LEADER] = 0
    desk[MEMBERS] = 0
    desk[PENDING] = 0
    desk[JOINED_MEANWHILE] = 0
    desk[DELAY_LEFT] = 0
    for consumer in range(desk[HOW_MANY]):
        take(desk, consumer, 1)


@compiled
def loads(desk: Words) -> None:
    """The next coordinator finds the group as it is stored."""
    desk[COORDINATOR] += 1
    desk[PREVIOUS] = DEAD
    desk[STATE] = STABLE if desk[STORED_MEMBERS] else EMPTY
    desk[GENERATION] = desk[STORED_GENERATION]
    desk[LEADER] = desk[STORED_LEADER]
    desk[MEMBERS] = desk[STORED_MEMBERS]
    for i in range(desk[ALL_IDS]):
        desk[GIVEN + i] = desk[STORED_GIVEN + i]
