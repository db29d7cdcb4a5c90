"""One system, learned while it is explored: the book, its tables, what compiled code is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from checkers.learned import walk
from checkers.learned.book import Book
from checkers.learned.tables import Tables
from checkers.learned.values import RECORD, SCALAR, SET, Values
from impl.packed.compiled import Words
from spec.core import System


class Learning:
    """What is known of a system's rules, and grows."""

    def __init__(self, system: System[Any], tables: Tables | None = None) -> None:
        self.system = system
        self.tables = tables or Tables(Book(system))
        self.book = self.tables.book
        self.rules, self.properties, self.final = self.book.roots_of(system)
        self.initial = [self.book.row_of(state) for state in dict.fromkeys(system.initial())]
        self.tables.sync()
        self.tables.repack()
        self.ranks: list[Words] = []
        self.version = 0
        """Changes when what workers have shortened is void."""
        self.refresh()

    def refresh(self) -> None:
        """Have compiled code read the arrays as they are now."""
        t = self.tables
        packing = t.packing
        self.width = len(packing.widths)
        self.layout_arrays = packing.words, packing.shifts, packing.masks
        known = (
            t.root_at.array, t.tree.array, t.answers.array, t.answers_at, t.stride,
            t.leaves.array.reshape(-1), t.lists.array,
        )  # fmt: skip
        self.mark_arrays = (self.asked(self.properties)[0], *known)
        asked, self.always_blocked, limits = self.asked(self.rules)
        groups, group, others = self.grouped(asked)
        self.version += 1
        self.most_short = 16 + sum(8 + 4 * (end - first) for _, first, end in groups.tolist())
        counts = t.component_count
        self.short_begin: Words = np.cumsum(counts) - counts
        self.step_arrays = (
            groups, group, others, limits, self.final, *known, t.writes.array.reshape(-1),
            t.keep.reshape(-1), t.put.reshape(-1),
            t.recipes.at.array, t.recipes.room.array, t.recipes.content.array,
        )  # fmt: skip
        self.most_steps = t.most(self.rules)
        self.most_marks = t.most(self.properties)

    def asked(self, instances: Sequence[int]) -> tuple[Words, Words, Words]:
        """What is to be asked of each state, as far as it is not the same in all so far.

        Beside it, what counts the guards that block in every state, and what is asked beyond
        those that are limits. Choices that are always the same are asked one by one.
        """
        t = self.tables
        tree, roots, leaves, lists = t.tree.array, t.root_at.array, t.leaves.array, t.lists.array
        asked: list[int] = []
        blocked: list[int] = []
        limits: list[int] = []
        todo = list(reversed(instances))
        while todo:
            instance = todo.pop()
            child = int(tree[roots[instance]])
            if child <= walk.LEAF:
                kind, counter, beyond = leaves[walk.LEAF - child][:3].tolist()
                if kind == walk.NOTHING:
                    continue
                if kind == walk.CHOICES:
                    todo += reversed(lists[counter:beyond].tolist())
                    continue
                if kind == walk.BLOCKED:
                    blocked.append(counter)
                    if beyond >= 0:
                        limits.append(beyond)
                    continue
            asked.append(instance)
        arrays = [np.array(some, np.int64) for some in (asked, blocked, limits)]
        return arrays[0], arrays[1], arrays[2]

    def grouped(self, asked: Words) -> tuple[Words, Words, Words]:
        """Instances by the component that their trees ask about first, and the others."""
        tree, roots = self.tables.tree.array, self.tables.root_at.array
        by: dict[int, list[int]] = {}
        others = []
        for instance in asked.tolist():
            node = int(tree[roots[instance]])
            if node >= 0:
                by.setdefault(int(tree[node]), []).append(instance)
            else:
                others.append(instance)
        groups: list[tuple[int, int, int]] = []
        group: list[int] = []
        for component, some in by.items():
            groups.append((component, len(group), len(group) + len(some)))
            group += some
        return (
            np.array(groups, np.int64).reshape(-1, 3),
            np.array(group, np.int64),
            np.array(others, np.int64),
        )

    @property
    def bits(self) -> Mapping[str, int]:
        """By property: its bit in masks."""
        return self.book.marks

    def learn(self, missed: Sequence[tuple[Words, Words]]) -> bool:
        """Learn what was missed; whether states need more bits from now on."""
        if not missed:
            return self.tables.is_outgrown
        misses = np.concatenate([some for some, _ in missed])
        rows = np.concatenate([rows for _, rows in missed])
        self.tables.learn(misses, rows)
        self.ranks = []
        self.refresh()
        return self.tables.is_outgrown

    def repack(self) -> None:
        """Give states the bits that they need."""
        self.tables.repack()
        self.refresh()

    def state(self, words: Sequence[int]) -> Any:
        """The state of some words."""
        column = np.array(words, np.int64)[:, None]
        return self.book.state_of(self.tables.rows_of(column)[0].tolist())

    def words(self, row: Sequence[int]) -> tuple[int, ...]:
        """The words of a row."""
        return tuple(self.tables.words_of(row))

    def order(self, words: Words) -> Words:
        """The same order of states, whatever was learned first: by their values, as text."""
        if not self.ranks:
            ranks = []
            for component in self.book.components:
                texts = [canonical(self.book.values, number) for number in component.values]
                rank = np.empty(len(texts), np.int64)
                rank[np.argsort(np.array(texts, object), kind="stable")] = np.arange(len(texts))
                ranks.append(rank)
            self.ranks = ranks  # at once: another worker may ask at the same time
        rows = self.tables.rows_of(words)
        return np.array([rank[column] for rank, column in zip(self.ranks, rows.T, strict=True)])


def canonical(values: Values, number: int) -> str:
    """A text that says what a value is, the same in every run."""
    kind = values.kinds[number]
    if kind == SCALAR:
        value = values.objects[number]
        return f"{type(value).__name__}:{value!r}"
    parts = [canonical(values, part) for part in values.parts[number]]
    if kind == SET:
        return "{" + ",".join(sorted(parts)) + "}"
    name = values.shape_of(number).cls.__name__ if kind == RECORD else ""
    return f"{name}({','.join(parts)})"
