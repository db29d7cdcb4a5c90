"""What the consumers may do in the state on the desk, and what may happen to them."""

from __future__ import annotations

from impl.packed.compiled import Words, compiled
from impl.packed.group.acts import (
    CLOSES,
    COMMIT_IS_REFUSED,
    CONSUMER_JOINS,
    CRASHES_NOW,
    FINDS_COORDINATOR,
    GIVES_UP,
    HEARS_ERROR,
    HEARTBEATS,
    INTERVAL_PASSES,
    LOSES,
    POLLS_AGAIN,
    RESTARTS,
    SEES_PARTITIONS,
    STALLS_NOW,
    TAKES_ASSIGNMENT,
    TAKES_COMMIT,
    TAKES_JOIN_ANSWER,
    TAKES_SYNC_ANSWER,
)
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
    CALL,
    CLOSED,
    COMMIT_BEHIND,
    COORDINATOR,
    CRASHED,
    CRASHES,
    DEAD,
    FOLLOWS,
    GENERATION,
    GROWN,
    JOINING,
    JOINS,
    JOINS_NEW,
    KNOWS,
    LEAVES,
    LOSSES,
    MEMBER,
    MOST_CRASHES,
    MOST_LEAVES,
    MOST_LOSSES,
    MOST_STALLS,
    NO_ERROR,
    NO_GENERATION_CHECK,
    NOT_COORDINATOR,
    NOTHING,
    OF_GENERATION,
    OUT,
    OWNER,
    PHASE,
    PLANNED,
    STALLED,
    STALLS,
    STATE,
    SYNCED,
    SYNCING,
    SYNCS,
    TOLD,
    VARIANT,
    WAIT,
    WANTS_TO_REJOIN,
)
from impl.packed.group.group import (
    clear_call,
    listed,
    place,
)
from impl.packed.group.holding import (
    beats,
    may_fire,
)
from impl.packed.group.requests import (
    beat_error,
    commit_error,
    finds,
    member_id,
)
from impl.packed.group.writing import (
    Out,
    fits,
    put,
    put_same,
    restore,
)


@compiled
def expand_polling(desk: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """What a consumer does when its application polls."""
    c = place(consumer)
    phase, call, told = desk[c + PHASE], desk[c + CALL], desk[c + TOLD]
    if desk[c + KNOWS] == 0:
        if desk[STATE] != DEAD:
            desk[c + KNOWS] = desk[COORDINATOR] + 1
            n = put(desk, of | FINDS_COORDINATOR << 8 | consumer, out, n)
    elif told == 0 and (phase == OUT or (phase == AT_WORK and desk[c + WANTS_TO_REJOIN])):
        joins(desk, c)
        n = put(desk, of | CONSUMER_JOINS << 8 | consumer, out, n)
    if phase == JOINING and FOLLOWS <= call < SYNCED:
        takes_join_answer(desk, consumer)
        n = put(desk, of | TAKES_JOIN_ANSWER << 8 | consumer, out, n)
    if phase == SYNCING and call >= SYNCED:
        takes_sync_answer(desk, consumer)
        n = put(desk, of | TAKES_SYNC_ANSWER << 8 | consumer, out, n)
    if told:
        desk[c + TOLD] = 0
        n = put(desk, of | TAKES_ASSIGNMENT << 8 | consumer, out, n)
    else:
        grew = 0 < desk[c + PLANNED] <= desk[GROWN]
        if phase == AT_WORK and grew and not desk[c + WANTS_TO_REJOIN]:
            desk[c + WANTS_TO_REJOIN] = 1
            n = put(desk, of | SEES_PARTITIONS << 8 | consumer, out, n)
    waits = phase in (JOINING, SYNCING)
    if waits and may_fire(desk, call != NOTHING or is_answered_later(desk, consumer)):
        gives_up(desk, consumer)
        is_out(desk, c)
        desk[c + KNOWS] = 0
        n = put(desk, of | GIVES_UP << 8 | consumer, out, n)
    return n


@compiled
def is_answered_later(desk: Words, consumer: int) -> bool:
    """Whether the coordinator owes a consumer an answer."""
    left = listed(desk)
    while left:
        member = (left & 15) - 1
        left >>= 4
        wait = desk[WAIT + member]
        waits = wait in (SYNCS, JOINS, JOINS_NEW)
        if waits and desk[OWNER + member] == consumer:
            return True
    return False


@compiled
def expand_beats(desk: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """Heartbeats, commits, and what a consumer hears of them."""
    c = place(consumer)
    if desk[c + PHASE] > AT_WORK:
        return n
    if desk[c + BEAT] != NO_ERROR:
        hears_error(desk, consumer)
        n = put(desk, of | HEARS_ERROR << 8 | consumer, out, n)
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
                n = put_same(desk, of | HEARTBEATS << 8 | consumer, out, n)
            else:
                desk[c + BEAT] = error
                n = put(desk, of | HEARTBEATS << 8 | consumer, out, n)
        if commits and desk[c + KNOWS]:
            error = NOT_COORDINATOR
            if found:
                error = commit_error(desk, consumer, member, generation)
            if error != NO_ERROR:
                desk[c + BEAT] = error
                n = put(desk, of | COMMIT_IS_REFUSED << 8 | consumer, out, n)
    if commits and found:
        claimed = generation
        if desk[VARIANT] == NO_GENERATION_CHECK:
            claimed = desk[GENERATION]
        if commit_error(desk, consumer, member, claimed) == NO_ERROR:
            behind = desk[GENERATION] - (generation if generation else -1)
            if behind > desk[COMMIT_BEHIND]:
                desk[COMMIT_BEHIND] = behind
                n = put(desk, of | TAKES_COMMIT << 8 | consumer, out, n)
            else:
                n = put_same(desk, of | TAKES_COMMIT << 8 | consumer, out, n)
    return n


@compiled
def expand_faults(desk: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """What goes wrong with a consumer, and what follows from it."""
    c = place(consumer)
    runs = desk[c + PHASE] <= AT_WORK
    if runs and desk[CRASHES] < desk[MOST_CRASHES]:
        ends(desk, consumer, CRASHED)
        desk[CRASHES] += 1
        n = put(desk, of | CRASHES_NOW << 8 | consumer, out, n)
    if desk[c + PHASE] == CRASHED:
        desk[c + PHASE] = OUT
        n = put(desk, of | RESTARTS << 8 | consumer, out, n)
    if runs and desk[c + STALLED] == 0:
        if desk[LEAVES] < desk[MOST_LEAVES]:
            closes(desk, consumer, CLOSED)
            desk[LEAVES] += 1
            if fits(desk):
                n = put(desk, of | CLOSES << 8 | consumer, out, n)
            else:
                restore(desk)
        if desk[STALLS] < desk[MOST_STALLS]:
            desk[c + STALLED] = 1
            desk[STALLS] += 1
            n = put(desk, of | STALLS_NOW << 8 | consumer, out, n)
    if runs and desk[c + STALLED]:
        if beats(desk, c):
            leaves_unasked(desk, consumer)
            if fits(desk):
                n = put(desk, of | INTERVAL_PASSES << 8 | consumer, out, n)
            else:
                restore(desk)
        desk[c + STALLED] = 0
        n = put(desk, of | POLLS_AGAIN << 8 | consumer, out, n)
    if desk[c + CALL] != NOTHING and desk[LOSSES] < desk[MOST_LOSSES]:
        clear_call(desk, c)
        desk[LOSSES] += 1
        n = put(desk, of | LOSES << 8 | consumer, out, n)
    return n
