"""The replication models on three words: logs, views, control.

All brokers are looked at at once, as bits of a mask, wherever a rule asks something of each of
them: `at_least(o)` is the mask of the brokers whose log reaches offset `o`, `group(e)` that of
the brokers whose view is of epoch `e`. A broker takes another for the leader only by taking a
request, and there is one request for each epoch. So one walk through the requests meets every
broker that presumes leadership exactly once, in the epoch in which it does.

The bounds arrive as values, so that other bounds need no other machine code.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

TRUNCATE_TO_HW, KIP_101, KIP_279, KIP_320_FIRST_TRY, KIP_320 = range(5)

SHRINKS, ELECTS, BECOMES_LEADER, WRITES, LEADER_SHRINKS, LEADER_EXPANDS, ADVANCES = range(7)
BECOMES_FOLLOWER, FETCHES, TRUNCATES = range(7, 10)

WEAK_ISR, STRONG_ISR, LEADER_IN_ISR = 1, 2, 4

RULE = 16
"""A tag is a rule's number, above this many bits of what it chooses."""
FIRST = 8
"""Of two choices, the first stands above this many bits of the second."""


class Facts(NamedTuple):
    """The bounds, and where in the words the fields are."""

    variant: int
    brokers: int
    log_size: int
    max_records: int
    max_epoch: int
    everyone: int
    """The mask of all brokers."""
    id_width: int
    log_width: int
    log_mask: int
    hw_width: int
    hw_mask: int
    epoch_width: int
    epoch_mask: int
    epochs_at: int
    epochs_mask: int
    """All brokers' epochs at once."""
    isrs_at: int
    next_record_at: int
    next_record_mask: int
    request_width: int
    request_mask: int
    next_epoch_at: int
    next_epoch_mask: int
    record_epoch_width: int
    record_epoch_mask: int
    record_epochs_at: int


class Tables(NamedTuple):
    """What is looked up instead of computed; small enough to stay in the nearest cache."""

    ends: np.ndarray[Any, Any]
    """By a log's lane: where the log ends."""
    held: np.ndarray[Any, Any]
    """By a log's lane: a bit for offset 0 and for each that it reaches, as wide as a mask apart."""
    ids: np.ndarray[Any, Any]
    """By a log's lane: the mask of the record ids in it."""
    same: np.ndarray[Any, Any]
    """By the difference of two logs' lanes: the mask of the offsets at which they are the same."""
    length: np.ndarray[Any, Any]
    """By a mask of offsets: the offset after the last."""
    groups: np.ndarray[Any, Any]
    """By all brokers' epochs: the mask of those in each epoch, one mask after the other."""
    spread: np.ndarray[Any, Any]
    """By a mask of brokers: a one at the bottom of each one's lane of the logs."""
    kept: np.ndarray[Any, Any]
    """By a mask of record ids: all bits of the control word but the epochs of other records."""


@njit(cache=True)
def put(succ, tags, n, logs, views, control, tag):
    """Note one more successor."""
    succ[0, n] = logs
    succ[1, n] = views
    succ[2, n] = control
    tags[n] = tag
    return n + 1


@njit(cache=True)
def first_of(mask):
    """The lowest broker of a mask."""
    return np.int64(((mask & 1) ^ 1) * (1 + ((mask >> 1 & 1) ^ 1) * (1 + ((mask >> 2 & 1) ^ 1) * (1 + ((mask >> 3 & 1) ^ 1)))))


@njit(cache=True)
def epoch_of(control, record, facts):
    """The epoch of a record, given as it stands in a log: its id and one."""
    at = facts.record_epochs_at + (record - 1) * facts.record_epoch_width
    return control >> at & facts.record_epoch_mask


@njit(cache=True)
def record_at(log, offset, facts):
    """The record at an offset of a log's lane: its id and one, or 0 where there is none."""
    return log >> (offset * facts.id_width) & ((1 << facts.id_width) - 1)


