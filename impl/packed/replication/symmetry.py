"""Brokers are interchangeable: one state represents all that differ only by brokers' names.

No rule compares broker ids or depends on their order, so every step of a state has a counterpart
in its renamed states. The renamed states of a state are its orbit; its representative is found
without trying every renaming:

1. Each broker gets a key from everything that does not depend on brokers' names: its log, its high
   watermark, its epoch, and the requests with it in the ISR. Brokers are sorted by key.
2. Only brokers with equal keys, which are few, are tried in every order; the least words win.

Two keys may be equal by accident: that costs time, but does not change the result.
"""

from __future__ import annotations

from itertools import pairwise, permutations
from math import factorial
from typing import NamedTuple

import numpy as np

from kspec.impl.packed.compiled import Words, compiled, look
from kspec.impl.packed.replication.words import (
    Facts,
    hw_of,
    log_of,
    request_of,
    requests_of,
    view_epoch,
)

SPREAD = 0x5851F42D4C957F2D
"""An odd number without a pattern, so that keys are rarely equal by accident."""


class Renamings(NamedTuple):
    """Where the tables of renamings begin; each renaming has a number, and 0 is the identity."""

    requests_in_isr: int
    """The bit of broker 0 in the isr of every request."""
    orders: int
    """The number of renamings of all brokers."""
    to_at: int
    """By renaming and broker (three bits): the broker's new name."""
    masks_at: int
    """By renaming and mask of brokers: the mask with new names."""
    requests_at: int
    """By renaming and request: the request with new names."""
    sorting_at: int
    """By each broker's new name, three bits for each: the renaming."""
    tied_at: int
    """By which neighbours have equal keys: the first renaming among those with equal keys; they
    end where the next ones begin."""


def renamings(facts: Facts) -> tuple[Renamings, Words]:
    """All renamings of brokers, as tables."""
    brokers = facts.brokers
    orders = list(permutations(range(brokers)))
    sent = range(facts.max_epoch + 1)

    def renamed(mask: int, to: tuple[int, ...]) -> int:
        return sum(1 << to[b] for b in range(brokers) if mask >> b & 1)

    to = np.zeros((len(orders), 8), np.int64)
    to[:, :brokers] = orders
    masks = [[renamed(mask, to) for mask in range(1 << brokers)] for to in orders]
    requests = np.zeros((len(orders), 1 << facts.request_width), np.int64)
    for number, order in enumerate(orders):
        for leader in range(brokers + 1):
            for mask in range(1 << brokers):
                new_leader = order[leader] if leader < brokers else leader
                new = new_leader << brokers | masks[number][mask]
                requests[number, leader << brokers | mask] = new
    sorting = np.zeros(1 << 3 * brokers, np.int64)
    for number, order in enumerate(orders):
        sorting[sum(name << 3 * b for b, name in enumerate(order))] = number
    begins, tied = [0], list[int]()
    for ties in range(1 << brokers - 1):
        tied += [number for number, order in enumerate(orders) if keeps(order, ties)]
        begins.append(len(tied))

    tables = [to, np.array(masks), requests, sorting, np.array(begins)]
    at = [0, *np.cumsum([table.size for table in tables])]
    begins_at = at[4]
    tables[4] += at[5]  # the lists of renamings follow everything else
    return (
        Renamings(
            requests_in_isr=sum(1 << epoch * facts.request_width for epoch in sent),
            orders=factorial(brokers),
            to_at=int(at[0]),
            masks_at=int(at[1]),
            requests_at=int(at[2]),
            sorting_at=int(at[3]),
            tied_at=int(begins_at),
        ),
        np.concatenate([*(table.ravel() for table in tables), np.array(tied, np.int64)]),
    )


def keeps(order: tuple[int, ...], ties: int) -> bool:
    """Whether a renaming only permutes tied neighbours.

    Bit k of `ties` means that brokers k and k + 1 are tied.
    """
    group = [0]
    for k, _ in enumerate(pairwise(order)):
        group.append(group[-1] + 1 - (ties >> k & 1))
    return all(group[name] == group[b] for b, name in enumerate(order))


