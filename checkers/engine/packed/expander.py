"""The interface by which a worker gets the successors and marks of states.

A **mark** is a property that a state violates or witnesses; DEADLOCK and FAILED are marks too. An
expander answers for a batch of states; those that it cannot answer yet are `lost`, and the worker
asks again after `learn`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from kspec.checkers.engine.search import FAILED, Counts
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.impl.compiled import Words

DEADLOCK_BIT = 62
FAILED_BIT = 61

ALL_KNOWN: Words = np.zeros(0, np.int64)

BATCH = 2048
"""The number of states in a batch."""


class Repacked(Exception):
    """States have other words than before, so a search among them begins again."""


class Expander(ABC):
    """Answers one worker's requests; it shares only data that is never written."""

    label_bits = 16
    room: int
    """The most successors of a batch; a batch with more ends early."""
    successors: Words
    origins: Words
    """By successor: the index of its state in the batch, above the bits of a label."""
    masks: Words
    """By index in the batch: the marks."""
    lost: Words = ALL_KNOWN
    """The indexes of states without an answer."""

    @abstractmethod
    def expand(self, words: Words, begin: int, end: int) -> tuple[int, int]:
        """Write the successors of a range of states, and the marks that only expanding finds.

        Returns where it stopped, and the number of successors.
        """

    @abstractmethod
    def mark(self, words: Words, begin: int, end: int) -> int:
        """Write the marks of a range of states; returns where it stopped."""

    @abstractmethod
    def take_counts(self) -> Counts:
        """The counts since the last call."""

    def order(self, words: Words) -> Words:
        """The sort key of states, so that every choice among them is deterministic."""
        return words


def bits_of_marks(properties: Mapping[str, int]) -> dict[str, int]:
    """The bit of each mark."""
    return {**properties, DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
