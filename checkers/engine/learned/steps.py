"""A source of states and steps by learned rules."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.asking import LearnedAsking
from kspec.checkers.engine.learned.book import RULE, Unfit, bits_of
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.packed.asking import Repacked
from kspec.checkers.engine.packed.expander import FAILED_BIT
from kspec.checkers.engine.packed.steps import PackedSteps
from kspec.checkers.engine.steps import Key, Numbers
from kspec.impl.packed.compiled import Words
from kspec.spec.core import Liveness, Reachable, Rule, System
from kspec.spec.core.errors import code_of


class StepsByLearning(PackedSteps):
    """Runs learned rules.

    Its keys are valid in this process only: they depend on the order of learning, and change when
    states get more bits.
    """

    is_portable = False

    def __init__(self, system: System[Any], learned: Learnable | None = None) -> None:
        """Begin with what is already learned."""
        super().__init__(system)
        self.learned = learned or Learnable()
        self.places = {rule: place for place, rule in enumerate(system.rules)}
        self.begin_learning()
        self.begin(map(self.as_key, system.initial()))

    def begin_learning(self) -> None:
        """Start learning, or continue with what is already learned."""
        self.learning = self.learned.of(self.system)
        self.lists = 0
        """How many lists of choices the ranks below take into account."""
        self.before: dict[Rule[Any], dict[int, set[int]]] = {}
        """By rule and instance: the instances that come right before it in some list."""
        self.rules: Numbers = np.zeros(0, np.int64)
        """By instance: the place of its rule in the system."""
        self.ranks: Numbers = np.zeros(0, np.int64)
        """By instance: the place of its choices among those of its rule."""
        self.unordered: set[Rule[Any]] = set()
        self.use_words()

    def use_words(self) -> None:
        """Ask about states in their current words."""
        self.width = self.learning.width
        self.asking: LearnedAsking = LearnedAsking(
            self.learning, held=lambda: self.words(self.keys), hold=self.renumber
        )

    def as_state(self, key: Any) -> Any:
        return self.learning.state(np.frombuffer(key, np.int64).tolist())

    def as_key(self, state: Any) -> Key:
        row = self.learning.book.row_of(state)
        return np.array(self.learning.words(row), np.int64).tobytes()

    def relabelled(self, labels: Numbers) -> Numbers:
        found, first, places = np.unique(labels, return_index=True, return_inverse=True)
        named = np.empty(len(found), np.int64)
        for place in np.argsort(first).tolist():
            instance = self.learning.book.instances[found[place]]
            named[place] = self.label((instance.asked, instance.choice))
        return named[places]

    # -- learning -------------------------------------------------------------------------------

    def packed_steps(self, places: Numbers) -> list[tuple[Numbers, Numbers, Words]]:
        try:
            return super().packed_steps(places)
        except Unfit as unfit:
            self.begin_anew(unfit.field)
            raise Repacked from None

    def begin_anew(self, field: str) -> None:
        """Start learning again, with a field of varying length as one component."""
        states = [self.as_state(key) for key in self.keys]
        self.learned.take_apart(field)
        self.begin_learning()
        rows = np.array([self.learning.book.row_of(state) for state in states], np.int64)
        self.learning.tables.sync()
        self.learning.repack()
        self.use_words()
        self.renumber(self.learning.tables.columns_of(rows))

    def renumber(self, columns: Words) -> None:
        """Compute the keys of all states, given the words of each."""
        self.width = len(columns)
        self.keys = self.keys_of(columns)
        self.numbers = {key: number for number, key in enumerate(self.keys)}

    # -- the order of steps ---------------------------------------------------------------------

    def order_of(self, origins: Numbers, labels: Numbers) -> tuple[Numbers, ...]:
        """The order of rules, and then of choices as each rule lists them in that state."""
        self.rank_choices()
        ranks, rules = self.ranks[labels], self.rules[labels]
        if self.unordered:
            together = origins * len(self.places) + rules
            _, place, times = np.unique(together, return_inverse=True, return_counts=True)
            asked = np.isin(
                rules, [self.places[rule] for rule in self.unordered if rule in self.places]
            )
            for step in np.flatnonzero(asked & (times[place] > 1)).tolist():
                instance = self.learning.book.instances[labels[step]]
                listed = list(instance.asked.instances(self.state(int(origins[step]))))
                ranks[step] = listed.index(instance.choice)
        return ranks, rules

    def rank_choices(self) -> None:
        """Find, for each rule, an order of its choices that agrees with every list learned so far.

        A rule that lists the same choices in different orders has none: it is `unordered`.
        """
        book = self.learning.book
        if new := book.instances[len(self.rules) :]:
            known = [self.places.get(instance.asked, 0) for instance in new]
            self.rules = np.concatenate([self.rules, np.array(known, np.int64)])
            self.ranks = np.concatenate([self.ranks, np.zeros(len(new), np.int64)])
        changed = set()
        for listed in islice(book.list_numbers, self.lists, None):
            if not listed or book.instances[listed[0]].kind != RULE:
                continue
            rule = book.instances[listed[0]].asked
            before = self.before.setdefault(rule, {})
            for one, after in pairwise(listed):
                before.setdefault(after, set()).add(one)
            if (np.diff(self.ranks[list(listed)]) <= 0).any():
                changed.add(rule)
        self.lists = len(book.list_numbers)
        for rule in changed - self.unordered:
            try:
                order = list(TopologicalSorter(self.before[rule]).static_order())
            except CycleError:
                self.unordered.add(rule)
            else:
                self.ranks[order] = np.arange(len(order))

    # -- properties -----------------------------------------------------------------------------

    def judged(self, prop: Liveness[Any]) -> tuple[Numbers, Numbers]:
        names = bits_of(prop)
        bodies = zip(names, (prop.begins, prop.reached), strict=True)
        asked = attrs.evolve(self.system, properties=tuple(Reachable(*body) for body in bodies))
        learning = self.learning
        _, learning.properties, _ = learning.book.roots_of(asked)
        learning.tables.sync()
        learning.refresh()
        masks: Words = np.zeros(len(self.keys), np.int64)
        for places, found in self.asking.mark(np.arange(len(masks)), self.words_at):
            masks[places] = found
        for number in np.flatnonzero(masks >> FAILED_BIT & 1).tolist():
            state = self.state(number)
            with code_of(f"property {prop.name}", prop.body):
                prop.begins(state)
                prop.reached(state)
        bits = [learning.bits[name] for name in names]
        begun, reached = (np.flatnonzero(masks >> bit & 1) for bit in bits)
        return begun, reached