@njit(cache=True)
def where_epochs_agree(logs, control, reach, leader_log, offset, facts):
    """Those of `reach` whose record below the offset has the epoch of the leader's there."""
    if offset == 0:
        return reach
    theirs = record_at(leader_log, offset - 1, facts)
    if theirs == 0:
        return 0
    agree = 0
    for b in range(facts.brokers):
        own = record_at(logs >> (b * facts.log_width) & facts.log_mask, offset - 1, facts)
        if own != 0 and epoch_of(control, own, facts) == epoch_of(control, theirs, facts):
            agree |= 1 << b
    return reach & agree


@njit(cache=True)
def end_of_agreement(leader_log, log, tables):
    """The offset after the last one at which both hold the same record."""
    both = tables.same[leader_log ^ log] & ((1 << tables.ends[log]) - 1)
    return tables.length[both]


@njit(cache=True)
def end_of_own_last_epoch(leader_log, log, hw, control, facts, tables):
    """Where the leader's log leaves the epoch of the follower's last record (KIP-101)."""
    end = tables.ends[log]
    leader_end = tables.ends[leader_log]
    if end == 0:
        return end
    if leader_end == 0:
        return hw
    last = epoch_of(control, record_at(log, end - 1, facts), facts)
    if epoch_of(control, record_at(leader_log, leader_end - 1, facts), facts) == last:
        return leader_end
    for offset in range(leader_end):
        if epoch_of(control, record_at(leader_log, offset, facts), facts) > last:
            return offset
    return hw


@njit(cache=True)
def cut(logs, control, broker, log, offset, facts, tables):
    """Logs and control after a broker cut its log; a record that is gone has no epoch."""
    kept = log & ((1 << (offset * facts.id_width)) - 1)
    logs ^= (log ^ kept) << (broker * facts.log_width)
    present = 0
    for b in range(facts.brokers):
        present |= tables.ids[logs >> (b * facts.log_width) & facts.log_mask]
    return logs, control & tables.kept[present]


@njit(cache=True)
def with_hw(views, broker, hw, new, facts):
    """The views with another high watermark of one broker."""
    return views + ((new - hw) << (broker * facts.hw_width))


@njit(cache=True)
def with_request(views, broker, epoch, request, facts):
    """The views after a broker took a request: its epoch and its isr are the request's."""
    at = facts.epochs_at + broker * facts.epoch_width
    views = views & ~(facts.epoch_mask << at) | epoch << at
    at = facts.isrs_at + broker * facts.brokers
    return views & ~(facts.everyone << at) | (request & facts.everyone) << at


