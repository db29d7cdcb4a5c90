"""The interface by which a worker gets the successors and marks of states.

A **mark** is a property that a state violates or witnesses; DEADLOCK and FAILED are marks too. An
expander answers for a batch of states; those that it cannot answer yet are `lost`, and the worker
asks again after `learn`. A hand-written kernel loses no states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from kspec.checkers.engine.search import FAILED, Counts
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.impl.packed.compiled import Words
from kspec.impl.packed.kernel import MOST_GUARDS, Kernel
from kspec.spec.core import System

DEADLOCK_BIT = 62
FAILED_BIT = 61

ALL_KNOWN: Words = np.zeros(0, np.int64)

BATCH = 2048
"""The number of states in a batch."""


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


class KernelExpander(Expander):
    """Uses a hand-written kernel, and the specification for states without successors."""

    def __init__(self, kernel: Kernel[Any], system: System[Any], *, coverage: bool) -> None:
        self.kernel = kernel
        self.system = system
        self.coverage = coverage
        self.room = BATCH * 16
        acts, width = len(kernel.acts), len(kernel.layout.widths)
        self.successors = np.empty((width, self.room), np.int64)
        self.origins = np.empty(self.room, np.int64)
        self.masks = np.empty(BATCH, np.int64)
        self.todo: Words = np.empty((acts, self.room), np.int64)
        self.counts: Words = np.zeros(acts, np.int64)
        self.fired: Words = np.zeros(acts, np.int64)
        self.stopped: Words = np.zeros((acts, MOST_GUARDS), np.int64)
        self.edge_of_bounds = 0
        self.guards = {rule.name: rule.guard_names() for rule in system.rules} if coverage else {}

    def expand(self, words: Words, begin: int, end: int) -> tuple[int, int]:
        stop, n = self.kernel.expand(
            words, begin, end, self.todo, self.successors, self.origins, self.counts
        )
        self.fired += self.counts
        if self.coverage and self.kernel.stops:
            self.kernel.stops(words[:, begin:stop].copy(), stop - begin, self.stopped)
        self.masks[begin:stop] = 0
        goes_on = np.zeros(stop, np.bool_)
        goes_on[self.origins[:n] >> 16] = True
        places = np.flatnonzero(~goes_on[begin:stop]) + begin
        if self.kernel.ends is not None:
            self.edge_of_bounds += len(places) - self.kernel.ends(words, places)
            return stop, n
        for place in places.tolist():
            self.mark_terminal(words, place)
        return stop, n

    def mark_terminal(self, words: Words, place: int) -> None:
        """Ask the specification about a state without successors."""
        try:
            state = self.kernel.unpack(words[:, place].tolist())
            if self.system.is_deadlock(state):
                self.masks[place] = 1 << DEADLOCK_BIT
            elif not self.system.is_final(state):
                self.edge_of_bounds += 1
        except Exception:
            self.masks[place] = 1 << FAILED_BIT

    def mark(self, words: Words, begin: int, end: int) -> int:
        self.kernel.check(words, begin, end, self.masks)
        return end

    def take_counts(self) -> Counts:
        found = Counts()
        found.edge_of_bounds = self.edge_of_bounds
        acts = self.kernel.acts
        found.fired = dict(zip(acts, self.fired.tolist(), strict=True))
        for act, row in zip(acts, self.stopped.tolist(), strict=True):
            named = zip(self.guards.get(act, ()), row, strict=False)
            found.blocked[act] = {guard: times for (guard, _), times in named if times}
        self.fired[:] = 0
        self.stopped[:] = 0
        self.edge_of_bounds = 0
        return found


def bits_of_marks(properties: Mapping[str, int]) -> dict[str, int]:
    """The bit of each mark."""
    return {**properties, DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
