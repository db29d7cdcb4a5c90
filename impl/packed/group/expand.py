"""All successors of a state: each rule, for each choice, on a copy of the state."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.consumers import (
    closes,
    ends,
    gives_up,
    hears_error,
    is_out,
    joins,
    leaves_unasked,
    takes_join_answer,
    takes_sync_answer,
)
from impl.packed.group.fields import (
    AT_WORK,
    BEAT,
    BEAT_IS_OLD,
    BEFORE,
    BEFORE_394,
    BEFORE_12890,
    CALL,
    CLOSED,
    COMMIT_BEHIND,
    COMMIT_BESIDE,
    COMPLETING,
    CONSUMER_SIZE,
    CONSUMERS,
    COORDINATOR,
    CRASHED,
    CRASHES,
    DEAD,
    DELAY_LEFT,
    EARLY,
    EMPTY,
    FAILOVERS,
    FANOUT,
    FOLLOWS,
    GENERATION,
    GENERATIONS,
    GROWN,
    GROWTHS,
    HOW_MANY,
    JOIN,
    JOINED_MEANWHILE,
    JOINING,
    JOINS,
    JOINS_NEW,
    KNOWS,
    LATE,
    LEAVES,
    LOSSES,
    MASK,
    MEMBER,
    MEMBERS,
    MOST_CRASHES,
    MOST_EARLY,
    MOST_LEAVES,
    MOST_LOSSES,
    MOST_STALLS,
    NO_ERROR,
    NO_GENERATION_CHECK,
    NOT_COORDINATOR,
    NOTHING,
    NTH,
    ANSWERED_MEMBER,
    OF_GENERATION,
    OUT,
    OWES_SYNC,
    OWNER,
    PENDING,
    PHASE,
    PLANNED,
    PREPARING,
    PREVIOUS,
    SHIFT,
    STABLE,
    STALLED,
    STALLS,
    STATE,
    SYNC,
    SYNCED,
    SYNCING,
    SYNCS,
    TOLD,
    VARIANT,
    WAIT,
    WANTS_TO_REJOIN,
    WORD,
    WORDS,
)
from impl.packed.group.group import (
    after_a_loss,
    clear_call,
    complete_rebalance,
    end_the_wait,
    listed,
    place,
    prepare_rebalance,
    remove,
    without,
)
from impl.packed.group.requests import (
    AGAIN,
    FIRST,
    NEW,
    adds_member,
    asked_as,
    beat_error,
    cannot_store,
    commit_error,
    finds,
    gives_id,
    kind_of_join,
    loads,
    member_id,
    refuses,
    replaces_member,
    resigns,
    takes_rejoin,
    takes_sync,
)

(
    GIVES_ID,
    ADDS_MEMBER,
    TAKES_REJOIN,
    REPLACES_MEMBER,
    TAKES_SYNC,
    CANNOT_STORE,
    REFUSES,
    TAKES_COMMIT,
    TAKES_COMMIT_OF_OUTSIDER,
    DELAY_IS_OVER,
    JOIN_TIMER,
    SYNC_TIMER,
    SESSION_TIMER,
    PENDING_TIMER,
    RESIGNS,
    LOADS,
    FINDS_COORDINATOR,
    CONSUMER_JOINS,
    TAKES_JOIN_ANSWER,
    TAKES_SYNC_ANSWER,
    TAKES_ASSIGNMENT,
    SEES_PARTITIONS,
    GIVES_UP,
    HEARTBEATS,
    COMMIT_IS_REFUSED,
    HEARS_ERROR,
    CRASHES_NOW,
    RESTARTS,
    CLOSES,
    STALLS_NOW,
    POLLS_AGAIN,
    INTERVAL_PASSES,
    LOSES,
    GROWS,
) = range(34)
"""What can happen, in the order of the specification's rules."""

ACTS = 34

# -- words and desk ---------------------------------------------------------------------------


@compiled
def unpack(words: Words, i: int, desk: Words) -> None:
    """Lay a state on the desk, twice: as it is, and to be worked on."""
    for w in range(desk[WORDS]):
        bits = words[w, i]
        for k in range(desk[WORD + w], desk[WORD + w + 1]):
            value = bits >> desk[SHIFT + k] & desk[MASK + k]
            desk[k] = value
            desk[BEFORE + k] = value


