"""Sources of states and steps that run compiled code: a hand-written kernel, or learned rules."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice, pairwise
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned.book import RULE, Unfit, bits_of
from kspec.checkers.engine.learned.expander import Learned
from kspec.checkers.engine.learned.search import Learnable
from kspec.checkers.engine.packed.expander import FAILED_BIT, ByKernel, Expander
from kspec.checkers.engine.packed.search import Repacked
from kspec.checkers.graph.graph import BATCH, Key, Numbers, Source
from kspec.impl.packed.compiled import Words
from kspec.impl.packed.kernels import kernel_for
from kspec.spec.core import Liveness, Reachable, Rule, System, Taken
from kspec.spec.core.errors import code_of


class Packed(Source[Any]):
    """Keys are the words of states, as bytes."""

    expander: Expander
    width: int

    def keys_of(self, rows: Words) -> list[Key]:
        """The keys of states, given a row of words for each."""
        whole = np.ascontiguousarray(rows, np.int64).view(f"V{8 * self.width}")
        keys: list[Key] = whole.ravel().tolist()
        return keys

    def words(self, keys: Sequence[Any]) -> Words:
        """The words of states, a column for each."""
        rows = np.frombuffer(b"".join(keys), np.int64).reshape(-1, self.width)
        return rows.T.copy()

    def steps(self, begin: int, end: int) -> tuple[Numbers, Sequence[Key], Numbers]:
        while True:
            try:
                found = self.packed_steps(begin, end)
            except Repacked:
                continue  # all states have new words
            origins, labels, rows = (np.concatenate(part) for part in zip(*found, strict=True))
            order = np.lexsort((*self.order_of(origins, labels), origins))
            return origins[order], self.keys_of(rows[order]), self.relabelled(labels[order])

    def packed_steps(self, begin: int, end: int) -> list[tuple[Numbers, Numbers, Words]]:
        """Steps in any order, in parts: origins, labels, and the words of the states after."""
        found: list[tuple[Numbers, Numbers, Words]] = []
        places, expander = np.arange(begin, end), self.expander
        while len(places):
            words = self.words([self.keys[place] for place in places.tolist()])
            asked, lost = 0, []
            while asked < len(places):
                stop, count = expander.expand(words, asked, len(places))
                failed = np.flatnonzero(expander.masks[asked:stop] >> FAILED_BIT & 1)
                self.raise_again(places[asked:stop][failed])
                origins = expander.origins[:count]
                label = origins & (1 << expander.label_bits) - 1
                after = expander.successors[:, :count].T.copy()
                found.append((places[origins >> expander.label_bits], label, after))
                lost.append(places[expander.lost])
                asked = stop
            places = np.concatenate(lost)
            self.learn()
        return found

    def raise_again(self, failed: Numbers) -> None:
        """Run the rules again in a state where one raised an exception, to raise it here."""
        for number in failed.tolist():
            {after for _, _, after in self.system.steps(self.state(number))}

    def order_of(self, origins: Numbers, labels: Numbers) -> tuple[Numbers, ...]:
        """What steps out of one state are ordered by, the last first."""
        return ()

    def relabelled(self, labels: Numbers) -> Numbers:
        """The labels of steps, given those of the expander."""
        return labels

    def learn(self) -> None:
        """Learn what the expander has missed, if there is anything."""


class ByHand(Packed):
    """Runs a hand-written kernel."""

    def __init__(self, system: System[Any]) -> None:
        super().__init__(system)
        self.acts = None
        self.kernel = kernel_for(system)
        self.width = len(self.kernel.layout.widths)
        self.expander = ByKernel(self.kernel, system, coverage=False)
        self.begin(map(self.as_key, system.initial()))

    def as_state(self, key: Any) -> Any:
        return self.kernel.unpack(np.frombuffer(key, np.int64).tolist())

    def as_key(self, state: Any) -> Key:
        return np.array(self.kernel.pack(state), np.int64).tobytes()

    def as_taken(self, label: int, before: Any) -> Taken:
        return self.kernel.taken(label, before)


class ByLearning(Packed):
    """Runs learned rules.

    Its keys are valid in this process only: they depend on the order of learning, and change when
    states get more bits.
    """

    is_portable = False

    def __init__(self, system: System[Any], learned: Learnable | None) -> None:
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
        """Expand states in their current words."""
        self.width = self.learning.width
        self.expander: Learned = Learned(self.learning)

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

    def learn(self) -> None:
        missed, self.expander.missed = self.expander.missed, []
        if not missed:
            return
        try:
            outgrown = self.learning.learn(missed)
        except Unfit as unfit:
            self.begin_anew(unfit.field)
            raise Repacked from None
        if outgrown:
            self.repack()
            raise Repacked

    def repack(self) -> None:
        """Give states more bits."""
        tables = self.learning.tables
        rows = tables.rows_of(self.words(self.keys))
        self.learning.repack()
        self.use_words()
        self.renumber(rows)

    def begin_anew(self, field: str) -> None:
        """Start learning again, with a field of varying length as one component."""
        states = [self.as_state(key) for key in self.keys]
        self.learned.take_apart(field)
        self.begin_learning()
        rows = np.array([self.learning.book.row_of(state) for state in states], np.int64)
        self.learning.tables.sync()
        self.learning.repack()
        self.use_words()
        self.renumber(rows)

    def renumber(self, rows: Words) -> None:
        """Compute the keys of all states, given the rows of their components."""
        packing = self.learning.tables.packing
        words: Words = np.zeros((len(rows), self.width), np.int64)
        for word, shift, column in zip(packing.words, packing.shifts, rows.T, strict=True):
            words[:, word] |= column << shift
        self.keys = self.keys_of(words)
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
        for begin in range(0, len(self.keys), BATCH):
            self.mark(prop, masks[begin : begin + BATCH], begin)
        bits = [learning.bits[name] for name in names]
        begun, reached = (np.flatnonzero(masks >> bit & 1) for bit in bits)
        return begun, reached

    def mark(self, prop: Liveness[Any], masks: Words, begin: int) -> None:
        """Write the marks of some states."""
        words = self.words(self.keys[begin : begin + len(masks)])
        places, expander = np.arange(len(masks)), self.expander
        while len(places):
            asked, lost = 0, []
            while asked < len(places):
                stop = expander.mark(words, asked, len(places))
                masks[places[asked:stop]] = expander.masks[asked:stop]
                lost.append(expander.lost)
                asked = stop
            self.learn()
            again = np.concatenate(lost)
            places, words = places[again], words[:, again].copy()
        for number in np.flatnonzero(masks >> FAILED_BIT & 1).tolist():
            state = self.state(begin + number)
            with code_of(f"property {prop.name}", prop.body):
                prop.begins(state)
                prop.reached(state)
