"""Decode the arrays of a file into tables.

The file is whole, and was written by this code for this model, state class and bounds (`keep`,
`keys`). Checked here is what may have changed since: the initial states, the classes of values, and
the rules and properties.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import Book, Instance, bits_of
from kspec.checkers.engine.learned.divided import Choices, Layout
from kspec.checkers.engine.learned.encode import Array, without_gaps
from kspec.checkers.engine.learned.keys import Keys
from kspec.checkers.engine.learned.source import resolved
from kspec.checkers.engine.learned.standins import Place
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.learned.values import RECORD, SET, TUPLE
from kspec.checkers.engine.numbered import Numbered
from kspec.spec.core import Always, Bag, Map, Reachable, Rule

UNUSED = 10_000
"""A file may have three times as many leaves as its paths use, and this many more; otherwise it
holds too much that edits left behind, and is ignored."""


class Unusable(Exception):
    """The content of a file does not fit."""


def check(*conditions: bool) -> None:
    """Raise Unusable unless all conditions hold."""
    if not all(conditions):
        raise Unusable


class Decoder:
    """Decodes arrays into tables."""

    def __init__(self, keys: Keys, arrays: dict[str, Array]) -> None:
        self.keys = keys
        self.arrays = arrays
        self.about = json.loads(bytes(arrays["about"]))
        check(self.about["key"] == keys.file)

    def numbers(self, name: str) -> Array:
        """An array of integers."""
        return self.arrays[name].astype(np.int64)

    def split(self, count: str, content: str) -> list[Any]:
        """An array, split into pieces of the lengths in another one."""
        counts, items = self.numbers(count), self.arrays[content].tolist()
        ends = np.cumsum(counts).tolist()
        return [items[e - n : e] for e, n in zip(ends, counts.tolist(), strict=True)]

    def tables(self, needed: Layout) -> Tables:
        """All tables; raises if anything does not fit."""
        about = self.about
        layout = Layout(*map(frozenset, about["layout"]))
        check(layout.covers(needed))
        self.book = book = Book(self.keys.system, layout, is_divisible=True)
        check([[c.field, c.index] for c in book.components] == about["components"])
        check(self.keys.sources.fingerprint_of(book.apart) == about["state_apart"])
        asked = [name for p in self.keys.system.properties for name in bits_of(p)]
        check(len({*about["marks"], *asked}) <= walk.FINAL_BIT)  # more would not have enough bits
        self.take_classes()
        self.take_values()
        self.take_views()
        self.take_components()
        self.take_probes()
        self.take_instances()
        self.take_choices()
        book.marks = {str(name): number for number, name in enumerate(about["marks"])}
        book.rules = Numbered(map(str, about["rules"]))
        book.guards = Numbered((str(rule), str(guard)) for rule, guard in about["guards"])
        self.take_recipes()
        self.take_effects()
        self.take_leaves()
        runs, reads = self.take_runs()
        tables = Tables(book)
        self.fill(tables, runs, reads)
        names = {i.name for i in book.instances if i.asked is not None and i.follow}
        book.plainer = {name: str(why) for name, why in about["plainer"].items() if name in names}
        return tables

    def take_classes(self) -> None:
        """The classes of values, with the same fingerprints as when the file was written."""
        self.classes = []
        for module, name, code in self.about["classes"]:
            cls = resolved(module, name)
            check(self.keys.sources.fingerprint_of(cls) == code)
            self.classes.append(cls)

    def scalar(self, encoded: Any) -> Any:
        """A scalar from JSON."""
        if not isinstance(encoded, dict):
            return encoded
        ((what, of),) = encoded.items()
        if what == "float":
            return float.fromhex(of)
        if what == "bytes":
            return bytes.fromhex(of)
        if what in ("Map", "Bag"):
            kind: Any = {"Map": Map, "Bag": Bag}[what]
            return kind.of_pairs(tuple(map(self.book.values.value, pair)) for pair in of)
        cls: Any = self.classes[of[0]]
        if what == "member":
            return cls.__members__[of[1]]
        return cls._make([self.book.values.value(part) for part in of[1]])

    def take_values(self) -> None:
        """All values, with the same numbers."""
        values = self.book.values
        for shape in self.about["shapes"]:
            if shape == "set":
                values.shape_number(shape)
            elif shape[0] == "class":
                values.shape_number(self.classes[shape[1]])
            else:
                values.shape_number(("tuple", shape[1]))
        kinds, shapes = self.numbers("kinds").tolist(), self.numbers("shapes").tolist()
        scalars = iter(self.about["scalars"])
        pieces = self.split("part_count", "parts")
        for n, (kind, shape, some) in enumerate(zip(kinds, shapes, pieces, strict=True)):
            parts = tuple(some)
            if kind == TUPLE:
                found = values.tuple_of(parts)
            elif kind == RECORD:
                found = values.record_of(values.records[shape], parts, ())
            elif kind == SET:
                found = values.set_of(parts)
            else:
                found = values.number(self.scalar(next(scalars)))
            if found != n:
                raise Unusable
        for number, encoded in self.about["apart"]:
            values.apart[number] = self.apart(encoded)

    def apart(self, encoded: Any) -> tuple[Any, ...]:
        """Fields that are not compared."""
        value = self.book.values.value
        return tuple(
            self.book.apart[at] if where == "state" else value(at) for where, at in encoded
        )

    def part(self, encoded: Any) -> Any:
        """A value of a test from JSON."""
        what, of = encoded
        if what == "class":
            return self.classes[of]
        if what == "tuple":
            return tuple(map(self.part, of))
        return self.book.values.value(of)

    def take_views(self) -> None:
        """Divided sets and their views.

        Where a function is gone, so is what was learned with it: its views have no elements.
        """
        book, about = self.book, self.about
        if not book.divisions:
            return
        for asked in self.keys.of:
            if isinstance(asked, Rule | Always | Reachable):
                book.rewritten(asked)
        for division, number in about["elements"]:
            book.divisions[division].component(number)
        for number, (of, encoded, summary, listed, answers) in enumerate(about["views"]):
            division = book.divisions[of]
            tests = [book.recognised.test(site, self.part(values)) for site, values in encoded]
            if None in tests:
                book.new_view(division, (), None)
                continue
            view = division.view(tests, summary)
            check(view.number == number)
            is_listed, is_sorted = listed
            check(not is_listed or division.lists(view, sorted_too=is_sorted))
            view.answers = {
                tuple([(k, local) for k, local in present]): answer for answer, present in answers
            }
        for division, is_sorted in zip(book.divisions, about["sorted"], strict=True):
            check(not is_sorted or division.sorts())

    def take_choices(self) -> None:
        """The choices that are elements."""
        book, value = self.book, self.book.values.value
        for instance, view, place, others, begin in self.about["choices"]:
            values = tuple([tuple(map(value, some)) for some in others])
            about = book.instances[instance], book.views[view], place, values, begin
            found = Choices(len(book.choices), *about)
            book.choices.append(found)
            book.choices_by[about[0], view, values] = found
            if found.instance.asked is not None:
                book.note_longest(found.instance, found.count * len(begin))

    def take_components(self) -> None:
        """The values of components."""
        same = self.book.values.same
        pieces = self.split("component_count", "component_values")
        for component, some in zip(self.book.components, pieces, strict=True):
            component.values = some
            component.ids = {same[number]: place for place, number in enumerate(some)}

    def take_probes(self) -> None:
        """Probes and their places."""
        book, paths = self.book, [tuple(path) for path in self.about["paths"]]
        places: dict[tuple[int, int], Place] = {}
        for number, (component, what, of, at) in enumerate(self.arrays["probes"].tolist()):
            place = places.get((component, at))
            if place is None:
                if component < 0:
                    place = book.views[walk.VIEWS - component].place
                else:
                    place = book.component_place(component)
                for step in paths[at]:
                    place = place.child(step)
                places[component, at] = place
            if what == walk.SHAPE:
                place.shape_probe = number
            else:
                place.probes[what if of < 0 else (what, of)] = number
            book.probes.append((component, what, of, paths[at]))

    def take_instances(self) -> None:
        """Instances of rules and properties; those that changed since stay without answers."""
        book, value = self.book, self.book.values.value
        asked = [self.keys.by_key.get(key) for key in self.about["keys"]]
        choices = self.split("choice_count", "choices")
        instances = self.arrays["instances"].tolist()
        for (kind, follow, key), numbers in zip(instances, choices, strict=True):
            instance = Instance(kind, None, follow=follow)
            if key >= 0 and asked[key] is not None:
                instance.asked = asked[key]
                instance.choice = tuple([value(number) for number in numbers])
                about = kind, instance.asked, instance.choice
                book.instance_numbers[about] = len(book.instances)
            book.instances.append(instance)

    def take_recipes(self) -> None:
        """Recipes."""
        for base, to, encoded in self.about["recipes"]:
            self.book.recipes.number((base, to, self.recipe(encoded)))

    def recipe(self, encoded: Any) -> Any:
        """A settled recipe from JSON."""
        if type(encoded) is int:
            return encoded
        what = encoded[0]
        if what == "copy":
            return what, tuple(encoded[1])
        if what == "evolve":
            parts = [(index, self.recipe(part)) for index, part in encoded[2]]
            return what, tuple(encoded[1]), tuple(parts)
        if what == "tuple":
            return what, tuple([self.recipe(part) for part in encoded[1]])
        if what == "set":
            return what, *map(tuple, encoded[1:])
        shape = self.book.values.shape(self.classes[encoded[1]])
        parts = [self.recipe(part) for part in encoded[3]]
        return what, shape, self.apart(encoded[2]), tuple(parts)

    def take_effects(self) -> None:
        """The writes of steps."""
        book = self.book
        book.writes = [(k, recipe, base) for k, recipe, base in self.arrays["writes"].tolist()]
        pieces = self.split("effect_count", "constants")
        effects = self.arrays["effects"].tolist()
        for (number, begin, end), some in zip(effects, pieces, strict=True):
            given, made = [(k, new) for k, new in some], book.writes[begin:end]
            book.widest = max(book.widest, len(made))
            book.effects.append(given + [(k, -1) for k, _, _ in made])
            book.effect_numbers[tuple(given), tuple(made)] = number, begin, end

    def take_leaves(self) -> None:
        """Lists of choices, and leaves."""
        book = self.book
        book.lists = self.arrays["lists"].tolist()
        for begin, end in self.arrays["list_places"].tolist():
            book.list_numbers[tuple(book.lists[begin:end])] = begin, end
        book.leaves = Numbered((k, a, b, c, d) for k, a, b, c, d in self.arrays["leaves"].tolist())

    def take_runs(self) -> tuple[Array, Array]:
        """Paths of the instances that have not changed."""
        book, runs, reads = self.book, self.numbers("runs"), self.arrays["reads"]
        alive = np.array([i.asked is not None for i in book.instances], bool)[runs[:, 0]]
        if not alive.all():
            runs, reads = without_gaps(runs[alive], reads)
        check(len(book.leaves) <= 3 * len(np.unique(runs[:, 3])) + UNUSED)
        for number, leaf in np.unique(runs[:, [0, 3]], axis=0).tolist():
            what, begin, end, _, _ = book.leaves[leaf]
            if what == walk.CHOICES:
                book.longest[number] = max(book.longest.get(number, 0), end - begin)
        for number, paths in enumerate(np.bincount(runs[:, 0], minlength=1).tolist()):
            if paths:
                book.instances[number].paths = paths
        return runs, reads

    def fill(self, tables: Tables, runs: Array, reads: Array) -> None:
        """Fill the tables with what the book does not hold."""
        tables.reads.extend(reads)
        tables.runs.extend(runs)
        self.book.taken = len(reads)
        recipes = tables.recipes
        counts, made = self.numbers("made_count"), self.numbers("made")
        makers = np.repeat(np.arange(len(counts)), counts)
        for recipe in np.unique(makers).tolist():
            base = self.book.recipes[recipe][0]
            recipes.have(recipe, len(self.book.components[base].values))
        recipes.content.array[recipes.at.array[makers] + made[:, 0]] = made[:, 1]
        tables.sync()