@compiled
def put(desk: Words, act: int, choice: int, i: int, succ: Words, origins: Words, n: int) -> int:
    """Note the state on the desk as the n-th successor, and take up the one before again."""
    for w in range(desk[WORDS]):
        bits = 0
        for k in range(desk[WORD + w], desk[WORD + w + 1]):
            bits |= desk[k] << desk[SHIFT + k]
        succ[w, n] = bits
    origins[n] = i << 16 | act << 8 | choice
    restore(desk)
    return n + 1


@compiled
def restore(desk: Words) -> None:
    """Take up the state before again."""
    for k in range(desk[WORD + desk[WORDS]]):
        desk[k] = desk[BEFORE + k]


@compiled
def put_same(
    words: Words, act: int, choice: int, i: int, succ: Words, origins: Words, n: int
) -> int:
    """Note that something happens, and changes nothing."""
    for w in range(words.shape[0]):
        succ[w, n] = words[w, i]
    origins[n] = i << 16 | act << 8 | choice
    return n + 1


@compiled
def fits(desk: Words) -> bool:
    """Whether the generation is one that the bounds have."""
    return bool(desk[GENERATION] <= desk[GENERATIONS])


# -- what holds -------------------------------------------------------------------------------


@compiled
def polls(desk: Words, c: int) -> bool:
    """Whether a consumer's application runs and polls."""
    return bool(desk[c + PHASE] <= AT_WORK and desk[c + STALLED] == 0)


@compiled
def beats(desk: Words, c: int) -> bool:
    """Whether its heartbeat thread is at work."""
    phase = desk[c + PHASE]
    return bool((phase == SYNCING or phase == AT_WORK) and desk[c + KNOWS] != 0)


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
    if wait == JOINS or wait == JOINS_NEW or wait == SYNCS:
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


# -- the coordinator --------------------------------------------------------------------------


@compiled
def expand_asks(desk: Words, i: int, succ: Words, origins: Words, n: int) -> int:
    """What becomes of every request on its way."""
    for consumer in range(desk[HOW_MANY]):
        c = place(consumer)
        for late in range(2):
            call = desk[c + (LATE if late else CALL)]
            if call != JOIN and call != SYNC:
                continue
            choice = consumer << 1 | late
            if refuses(desk, consumer, late):
                n = put(desk, REFUSES, choice, i, succ, origins, n)
                continue
            if call == SYNC:
                if takes_sync(desk, consumer, late):
                    n = put(desk, TAKES_SYNC, choice, i, succ, origins, n)
                if desk[LOSSES] < desk[MOST_LOSSES] and cannot_store(desk, consumer, late):
                    desk[LOSSES] += 1
                    if fits(desk):
                        n = put(desk, CANNOT_STORE, choice, i, succ, origins, n)
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
                n = put(desk, act, choice, i, succ, origins, n)
            else:
                restore(desk)
    return n


@compiled
def expand_timers(desk: Words, i: int, succ: Words, origins: Words, n: int) -> int:
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
            n = put(desk, act, 0, i, succ, origins, n)
        else:
            restore(desk)
    owing = who_owes_sync(desk)
    if owing and desk[VARIANT] != BEFORE_12890 and may_fire(desk, all_expected(desk, True)):
        without(desk, owing)
        prepare_rebalance(desk)
        if fits(desk):
            n = put(desk, SYNC_TIMER, 0, i, succ, origins, n)
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
                n = put(desk, SESSION_TIMER, member, i, succ, origins, n)
            else:
                restore(desk)
    pending = desk[PENDING]
    for member in range(8):
        if pending >> member & 1 and may_fire(desk, is_expected(desk, member)):
            desk[PENDING] &= ~(1 << member)
            end_the_wait(desk)
            if fits(desk):
                n = put(desk, PENDING_TIMER, member, i, succ, origins, n)
            else:
                restore(desk)
    return n


