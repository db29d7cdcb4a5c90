"""Packing: the position of each component in the words of a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

import attrs
import numpy as np

from kspec.checkers.engine.packed.codes import CODE_BITS, WORD_BITS
from kspec.impl.compiled import Words

RESERVE = 16
"""The minimum number of free bits for new elements; otherwise half of those in use."""


@attrs.define(eq=False)
class Packing:
    """The position of each component in the words of a state."""

    words: Words
    shifts: Words
    masks: Words
    widths: tuple[int, ...]
    """By word: the number of bits in use, or free for elements."""
    room: Words
    """By component: the number of values that fit its bits; an element that was never present has
    one value, and no bits."""
    free: list[tuple[int, int]] = attrs.field(factory=list)
    """Words and shifts of bits for elements."""

    def place_elements(self, counts: Words, is_bit: Callable[[int], bool]) -> list[int]:
        """Give a free bit to each element of a set that needs one, as long as there are any.

        Returns their components.
        """
        new = len(counts) - len(self.words)
        if new:
            none = np.zeros(new, np.int64)
            self.words, self.shifts, self.masks = (
                np.concatenate([some, none]) for some in (self.words, self.shifts, self.masks)
            )
            self.room = np.concatenate([self.room, none + 1])
        wanted = filter(is_bit, np.flatnonzero((counts > 1) & (self.room == 1)).tolist())
        placed = list(islice(wanted, len(self.free)))
        for k in placed:
            self.words[k], self.shifts[k] = self.free.pop(0)
            self.masks[k], self.room[k] = 1, 2
        return placed


def packing_for(counts: Sequence[int], elements: Sequence[bool] | None = None) -> Packing:
    """A packing with room for twice as many values, or more if a code has bits left.

    Where fields are divided, the last components are elements, which take no bits as long as they
    have one value; `elements` says of each whether one bit is enough for it.
    """
    fixed = len(counts) - len(elements or ())
    needed = [max(1, (2 * count - 1).bit_length()) for count in counts]
    bits, others = needed[:fixed], [k for k in range(fixed, len(counts)) if counts[k] > 1]
    sizes = {k: 1 if elements and elements[k - fixed] else needed[k] for k in others}
    reserve = max(RESERVE, len(others) // 2) if elements is not None else 0
    spare = CODE_BITS - sum(bits) - sum(sizes.values()) - reserve
    for k in sorted(range(len(bits)), key=lambda k: -bits[k])[: max(0, spare)] * 2:
        if spare > 0 and bits[k] > 1:
            bits[k] += 1
            spare -= 1
    words, shifts = np.zeros(len(counts), np.int64), np.zeros(len(counts), np.int64)
    room: Words = np.ones(len(counts), np.int64)
    widths: list[int] = []

    def place(size: int) -> tuple[int, int]:
        word = next((w for w, used in enumerate(widths) if used + size <= WORD_BITS), -1)
        if word < 0:
            word = len(widths)
            widths.append(0)
        widths[word] += size
        return word, widths[word] - size

    sizes |= dict(enumerate(bits))
    for k in [*sorted(range(fixed), key=lambda k: -bits[k]), *others]:
        words[k], shifts[k] = place(sizes[k])
        room[k] = 1 << sizes[k]
    free = [place(1) for _ in range(reserve)]
    return Packing(words, shifts, room - 1, tuple(widths), room, free)


def rows_of(words: Words, packing: Packing) -> Words:
    """States as rows of numbers, from columns of words."""
    return ((words[packing.words] >> packing.shifts[:, None]) & packing.masks[:, None]).T
