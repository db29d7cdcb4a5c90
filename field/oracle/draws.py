"""Random choices that are the same on every machine and with every version of Python.

Python guarantees this for `random.Random(seed).random()` with a number as seed, and for no other
method; so all choices are made with it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Choices that a seed and a number decide."""

    def __init__(self, seed: int, number: int) -> None:
        """A sequence of choices for each vector, so that no vector depends on those before it."""
        self._random = random.Random(seed << 32 | number).random

    def below(self, size: int) -> int:
        """A number from 0 to one less than `size`."""
        return int(self._random() * size)

    def between(self, least: int, greatest: int) -> int:
        """A number of this range, both ends included."""
        return least + self.below(greatest - least + 1)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def choose(self, among: Sequence[T]) -> T:
        """One of these."""
        return among[self.below(len(among))]

    def some(self, among: Sequence[T], size: int) -> list[T]:
        """So many different ones of these, in a random order; all of them if there are fewer."""
        left = list(among)
        return [left.pop(self.below(len(left))) for _ in range(min(size, len(left)))]
