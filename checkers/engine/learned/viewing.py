"""The arrays of views: what each answers, by the bits of its elements in the words of a state."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import Book
from kspec.checkers.engine.learned.divided import View
from kspec.checkers.engine.learned.growing import Row
from kspec.checkers.engine.learned.packing import Packing
from kspec.impl.compiled import Words

WORDS, WORD_COUNT, ANSWERS, ROOM, COMPONENTS, COMPONENT_COUNT = range(6)
"""The columns of `walk.Elements.views`: where a view's words, answers and components begin, how
many words and components it has, and for how many answers there is room."""


@attrs.define(eq=False)
class Taken:
    """How much of a view is in the arrays."""

    words: tuple[int, ...] = ()
    """The words of a state that have elements of the view."""
    bits: int = -1
    """The number of its elements that have bits."""
    answers: int = 0
    components: int = -1
    room: int = 0


class ViewTables:
    """The arrays of all views, and of the choices that are elements."""

    def __init__(self) -> None:
        self.views, self.words, self.known = Row(6), Row(2), Row(fill=walk.UNKNOWN)
        self.components, self.choices, self.lists = Row(), Row(3), Row()
        self.taken: list[Taken] = []
        self.packing: Packing | None = None

    @property
    def bytes(self) -> int:
        """The size of the arrays."""
        rows = [value for value in vars(self).values() if isinstance(value, Row)]
        return int(sum(row.array.nbytes for row in rows))

    def elements(self, fixed: int) -> walk.Elements:
        """What compiled code reads."""
        return walk.Elements(
            fixed, self.views.array.reshape(-1), self.words.array.reshape(-1), self.known.array,
            self.components.array, self.choices.array.reshape(-1), self.lists.array,
        )  # fmt: skip

    def take(self, book: Book, packing: Packing, numbered: Callable[[View], Words]) -> None:
        """Add what is new; `numbered` returns the small numbers of all answers of a view."""
        if packing is not self.packing:
            self.packing = packing
            self.taken = [Taken() for _ in self.taken]
            self.words.count = self.known.count = self.components.count = 0
            self.known.array[:] = walk.UNKNOWN
        for _ in book.views[len(self.taken) :]:
            self.taken.append(Taken())
            self.views.extend([(0, 0, 0, 1, 0, 0)])
            self.known.extend([walk.UNKNOWN])
        for view, taken in zip(book.views, self.taken, strict=True):
            self.take_view(view, taken, packing, numbered)
        self.choices.count = self.lists.count = 0
        for choices in book.choices:
            self.choices.extend([(choices.view.number, self.lists.count, choices.count)])
            self.lists.extend(choices.begin)

    def take_view(
        self, view: View, taken: Taken, packing: Packing, numbered: Callable[[View], Words]
    ) -> None:
        """Add what is new of one view."""
        row = self.views.array[view.number]
        if taken.components != len(view.components):
            taken.components = len(view.components)
            row[COMPONENTS], row[COMPONENT_COUNT] = self.components.count, taken.components
            self.components.extend(view.components)
        placed = np.array(view.components, np.int64)
        placed = placed[packing.masks[placed] > 0] if len(placed) else placed
        is_new = taken.bits != len(placed)
        if not is_new and taken.answers == len(view.answers):
            return
        taken.bits = len(placed)
        masks: dict[int, int] = {}
        for k in placed.tolist():
            word = int(packing.words[k])
            masks[word] = masks.get(word, 0) | int(packing.masks[k]) << int(packing.shifts[k])
        words = tuple(sorted(masks))
        if words != taken.words or taken.room == 0:
            row[WORDS], row[WORD_COUNT] = self.words.count, len(words)
            self.words.extend([(word, masks[word]) for word in words])
            taken.words, taken.answers, taken.room = words, 0, 0
        elif is_new:
            for place, word in enumerate(words, int(row[WORDS])):
                self.words.array[place, 1] = masks[word]
        if 2 * len(view.answers) >= taken.room:
            taken.answers, taken.room = 0, max(8, 1 << (4 * len(view.answers)).bit_length())
            row[ANSWERS], row[ROOM] = self.known.count, taken.room
            self.known.extend(np.full(taken.room * (1 + len(words)), walk.UNKNOWN))
        if taken.answers < len(view.answers) and walk.VIEW in view.place.probes:
            self.enter(view, taken, packing, numbered(view))

    def enter(self, view: View, taken: Taken, packing: Packing, numbers: Words) -> None:
        """Enter the answers that are new."""
        first, taken.answers = taken.answers, len(view.answers)
        keys = list(view.answers)[first:]
        columns: Words = np.zeros((len(taken.words), len(keys)), np.int64)
        at = {word: place for place, word in enumerate(taken.words)}
        for n, key in enumerate(keys):
            for k, local in key:
                columns[at[int(packing.words[k])], n] |= local << int(packing.shifts[k])
        row = self.views.array[view.number]
        walk.enter_answers(
            numbers[first:], columns, self.known.array,
            int(row[ANSWERS]), taken.room, len(taken.words),
        )  # fmt: skip
