"""What one process has learned of a model, and what it answers about states as bytes.

A state is a row of numbers here, one for each component, as in `checkers.learned`. The bytes of
each component are made once for each of its values; so a row becomes bytes, or bytes a row,
by looking up its components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from checkers.learned.book import STATE, Unfit
from checkers.learned.checking import Checking, by_rules
from checkers.learned.expander import Learned
from checkers.learned.learning import Learning
from checkers.native.expander import BATCH
from checkers.native.search import Learnable, warm_up_learning
from checkers.search import Counts
from impl.packed.compiled import Words, made_ready
from spark_check.plain import COUNT, Codec, end_of_frame, end_of_item
from spec.core import System

T = TypeVar("T")


class Asking:
    """One model in one process."""

    def __init__(self, system: System[Any]) -> None:
        self.system = system
        self.codec = Codec(system)
        self.learnable = Learnable()
        self.begin()

    def begin(self) -> None:
        """Know nothing yet."""
        with made_ready("learned", None):
            self.learning = self.learned()
        self.book, self.tables = self.learning.book, self.learning.tables
        self.expander = Learned(self.learning)
        self.counted = Counts()
        count = len(self.book.components)
        self.numbers: list[dict[bytes, int]] = [{} for _ in range(count)]
        """By component: the number of each value, by its bytes."""
        self.pieces: list[list[bytes]] = [[] for _ in range(count)]
        """By component: the bytes of each value, with what stands before them."""
        items = [place for place in self.book.plan if not isinstance(place, int)]
        self.items = frozenset(k for place in items for k in place)
        """The components that are items of a tuple."""
        self.headers = {place[0]: b"(" + COUNT.pack(len(place)) for place in items}
        """By component that is the first item of a tuple: how the tuple begins."""
        self.last: tuple[Sequence[bytes], Words] = (), np.zeros((0, count), np.int64)
        """The states that were turned into rows last: they are asked for again in the next task."""

    def learned(self) -> Learning:
        """A beginning, with components that fit the first states."""
        while True:
            try:
                learning = self.learnable.of(self.system)
                warm_up_learning(learning)
            except Unfit as unfit:
                self.learnable.take_apart(unfit.field)
            else:
                return learning

    def answer(self, ask: Callable[[], T]) -> T:
        """What is asked; from the beginning, where components turn out not to fit."""
        while True:
            try:
                return ask()
            except Unfit as unfit:
                self.learnable.take_apart(unfit.field)
                self.begin()

    # -- bytes and rows -------------------------------------------------------------------------

    def rows_of(self, states: Sequence[bytes]) -> Words:
        """States as rows."""
        if self.last[0] is states:
            return self.last[1]
        before = self.tables.component_count.sum()
        rows = np.array([self.row_of(state) for state in states], np.int64)
        if sum(len(component.values) for component in self.book.components) > before:
            self.tables.sync()
            self.take_up(outgrown=self.tables.is_outgrown)
        rows = rows.reshape(len(states), len(self.book.components))
        self.last = states, rows
        return rows

    def row_of(self, state: bytes) -> list[int]:
        """A state as a row."""
        if not self.book.is_record:
            return [self.number_of(0, state)]
        if not state.startswith(self.codec.head):
            raise Unfit(STATE)
        row = []
        at = len(self.codec.head)
        for k, known in enumerate(self.numbers):
            if k in self.headers:
                header = self.headers[k]
                if not state.startswith(header, at):
                    raise Unfit(self.book.components[k].field)
                at += len(header)
            end = end_of_item(state, at) if k in self.items else end_of_frame(state, at)
            number = known.get(state[at:end])
            row.append(self.number_of(k, state[at:end]) if number is None else number)
            at = end
        return row

    def number_of(self, component: int, content: bytes) -> int:
        """The number of a component's value, given its bytes."""
        number = self.numbers[component].get(content)
        if number is None:
            codec = self.codec
            if not self.book.is_record:
                value = codec.decode_state(content)
            elif component in self.items:
                value = codec.decode(content[COUNT.size :])
            else:
                value = codec.unframe(content)
            number = self.book.id_of(component, self.book.values.number(value))
            self.numbers[component][content] = number
        return number

    def bytes_of(self, rows: Words) -> list[bytes]:
        """Rows as states."""
        columns = []
        for k, component in enumerate(self.book.components):
            pieces = self.pieces[k]
            before = self.codec.head if k == 0 and self.book.is_record else b""
            before += self.headers.get(k, b"")
            for number in component.values[len(pieces) :]:
                value = self.book.values.value(number)
                if not self.book.is_record:
                    content = self.codec.encode_state(value)
                elif k in self.items:
                    content = self.codec.item(value)
                else:
                    content = self.codec.frame(value)
                pieces.append(before + content)
            columns.append(map(pieces.__getitem__, rows[:, k].tolist()))
        return list(map(b"".join, zip(*columns, strict=True)))

    # -- answers --------------------------------------------------------------------------------

    def words_of(self, rows: Words) -> Words:
        """Rows as columns of words."""
        packing = self.tables.packing
        words: Words = np.zeros((len(packing.widths), len(rows)), np.int64)
        for k, (word, shift) in enumerate(zip(packing.words, packing.shifts, strict=True)):
            words[word] |= rows[:, k] << shift
        return words

    def take_up(self, *, outgrown: bool) -> None:
        """Go on with what was learned."""
        if outgrown:
            self.counted.add(self.expander.take_counts())
            self.learning.repack()
            self.expander = Learned(self.learning)
        else:
            self.learning.refresh()

    def asked(
        self, rows: Words, ask: Callable[[Learned, Words], tuple[int, int]]
    ) -> Iterator[tuple[Words, int]]:
        """Ask about states, batch by batch: which were asked, and how many successors they have.

        What is missed is learned, and asked again.
        """
        todo = [np.arange(at, min(at + BATCH, len(rows))) for at in range(0, len(rows), BATCH)]
        while todo:
            places = todo.pop()
            expander = self.expander
            stop, successors = ask(expander, self.words_of(rows[places]))
            lost = places[expander.lost]
            yield places[:stop], successors
            if stop < len(places):
                todo.append(places[stop:])
            if len(lost):
                missed, expander.missed = expander.missed, []
                if self.learning.learn(missed):
                    self.take_up(outgrown=True)
                todo.append(lost)

    def masks_of(self, rows: Words) -> Words:
        """What marks each state has."""
        masks: Words = np.zeros(len(rows), np.int64)
        ask = lambda expander, words: (expander.mark(words, 0, words.shape[1]), 0)  # noqa: E731
        for places, _ in self.asked(rows, ask):
            masks[places] = self.expander.masks[: len(places)]
        return masks

    def expand(self, rows: Words) -> Iterator[tuple[Words, Words, Words, Words]]:
        """Batch by batch: which states were expanded, and their masks; the successors, as columns
        of words, and the place of the state that each comes from.
        """
        ask = lambda expander, words: expander.expand(words, 0, words.shape[1])  # noqa: E731
        for places, count in self.asked(rows, ask):
            expander = self.expander
            origins = expander.origins[:count] >> expander.label_bits
            masks = expander.masks[: len(places)]
            yield places, masks, expander.successors[:, :count], places[origins]

    def successors_of(self, rows: Words) -> tuple[Words, int]:
        """The successors of some states, each once, and what marks expanding has shown."""
        found, mask = [rows[:0].astype(np.int32)], 0
        for _, masks, successors, _ in self.expand(rows):
            mask |= int(np.bitwise_or.reduce(masks, initial=0))
            once = np.unique(successors, axis=1)
            found.append(self.tables.rows_of(once).astype(np.int32))
        return np.unique(np.concatenate(found), axis=0), mask

    def take_counts(self) -> Counts:
        """What was counted since the last time."""
        counts, self.counted = self.counted, Counts()
        counts.add(self.expander.take_counts())
        return counts

    def check(self, rows: Words) -> None:
        """Compare what was learned of some states with what the rules say of them."""
        checking = Checking(self.learning, everything=False)
        learned = Learned(self.learning)
        for row in rows:
            state = self.book.state_of(row.tolist())
            found, properties = checking.by_learning(learned, self.words_of(row[None]))
            if found is not None:
                checking.compare(state, found, by_rules(self.system, state, properties=properties))
