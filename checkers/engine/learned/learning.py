"""A system that is learned during exploration: its book, its tables, and the arrays of both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from threading import Lock
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import Book
from kspec.checkers.engine.learned.canonical import text_of_parts, text_of_scalar, text_of_set
from kspec.checkers.engine.learned.divided import Division
from kspec.checkers.engine.learned.orbits import OrbitTables
from kspec.checkers.engine.learned.representatives import representatives
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.learned.values import RECORD, SCALAR, SET, Values
from kspec.checkers.engine.search import Stopped
from kspec.checkers.engine.symmetry import Symmetry
from kspec.impl.compiled import Words
from kspec.spec.core import Always, OrderedSet, Reachable, System


class Learning:
    """What is learned about the rules of a system so far."""

    def __init__(
        self,
        system: System[Any],
        tables: Tables | None = None,
        symmetry: Symmetry | None = None,
        watch: Callable[[], None] = lambda: None,
    ) -> None:
        """Number the initial states; `watch` is called for each, and may raise an exception."""
        self.system = system
        self.symmetry = symmetry
        self.tables = tables or Tables(Book(system))
        self.book = self.tables.book
        self.rules, self.properties, self.final = self.book.roots_of(system)
        self.asked_names = [p.name for p in system.properties if isinstance(p, Always | Reachable)]
        """The properties that `mark` evaluates."""
        self.initial: Words = self.book.rows_of(system.initial(), watch)
        self.tables.sync()
        self.orbits = OrbitTables(symmetry, self.book) if symmetry else None
        self.tables.sync()
        self.tables.repack()
        self.ranks: list[Words] = []
        self.building = Lock()
        self.version = 0
        """It changes when the lists of workers are void."""
        self.refresh()

    def refresh(self) -> None:
        """Give compiled code the current arrays."""
        t = self.tables
        packing = t.packing
        self.width = len(packing.widths)
        self.layout_arrays = packing.words, packing.shifts, packing.masks
        self.known = walk.KnownAnswers(
            t.root_at.array, t.tree.array, t.answers.array, t.answers_at, t.stride,
            t.leaves.array.reshape(-1), t.lists.array,
        )  # fmt: skip
        self.elements = t.views.elements(self.book.fixed) if self.book.divisions else None
        """What is known of divided sets; compiled code has a version without them."""
        self.version += 1
        counts = t.component_count
        self.values = np.append(counts, counts[counts <= walk.FEW_VALUES].sum())
        """By component, how many values it has; and how many those with few values have."""
        self.asked = walk.Asked(
            self.final, t.writes.array.reshape(-1),
            t.keep.reshape(-1), t.put.reshape(-1),
            t.recipes.at.array, t.recipes.room.array, t.recipes.content.array,
        )  # fmt: skip
        self.most_steps = t.most(self.rules)
        self.most_marks = t.most(self.properties)
        self.most_misses = t.most_misses(self.rules)
        self.orbit_arrays = self.orbits.arrays if self.orbits else None

    def ask_for(self, names: Collection[str]) -> None:
        """Have `mark` evaluate only these properties.

        The reference engine does not evaluate a property again that has its counterexample or
        witness. So an exception of that property in a later level is no failure.
        """
        kept = [name for name in self.asked_names if name in names]
        if kept != self.asked_names:
            self.asked_names = kept
            properties = tuple(p for p in self.system.properties if p.name in kept)
            asked = attrs.evolve(self.system, properties=properties)
            _, self.properties, _ = self.book.roots_of(asked)
            self.refresh()

    @property
    def bits(self) -> Mapping[str, int]:
        """By property: its bit in masks."""
        return self.book.marks

    def learn(
        self, missed: Sequence[tuple[Words, Words]], watch: Callable[[], None] = lambda: None
    ) -> bool:
        """Learn what was missed; whether states need more bits now.

        Calls `watch` after each run of a rule; it raises an exception to end the run of the engine.
        """
        if not missed:
            return self.tables.is_outgrown
        misses = np.concatenate([some for some, _ in missed])
        rows = np.concatenate([rows for _, rows in missed])
        try:
            self.tables.learn(misses, rows, watch)
        except Stopped:
            self.take_up()
            raise
        self.take_up()
        return self.tables.is_outgrown

    def take_up(self) -> None:
        """Have compiled code use what was learned."""
        if self.orbits:
            self.orbits.close()
            self.tables.sync()
        self.ranks = []
        self.refresh()

    def repack(self) -> None:
        """Widen the components that have outgrown their bits."""
        self.tables.repack()
        self.refresh()

    def state(self, words: Sequence[int]) -> Any:
        """The state of some words."""
        column = np.array(words, np.int64)[:, None]
        return self.book.state_of(self.tables.rows_of(column)[0].tolist())

    def words(self, row: Sequence[int]) -> tuple[int, ...]:
        """The words of a row."""
        return tuple(self.tables.words_of(row))

    @property
    def bytes(self) -> int:
        """The size of all tables."""
        return self.tables.bytes + (self.orbits.bytes if self.orbits else 0)

    def represent(self, words: Words, count: int) -> int:
        """Replace states by the representatives of their orbits; how many states these have."""
        states: int = representatives(words, count, *self.layout_arrays, self.orbit_arrays)  # type: ignore[no-untyped-call]
        return states

    def representative_of(self, state: Any) -> tuple[int, ...]:
        """The words of the representative of a state's orbit."""
        assert self.orbits is not None, "there is no symmetry"
        words = np.array(self.words(self.orbits.row_of(state)), np.int64)[:, None]
        self.represent(words, 1)
        return tuple(words[:, 0].tolist())

    def least(self, columns: Words) -> tuple[tuple[int | str, ...], int]:
        """The least of some states by their values, independently of the order of learning.

        Returns a key that can be compared between calls, and the index of the least state.
        """
        if not self.ranks:
            ranks = []
            for component in self.book.components[: self.book.fixed]:
                texts = [canonical(self.book.values, number) for number in component.values]
                rank = np.empty(len(texts), np.int64)
                rank[np.argsort(np.array(texts, object), kind="stable")] = np.arange(len(texts))
                ranks.append(rank)
            self.ranks = ranks  # at once: another worker may ask at the same time
        rows = self.tables.rows_of(columns)
        keys: list[Sequence[int | str]] = []
        orders: list[Words] = []
        for part in self.book.parts:
            if not isinstance(part, Division):
                order = self.ranks[part][rows[:, part]]
                keys.append(order.tolist())
            else:
                texts, order = self.texts_of(part, rows)
                keys.append(texts)
            orders.append(order)
        first = int(np.lexsort(orders[::-1])[0])
        return tuple([key[first] for key in keys]), first

    def texts_of(self, division: Division, rows: Words) -> tuple[list[str], Words]:
        """For each row a text of the elements of a division, and the order of these texts."""
        among = [k for k in division.member_of if k < rows.shape[1]]
        sets, places = np.unique(rows[:, among], axis=0, return_inverse=True)
        texts = []
        for present in sets:
            some = [(among[place], int(present[place])) for place in np.flatnonzero(present)]
            texts.append(self.text_of(division, some))
        ranks = np.argsort(np.argsort(np.array(texts, object), kind="stable"), kind="stable")
        places = places.reshape(-1)
        return [texts[place] for place in places.tolist()], ranks[places]

    def text_of(self, division: Division, present: Sequence[tuple[int, int]]) -> str:
        """The text of a divided field with these elements, as `canonical` gives it.

        Workers ask at the same time, so the value gets no number.
        """
        values = self.book.values
        if division.cls is OrderedSet:
            members = sorted(canonical(values, division.member_of[k]) for k, _ in present)
            return "{" + ",".join(members) + "}"
        with self.building:
            value = division.built(present)
        return f"{division.cls.__name__}:{value!r}"


def canonical(values: Values, number: int) -> str:
    """The text of a value, the same in every run."""
    kind = values.kinds[number]
    if kind == SCALAR:
        return text_of_scalar(values.objects[number])
    parts = [canonical(values, part) for part in values.parts[number]]
    if kind == SET:
        return text_of_set(parts)
    return text_of_parts(parts, values.shape_of(number).cls.__name__ if kind == RECORD else "")