@compiled
def renamed(
    logs: int, views: int, control: int, number: int, facts: Facts, names: Renamings, tables: Words
) -> tuple[int, int, int]:
    """The words of a state in which every broker has a new name."""
    brokers = facts.brokers
    new_logs = 0
    new_views = views >> facts.next_record_at << facts.next_record_at
    masks_at = names.masks_at + (number << brokers)
    for b in range(brokers):
        to = look(tables, names.to_at + (number << 3) + b)
        new_logs |= log_of(logs, b, facts) << (to * facts.log_width)
        new_views |= hw_of(views, b, facts) << (to * facts.hw_width)
        new_views |= view_epoch(views, b, facts) << (facts.epochs_at + to * facts.epoch_width)
        isr = views >> (facts.isrs_at + b * brokers) & facts.everyone
        new_views |= look(tables, masks_at + isr) << (facts.isrs_at + to * brokers)
    sent = control >> facts.next_epoch_at & facts.next_epoch_mask
    requests = requests_of(control, facts)
    requests_at = names.requests_at + (number << facts.request_width)
    new_control = control >> facts.next_epoch_at << facts.next_epoch_at
    for epoch in range(sent):
        request = look(tables, requests_at + request_of(requests, epoch + 1, facts))
        new_control |= request << (epoch * facts.request_width)
    return new_logs, new_views, new_control


@compiled
def representative(
    logs: int,
    views: int,
    control: int,
    keys: Words,
    facts: Facts,
    names: Renamings,
    tables: Words,
) -> tuple[int, int, int, int]:
    """The representative of a state's orbit, and how many states the orbit has."""
    brokers = facts.brokers
    for b in range(brokers):
        view = hw_of(views, b, facts) << 4 | view_epoch(views, b, facts)
        asked = control >> b & names.requests_in_isr
        keys[b] = (log_of(logs, b, facts) << 8 | view) + asked * SPREAD
    sorting = 0
    ties = 0
    for b in range(brokers):
        rank = 0
        tied = 0
        for other in range(brokers):
            rank += int(keys[other] < keys[b])
            if other < b:
                tied |= int(keys[other] == keys[b])
                rank += int(keys[other] == keys[b])
        sorting |= rank << (3 * b)
        ties |= tied << rank
    ties >>= 1  # a broker that ties with an earlier one has a rank above 0
    number = look(tables, names.sorting_at + sorting)
    if number:
        logs, views, control = renamed(logs, views, control, number, facts, names, tables)
    if ties == 0:
        return logs, views, control, names.orders
    least_logs, least_views, least_control = logs, views, control
    unchanged = 1
    begin = look(tables, names.tied_at + ties)
    end = look(tables, names.tied_at + ties + 1)
    for at in range(begin + 1, end):
        number = look(tables, at)
        other_logs, other_views, other_control = renamed(
            logs, views, control, number, facts, names, tables
        )
        if other_logs == logs and other_views == views and other_control == control:
            unchanged += 1
        if (
            other_logs < least_logs
            or (other_logs == least_logs and other_views < least_views)
            or (
                other_logs == least_logs
                and other_views == least_views
                and other_control < least_control
            )
        ):
            least_logs, least_views, least_control = other_logs, other_views, other_control
    return least_logs, least_views, least_control, names.orders // unchanged


@compiled
def representatives(words: Words, count: int, facts: Facts, names: Renamings, tables: Words) -> int:
    """Replace states by their representatives; returns the number of states in their orbits."""
    keys = np.empty(8, np.int64)
    states = 0
    for i in range(count):
        logs, views, control, size = representative(
            words[0, i], words[1, i], words[2, i], keys, facts, names, tables
        )
        words[0, i] = logs
        words[1, i] = views
        words[2, i] = control
        states += size
    return states
