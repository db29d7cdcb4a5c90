"""What the consumers may do in the state on the sheet, and what may happen to them."""

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
from impl.packed.group.checks import beat_error, commit_error
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
    MEMBERS,
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
from impl.packed.group.requests import finds, member_id
from impl.packed.group.writing import (
    Out,
    put,
    put_fitting,
    put_same,
)


@compiled
def expand_polling(sheet: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """What a consumer does when its application polls."""
    c = place(consumer)
    phase, call, told = sheet[c + PHASE], sheet[c + CALL], sheet[c + TOLD]
    if sheet[c + KNOWS] == 0:
        if sheet[STATE] != DEAD:
            sheet[c + KNOWS] = sheet[COORDINATOR] + 1
            n = put(sheet, of | FINDS_COORDINATOR << 8 | consumer, out, n)
    elif told == 0 and (phase == OUT or (phase == AT_WORK and sheet[c + WANTS_TO_REJOIN])):
        joins(sheet, c)
        n = put(sheet, of | CONSUMER_JOINS << 8 | consumer, out, n)
    if phase == JOINING and FOLLOWS <= call < SYNCED:
        takes_join_answer(sheet, consumer)
        n = put(sheet, of | TAKES_JOIN_ANSWER << 8 | consumer, out, n)
    if phase == SYNCING and call >= SYNCED:
        takes_sync_answer(sheet, consumer)
        n = put(sheet, of | TAKES_SYNC_ANSWER << 8 | consumer, out, n)
    if told:
        sheet[c + TOLD] = 0
        n = put(sheet, of | TAKES_ASSIGNMENT << 8 | consumer, out, n)
    else:
        grew = 0 < sheet[c + PLANNED] <= sheet[GROWN]
        if phase == AT_WORK and grew and not sheet[c + WANTS_TO_REJOIN]:
            sheet[c + WANTS_TO_REJOIN] = 1
            n = put(sheet, of | SEES_PARTITIONS << 8 | consumer, out, n)
    waits = phase in (JOINING, SYNCING)
    if waits and may_fire(sheet, call != NOTHING or is_answered_later(sheet, consumer)):
        gives_up(sheet, consumer)
        is_out(sheet, c)
        sheet[c + KNOWS] = 0
        n = put(sheet, of | GIVES_UP << 8 | consumer, out, n)
    return n


@compiled
def is_answered_later(sheet: Words, consumer: int) -> bool:
    """Whether the coordinator owes a consumer an answer."""
    for member in listed(sheet, sheet[MEMBERS]):
        wait = sheet[WAIT + member]
        waits = wait in (SYNCS, JOINS, JOINS_NEW)
        if waits and sheet[OWNER + member] == consumer:
            return True
    return False


@compiled
def expand_beats(sheet: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """Heartbeats, commits, and what a consumer hears of them."""
    c = place(consumer)
    if sheet[c + PHASE] > AT_WORK:
        return n
    if sheet[c + BEAT] != NO_ERROR:
        hears_error(sheet, consumer)
        n = put(sheet, of | HEARS_ERROR << 8 | consumer, out, n)
    found = finds(sheet, c)
    member = member_id(sheet, consumer, sheet[c + MEMBER])
    generation = sheet[c + OF_GENERATION]
    commits = sheet[c + PHASE] == AT_WORK and sheet[c + TOLD] == 0 and sheet[c + STALLED] == 0
    if sheet[c + BEAT] == NO_ERROR:
        if beats(sheet, c):
            error = NOT_COORDINATOR
            if found:
                error = beat_error(sheet, consumer, member, generation)
            if error == NO_ERROR:
                n = put_same(sheet, of | HEARTBEATS << 8 | consumer, out, n)
            else:
                sheet[c + BEAT] = error
                n = put(sheet, of | HEARTBEATS << 8 | consumer, out, n)
        if commits and sheet[c + KNOWS]:
            error = NOT_COORDINATOR
            if found:
                error = commit_error(sheet, consumer, member, generation)
            if error != NO_ERROR:
                sheet[c + BEAT] = error
                n = put(sheet, of | COMMIT_IS_REFUSED << 8 | consumer, out, n)
    if commits and found:
        claimed = generation
        if sheet[VARIANT] == NO_GENERATION_CHECK:
            claimed = sheet[GENERATION]
        if commit_error(sheet, consumer, member, claimed) == NO_ERROR:
            behind = sheet[GENERATION] - (generation if generation else -1)
            if behind > sheet[COMMIT_BEHIND]:
                sheet[COMMIT_BEHIND] = behind
                n = put(sheet, of | TAKES_COMMIT << 8 | consumer, out, n)
            else:
                n = put_same(sheet, of | TAKES_COMMIT << 8 | consumer, out, n)
    return n


@compiled
def expand_faults(sheet: Words, consumer: int, of: int, out: Out, n: int) -> int:
    """What goes wrong with a consumer, and what follows from it."""
    c = place(consumer)
    runs = sheet[c + PHASE] <= AT_WORK
    if runs and sheet[CRASHES] < sheet[MOST_CRASHES]:
        ends(sheet, consumer, CRASHED)
        sheet[CRASHES] += 1
        n = put(sheet, of | CRASHES_NOW << 8 | consumer, out, n)
    if sheet[c + PHASE] == CRASHED:
        sheet[c + PHASE] = OUT
        n = put(sheet, of | RESTARTS << 8 | consumer, out, n)
    if runs and sheet[c + STALLED] == 0:
        if sheet[LEAVES] < sheet[MOST_LEAVES]:
            closes(sheet, consumer, CLOSED)
            sheet[LEAVES] += 1
            n = put_fitting(sheet, of | CLOSES << 8 | consumer, out, n)
        if sheet[STALLS] < sheet[MOST_STALLS]:
            sheet[c + STALLED] = 1
            sheet[STALLS] += 1
            n = put(sheet, of | STALLS_NOW << 8 | consumer, out, n)
    if runs and sheet[c + STALLED]:
        if beats(sheet, c):
            leaves_unasked(sheet, consumer)
            n = put_fitting(sheet, of | INTERVAL_PASSES << 8 | consumer, out, n)
        sheet[c + STALLED] = 0
        n = put(sheet, of | POLLS_AGAIN << 8 | consumer, out, n)
    if sheet[c + CALL] != NOTHING and sheet[LOSSES] < sheet[MOST_LOSSES]:
        clear_call(sheet, c)
        sheet[LOSSES] += 1
        n = put(sheet, of | LOSES << 8 | consumer, out, n)
    return n