@njit(cache=True)
def successors(logs, views, control, facts, tables, succ, tags, n):
    """Write every successor of one state and what led to it, from index `n` on."""
    brokers = facts.brokers
    everyone = facts.everyone
    sent = control >> facts.next_epoch_at & facts.next_epoch_mask
    next_record = views >> facts.next_record_at & facts.next_record_mask
    groups = tables.groups[views >> facts.epochs_at & facts.epochs_mask]
    held = np.int64(0)
    for b in range(brokers):
        held |= tables.held[logs >> (b * facts.log_width) & facts.log_mask] << b
    fenced = facts.variant == KIP_320

    # Whom each broker is followed by, whatever the epoch: one mask after the other.
    followers = np.int64(0)
    if not fenced:
        for e in range(sent):
            leader = (control >> (e * facts.request_width) & facts.request_mask) >> brokers
            if leader < brokers:
                followers |= (groups >> ((e + 1) * brokers) & everyone) << (leader * brokers)

    older = groups & everyone  # those whose view is of an epoch before the request's
    last_leader = brokers
    last_isr = everyone
    for e in range(sent):
        code = e + 1
        request = control >> (e * facts.request_width) & facts.request_mask
        leader = request >> brokers
        group = groups >> (code * brokers) & everyone
        last = code == sent
        if last:
            last_leader = leader
            last_isr = request & everyone
        if leader == brokers:
            older |= group
            continue
        me = 1 << leader
        leader_log = logs >> (leader * facts.log_width) & facts.log_mask
        presumes = group & me

        if older & me:
            after = with_request(views, leader, code, request, facts)
            n = put(succ, tags, n, logs, after, control, BECOMES_LEADER << RULE | e)

        if presumes or not fenced:
            todo = older & ~me
            while todo:
                f = first_of(todo)
                todo &= todo - 1
                log = logs >> (f * facts.log_width) & facts.log_mask
                hw = views >> (f * facts.hw_width) & facts.hw_mask
                end = tables.ends[log]
                if facts.variant == KIP_320_FIRST_TRY:
                    target = end
                elif facts.variant == TRUNCATE_TO_HW:
                    target = hw
                elif facts.variant == KIP_101:
                    target = end_of_own_last_epoch(leader_log, log, hw, control, facts, tables)
                else:
                    target = end_of_agreement(leader_log, log, tables)
                if target > end:
                    continue
                after = with_request(views, f, code, request, facts)
                if facts.variant != KIP_320_FIRST_TRY and target < hw:
                    after = with_hw(after, f, hw, target, facts)
                tag = BECOMES_FOLLOWER << RULE | f << FIRST | e
                if target < end:
                    l2, c2 = cut(logs, control, f, log, target, facts, tables)
                    n = put(succ, tags, n, l2, after, c2, tag)
                else:
                    n = put(succ, tags, n, logs, after, control, tag)
        older |= group

        if not presumes:
            continue
        end = tables.ends[leader_log]
        hw = views >> (leader * facts.hw_width) & facts.hw_mask
        isr_at = facts.isrs_at + leader * brokers
        isr = views >> isr_at & everyone
        reach = group if fenced else followers >> (leader * brokers) & everyone
        at_end = held >> (end * brokers) & everyone

        if next_record < facts.max_records and end < facts.log_size:
            l2 = logs + ((next_record + 1) << (leader * facts.log_width + end * facts.id_width))
            v2 = views + (np.int64(1) << facts.next_record_at)
            at = facts.record_epochs_at + next_record * facts.record_epoch_width
            n = put(succ, tags, n, l2, v2, control | e << at, WRITES << RULE | leader)

        # Who may be copied to: whoever deals with the leader and has less.
        todo = reach & ~at_end
        while todo:
            f = first_of(todo)
            todo &= todo - 1
            log = logs >> (f * facts.log_width) & facts.log_mask
            own_end = tables.ends[log]
            if facts.variant == KIP_320_FIRST_TRY:
                if not where_epochs_agree(logs, control, 1 << f, leader_log, own_end, facts):
                    continue
            record = record_at(leader_log, own_end, facts)
            l2 = logs | record << (f * facts.log_width + own_end * facts.id_width)
            own_hw = views >> (f * facts.hw_width) & facts.hw_mask
            v2 = with_hw(views, f, own_hw, min(hw, own_end + 1), facts)
            n = put(succ, tags, n, l2, v2, control, FETCHES << RULE | leader << FIRST | f)

        if facts.variant == KIP_320_FIRST_TRY:
            for f in range(brokers):
                log = logs >> (f * facts.log_width) & facts.log_mask
                own_end = tables.ends[log]
                if reach >> f & 1 and (
                    own_end > end
                    or not where_epochs_agree(logs, control, 1 << f, leader_log, own_end, facts)
                ):
                    target = end_of_agreement(leader_log, log, tables)
                    own_hw = views >> (f * facts.hw_width) & facts.hw_mask
                    v2 = with_hw(views, f, own_hw, min(own_hw, target), facts)
                    l2, c2 = cut(logs, control, f, log, target, facts, tables)
                    n = put(succ, tags, n, l2, v2, c2, TRUNCATES << RULE | leader << FIRST | f)

        if hw < facts.log_size:
            above = reach & held >> ((hw + 1) * brokers)
            if facts.variant == KIP_320_FIRST_TRY:
                above = where_epochs_agree(logs, control, above, leader_log, hw + 1, facts)
            if isr & ~above == 0 and (facts.variant < KIP_320_FIRST_TRY or hw < end):
                v2 = with_hw(views, leader, hw, hw + 1, facts)
                n = put(succ, tags, n, logs, v2, control, ADVANCES << RULE | leader)

        if last:  # leads by the controller's word
            caught_up = reach & at_end
            if facts.variant == KIP_320_FIRST_TRY:
                caught_up = where_epochs_agree(logs, control, caught_up, leader_log, end, facts)
            todo = isr & ~me & ~caught_up
            while todo:
                f = first_of(todo)
                v2 = views & ~((todo & -todo) << isr_at)
                todo &= todo - 1
                tag = LEADER_SHRINKS << RULE | leader << FIRST | f
                n = put(succ, tags, n, logs, v2, control, tag)

            todo = reach & ~isr & held >> (hw * brokers) & everyone
            if fenced or facts.variant == KIP_320_FIRST_TRY:
                if hw < end:
                    record = record_at(leader_log, hw, facts)
                    if epoch_of(control, record, facts) != e:
                        todo = 0
                elif hw > end:
                    todo = 0
                if not fenced:
                    todo = where_epochs_agree(logs, control, todo, leader_log, hw, facts)
            elif hw > end:
                todo = 0
            while todo:
                f = first_of(todo)
                v2 = views | (todo & -todo) << isr_at
                todo &= todo - 1
                tag = LEADER_EXPANDS << RULE | leader << FIRST | f
                n = put(succ, tags, n, logs, v2, control, tag)
            last_isr = isr

    if sent <= facts.max_epoch:
        base = control + (np.int64(1) << facts.next_epoch_at)
        at = sent * facts.request_width
        leads = 1 << last_leader & everyone
        todo = last_isr | leads
        while todo:
            b = first_of(todo)
            me = todo & -todo
            todo &= todo - 1
            if me == leads:
                rest = last_isr if last_isr == me else last_isr & ~me
                request = brokers << brokers | rest
            else:
                request = last_leader << brokers | last_isr & ~me
            n = put(succ, tags, n, logs, views, base | request << at, SHRINKS << RULE | b)
            if me & last_isr and me != leads:
                request = b << brokers | last_isr
                n = put(succ, tags, n, logs, views, base | request << at, ELECTS << RULE | b)
    return n


