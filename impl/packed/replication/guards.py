"""The enabled rules of a state: all guards of all rules, for all brokers at once.

A condition on each broker is a mask. `held >> o * brokers` are
the brokers whose log reaches offset `o`; `groups >> e * brokers` are those whose view is of
epoch `e`. A broker learns its leader only from a request, and each epoch has one request: so the
epoch of its view determines its leader.

No branch depends on the state, so that the processor mispredicts none.
"""

from __future__ import annotations

from kspec.impl.packed.compiled import Words, compiled, look
from kspec.impl.packed.replication.words import (
    KIP_320,
    KIP_320_FIRST_TRY,
    Facts,
    all_if,
    epoch_of,
    hw_of,
    leader_of,
    log_of,
    quorum_of,
    record_at,
    requests_of,
    view_epoch,
)


@compiled
def where_epochs_agree(
    logs: int, control: int, reach: int, leader_log: int, offset: int, facts: Facts
) -> int:
    """The brokers in `reach` whose record below the offset has the epoch of the leader's there."""
    if offset == 0:
        return reach
    agree = 0
    theirs = record_at(leader_log, offset - 1, facts)
    if theirs == 0:
        return agree
    for b in range(facts.brokers):
        own = record_at(log_of(logs, b, facts), offset - 1, facts)
        if own != 0 and epoch_of(control, own, facts) == epoch_of(control, theirs, facts):
            agree |= 1 << b
    return reach & agree


@compiled
def where_own_epochs_agree(
    logs: int, control: int, reach: int, leader_log: int, facts: Facts, tables: Words
) -> int:
    """The brokers in `reach` whose last record has the epoch of the leader's there."""
    agree = 0
    for b in range(facts.brokers):
        end = look(tables, facts.ends_at + log_of(logs, b, facts))
        agree |= where_epochs_agree(logs, control, reach & 1 << b, leader_log, end, facts)
    return agree


@compiled
def guards(logs: int, views: int, control: int, facts: Facts, tables: Words) -> tuple[int, int]:
    """The enabled rules of one state: which broker can accept which request, and the other acts.

    Both are masks with a byte for each epoch or act, and in it a bit for each broker.
    """
    brokers = facts.brokers
    everyone = facts.everyone
    sent = control >> facts.next_epoch_at & facts.next_epoch_mask
    next_record = views >> facts.next_record_at & facts.next_record_mask
    epochs = views >> facts.epochs_at & facts.epochs_mask
    groups = look(tables, facts.groups_at + epochs)
    fenced = facts.variant == KIP_320
    first_try = facts.variant == KIP_320_FIRST_TRY
    requests = requests_of(control, facts)

    held = 0
    followers = 0
    for b in range(brokers):
        held |= look(tables, facts.held_at + log_of(logs, b, facts)) << b
        epoch = view_epoch(views, b, facts)
        leader = leader_of(requests, epoch, facts)
        followers |= 1 << (leader * brokers + b)

    takes = 0
    older = groups & everyone
    for epoch in range(1, facts.max_epoch + 2):
        leader = 1 << leader_of(requests, epoch, facts) & everyone
        group = groups >> (epoch * brokers) & everyone
        may = leader
        if fenced:
            may |= all_if(group & leader != 0)
        else:
            may |= all_if(leader != 0)
        takes |= (older & may & all_if(epoch <= sent)) << (8 * (epoch - 1))
        older |= group

    room = next_record < facts.max_records
    writes = 0
    advances = 0
    fetches = 0
    truncates = 0
    for b in range(brokers):
        me = 1 << b
        epoch = view_epoch(views, b, facts)
        own = followers >> (b * brokers) & everyone
        presumes = -(own >> b & 1)
        reach = groups >> (epoch * brokers) & everyone if fenced else own
        reach &= presumes
        log = log_of(logs, b, facts)
        end = look(tables, facts.ends_at + log)
        hw = hw_of(views, b, facts)
        isr = views >> (facts.isrs_at + b * brokers) & everyone
        writes |= me & presumes & all_if(room & (end < facts.log_size))
        behind = reach & ~(held >> (end * brokers))
        above = reach & held >> ((hw + 1) * brokers)
        if first_try:
            above = where_epochs_agree(logs, control, above, log, hw + 1, facts)
            agree = where_own_epochs_agree(logs, control, reach, log, facts, tables)
            truncates |= reach & ~agree
            behind &= agree
        fetches |= behind
        limit = facts.log_size if facts.variant < KIP_320_FIRST_TRY else end
        advances |= me & presumes & all_if(hw < limit) & all_if(isr & ~above == 0)

    _, leader, isr = quorum_of(views, control, requests, facts)
    leads = 1 << leader & everyone
    b = leader & all_if(leads != 0)
    epoch = view_epoch(views, b, facts)
    heard = all_if((leads != 0) & (epoch == sent))
    reach = (
        groups >> (sent * brokers) & everyone if fenced else followers >> (b * brokers) & everyone
    )
    log = log_of(logs, b, facts)
    end = look(tables, facts.ends_at + log)
    hw = hw_of(views, b, facts)
    caught_up = reach & held >> (end * brokers)
    holding = reach & held >> (hw * brokers)
    reached = -1
    if fenced or first_try:
        record = record_at(log, min(hw, facts.log_size - 1), facts)
        current = epoch_of(control, max(record, 1), facts) + 1 == sent
        reached = all_if((hw == end) | ((hw < end) & current))
        if first_try:
            caught_up = where_epochs_agree(logs, control, caught_up, log, end, facts)
            holding = where_epochs_agree(logs, control, holding, log, hw, facts)
    else:
        reached = all_if(hw <= end)
    shrinks = isr & ~leads & ~caught_up & heard
    expands = everyone & ~isr & holding & reached & heard

    left = all_if(sent <= facts.max_epoch)
    fails = (isr | leads) & left
    elects = isr & ~leads & left
    acts = fails | elects << 8 | writes << 16 | shrinks << 24 | expands << 32
    return takes, acts | advances << 40 | fetches << 48 | truncates << 56
