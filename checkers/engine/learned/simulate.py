"""Simulation by learned rules: many walks, a step of all of them at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.asking import LearnedAsking
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.expander import LearnedExpander, Repacked, grown
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.learned.search import by_learning
from kspec.checkers.engine.learned.walk import DEADLOCK_BIT, FAILED_BIT
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.search import FAILED
from kspec.checkers.engine.simulate import Act, Mark, Sampling, Simulation, rank
from kspec.checkers.engine.verdict import DEADLOCK, Verdict
from kspec.impl.compiled import Words
from kspec.spec.core import System

MOST_VISITED = 1 << 23
"""As many states are remembered (in 16 bytes each); all others count as new, each time."""


def simulate_by_learning(
    system: System[Any],
    sampling: Sampling,
    options: Options | None = None,
) -> Verdict:
    """Walk at random, with what is learned of the rules on the way."""
    options = options or Options()

    def run(learning: Learning) -> Verdict:
        return WalksByLearning(system, sampling, options, learning).run()

    learned = Learnable(use_cache=options.use_cache)
    return by_learning(system, learned, run, options.on_compiling)


class WalksByLearning(Simulation):
    """Asks what was learned of the rules."""

    def __init__(
        self,
        system: System[Any],
        sampling: Sampling,
        options: Options,
        learning: Learning,
    ) -> None:
        """Nothing is walked yet."""
        super().__init__(system, sampling, options)
        self.learning = learning
        self.asking = LearnedAsking(
            learning, held=lambda: self.words, hold=self.hold, watch=self.watch
        )
        self.checking = Checking(learning, everything=False)
        self.keys = np.zeros(1 << 16, np.uint64)
        """Hashes of the states that were visited."""
        self.visits: Words = np.zeros(1 << 16, np.int64)
        self.used: Words = np.zeros(1, np.int64)
        self.ranks = np.zeros(0, np.uint64)
        """By instance: its `rank`."""
        self.taken_times: Words = np.zeros(0, np.int64)
        self.new_times: Words = np.zeros(0, np.int64)
        self.going: Words = np.zeros(0, np.int64)
        """The walks that go on; `words` has the last state of each as a column."""
        self.words: Words = np.zeros((learning.width, 0), np.int64)

    def act(self, label: int) -> Act:
        instance = self.learning.book.instances[label]
        return instance.asked, instance.choice

    @property
    def distinct(self) -> int:
        return int(self.used[0])

    @property
    def has_remembered_all(self) -> bool:
        return self.distinct < MOST_VISITED

    def counts(self) -> Iterable[tuple[int, int, int]]:
        labels = np.flatnonzero(self.taken_times)
        times, new = self.taken_times[labels], self.new_times[labels]
        return zip(labels.tolist(), times.tolist(), new.tolist(), strict=True)

    def begin(self, wanted: Collection[str]) -> Sequence[Mark]:
        self.learning.ask_for(wanted)
        self.going = np.arange(len(self.starts))
        self.words = self.learning.tables.columns_of(self.learning.initial[self.starts])
        self.make_room()
        fresh = np.zeros(len(self.starts), np.bool_)
        walk.visit_all(
            self.words, len(self.starts), *self.learning.layout_arrays,
            self.keys, self.visits, self.used, MOST_VISITED, fresh,
        )  # fmt: skip
        return list(self.marks(fresh))

    def step(self, chance: int, wanted: Collection[str]) -> tuple[Sequence[int], Sequence[Mark]]:
        self.learning.ask_for(wanted)
        taken = np.full(len(self.starts), -1)
        origins, labels, successors, masks = self.expanded()
        failed = np.flatnonzero(masks >> FAILED_BIT & 1)
        if len(failed):
            return taken.tolist(), [(walk, FAILED) for walk in self.going[failed].tolist()]
        self.checking.check(LearnedExpander(self.learning), self.words[:, :1].copy())
        self.generated += len(origins)
        ended = self.going[np.flatnonzero(masks >> DEADLOCK_BIT & 1)].tolist()
        chosen, fresh = self.chosen(origins, labels, successors, chance)
        still = chosen >= 0
        chosen, fresh = chosen[still], fresh[still]
        self.going, self.words = self.going[still], successors[:, chosen]
        taken[self.going] = labels[chosen]
        self.count(labels[chosen], fresh)
        return taken.tolist(), [*((walk, DEADLOCK) for walk in ended), *self.marks(fresh)]

    def expanded(self) -> tuple[Words, Words, Words, Words]:
        """The successors of the last states: whose they are, their labels, their words; and the
        marks of the last states.
        """
        while True:
            masks: Words = np.zeros(len(self.going), np.int64)
            parts: list[tuple[Words, Words, Words]] = []
            try:
                for answer in self.asking.expand(np.arange(len(self.going)), self.words_at):
                    masks[answer.places] = answer.masks
                    parts.append((answer.origins, answer.labels, answer.successors.copy()))
            except Repacked:
                continue
            break
        self.asking.take_counts()
        origins, labels = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
        successors = np.concatenate([part[2] for part in parts], axis=1)
        if len(parts) > 1:
            order = np.argsort(origins, kind="stable")
            origins, labels = origins[order], labels[order]
            successors = successors[:, order]
        return origins, labels, successors, masks

    def chosen(
        self, origins: Words, labels: Words, successors: Words, chance: int
    ) -> tuple[Words, Any]:
        """By walk that goes on: the successor that it chooses, or -1; and whether that is new."""
        self.make_room()
        self.rank_instances()
        chosen: Words = np.full(len(self.going), -1, np.int64)
        fresh = np.zeros(len(self.going), np.bool_)
        walk.choose(
            origins, labels, successors, len(origins), self.ranks,
            np.uint64(chance), self.first + self.going,
            *self.learning.layout_arrays, self.keys, self.visits, self.used, MOST_VISITED,
            chosen, fresh,
        )  # fmt: skip
        return chosen, fresh

    def count(self, labels: Words, fresh: Any) -> None:
        """Count what was taken."""
        size = len(self.ranks)
        self.taken_times = grown(self.taken_times, size) + np.bincount(labels, minlength=size)
        new = np.bincount(labels[fresh], minlength=size)
        self.new_times = grown(self.new_times, size) + new

    def marks(self, fresh: Any) -> Iterator[Mark]:
        """What the last states of walks violate, or show, of those walks whose state is new."""
        masks: Words = np.zeros(len(self.going), np.int64)
        for places, found in self.asking.mark(np.flatnonzero(fresh), self.words_at):
            masks[places] = found
        bits = self.learning.bits
        names = [*(p.name for p in self.reachable), *(p.name for p in self.always)]
        for place in np.flatnonzero(masks).tolist():
            number, mask = int(self.going[place]), int(masks[place])
            if mask >> FAILED_BIT & 1:
                yield number, FAILED
                return
            yield from ((number, name) for name in names if mask >> bits[name] & 1)

    def words_at(self, places: Words) -> Words:
        """The last states of some walks that go on."""
        return self.words[:, places].copy()

    def hold(self, words: Words) -> None:
        """Continue with other words for the same states."""
        self.words = words

    def rank_instances(self) -> None:
        """Give each new instance its rank."""
        instances, known = self.learning.book.instances, len(self.ranks)
        if len(instances) > known:
            new = [rank(self.act(label)) for label in range(known, len(instances))]
            self.ranks = np.concatenate([self.ranks, np.array(new, np.uint64)])

    def make_room(self) -> None:
        """Have room for the states that a step visits."""
        if 2 * (int(self.used[0]) + len(self.going)) > len(self.keys) < 2 * MOST_VISITED:
            keys, visits = self.keys, self.visits
            self.keys = np.zeros(4 * len(keys), np.uint64)
            self.visits = np.zeros(4 * len(keys), np.int64)
            walk.move_visits(keys, visits, self.keys, self.visits)
