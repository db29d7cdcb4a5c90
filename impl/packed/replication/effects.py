"""The effects: the successors of a batch of states, act by act.

The guards of the whole batch are evaluated first, into a list of work for each act. Then each
list is processed by straight-line code, without branches that the processor mispredicts.
"""

from __future__ import annotations

from kspec.impl.packed.compiled import Words, compiled, look, lowest
from kspec.impl.packed.replication.guards import guards
from kspec.impl.packed.replication.words import (
    ADVANCES,
    ELECTS,
    EXPANDS,
    FAILS,
    FETCHES,
    FOLLOWS,
    KIP_101,
    KIP_320_FIRST_TRY,
    LEADS,
    SHRINKS,
    TRUNCATE_TO_HW,
    TRUNCATES,
    WRITES,
    Facts,
    all_if,
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


@compiled
def put(
    succ: Words, origins: Words, n: int, logs: int, views: int, control: int, origin: int
) -> None:
    """Write a successor and its origin."""
    succ[0, n] = logs
    succ[1, n] = views
    succ[2, n] = control
    origins[n] = origin


@compiled
def end_of_agreement(leader_log: int, log: int, facts: Facts, tables: Words) -> int:
    """The offset after the last one at which both logs hold the same record (KIP-279)."""
    both = look(tables, facts.same_at + (leader_log ^ log)) & (
        (1 << look(tables, facts.ends_at + log)) - 1
    )
    return look(tables, facts.length_at + both)


@compiled
def end_of_last_epoch(
    leader_log: int, log: int, hw: int, control: int, facts: Facts, tables: Words
) -> int:
    """Where the epoch of the follower's last record ends in the leader's log (KIP-101)."""
    end = look(tables, facts.ends_at + log)
    leader_end = look(tables, facts.ends_at + leader_log)
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


@compiled
def cut(
    logs: int, control: int, broker: int, log: int, offset: int, facts: Facts, tables: Words
) -> tuple[int, int]:
    """Logs and control after a broker truncated its log; a removed record has no epoch."""
    kept = log & ((1 << (offset * facts.id_width)) - 1)
    logs ^= (log ^ kept) << (broker * facts.log_width)
    present = 0
    for b in range(facts.brokers):
        present |= look(tables, facts.ids_at + (logs >> (b * facts.log_width) & facts.log_mask))
    return logs, control & look(tables, facts.kept_at + present)


@compiled
def with_hw(views: int, broker: int, hw: int, new: int, facts: Facts) -> int:
    """The views with another high watermark for one broker."""
    return views + ((new - hw) << (broker * facts.hw_width))


@compiled
def with_request(views: int, broker: int, epoch: int, request: int, facts: Facts) -> int:
    """The views after a broker accepted a request: it has the request's epoch and ISR."""
    at = facts.epochs_at + broker * facts.epoch_width
    views = views & ~(facts.epoch_mask << at) | epoch << at
    at = facts.isrs_at + broker * facts.brokers
    return views & ~(facts.everyone << at) | (request & facts.everyone) << at


@compiled
def controller_decides(
    words: Words,
    todo: Words,
    count: int,
    elects: bool,
    facts: Facts,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """The controller's rules: a broker fails, or is elected, in the next request."""
    act = ELECTS if elects else FAILS
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        requests = requests_of(control, facts)
        sent, leader, isr = quorum_of(views, control, requests, facts)
        me = 1 << b
        if elects:
            request = b << facts.brokers | isr
        else:
            leads = all_if(leader == b)
            last = leads & all_if(isr == me)
            request = (facts.brokers & leads | leader & ~leads) << facts.brokers | isr & (
                ~me | last
            )
        control += 1 << facts.next_epoch_at
        control |= request << (sent * facts.request_width)
        put(succ, origins, n + k, logs, views, control, i << 16 | act << 8 | b)
    return n + count


@compiled
def leader_appends(
    words: Words,
    todo: Words,
    count: int,
    facts: Facts,
    tables: Words,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """A broker that presumes leadership appends a record."""
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        record = views >> facts.next_record_at & facts.next_record_mask
        end = look(tables, facts.ends_at + log_of(logs, b, facts))
        epoch = view_epoch(views, b, facts) - 1
        logs += record + 1 << (b * facts.log_width + end * facts.id_width)
        views += 1 << facts.next_record_at
        control |= epoch << (facts.record_epochs_at + record * facts.record_epoch_width)
        put(succ, origins, n + k, logs, views, control, i << 16 | WRITES << 8 | b)
    return n + count


@compiled
def leader_changes_isr(
    words: Words,
    todo: Words,
    count: int,
    act: int,
    facts: Facts,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """The current leader shrinks or expands the ISR."""
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        sent = control >> facts.next_epoch_at & facts.next_epoch_mask
        leader = leader_of(requests_of(control, facts), sent, facts)
        views ^= 1 << (facts.isrs_at + leader * facts.brokers + b)
        put(succ, origins, n + k, logs, views, control, i << 16 | act << 8 | b)
    return n + count


@compiled
def leader_advances_hw(
    words: Words, todo: Words, count: int, facts: Facts, succ: Words, origins: Words, n: int
) -> int:
    """A leader commits one more record."""
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        views = words[1, i] + (1 << (b * facts.hw_width))
        put(succ, origins, n + k, words[0, i], views, words[2, i], i << 16 | ADVANCES << 8 | b)
    return n + count


@compiled
def follower_fetches(
    words: Words,
    todo: Words,
    count: int,
    facts: Facts,
    tables: Words,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """A follower copies the next record, and learns the high watermark."""
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        leader = leader_of(requests_of(control, facts), view_epoch(views, b, facts), facts)
        end = look(tables, facts.ends_at + log_of(logs, b, facts))
        record = record_at(log_of(logs, leader, facts), end, facts)
        logs |= record << (b * facts.log_width + end * facts.id_width)
        hw = min(hw_of(views, leader, facts), end + 1)
        views = with_hw(views, b, hw_of(views, b, facts), hw, facts)
        put(succ, origins, n + k, logs, views, control, i << 16 | FETCHES << 8 | b)
    return n + count


@compiled
def follower_truncates(
    words: Words,
    todo: Words,
    count: int,
    facts: Facts,
    tables: Words,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """A follower truncates its log to where it agrees with the leader's."""
    for k in range(count):
        i, b = todo[k] >> 3, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        leader = leader_of(requests_of(control, facts), view_epoch(views, b, facts), facts)
        log = log_of(logs, b, facts)
        target = end_of_agreement(log_of(logs, leader, facts), log, facts, tables)
        hw = hw_of(views, b, facts)
        views = with_hw(views, b, hw, min(hw, target), facts)
        logs, control = cut(logs, control, b, log, target, facts, tables)
        put(succ, origins, n + k, logs, views, control, i << 16 | TRUNCATES << 8 | b)
    return n + count


@compiled
def becomes_leader(
    words: Words, todo: Words, count: int, facts: Facts, succ: Words, origins: Words, n: int
) -> int:
    """A broker accepts a request that names it leader."""
    for k in range(count):
        i, e, b = todo[k] >> 6, todo[k] >> 3 & 7, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        request = request_of(requests_of(control, facts), e + 1, facts)
        views = with_request(views, b, e + 1, request, facts)
        put(succ, origins, n + k, logs, views, control, i << 16 | LEADS << 8 | e << 3 | b)
    return n + count


@compiled
def becomes_follower(
    words: Words,
    todo: Words,
    count: int,
    facts: Facts,
    tables: Words,
    succ: Words,
    origins: Words,
    n: int,
) -> int:
    """A broker accepts a request that names another leader, and truncates its log."""
    for k in range(count):
        i, e, b = todo[k] >> 6, todo[k] >> 3 & 7, todo[k] & 7
        logs, views, control = words[0, i], words[1, i], words[2, i]
        request = request_of(requests_of(control, facts), e + 1, facts)
        log = log_of(logs, b, facts)
        leader_log = log_of(logs, request >> facts.brokers, facts)
        hw = hw_of(views, b, facts)
        end = look(tables, facts.ends_at + log)
        views = with_request(views, b, e + 1, request, facts)
        if facts.variant != KIP_320_FIRST_TRY:
            if facts.variant == TRUNCATE_TO_HW:
                target = hw
            elif facts.variant == KIP_101:
                target = end_of_last_epoch(leader_log, log, hw, control, facts, tables)
            else:
                target = end_of_agreement(leader_log, log, facts, tables)
            views = with_hw(views, b, hw, min(hw, target), facts)
            if target > end:
                continue
            logs, control = cut(logs, control, b, log, target, facts, tables)
        put(succ, origins, n, logs, views, control, i << 16 | FOLLOWS << 8 | e << 3 | b)
        n += 1
    return n


@compiled
def expand(
    words: Words,
    begin: int,
    end: int,
    facts: Facts,
    tables: Words,
    todo: Words,
    succ: Words,
    origins: Words,
    counts: Words,
) -> tuple[int, int]:
    """Write all successors of the states from `begin` to `end`, act by act.

    Returns how many states were expanded before the room for successors was used up, and the
    number of successors. `counts` gets the number of successors of each act.
    """
    counts[:] = 0
    total = 0
    stop = end
    for i in range(begin, end):
        if total + facts.fanout > todo.shape[1]:
            stop = i
            break
        takes, acts = guards(words[0, i], words[1, i], words[2, i], facts, tables)
        while acts:
            bit = lowest(acts)
            acts &= acts - 1
            k = counts[bit >> 3]
            todo[bit >> 3, k] = i << 3 | bit & 7
            counts[bit >> 3] = k + 1
            total += 1
        if takes:
            requests = requests_of(words[2, i], facts)
            while takes:
                bit = lowest(takes)
                takes &= takes - 1
                leader = leader_of(requests, (bit >> 3) + 1, facts)
                act = LEADS + (leader != bit & 7)
                k = counts[act]
                todo[act, k] = i << 6 | bit
                counts[act] = k + 1
                total += 1
    n = 0
    n = controller_decides(words, todo[FAILS], counts[FAILS], False, facts, succ, origins, n)
    n = controller_decides(words, todo[ELECTS], counts[ELECTS], True, facts, succ, origins, n)
    n = leader_appends(words, todo[WRITES], counts[WRITES], facts, tables, succ, origins, n)
    n = leader_changes_isr(words, todo[SHRINKS], counts[SHRINKS], SHRINKS, facts, succ, origins, n)
    n = leader_changes_isr(words, todo[EXPANDS], counts[EXPANDS], EXPANDS, facts, succ, origins, n)
    n = leader_advances_hw(words, todo[ADVANCES], counts[ADVANCES], facts, succ, origins, n)
    n = follower_fetches(words, todo[FETCHES], counts[FETCHES], facts, tables, succ, origins, n)
    n = follower_truncates(
        words, todo[TRUNCATES], counts[TRUNCATES], facts, tables, succ, origins, n
    )
    n = becomes_leader(words, todo[LEADS], counts[LEADS], facts, succ, origins, n)
    before = n
    n = becomes_follower(words, todo[FOLLOWS], counts[FOLLOWS], facts, tables, succ, origins, n)
    counts[FOLLOWS] = n - before
    return stop, n