@compiled
def expand_world(
    words: Words, desk: Words, i: int, succ: Words, origins: Words, n: int
) -> int:
    """What the coordinator does as a whole, the topic, and a consumer that is no member."""
    if desk[STATE] == EMPTY:
        if desk[MEMBERS] == 0:
            n = put_same(words, TAKES_COMMIT_OF_OUTSIDER, 0, i, succ, origins, n)
        else:
            desk[COMMIT_BESIDE] = 1
            n = put(desk, TAKES_COMMIT_OF_OUTSIDER, 0, i, succ, origins, n)
    if desk[STATE] == DEAD:
        loads(desk)
        n = put(desk, LOADS, 0, i, succ, origins, n)
    elif desk[COORDINATOR] < desk[FAILOVERS]:
        resigns(desk)
        n = put(desk, RESIGNS, 0, i, succ, origins, n)
    if desk[GROWN] < desk[GROWTHS]:
        desk[GROWN] += 1
        n = put(desk, GROWS, 0, i, succ, origins, n)
    return n


# -- consumers --------------------------------------------------------------------------------


@compiled
def expand_polling(
    desk: Words, consumer: int, i: int, succ: Words, origins: Words, n: int
) -> int:
    """What a consumer does when its application polls."""
    c = place(consumer)
    phase, call, told = desk[c + PHASE], desk[c + CALL], desk[c + TOLD]
    if desk[c + KNOWS] == 0:
        if desk[STATE] != DEAD:
            desk[c + KNOWS] = desk[COORDINATOR] + 1
            n = put(desk, FINDS_COORDINATOR, consumer, i, succ, origins, n)
    elif told == 0 and (phase == OUT or (phase == AT_WORK and desk[c + WANTS_TO_REJOIN])):
        joins(desk, c)
        n = put(desk, CONSUMER_JOINS, consumer, i, succ, origins, n)
    if phase == JOINING and FOLLOWS <= call < SYNCED:
        takes_join_answer(desk, consumer)
        n = put(desk, TAKES_JOIN_ANSWER, consumer, i, succ, origins, n)
    if phase == SYNCING and call >= SYNCED:
        takes_sync_answer(desk, consumer)
        n = put(desk, TAKES_SYNC_ANSWER, consumer, i, succ, origins, n)
    if told:
        desk[c + TOLD] = 0
        n = put(desk, TAKES_ASSIGNMENT, consumer, i, succ, origins, n)
    elif phase == AT_WORK and desk[c + WANTS_TO_REJOIN] == 0:
        if 0 < desk[c + PLANNED] <= desk[GROWN]:
            desk[c + WANTS_TO_REJOIN] = 1
            n = put(desk, SEES_PARTITIONS, consumer, i, succ, origins, n)
    if phase == JOINING or phase == SYNCING:
        if may_fire(desk, call != NOTHING or is_answered_later(desk, consumer)):
            gives_up(desk, consumer)
            is_out(desk, c)
            desk[c + KNOWS] = 0
            n = put(desk, GIVES_UP, consumer, i, succ, origins, n)
    return n


@compiled
def is_answered_later(desk: Words, consumer: int) -> bool:
    """Whether the coordinator owes a consumer an answer."""
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        waits = wait == SYNCS or wait == JOINS or wait == JOINS_NEW
        if waits and desk[OWNER + member] == consumer:
            return True
    return False


