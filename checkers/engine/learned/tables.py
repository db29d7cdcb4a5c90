"""The arrays of a book, which compiled code reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any

import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import CLEAR, Book, Component, Impure, Plainer
from kspec.checkers.engine.learned.divided import FROM, Divide, View, kind_of
from kspec.checkers.engine.learned.growing import MOST, MOST_IN_TREES, Lanes, Row, TooMany
from kspec.checkers.engine.learned.packing import Packing, packing_for, rows_of
from kspec.checkers.engine.learned.viewing import ViewTables
from kspec.checkers.engine.search import Stopped
from kspec.impl.compiled import Words


def packing_for_book(book: Book) -> Packing:
    """A packing for the states of a book."""
    counts = [len(component.values) for component in book.components]
    if not book.divisions:
        return packing_for(counts)
    return packing_for(counts, [book.is_bit(k) for k in range(book.fixed, len(counts))])


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
        self.packing = packing_for_book(book)
        self.keep = self.put = np.zeros((0, 0), np.int64)
        self.effects_done = 0
        self.effects_by: dict[int, list[int]] = {}
        """By element, or by what stands for a division: the effects that write it."""
        self.views = ViewTables()
        self.is_settled = True
        """Whether no learning is in progress: an interrupt may come at any time."""
        self.sync()

    # -- from the book to arrays ----------------------------------------------------------------

    def sync(self) -> None:
        """Add what was learned since the last time."""
        self.assert_room()
        book = self.book
        book.catch_up()
        self.take_components()
        self.take_values()
        self.take_probes()
        self.take_runs()
        self.leaves.extend(book.leaves[self.leaves.count :])
        self.lists.extend(book.lists[self.lists.count :])
        self.writes.extend(book.writes[self.writes.count :])
        while self.recipes.at.count < len(book.recipes):
            self.recipes.have(self.recipes.at.count, 1)
        self.take_elements()
        self.take_effects()
        self.take_views()

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

    def take_components(self) -> None:
        """Make room for the components of elements that are new."""
        new = len(self.book.components) - len(self.component_count)
        if new:
            none: Words = np.zeros(new, np.int64)
            self.component_count = np.concatenate([self.component_count, none])
            self.answers_at = np.concatenate([self.answers_at, none])
            self.stride = np.concatenate([self.stride, none])
            self.probe_count += [0] * new
            self.answers_room += [0] * new

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
                if len(component.values) > FROM and self.book.is_divisible:
                    self.divide(component)

    def divide(self, component: Component) -> None:
        """Raise Divide if the values of a component are sets, or mappings, or bags."""
        if component.field in self.book.layout.whole:
            return  # some state has another kind of value there
        value = self.book.values.value
        kinds = {kind_of(value(number)) for number in component.values}
        if len(kinds) == 1 and None not in kinds:
            raise Divide(component.field)

    def take_elements(self) -> None:
        """Give bits to the elements that are new, as long as there are free ones."""
        for k in self.packing.place_elements(self.component_count, self.book.is_bit):
            division = self.book.components[k].division
            assert division is not None, "only elements lack bits"
            clear = self.effects_by.get(CLEAR - division.number, [])
            for number in [*self.effects_by.get(k, []), *clear]:
                if number < self.effects_done:
                    self.take_effect(number)

    def take_views(self) -> None:
        """Add what is new of views."""
        book = self.book

        def numbered(view: View) -> Words:
            probe, answers = view.place.probes[walk.VIEW], [*view.answers.values()]
            while 2 * (int(self.counts[-1]) + len(answers)) > len(self.keys):
                self.more_answers()
            found: Words = np.empty(len(answers), np.int64)
            walk.numbers_of_answers(
                probe, np.array(answers, np.int64), found, self.keys, self.numbers, self.counts
            )
            return found

        self.views.take(book, self.packing, numbered)

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
            if component < 0:
                local.append(0)
            else:
                local.append(self.probe_count[component])
                self.probe_count[component] += 1
        if new:
            self.steps.extend(steps)
            self.probes.extend(probes)
            self.local.extend(local)
            self.filled.extend([0] * len(new))
            none: Words = np.zeros(len(new), np.int64)
            self.counts = np.concatenate([self.counts[:-1], none, self.counts[-1:]])
            # An element that was absent so far, and a view of nothing so far, tell states apart.
            tells = [-1 if k < 0 or k >= book.fixed else 0 for k, *_ in new]
            self.skipped = np.append(self.skipped, np.array(tells, np.int8))
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
        np.minimum(self.skipped, 0, out=self.skipped)
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
            self.effects_done, self.effects_by = 0, {}
            self.keep = np.full((64, width), -1, np.int64)
            self.put = np.zeros((64, width), np.int64)
        if len(effects) > len(self.keep):
            more = max(len(effects), 2 * len(self.keep)) - len(self.keep)
            self.keep = np.vstack([self.keep, np.full((more, width), -1, np.int64)])
            self.put = np.vstack([self.put, np.zeros((more, width), np.int64)])
        for number in range(self.effects_done, len(effects)):
            self.take_effect(number)
            for k, _ in effects[number]:
                if k < 0 or k >= self.book.fixed:
                    self.effects_by.setdefault(k, []).append(number)
        self.effects_done = len(effects)

    def take_effect(self, number: int) -> None:
        """Set the masks and bits of an effect."""
        packing, book = self.packing, self.book
        self.keep[number], self.put[number] = -1, 0
        for k, new in book.effects[number]:
            cleared = [k] if k >= 0 else book.divisions[CLEAR - k].member_of
            for one in cleared:
                word = packing.words[one]
                self.keep[number, word] &= ~(packing.masks[one] << packing.shifts[one])
                self.put[number, word] &= ~(packing.masks[one] << packing.shifts[one])
            if k >= 0 and new > 0:
                self.put[number, packing.words[k]] |= new << packing.shifts[k] & (
                    packing.masks[k] << packing.shifts[k]
                )

    # -- asking ---------------------------------------------------------------------------------

    @property
    def is_outgrown(self) -> bool:
        """Whether a component has more values than fit its bits."""
        return bool((self.component_count > self.packing.room).any())

    def repack(self) -> None:
        """Choose a packing with bits for all values."""
        book = self.book
        self.packing = packing_for_book(book)
        self.keep = self.put = np.zeros((0, 0), np.int64)
        self.take_effects()
        self.take_views()

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
        arrays = sum(row.array.nbytes for row in rows) + sum(a.nbytes for a in others)
        return int(arrays + self.views.bytes)

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
        views = np.flatnonzero(misses[:, 0] == walk.MISSED_VIEW)
        if len(views):
            _, first = np.unique(misses[views, 1:3], axis=0, return_index=True)
            for m in views[first].tolist():
                book.views[int(misses[m, 1])].answer(rows[m].tolist())
                watch()
        made = misses[:, 0] == walk.MISSED_RECIPE
        if made.any():
            wanted = np.unique(misses[made][:, 1:3], axis=0).tolist()
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
        places = zip(packing.words, packing.shifts, range(rows.shape[1]), strict=False)
        for word, shift, k in places:
            columns[word] |= rows[:, k] << shift
        return columns

    def words_of(self, row: Sequence[int]) -> list[int]:
        """A state as words."""
        words: list[int] = self.columns_of(np.array([row], np.int64))[:, 0].tolist()
        return words
