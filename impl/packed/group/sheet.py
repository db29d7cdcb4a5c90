"""A sheet as it is before any state lies on it: the bounds, and the tables made from them."""

from __future__ import annotations

import numpy as np

from impl.packed.compiled import Words
from impl.packed.group import fields as at
from impl.packed.group.states import Packing

MOST_STEPS_OF_CONSUMER = 24
"""A consumer has fewer rules than these, each with one choice or, for two requests, with two."""
MOST_STEPS_OF_WORLD = 8


def new_sheet(packing: Packing, variant: int) -> Words:
    """A sheet for states of some bounds."""
    bounds, ids = packing.ids.bounds, packing.ids.count
    nibbles, longer = packing.ids.lists.tables()
    sheet: Words = np.zeros(at.LISTS + nibbles.size + longer.size, np.int64)
    sheet[at.VARIANT] = variant
    sheet[at.HOW_MANY] = bounds.consumers
    sheet[at.IDS_EACH] = bounds.ids
    sheet[at.STATIC] = bounds.static
    sheet[at.PARTITIONS] = bounds.partitions
    sheet[at.GROWTHS] = bounds.growths
    sheet[at.GENERATIONS] = bounds.generations
    sheet[at.MOST_CRASHES] = bounds.crashes
    sheet[at.FAILOVERS] = bounds.failovers
    sheet[at.MOST_LOSSES] = bounds.losses
    sheet[at.MOST_EARLY] = bounds.early
    sheet[at.MOST_STALLS] = bounds.stalls
    sheet[at.MOST_LEAVES] = bounds.leaves
    sheet[at.ALL_IDS] = ids
    sheet[at.FANOUT] = fanout(bounds.consumers, ids)
    sheet[at.WORDS] = len(packing.layout.widths)
    sheet[at.LONGER_AT] = at.LISTS + nibbles.size
    for member in range(ids):
        sheet[at.OWNER + member] = member // bounds.ids
        sheet[at.NTH + member] = member % bounds.ids + 1
    for name, place in packing.places.items():
        field = packing.layout[name]
        sheet[at.SHIFT + place] = field.shift
        sheet[at.MASK + place] = field.mask
        sheet[at.WORD + field.word + 1] = place // at.BLOCK + 1  # in order: the last one stays
    sheet[at.LISTS : sheet[at.LONGER_AT]] = nibbles
    sheet[sheet[at.LONGER_AT] :] = longer.ravel()
    return sheet


def fanout(consumers: int, ids: int) -> int:
    """No state has more successors than this."""
    return consumers * MOST_STEPS_OF_CONSUMER + 2 * ids + MOST_STEPS_OF_WORLD
