"""Compiled: of each state, the representative of its orbit.

Every value of a symmetric type has a place, and a **key**: what the state says of it, whatever the
values are called. Values are sorted by key, by exchanging neighbours. Where keys are equal, all
orders of these values are tried, unless exchanging them changes nothing. So keys that are equal by
accident cost time, and decide nothing.
"""

from __future__ import annotations

# mypy: ignore-errors
# Every argument is an array or an index: their types are Numba's, found when it compiles.
from typing import NamedTuple

import numpy as np

from kspec.impl.compiled import Words, compiled


class Orbits(NamedTuple):
    """The tables of a symmetry, for the values that components have so far."""

    begin: Words
    """By component: the row of its first value in `keys` and `swapped`."""
    keys: Words
    """By value of a component, and by place: what the value adds to the key of that place. The
    last column adds to what states of equal keys are ordered by."""
    swapped: Words
    """By value and exchange: the number of the value that it becomes."""
    to: Words
    """By component and exchange: the component that it moves to."""
    exchange: Words
    """By place: the exchange with the next place; -1 where that is none of the same type."""
    walk_at: Words
    """By the set of exchanges whose values have equal keys: where its walk begins in `walks`."""
    walks: Words
    """Exchanges, one after the other, that lead through all orders of such values."""
    order: int
    """How many renamings there are."""


@compiled
def swap(row, at, begin, swapped, to, exchange, spare):
    """Exchange two neighbours in a row of numbers; `spare` is overwritten."""
    for k in range(len(begin)):
        spare[to[k, exchange]] = swapped[begin[k] + row[at, k], exchange]
    for k in range(len(begin)):
        row[at, k] = spare[k]


@compiled
def first_of(rows, one, other, weights):
    """Whether a row comes before another one, below zero if so; zero if they are equal."""
    if weights[one] != weights[other]:
        return -1 if weights[one] < weights[other] else 1
    for k in range(rows.shape[1]):
        if rows[one, k] != rows[other, k]:
            return -1 if rows[one, k] < rows[other, k] else 1
    return 0


@compiled
def representative(rows, spare, key, weights, orbits):
    """Replace row 0 by the representative of its orbit; how many states the orbit has."""
    begin, keys, swapped, to, exchange, walk_at, walks, order = orbits
    components, places = len(begin), len(exchange)
    for p in range(places):
        key[p] = 0
    for k in range(components):
        at = begin[k] + rows[0, k]
        for p in range(places):
            key[p] += keys[at, p]
    last = places - 1
    while last > 0:  # sort: the largest key of those up to `last` moves to its end
        moved = 0
        for p in range(last):
            if exchange[p] >= 0 and key[p] > key[p + 1]:
                key[p], key[p + 1] = key[p + 1], key[p]
                swap(rows, 0, begin, swapped, to, exchange[p], spare)
                moved = p
        last = moved
    tied = 0
    for p in range(places - 1):
        if exchange[p] >= 0 and key[p] == key[p + 1]:
            tied |= 1 << exchange[p]
    if tied == 0:
        return order
    unchanged = 1
    p = 0
    while p < places:
        end = p
        same = True
        while exchange[end] >= 0 and tied >> exchange[end] & 1:
            for k in range(components):
                rows[1, k] = rows[0, k]
            swap(rows, 1, begin, swapped, to, exchange[end], spare)
            for k in range(components):
                same = same and rows[1, k] == rows[0, k]
            end += 1
        if same:
            for other in range(p, end):
                tied &= ~(1 << exchange[other])
                unchanged *= other - p + 2
        p = end + 1
    if tied == 0:
        return order // unchanged
    # row 0 is the least so far, row 1 walks through the others, row 2 is where it began
    for k in range(components):
        rows[1, k] = rows[2, k] = rows[0, k]
    weights[0] = weights[2] = weight(rows, 0, begin, keys)
    again = 1
    for at in range(walk_at[tied], walk_at[tied + 1]):
        swap(rows, 1, begin, swapped, to, walks[at], spare)
        weights[1] = weight(rows, 1, begin, keys)
        if first_of(rows, 1, 2, weights) == 0:
            again += 1
        if first_of(rows, 1, 0, weights) < 0:
            weights[0] = weights[1]
            for k in range(components):
                rows[0, k] = rows[1, k]
    return order // (unchanged * again)


@compiled
def weight(rows, one, begin, keys):
    """What a row is ordered by, before the numbers in it."""
    total = np.int64(0)
    for k in range(len(begin)):
        total += keys[begin[k] + rows[one, k], keys.shape[1] - 1]
    return total


@compiled
def representatives(words, count, at_word, at_shift, at_mask, orbits):
    """Replace states by their representatives; how many states their orbits have together."""
    components = len(at_word)
    rows = np.zeros((3, components), np.int64)
    spare = np.zeros(components, np.int64)
    key = np.zeros(len(orbits.exchange), np.int64)
    weights = np.zeros(3, np.int64)
    states = 0
    for i in range(count):
        for k in range(components):
            rows[0, k] = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
        states += representative(rows, spare, key, weights, orbits)
        for w in range(words.shape[0]):
            words[w, i] = 0
        for k in range(components):
            words[at_word[k], i] |= rows[0, k] << at_shift[k]
    return states
