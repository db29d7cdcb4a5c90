"""A source of states and steps by learned rules."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.asking import LearnedAsking
from kspec.checkers.engine.learned.book import RULE, bits_of
from kspec.checkers.engine.learned.divided import Unfit
from kspec.checkers.engine.learned.expander import Repacked
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.walk import FAILED_BIT
from kspec.checkers.engine.numbered import Numbered
from kspec.checkers.engine.steps import Key, Numbers, Source
from kspec.impl.compiled import Words
from kspec.spec.core import Liveness, Reachable, Rule, System
from kspec.spec.core.errors import code_of


class StepsByLearning(Source[Any]):
    """Runs learned rules.

    A key is the words of a state, as bytes. It is valid in this process only: it depends on the
    order of learning, and changes when states get more bits.
    """

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

    def keys_of(self, columns: Words) -> list[Key]:
        """The keys of states, given a column of words for each."""
        whole = np.ascontiguousarray(columns.T, np.int64).view(f"V{8 * self.width}")
        keys: list[Key] = whole.ravel().tolist()
        return keys

    def words(self, keys: Sequence[Any]) -> Words:
        """The words of states, a column for each."""
        rows = np.frombuffer(b"".join(keys), np.int64).reshape(-1, self.width)
        return rows.T.copy()

    def words_at(self, places: Numbers) -> Words:
        """The words of the states with these numbers, a column for each."""
        return self.words([self.keys[place] for place in places.tolist()])

    # -- steps ----------------------------------------------------------------------------------

    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        while True:
            try:
                found = self.packed_steps(np.arange(begin, end))
            except Repacked:
                continue  # all states have new words
            origins, labels = (np.concatenate(part) for part in list(zip(*found, strict=True))[:2])
            successors = np.concatenate([columns for _, _, columns in found], axis=1)
            order = np.lexsort((*self.order_of(origins, labels), origins))
            after = self.keys_of(successors[:, order])
            return origins[order], after, self.relabelled(labels[order])

    def packed_steps(self, places: Numbers) -> list[tuple[Numbers, Numbers, Words]]:
        """Steps in any order, in parts: origins, labels, and the words of the states after."""
        found = []
        try:
            for answer in self.asking.expand(places, self.words_at):
                self.raise_again(answer.places[answer.masks >> FAILED_BIT & 1 == 1])
                found.append((answer.origins, answer.labels, answer.successors.copy()))
        except Unfit as unfit:
            self.begin_anew(unfit)
            raise Repacked from None
        return found

    def raise_again(self, failed: Numbers) -> None:
        """Run the rules again in a state where one raised an exception, to raise it here."""
        for number in failed.tolist():
            {after for _, _, after in self.system.steps(self.state(number))}

    def relabelled(self, labels: Numbers) -> Numbers:
        """The labels of steps, given those of the expander."""
        found, first, places = np.unique(labels, return_index=True, return_inverse=True)
        named = np.empty(len(found), np.int64)
        for place in np.argsort(first).tolist():
            instance = self.learning.book.instances[found[place]]
            named[place] = self.acts.number((instance.asked, instance.choice))
        return named[places]

    # -- learning -------------------------------------------------------------------------------

    def begin_anew(self, unfit: Unfit) -> None:
        """Start learning again, with other components."""
        states = [self.as_state(key) for key in self.keys]
        self.learned.lay_out_anew(unfit)
        self.begin_learning()
        rows = self.learning.book.rows_of(states)
        self.learning.tables.sync()
        self.learning.repack()
        self.use_words()
        self.renumber(self.learning.tables.columns_of(rows))

    def renumber(self, columns: Words) -> None:
        """Compute the keys of all states, given the words of each."""
        self.width = len(columns)
        self.keys = Numbered(self.keys_of(columns))

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

    def masks(self, places: Numbers) -> Words:
        """The marks of the states with these numbers, which are bits of `learning.bits`."""
        masks: Words = np.zeros(len(self.keys), np.int64)
        for some, found in self.asking.mark(places, self.words_at):
            masks[some] = found
        return masks[places]

    def judged(self, prop: Liveness[Any]) -> tuple[Numbers, Numbers]:
        names = bits_of(prop)
        bodies = zip(names, (prop.begins, prop.reached), strict=True)
        asked = attrs.evolve(self.system, properties=tuple(Reachable(*body) for body in bodies))
        learning = self.learning
        _, learning.properties, _ = learning.book.roots_of(asked)
        learning.tables.sync()
        learning.refresh()
        masks = self.masks(np.arange(len(self.keys)))
        for number in np.flatnonzero(masks >> FAILED_BIT & 1).tolist():
            state = self.state(number)
            with code_of(f"property {prop.name}", prop.body):
                prop.begins(state)
                prop.reached(state)
        bits = [learning.bits[name] for name in names]
        begun, reached = (np.flatnonzero(masks >> bit & 1) for bit in bits)
        return begun, reached
