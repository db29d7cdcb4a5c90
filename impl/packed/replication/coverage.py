"""Coverage: for every choice of every rule, the first guard that blocks it.

It runs only with `--coverage`, so it follows the rules guard by guard in their order, and is not
as fast as `guards`. A guard is identified by its position in its rule.
"""

from __future__ import annotations

import numpy as np

from kspec.impl.packed.compiled import Words, compiled, look
from kspec.impl.packed.kernel import MOST_GUARDS
from kspec.impl.packed.replication.effects import end_of_agreement, end_of_last_epoch
from kspec.impl.packed.replication.words import (
    ADVANCES,
    ELECTS,
    EXPANDS,
    FAILS,
    FETCHES,
    FOLLOWS,
    KIP_101,
    KIP_320,
    KIP_320_FIRST_TRY,
    LEADS,
    SHRINKS,
    TRUNCATE_TO_HW,
    TRUNCATES,
    WRITES,
    Facts,
    epoch_of,
    hw_of,
    leader_of,
    log_of,
    quorum_of,
    record_at,
    request_of,
    requests_of,
    view_epoch,
)

EVERY_GUARD_HOLDS = MOST_GUARDS - 1
"""The position at which enabled choices are counted; no guard has it."""

END, HW, EPOCH, LEADER, ISR = range(5)
"""The rows of the known facts of each broker: its log end offset, and its view."""


@compiled
def same_epoch(one: int, other: int, offset: int, control: int, facts: Facts) -> bool:
    """Whether both logs have a record of the same epoch at an offset."""
    if offset >= facts.log_size:
        return False
    ours, theirs = record_at(one, offset, facts), record_at(other, offset, facts)
    if ours == 0 or theirs == 0:
        return False
    return epoch_of(control, ours, facts) == epoch_of(control, theirs, facts)


@compiled
def caught_up(
    known: Words, logs: int, control: int, leader: int, follower: int, offset: int, facts: Facts
) -> bool:
    """`caught_up` of the variants before KIP-320, for the record below an offset."""
    first_try = facts.variant == KIP_320_FIRST_TRY
    if known[LEADER, follower] != leader or (first_try and known[LEADER, leader] != leader):
        return False
    if offset == 0:
        return True
    if first_try:
        log, own = log_of(logs, leader, facts), log_of(logs, follower, facts)
        return same_epoch(log, own, offset - 1, control, facts)
    return bool(known[END, leader] >= offset and known[END, follower] >= offset)


@compiled
def follows_epoch(known: Words, leader: int, follower: int) -> bool:
    """Whether both agree on who leads, and in which leader epoch."""
    return bool(
        known[LEADER, leader] == leader
        and known[LEADER, follower] == leader
        and known[EPOCH, leader] == known[EPOCH, follower]
    )


@compiled
def first_of(one: bool, two: bool, three: bool, four: bool, five: bool) -> int:
    """The position of the first guard that is false."""
    if not one:
        return 0
    if not two:
        return 1
    if not three:
        return 2
    if not four:
        return 3
    return EVERY_GUARD_HOLDS if five else 4


@compiled
def hw_has_reached_epoch(known: Words, logs: int, control: int, leader: int, facts: Facts) -> bool:
    """Whether all records of earlier epochs are below the leader's high watermark."""
    hw = known[HW, leader]
    if hw >= known[END, leader]:
        return bool(hw == known[END, leader])
    record = record_at(log_of(logs, leader, facts), hw, facts)
    return bool(epoch_of(control, record, facts) + 1 == known[EPOCH, leader])


@compiled
def expanding(
    known: Words, logs: int, control: int, leads: bool, leader: int, follower: int, facts: Facts
) -> int:
    """What blocks leader_expands_isr."""
    hw = known[HW, leader]
    is_out = known[ISR, leader] >> follower & 1 == 0
    if facts.variant == KIP_320:
        follows = follows_epoch(known, leader, follower)
        holds = known[END, follower] >= hw
        reached = hw_has_reached_epoch(known, logs, control, leader, facts)
        return first_of(leads, is_out, follows, holds, reached)
    holds = caught_up(known, logs, control, leader, follower, hw, facts)
    reached = facts.variant != KIP_320_FIRST_TRY or hw_has_reached_epoch(
        known, logs, control, leader, facts
    )
    return first_of(leads, is_out, holds, reached, True)


@compiled
def shrinking(
    known: Words, logs: int, control: int, leads: bool, leader: int, follower: int, facts: Facts
) -> int:
    """What blocks leader_shrinks_isr."""
    is_in = known[ISR, leader] >> follower & 1 == 1
    end = known[END, leader]
    if facts.variant == KIP_320:
        lags = known[END, follower] < end or not follows_epoch(known, leader, follower)
    else:
        lags = not caught_up(known, logs, control, leader, follower, end, facts)
    return first_of(leads, is_in, follower != leader, lags, True)


