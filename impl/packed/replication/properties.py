"""The properties of replication, as masks."""

from __future__ import annotations

from kspec.impl.packed.compiled import Words, compiled, look
from kspec.impl.packed.replication.words import (
    LEADER_IN_ISR,
    STRONG_ISR,
    WEAK_ISR,
    Facts,
    all_if,
    hw_of,
    leader_of,
    log_of,
    quorum_of,
    requests_of,
    view_epoch,
)


@compiled
def violated(logs: int, views: int, control: int, facts: Facts, tables: Words) -> int:
    """The mask of the properties that one state violates."""
    brokers = facts.brokers
    requests = requests_of(control, facts)
    _, true_leader, true_isr = quorum_of(views, control, requests, facts)
    leader_is_out = 1 << true_leader & facts.everyone & ~true_isr
    weak = 0
    strong = 0
    for b in range(brokers):
        presumes = all_if(leader_of(requests, view_epoch(views, b, facts), facts) == b)
        hw = hw_of(views, b, facts)
        isr = views >> (facts.isrs_at + b * brokers) & facts.everyone
        log = log_of(logs, b, facts)
        below = (1 << (hw * facts.id_width)) - 1
        differs = (logs ^ log * look(tables, facts.spread_at + facts.everyone)) & presumes
        short = all_if(hw > look(tables, facts.ends_at + log)) & presumes
        weak |= differs & look(tables, facts.spread_at + isr) * below | short & isr
        strong |= differs & look(tables, facts.spread_at + true_isr) * below | short & true_isr
    found = WEAK_ISR & all_if(weak != 0) | STRONG_ISR & all_if(strong != 0)
    return found | LEADER_IN_ISR & all_if(leader_is_out != 0)


@compiled
def check(words: Words, begin: int, end: int, facts: Facts, tables: Words, masks: Words) -> int:
    """The properties that each state from `begin` to `end` violates, and all of them together."""
    found = 0
    for i in range(begin, end):
        mask = violated(words[0, i], words[1, i], words[2, i], facts, tables)
        masks[i] = mask
        found |= mask
    return found


@compiled
def ends(words: Words, places: Words, facts: Facts) -> int:
    """The number of final states, in which the ISR is empty and there is no leader. All other
    states have a next request.
    """
    found = 0
    for i in places:
        requests = requests_of(words[2, i], facts)
        _, leader, isr = quorum_of(words[1, i], words[2, i], requests, facts)
        found += int(isr == 0 and leader >= facts.brokers)
    return found
