"""The arrays of a book, which compiled code reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import Book, Impure, Plainer
from kspec.checkers.engine.packed.codes import CODE_BITS, WORD_BITS
from kspec.checkers.engine.search import Stopped
from kspec.impl.compiled import Words
from kspec.spec.core import SpecError

MOST = 1 << 30
"""The maximum number of values, probes, instances and so on; 24 GB of memory holds about a tenth
as many. Hash keys of answers (`walk.answer_number`) have 30 bits for a probe."""
MOST_IN_TREES = 1 << 31
"""The maximum size of all trees: addresses are signed 32-bit integers."""


class TooMany(SpecError):
    """A quantity exceeds the limit of the tables."""

    def __init__(self, what: str, limit: int) -> None:
        """State the limit."""
        super().__init__(
            f"this run needs more than {limit:,} {what}, the limit of the learned engine: use "
            "smaller bounds, or --engine reference"
        )


def assert_fits(numbers: Words, kind: Any) -> None:
    """Raise TooMany if an array of this kind cannot hold the numbers."""
    about = np.iinfo(kind)
    if numbers.size and (numbers.min() < about.min or numbers.max() > about.max):
        raise TooMany("different numbers in a table", int(about.max) + 1)


class Row:
    """An array that grows at its end, and rejects numbers that do not fit."""

    def __init__(self, width: int = 0, kind: Any = np.int64, fill: int = 0) -> None:
        self.fill = fill
        shape = (64, width) if width else (64,)
        self.array: Any = np.full(shape, fill, kind)
        self.count = 0

    def reserve(self, count: int) -> None:
        """Make room for this many."""
        if count > len(self.array):
            size = max(count, 2 * len(self.array))
            grown = np.full((size, *self.array.shape[1:]), self.fill, self.array.dtype)
            grown[: self.count] = self.array[: self.count]
            self.array = grown

    def extend(self, items: Any) -> None:
        """Add items at the end."""
        if len(items):
            if getattr(items, "dtype", None) != self.array.dtype:
                items = np.asarray(items, np.int64)
                assert_fits(items, self.array.dtype)
            self.reserve(self.count + len(items))
            self.array[self.count : self.count + len(items)] = items
            self.count += len(items)


class Lanes:
    """Arrays that grow side by side in one: lane n stands at `at[n]`, with room for `room[n]`."""

    def __init__(self, kind: Any = np.int32) -> None:
        self.content = Row(kind=kind, fill=-1)
        self.at = Row()
        self.room = Row()

    def have(self, lane: int, room: int) -> bool:
        """Make room in a lane; whether it moved."""
        while self.at.count <= lane:
            self.at.extend([0])
            self.room.extend([0])
        old = int(self.room.array[lane])
        if room <= old:
            return False
        new = max(16, 1 << (room - 1).bit_length())
        begin = self.content.count
        self.content.reserve(begin + new)
        at = int(self.at.array[lane])
        self.content.array[begin : begin + old] = self.content.array[at : at + old]
        self.content.array[begin + old : begin + new] = -1
        self.content.count = begin + new
        self.at.array[lane], self.room.array[lane] = begin, new
        return True


@attrs.define(eq=False)
class Packing:
    """The position of each component in the words of a state."""

    words: Words
    shifts: Words
    masks: Words
    widths: tuple[int, ...]
    """By word: the number of bits in use."""
    room: Words
    """By component: the number of values that fit its bits."""


def packing_for(counts: Sequence[int]) -> Packing:
    """A packing with room for twice as many values, or more if a code has bits left."""
    bits = [max(1, (2 * count - 1).bit_length()) for count in counts]
    spare = CODE_BITS - sum(bits)
    for k in sorted(range(len(bits)), key=lambda k: -bits[k])[: max(0, spare)] * 2:
        if spare > 0 and bits[k] > 1:
            bits[k] += 1
            spare -= 1
    words, shifts = np.zeros(len(bits), np.int64), np.zeros(len(bits), np.int64)
    widths: list[int] = []
    for k in sorted(range(len(bits)), key=lambda k: -bits[k]):
        word = next((w for w, used in enumerate(widths) if used + bits[k] <= WORD_BITS), -1)
        if word < 0:
            word = len(widths)
            widths.append(0)
        words[k], shifts[k] = word, widths[word]
        widths[word] += bits[k]
    room = np.array([1 << b for b in bits], np.int64)
    return Packing(words, shifts, room - 1, tuple(widths), room)


def rows_of(words: Words, packing: Packing) -> Words:
    """States as rows of numbers, from columns of words."""
    return ((words[packing.words] >> packing.shifts[:, None]) & packing.masks[:, None]).T


class Tables:
    """The arrays of a book."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.kinds = Row(kind=np.int8)
        self.shapes, self.same = Row(kind=np.int32), Row(kind=np.int32)
        self.part_begin, self.part_count = Row(), Row(kind=np.int32)
        self.parts = Row(kind=np.int32)
        self.fields: Any = np.full((0, 0), -1, np.int32)
        self.component_values = Lanes()
        self.component_count: Words = np.zeros(len(book.components), np.int64)
        self.probes = Row(5)
        self.steps = Row(2)
        self.filled = Row()
        self.local = Row()
        """By probe: its number among those of its component."""
        self.probe_count = [0] * len(book.components)
        self.answers = Row(kind=np.int32, fill=-1)
        self.answers_at: Words = np.zeros(len(book.components), np.int64)
        self.stride: Words = np.zeros(len(book.components), np.int64)
        self.answers_room = [0] * len(book.components)
        self.keys: Words = np.full(1 << 12, -1, np.int64)
        self.numbers: Any = np.zeros(1 << 12, np.int32)
        self.counts: Words = np.zeros(1, np.int64)
        """By probe: the number of different answers; the last item counts all."""
        self.skipped: Any = np.zeros(0, np.int8)
        self.tree = Row(kind=np.int32, fill=walk.UNKNOWN)
        self.sizes: Words = np.zeros(1, np.int64)
        """How much of the tree array is used."""
        self.root_at = Row()
        self.reads = Row(kind=np.int64)
        self.runs = Row(4)
        self.added = 0
        """The number of paths that are in the trees."""
        self.leaves = Row(walk.LEAF_SIZE, np.int32)
        self.lists = Row(kind=np.int32)
        self.writes = Row(3, np.int32)
        self.recipes = Lanes()
        self.packing = packing_for([len(c.values) for c in book.components])
        self.keep = self.put = np.zeros((0, 0), np.int64)
        self.effects_done = 0
        self.is_settled = True
        """Whether no learning is in progress: an interrupt may come at any time."""
        self.sync()

    # -- from the book to arrays ----------------------------------------------------------------

    def sync(self) -> None:
        """Add what was learned since the last time."""
        self.assert_room()
        self.take_values()
        self.take_probes()
        self.take_runs()
        book = self.book
        self.leaves.extend(book.leaves[self.leaves.count :])
        self.lists.extend(book.lists[self.lists.count :])
        self.writes.extend(book.writes[self.writes.count :])
        while self.recipes.at.count < len(book.recipes):
            self.recipes.have(self.recipes.at.count, 1)
        self.take_effects()

    def assert_room(self) -> None:
        """Raise TooMany if a quantity exceeds its limit."""
        book = self.book
        counted: dict[str, Sized] = {
            "values": book.values.kinds,
            "questions about values": book.probes,
            "instances of rules and properties": book.instances,
            "outcomes": book.leaves,
            "effects": book.effects,
            "recipes": book.recipes,
        }
        for what, some in counted.items():
            if len(some) > MOST:
                raise TooMany(what, MOST)

    def take_values(self) -> None:
        """Add values, and the local numbers of components."""
        values, done = self.book.values, self.kinds.count
        if len(values.kinds) > done:
            parts = values.parts[done:]
            lengths = np.fromiter(map(len, parts), np.int64, len(parts))
            ends = np.cumsum(lengths) + self.parts.count
            self.part_begin.extend(ends - lengths)
            self.part_count.extend(lengths)
            self.parts.extend([part for some in parts for part in some])
            self.kinds.extend(values.kinds[done:])
            self.shapes.extend(values.shapes[done:])
            self.same.extend(values.same[done:])
            if self.fields.shape != (len(values.shape_numbers), len(values.field_numbers)):
                self.fields = np.full(
                    (len(values.shape_numbers), max(1, len(values.field_numbers))), -1, np.int32
                )
                for number, shape in values.records.items():
                    for name, index in shape.index.items():
                        self.fields[-2 - number, values.field_numbers[name]] = index
        for k, component in enumerate(self.book.components):
            count = int(self.component_count[k])
            if len(component.values) > count or self.component_values.at.count <= k:
                self.component_values.have(k, len(component.values))
                at = int(self.component_values.at.array[k])
                content = self.component_values.content.array
                content[at + count : at + len(component.values)] = component.values[count:]
                self.component_count[k] = len(component.values)

    def take_probes(self) -> None:
        """Add probes, with their answers for every value of their components."""
        book = self.book
        numbers = book.values.field_numbers
        new = book.probes[self.probes.count :]
        steps: list[tuple[int, Any]] = []
        probes, local = [], []
        for component, what, of, path in new:
            begin = self.steps.count + len(steps)
            steps += [(numbers[s], 0) if type(s) is str else (-1, s) for s in path]
            probes.append((component, what, of, begin, self.steps.count + len(steps)))
            local.append(self.probe_count[component])
            self.probe_count[component] += 1
        if new:
            self.steps.extend(steps)
            self.probes.extend(probes)
            self.local.extend(local)
            self.filled.extend([0] * len(new))
            none: Words = np.zeros(len(new), np.int64)
            self.counts = np.concatenate([self.counts[:-1], none, self.counts[-1:]])
            self.skipped = np.append(self.skipped, none.astype(np.int8))
        for k, count in enumerate(self.component_count.tolist()):
            if self.probe_count[k] > self.stride[k] or count > self.answers_room[k]:
                self.widen(k, count)
        while walk.fill_answers(
            self.probes.array, self.steps.array, self.filled.array, self.local.array,
            self.answers.array, self.answers_at, self.stride,
            self.component_values.at.array, self.component_count,
            self.component_values.content.array, self.kinds.array, self.shapes.array,
            self.same.array, self.part_begin.array, self.part_count.array, self.parts.array,
            self.fields, self.keys, self.numbers, self.counts, self.probes.count,
        ):  # fmt: skip
            self.more_answers()

    def widen(self, k: int, count: int) -> None:
        """Make room for the answers of all probes of a component, for all of its values."""
        stride, room = int(self.stride[k]), self.answers_room[k]
        new_stride, new_room = max(stride, 8), max(room, 16)
        while new_stride < self.probe_count[k]:
            new_stride += new_stride // 2
        while new_room < count:
            new_room *= 2
        begin = self.answers.count
        self.answers.reserve(begin + new_stride * new_room)
        new = self.answers.array[begin : begin + new_stride * new_room].reshape(
            new_room, new_stride
        )
        new[:] = -1
        at = int(self.answers_at[k])
        old = self.answers.array[at : at + stride * room].reshape(room, stride)
        new[:room, :stride] = old
        self.answers.count = begin + new_stride * new_room
        self.answers_at[k], self.stride[k], self.answers_room[k] = begin, new_stride, new_room

    def more_answers(self) -> None:
        """Enlarge the hash table of answers."""
        keys, numbers = self.keys, self.numbers
        self.keys = np.full(4 * len(keys), -1, np.int64)
        self.numbers = np.zeros(4 * len(keys), np.int32)
        walk.rehash(keys, numbers, self.keys, self.numbers)

    def take_runs(self) -> None:
        """Add paths to their trees."""
        book = self.book
        self.reads.extend(book.reads)
        self.runs.extend(book.runs)
        book.taken += len(book.reads)
        book.reads, book.runs = [], []
        new = len(book.instances) - self.root_at.count
        if new > 0:
            begin = int(self.sizes[0])
            self.assert_addressable(begin + new)
            self.tree.count = begin
            self.tree.extend(np.full(new, walk.UNKNOWN))
            self.root_at.extend(range(begin, begin + new))
            self.sizes[0] += new
        if walk.any_skipped_that_tells_apart(self.skipped, self.counts, self.probes.count):
            self.start_over()
        while self.added < self.runs.count:
            why, self.added = walk.add_paths(
                self.runs.array, self.reads.array, self.added, self.runs.count,
                self.keys, self.numbers, self.counts, self.probes.array, self.local.array,
                self.skipped, self.tree.array, self.sizes, self.root_at.array,
            )  # fmt: skip
            self.tree.count = int(self.sizes[0])
            if why == walk.AGAIN:
                self.more_answers()
            elif why == walk.GROW:
                self.grow_trees()
            elif why == walk.REBUILD:
                self.start_over()
            elif why == walk.CONFLICT:
                self.raise_conflict(self.added)

    def grow_trees(self) -> None:
        """Make room for larger trees."""
        self.assert_addressable(2 * len(self.tree.array))
        self.tree.reserve(2 * len(self.tree.array))

    def assert_addressable(self, size: int) -> None:
        """Raise TooMany if trees of this size exceed the range of addresses."""
        if size > MOST_IN_TREES:
            raise TooMany("entries in decision trees", MOST_IN_TREES)

    def start_over(self) -> None:
        """Rebuild all trees from their paths."""
        count = self.root_at.count
        self.tree.array[:] = walk.UNKNOWN
        self.root_at.array[:count] = np.arange(count)
        self.sizes[0] = self.tree.count = count
        self.skipped[:] = 0
        self.added = 0

    def raise_conflict(self, run: int) -> None:
        """Raise Impure for an instance that reads, or returns, something else for equal reads."""
        instance = self.book.instances[int(self.runs.array[run, 0])]
        raise Impure(
            f"{instance.name} is not a function of the state: it read other parts, or gave "
            "another answer, where all that it reads is equal"
        )

    def take_effects(self) -> None:
        """Add masks and bits of effects, for the packing in use."""
        effects, packing = self.book.effects, self.packing
        width = len(packing.widths)
        if self.keep.shape[1] != width:
            self.effects_done = 0
            self.keep = np.full((64, width), -1, np.int64)
            self.put = np.zeros((64, width), np.int64)
        if len(effects) > len(self.keep):
            more = max(len(effects), 2 * len(self.keep)) - len(self.keep)
            self.keep = np.vstack([self.keep, np.full((more, width), -1, np.int64)])
            self.put = np.vstack([self.put, np.zeros((more, width), np.int64)])
        for number in range(self.effects_done, len(effects)):
            self.keep[number], self.put[number] = -1, 0
            for k, new in effects[number]:
                word, shift = packing.words[k], packing.shifts[k]
                self.keep[number, word] &= ~(packing.masks[k] << shift)
                if new >= 0:
                    self.put[number, word] |= new << shift
        self.effects_done = len(effects)

    # -- asking ---------------------------------------------------------------------------------

    @property
    def is_outgrown(self) -> bool:
        """Whether a component has more values than fit its bits."""
        return bool((self.component_count > self.packing.room).any())

    def repack(self) -> None:
        """Choose a packing with bits for all values."""
        self.packing = packing_for([len(c.values) for c in self.book.components])
        self.keep = self.put = np.zeros((0, 0), np.int64)
        self.take_effects()

    def most(self, roots: Sequence[int]) -> int:
        """The largest number of instances for one state."""
        longest = self.book.longest
        return 16 + sum(1 + longest.get(root, 0) for root in roots)

    def most_misses(self, roots: Sequence[int]) -> int:
        """An upper bound on the misses of one state: paths, or results of recipes."""
        return self.most(roots) * max(2, self.book.widest)

    @property
    def bytes(self) -> int:
        """The size of the arrays."""
        rows = [value for value in vars(self).values() if isinstance(value, Row)]
        lanes = [value for value in vars(self).values() if isinstance(value, Lanes)]
        rows += [row for lane in lanes for row in (lane.content, lane.at, lane.room)]
        others = [self.keys, self.numbers, self.counts, self.keep, self.put]
        return int(sum(row.array.nbytes for row in rows) + sum(a.nbytes for a in others))

    # -- learning -------------------------------------------------------------------------------

    def learn(self, misses: Words, rows: Words, watch: Callable[[], None]) -> None:
        """Learn what was missed: rows of `misses`, each with the row of its state.

        Calls `watch` after each run; it raises an exception to end the run of the engine.
        """
        self.is_settled = False
        try:
            self.run_missed(misses, rows, watch)
        except Stopped:
            self.sync()
            self.is_settled = True
            raise
        self.sync()
        self.is_settled = True

    def run_missed(self, misses: Words, rows: Words, watch: Callable[[], None]) -> None:
        """Run what was missed."""
        book = self.book
        paths = misses[:, 0] == walk.MISSED_PATH
        if paths.any():
            some = np.flatnonzero(paths)
            _, first = np.unique(misses[some, 1:4], axis=0, return_index=True)
            for m in some[np.sort(first)].tolist():
                number = int(misses[m, 1])
                while True:
                    try:
                        book.learn(number, rows[m].tolist())
                    except Plainer as plainer:
                        self.forget(plainer.instance)
                    else:
                        break
                watch()
        if not paths.all():
            wanted = np.unique(misses[~paths][:, 1:3], axis=0).tolist()
            for recipe, old in wanted:
                new = book.apply(recipe, old)
                self.recipes.have(
                    recipe, max(old + 1, int(self.component_count[book.recipes[recipe][0]]))
                )
                self.recipes.content.array[int(self.recipes.at.array[recipe]) + old] = new
                watch()

    def forget(self, number: int) -> None:
        """Drop what was learned about an instance, which runs on a plainer stand-in from now on."""
        book = self.book
        book.runs = [run for run in book.runs if run[0] != number]
        runs = self.runs.array[: self.runs.count]
        kept = runs[runs[:, 0] != number]
        self.runs.count = 0
        self.runs.extend(kept)
        self.start_over()

    def rows_of(self, words: Words) -> Words:
        """States as rows of numbers, from columns of words."""
        return rows_of(words, self.packing)

    def columns_of(self, rows: Words) -> Words:
        """States as columns of words, from rows of numbers."""
        packing = self.packing
        columns: Words = np.zeros((len(packing.widths), len(rows)), np.int64)
        for k, (word, shift) in enumerate(zip(packing.words, packing.shifts, strict=True)):
            columns[word] |= rows[:, k] << shift
        return columns

    def words_of(self, row: Sequence[int]) -> list[int]:
        """A state as words."""
        words: list[int] = self.columns_of(np.array([row], np.int64))[:, 0].tolist()
        return words