@njit(cache=True)
def violated(logs, views, control, facts, tables):
    """The mask of the properties that one state violates."""
    brokers = facts.brokers
    everyone = facts.everyone
    sent = control >> facts.next_epoch_at & facts.next_epoch_mask
    if sent == 0:
        return 0
    request = control >> ((sent - 1) * facts.request_width) & facts.request_mask
    true_leader = request >> brokers
    true_isr = request & everyone
    epochs = views >> facts.epochs_at
    if true_leader < brokers:
        if epochs >> (true_leader * facts.epoch_width) & facts.epoch_mask == sent:
            true_isr = views >> (facts.isrs_at + true_leader * brokers) & everyone
    found = 0
    if true_leader < brokers and true_isr >> true_leader & 1 == 0:
        found = LEADER_IN_ISR
    for b in range(brokers):
        hw = views >> (b * facts.hw_width) & facts.hw_mask
        if hw == 0:
            continue
        epoch = epochs >> (b * facts.epoch_width) & facts.epoch_mask
        if epoch == 0:
            continue
        request = control >> ((epoch - 1) * facts.request_width) & facts.request_mask
        if request >> brokers != b:
            continue
        log = logs >> (b * facts.log_width) & facts.log_mask
        isr = views >> (facts.isrs_at + b * brokers) & everyone
        if tables.ends[log] < hw:
            found |= (WEAK_ISR if isr else 0) | (STRONG_ISR if true_isr else 0)
        else:
            below = (1 << (hw * facts.id_width)) - 1
            differs = logs ^ log * tables.spread[everyone]
            if differs & tables.spread[isr] * below:
                found |= WEAK_ISR
            if differs & tables.spread[true_isr] * below:
                found |= STRONG_ISR
    return found


@njit(cache=True, nogil=True)
def expand(words, begin, end, facts, tables, succ, tags, ends):
    """The successors of the states from `begin` to `end`, each state's one after the other."""
    n = 0
    for i in range(begin, end):
        n = successors(words[0, i], words[1, i], words[2, i], facts, tables, succ, tags, n)
        ends[i] = n
    return n


@njit(cache=True, nogil=True)
def check(words, begin, end, facts, tables, masks):
    """Which properties the states from `begin` to `end` violate; and all of these together."""
    found = 0
    for i in range(begin, end):
        mask = violated(words[0, i], words[1, i], words[2, i], facts, tables)
        masks[i] = mask
        found |= mask
    return found