@compiled
def advancing(known: Words, logs: int, control: int, leader: int, facts: Facts) -> int:
    """What blocks leader_advances_hw."""
    hw = known[HW, leader]
    presumes = known[LEADER, leader] == leader
    follow = True
    hold = True
    for member in range(facts.brokers):
        if known[ISR, leader] >> member & 1:
            if facts.variant == KIP_320_FIRST_TRY:
                hold &= caught_up(known, logs, control, leader, member, hw + 1, facts)
                continue
            hold &= known[END, member] > hw
            if facts.variant == KIP_320:
                follow &= follows_epoch(known, leader, member)
            else:
                follow &= known[LEADER, member] == leader
    if facts.variant == KIP_320_FIRST_TRY:
        return first_of(presumes, known[END, leader] > hw, hold, True, True)
    within = known[END, leader] > hw if facts.variant == KIP_320 else hw < facts.log_size
    return first_of(presumes, within, follow, hold, True)


@compiled
def fetching(
    known: Words, logs: int, control: int, leader: int, follower: int, facts: Facts
) -> int:
    """What blocks follower_fetches."""
    end = known[END, follower]
    more = known[END, leader] > end
    room = end < facts.log_size
    if facts.variant == KIP_320:
        return first_of(follows_epoch(known, leader, follower), more, True, True, True)
    if facts.variant == KIP_320_FIRST_TRY:
        reached = caught_up(known, logs, control, leader, follower, end, facts)
        return first_of(reached, more, room, True, True)
    presumes = known[LEADER, leader] == leader
    return first_of(presumes, known[LEADER, follower] == leader, more, room, True)


@compiled
def truncating(
    known: Words, logs: int, control: int, leader: int, follower: int, facts: Facts
) -> int:
    """What blocks follower_truncates, in the first try."""
    end = known[END, follower]
    own, log = log_of(logs, follower, facts), log_of(logs, leader, facts)
    leaves = end > 0 and not same_epoch(log, own, end - 1, control, facts)
    presumes = known[LEADER, leader] == leader
    return first_of(presumes, known[LEADER, follower] == leader, leaves, True, True)


@compiled
def following(
    known: Words,
    logs: int,
    control: int,
    leader: int,
    epoch: int,
    follower: int,
    facts: Facts,
    tables: Words,
) -> int:
    """What blocks broker_becomes_follower_and_truncates."""
    if leader == facts.brokers:
        return 0
    another = leader != follower
    newer = epoch > known[EPOCH, follower]
    if facts.variant == KIP_320:
        presumes = known[LEADER, leader] == leader
        return first_of(True, another, newer, presumes, known[EPOCH, leader] == epoch)
    if facts.variant == KIP_320_FIRST_TRY:
        return first_of(True, another, newer, True, True)
    hw = known[HW, follower]
    own, log = log_of(logs, follower, facts), log_of(logs, leader, facts)
    if facts.variant == TRUNCATE_TO_HW:
        target = hw
    elif facts.variant == KIP_101:
        target = end_of_last_epoch(log, own, hw, control, facts, tables)
    else:
        target = end_of_agreement(log, own, facts, tables)
    return first_of(True, another, newer, target <= known[END, follower], True)


@compiled
def stops(words: Words, count: int, facts: Facts, tables: Words, stopped: Words) -> None:
    """Count what blocks the rules in the first `count` states, by act and position of the guard."""
    known = np.empty((5, 8), np.int64)
    everybody = range(facts.brokers)
    for i in range(count):
        logs, views, control = words[0, i], words[1, i], words[2, i]
        requests = requests_of(control, facts)
        sent, true_leader, true_isr = quorum_of(views, control, requests, facts)
        is_left = sent <= facts.max_epoch
        next_record = views >> facts.next_record_at & facts.next_record_mask
        for b in everybody:
            known[END, b] = look(tables, facts.ends_at + log_of(logs, b, facts))
            known[HW, b] = hw_of(views, b, facts)
            known[EPOCH, b] = view_epoch(views, b, facts)
            known[LEADER, b] = leader_of(requests, known[EPOCH, b], facts)
            known[ISR, b] = views >> (facts.isrs_at + b * facts.brokers) & facts.everyone
        for b in everybody:
            is_in = true_isr >> b & 1 == 1
            leads = true_leader == b
            presumes = known[LEADER, b] == b
            is_true = leads and presumes and known[EPOCH, b] == sent
            record_left = next_record < facts.max_records
            room = known[END, b] < facts.log_size
            stopped[FAILS, first_of(is_left, leads or is_in, True, True, True)] += 1
            stopped[ELECTS, first_of(is_left, is_in, not leads, True, True)] += 1
            stopped[WRITES, first_of(presumes, record_left, room, True, True)] += 1
            stopped[ADVANCES, advancing(known, logs, control, b, facts)] += 1
            for f in everybody:
                stopped[SHRINKS, shrinking(known, logs, control, is_true, b, f, facts)] += 1
                stopped[EXPANDS, expanding(known, logs, control, is_true, b, f, facts)] += 1
                stopped[FETCHES, fetching(known, logs, control, b, f, facts)] += 1
                stopped[TRUNCATES, truncating(known, logs, control, b, f, facts)] += 1
        for epoch in range(1, sent + 1):
            leader = request_of(requests, epoch, facts) >> facts.brokers
            names = leader < facts.brokers
            newer = names and epoch > known[EPOCH, leader]
            stopped[LEADS, first_of(names, newer, True, True, True)] += 1
            for b in everybody:
                place = following(known, logs, control, leader, epoch, b, facts, tables)
                stopped[FOLLOWS, place] += 1
