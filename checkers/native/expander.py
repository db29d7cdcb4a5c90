"""How a worker asks for the successors and the marks of states, whoever answers.

A **mark** is a property that a state violates, or shows; DEADLOCK and FAILED are marks, too. An
expander answers for a batch of states; those that it cannot answer yet are `lost`, and asked
again after `learn`. A hand-written kernel loses none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from checkers.search import FAILED, Counts
from checkers.verdict import DEADLOCK
from impl.packed.compiled import Words
from impl.packed.kernel import MOST_GUARDS, Kernel
from spec.core import System

DEADLOCK_BIT = 62
FAILED_BIT = 61

ALL_KNOWN: Words = np.zeros(0, np.int64)

BATCH = 2048
"""How many states are asked for at a time."""


class Expander(ABC):
    """One worker's way to ask; nothing in it is shared but what is only read."""

    label_bits = 16
    room: int
    """As many successors a batch may have; it ends earlier if they are more."""
    successors: Words
    origins: Words
    """By successor: the place of its state in the batch, above the bits of a label."""
    masks: Words
    """By place in the batch: the marks."""
    lost: Words = ALL_KNOWN
    """The places of states that could not be answered."""

    @abstractmethod
    def expand(self, words: Words, begin: int, end: int) -> tuple[int, int]:
        """Write the successors of a range of states, and the marks that only expanding shows.

        Answers how far it came, and how many successors there are.
        """

    @abstractmethod
    def mark(self, words: Words, begin: int, end: int) -> int:
        """Write the marks of a range of states; answers how far it came."""

    @abstractmethod
    def take_counts(self) -> Counts:
        """What was counted since the last time."""

    def order(self, words: Words) -> Words:
        """By what states are ordered, so that no choice among them depends on chance."""
        return words


class ByKernel(Expander):
    """Asks a hand-written kernel; what ends a behaviour is asked of the specification."""

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
            self.look_at_end(words, place)
        return stop, n

    def look_at_end(self, words: Words, place: int) -> None:
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
    """By mark: its bit."""
    return {**properties, DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
