"""A desk as it is before any state lies on it: the bounds, and the tables made from them."""

from __future__ import annotations

import numpy as np

from impl.packed.compiled import Words
from impl.packed.group import fields as at
from impl.packed.group.states import Packing

MOST_STEPS_OF_CONSUMER = 24
"""A consumer has fewer rules than these, each with one choice or, for two requests, with two."""
MOST_STEPS_OF_WORLD = 8


def new_desk(packing: Packing, variant: int) -> Words:
    """A desk for states of some bounds."""
    bounds = packing.bounds
    ids = bounds.consumers * bounds.ids
    nibbles, longer = packing.lists.tables()
    desk: Words = np.zeros(at.LISTS + nibbles.size + longer.size, np.int64)
    desk[at.VARIANT] = variant
    desk[at.HOW_MANY] = bounds.consumers
    desk[at.IDS_EACH] = bounds.ids
    desk[at.STATIC] = bounds.static
    desk[at.PARTITIONS] = bounds.partitions
    desk[at.GROWTHS] = bounds.growths
    desk[at.GENERATIONS] = bounds.generations
    desk[at.MOST_CRASHES] = bounds.crashes
    desk[at.FAILOVERS] = bounds.failovers
    desk[at.MOST_LOSSES] = bounds.losses
    desk[at.MOST_EARLY] = bounds.early
    desk[at.MOST_STALLS] = bounds.stalls
    desk[at.MOST_LEAVES] = bounds.leaves
    desk[at.ALL_IDS] = ids
    desk[at.FANOUT] = fanout(bounds.consumers, ids)
    desk[at.WORDS] = len(packing.layout.widths)
    desk[at.LONGER_AT] = at.LISTS + nibbles.size
    for member in range(ids):
        desk[at.OWNER + member] = member // bounds.ids
        desk[at.NTH + member] = member % bounds.ids + 1
    for name, place in packing.places.items():
        field = packing.layout[name]
        desk[at.SHIFT + place] = field.shift
        desk[at.MASK + place] = field.mask
        desk[at.WORD + field.word + 1] = place // at.BLOCK + 1  # in order: the last one stays
    desk[at.LISTS : desk[at.LONGER_AT]] = nibbles
    desk[desk[at.LONGER_AT] :] = longer.ravel()
    return desk


def fanout(consumers: int, ids: int) -> int:
    """No state has more successors than this."""
    return consumers * MOST_STEPS_OF_CONSUMER + 2 * ids + MOST_STEPS_OF_WORLD