@compiled
def expand_beats(
    words: Words, desk: Words, consumer: int, i: int, succ: Words, origins: Words, n: int
) -> int:
    """Heartbeats, commits, and what a consumer hears of them."""
    c = place(consumer)
    if desk[c + PHASE] > AT_WORK:
        return n
    if desk[c + BEAT] != NO_ERROR:
        hears_error(desk, consumer)
        n = put(desk, HEARS_ERROR, consumer, i, succ, origins, n)
    found = finds(desk, c)
    member = member_id(desk, consumer, desk[c + MEMBER])
    generation = desk[c + OF_GENERATION]
    commits = desk[c + PHASE] == AT_WORK and desk[c + TOLD] == 0 and desk[c + STALLED] == 0
    if desk[c + BEAT] == NO_ERROR:
        if beats(desk, c):
            error = NOT_COORDINATOR
            if found:
                error = beat_error(desk, consumer, member, generation)
            if error == NO_ERROR:
                n = put_same(words, HEARTBEATS, consumer, i, succ, origins, n)
            else:
                desk[c + BEAT] = error
                n = put(desk, HEARTBEATS, consumer, i, succ, origins, n)
        if commits and desk[c + KNOWS]:
            error = NOT_COORDINATOR
            if found:
                error = commit_error(desk, consumer, member, generation)
            if error != NO_ERROR:
                desk[c + BEAT] = error
                n = put(desk, COMMIT_IS_REFUSED, consumer, i, succ, origins, n)
    if commits and found:
        claimed = generation
        if desk[VARIANT] == NO_GENERATION_CHECK:
            claimed = desk[GENERATION]
        if commit_error(desk, consumer, member, claimed) == NO_ERROR:
            behind = desk[GENERATION] - (generation if generation else -1)
            if behind > desk[COMMIT_BEHIND]:
                desk[COMMIT_BEHIND] = behind
                n = put(desk, TAKES_COMMIT, consumer, i, succ, origins, n)
            else:
                n = put_same(words, TAKES_COMMIT, consumer, i, succ, origins, n)
    return n


@compiled
def expand_faults(desk: Words, consumer: int, i: int, succ: Words, origins: Words, n: int) -> int:
    """What goes wrong with a consumer, and what follows from it."""
    c = place(consumer)
    runs = desk[c + PHASE] <= AT_WORK
    if runs and desk[CRASHES] < desk[MOST_CRASHES]:
        ends(desk, consumer, CRASHED)
        desk[CRASHES] += 1
        n = put(desk, CRASHES_NOW, consumer, i, succ, origins, n)
    if desk[c + PHASE] == CRASHED:
        desk[c + PHASE] = OUT
        n = put(desk, RESTARTS, consumer, i, succ, origins, n)
    if runs and desk[c + STALLED] == 0:
        if desk[LEAVES] < desk[MOST_LEAVES]:
            closes(desk, consumer, CLOSED)
            desk[LEAVES] += 1
            if fits(desk):
                n = put(desk, CLOSES, consumer, i, succ, origins, n)
            else:
                restore(desk)
        if desk[STALLS] < desk[MOST_STALLS]:
            desk[c + STALLED] = 1
            desk[STALLS] += 1
            n = put(desk, STALLS_NOW, consumer, i, succ, origins, n)
    if runs and desk[c + STALLED]:
        if beats(desk, c):
            leaves_unasked(desk, consumer)
            if fits(desk):
                n = put(desk, INTERVAL_PASSES, consumer, i, succ, origins, n)
            else:
                restore(desk)
        desk[c + STALLED] = 0
        n = put(desk, POLLS_AGAIN, consumer, i, succ, origins, n)
    if desk[c + CALL] != NOTHING and desk[LOSSES] < desk[MOST_LOSSES]:
        clear_call(desk, c)
        desk[LOSSES] += 1
        n = put(desk, LOSES, consumer, i, succ, origins, n)
    return n


@compiled
def expand(
    words: Words, begin: int, end: int, desk: Words, succ: Words, origins: Words, counts: Words
) -> tuple[int, int]:
    """Write all successors of the states from `begin` to `end`.

    Returns how far it came before there was no more room for the successors of a state, and
    how many successors there are. `counts` gets the number of each act's.
    """
    counts[:] = 0
    n = 0
    stop = end
    for i in range(begin, end):
        if n + desk[FANOUT] > len(origins):
            stop = i
            break
        unpack(words, i, desk)
        n = expand_asks(desk, i, succ, origins, n)
        n = expand_timers(desk, i, succ, origins, n)
        n = expand_world(words, desk, i, succ, origins, n)
        for consumer in range(desk[HOW_MANY]):
            if polls(desk, place(consumer)):
                n = expand_polling(desk, consumer, i, succ, origins, n)
            n = expand_beats(words, desk, consumer, i, succ, origins, n)
            n = expand_faults(desk, consumer, i, succ, origins, n)
    for k in range(n):
        counts[origins[k] >> 8 & 255] += 1
    return stop, n
