"""Decode the arrays of a file into tables, and check everything that compiled code relies on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.book import (
    BEYOND,
    FINAL,
    PROPERTY,
    PROPERTY_CHOICES,
    RULE,
    RULE_CHOICES,
    Book,
    Instance,
    bits_of,
)
from kspec.checkers.engine.learned.encode import Array, resolved, within, without_gaps
from kspec.checkers.engine.learned.keys import Keys
from kspec.checkers.engine.learned.standins import Place
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.learned.values import RECORD, SCALAR, SET, TUPLE, Shape, is_plain

UNUSED = 10_000
"""A file may have three times as many leaves as its paths use, and this many more; otherwise it
holds too much that edits left behind, and is ignored."""

LEAVES = {
    RULE: (walk.BLOCKED, walk.STEP, walk.MARK),
    RULE_CHOICES: (walk.CHOICES, walk.MARK),
    BEYOND: (walk.NOTHING, walk.MARK),
    PROPERTY: (walk.NOTHING, walk.MARK),
    PROPERTY_CHOICES: (walk.CHOICES, walk.MARK),
    FINAL: (walk.NOTHING, walk.MARK),
}
"""By kind of instance: the kinds of leaves that are valid for it."""


class Unusable(Exception):
    """The content of a file does not fit."""


def check(*conditions: Any) -> None:
    """Raise Unusable unless all conditions hold, elementwise for arrays."""
    for condition in conditions:
        if condition is not True and not np.all(condition):
            raise Unusable


class Decoder:
    """Decodes arrays into tables, and checks that they fit."""

    def __init__(self, keys: Keys, arrays: dict[str, Array]) -> None:
        self.keys = keys
        self.arrays = arrays
        self.about = json.loads(bytes(arrays["about"]))
        check(self.about["key"] == keys.file)

    def numbers(self, name: str, width: int = 0) -> Array:
        """An array of integers with the expected number of columns."""
        array = self.arrays[name]
        check(array.dtype in (np.int32, np.int8, np.int64))
        check(array.ndim == (2 if width else 1), not width or array.shape[1] == width)
        return array.astype(np.int64)

    def split(self, count: str, content: Array) -> list[Any]:
        """Content split into pieces of these lengths."""
        counts = self.numbers(count)
        ends = np.cumsum(counts)
        check(within(counts, 1 << 31), (ends[-1] if len(ends) else 0) == len(content))
        items = content.tolist()
        return [items[e - n : e] for e, n in zip(ends.tolist(), counts.tolist(), strict=True)]

    def tables(self, apart: set[str]) -> Tables:
        """All tables; raises if anything does not fit."""
        about = self.about
        check(apart <= set(about["fields"]))
        self.book = book = Book(self.keys.system, about["fields"])
        check([[c.field, c.index] for c in book.components] == about["components"])
        check(self.keys.sources.fingerprint_of(book.apart) == about["state_apart"])
        asked = [name for p in self.keys.system.properties for name in bits_of(p)]
        check(len({*about["marks"], *asked}) <= walk.FINAL_BIT)  # more would not have enough bits
        self.take_classes()
        self.take_values()
        self.take_components()
        self.take_probes()
        self.take_instances()
        book.marks = numbered(about["marks"])
        book.rule_numbers = numbered(about["rules"])
        book.guards = [(str(rule), str(guard)) for rule, guard in about["guards"]]
        book.guard_numbers = {guard: number for number, guard in enumerate(book.guards)}
        check(len(book.guard_numbers) == len(book.guards))
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
            check(isinstance(cls, type), self.keys.sources.fingerprint_of(cls) == code)
            self.classes.append(cls)

    def record_class(self, number: int) -> type:
        """A class of records."""
        cls: type = self.classes[number]
        check(is_plain(cls))
        return cls

    def scalar(self, encoded: Any) -> Any:
        """A scalar from JSON."""
        if not isinstance(encoded, dict):
            check(type(encoded) in (int, str, bool, type(None)))
            return encoded
        ((what, of),) = encoded.items()
        if what == "float":
            return float.fromhex(of)
        if what == "bytes":
            return bytes.fromhex(of)
        cls: Any = self.classes[of[0]]
        if what == "member":
            check(issubclass(cls, Enum))
            return cls.__members__[of[1]]
        check(what == "named", issubclass(cls, tuple))
        return cls._make([self.book.values.value(part) for part in of[1]])

    def take_values(self) -> None:
        """All values, with the same numbers."""
        values = self.book.values
        for shape in self.about["shapes"]:
            if shape == "set":
                values.shape_number(shape)
            elif shape[0] == "class":
                values.shape_number(self.record_class(shape[1]))
            else:
                check(shape[0] == "tuple", type(shape[1]) is int)
                values.shape_number(("tuple", shape[1]))
        kinds, shapes = self.numbers("kinds"), self.numbers("shapes")
        counts, flat_parts = self.numbers("part_count"), self.numbers("parts")
        check(len(kinds) == len(shapes) == len(counts), counts >= 0)
        check(within(kinds, 4), counts.sum() == len(flat_parts))
        check(flat_parts >= 0, flat_parts < np.repeat(np.arange(len(kinds)), counts))
        scalars = iter(self.about["scalars"])
        pieces = self.split("part_count", flat_parts)
        for n, (kind, shape, some) in enumerate(
            zip(kinds.tolist(), shapes.tolist(), pieces, strict=True)
        ):
            parts = tuple(some)
            if kind == TUPLE:
                found = values.tuple_of(parts)
            elif kind == RECORD:
                of: Shape = values.records[shape]
                if len(parts) != len(of.names):
                    raise Unusable
                found = values.record_of(of, parts, ())
            elif kind == SET:
                check(parts == tuple(sorted(set(parts))))
                found = values.set_of(parts)
            else:
                found = values.number(self.scalar(next(scalars)))
                check(values.kinds[found] == SCALAR)
            if found != n or values.shapes[n] != shape or len(values.kinds) != n + 1:
                raise Unusable
        self.count = len(kinds)
        apart = dict(self.about["apart"])
        for number, encoded in apart.items():
            values.apart[number] = self.apart(encoded, values.shape_of(number))
        with_apart = [shape for shape, of in values.records.items() if of.apart]
        check(len(apart) == np.isin(shapes, with_apart).sum())

    def apart(self, encoded: Any, shape: Shape) -> tuple[Any, ...]:
        """Fields that are not compared."""
        check(len(encoded) == len(shape.apart))
        return tuple(
            self.book.apart[at] if where == "state" else self.value(at) for where, at in encoded
        )

    def value(self, number: Any) -> Any:
        """The value with a number."""
        return self.book.values.value(self.number(number))

    def number(self, number: Any) -> int:
        """Check that a value has this number."""
        if type(number) is not int or not 0 <= number < self.count:
            raise Unusable
        return number

    def take_components(self) -> None:
        """The values of components."""
        flat_values = self.numbers("component_values")
        check(within(flat_values, self.count))
        same = self.book.values.same
        pieces = self.split("component_count", flat_values)
        for component, some in zip(self.book.components, pieces, strict=True):
            component.values = some
            component.ids = {same[number]: place for place, number in enumerate(some)}
            check(len(component.ids) == len(some))
        self.sizes = np.array([len(c.values) for c in self.book.components], np.int64)

    def path(self, encoded: Any) -> tuple[int | str, ...]:
        """A path to a part of a value."""
        fields = self.book.values.field_numbers
        for step in encoded:
            check(step in fields if type(step) is str else type(step) is int and step >= 0)
        return tuple(encoded)

    def take_probes(self) -> None:
        """Probes and their places."""
        book, probes = self.book, self.numbers("probes", 4)
        paths = [self.path(encoded) for encoded in self.about["paths"]]
        check(within(probes[:, 0], len(book.components)), within(probes[:, 1], walk.EQUALS + 1))
        with_value = np.isin(probes[:, 1], (walk.HAS, walk.EQUALS))
        check(within(probes[with_value, 2], self.count), probes[~with_value, 2] == -1)
        places: dict[tuple[int, int], Place] = {}
        for number, (component, what, of, at) in enumerate(probes.tolist()):
            place = places.get((component, at))
            if place is None:
                place = book.component_place(component)
                for step in paths[at]:
                    place = place.child(step)
                places[component, at] = place
            if what == walk.SHAPE:
                check(place.shape_probe < 0)
                place.shape_probe = number
            else:
                key = what if of < 0 else (what, of)
                check(key not in place.probes)
                place.probes[key] = number
            book.probes.append((component, what, of, paths[at]))

    def take_instances(self) -> None:
        """Instances of rules and properties; those that changed since stay without answers."""
        book, instances = self.book, self.numbers("instances", 3)
        kinds = instances[:, 0]
        check(within(kinds, FINAL + 1), within(instances[:, 1], 3))
        asked = [self.keys.by_key.get(key) for key in self.about["keys"]]
        whats = [key.partition(" ")[0] for key in self.about["keys"]]
        choices = self.split("choice_count", self.numbers("choices"))
        for (kind, follow, key), numbers in zip(instances.tolist(), choices, strict=True):
            instance = Instance(kind, None, follow=follow)
            if key >= 0 and asked[key] is not None:
                check(whats[key] == ASKED[kind])
                instance.asked = asked[key]
                instance.choice = tuple([self.value(number) for number in numbers])
                about = kind, instance.asked, instance.choice
                check(about not in book.instance_numbers)
                book.instance_numbers[about] = len(book.instances)
            book.instances.append(instance)
        self.kinds = kinds
        self.alive = np.array([i.asked is not None for i in book.instances], bool)

    def take_recipes(self) -> None:
        """Recipes and their results."""
        book = self.book
        for base, to, encoded in self.about["recipes"]:
            check(type(base) is int and 0 <= base < len(book.components))
            check(type(to) is int and 0 <= to < len(book.components))
            how = self.recipe(encoded)
            check((base, to, how) not in book.recipe_numbers)
            book.recipe(base, to, how)
        counts, made = self.numbers("made_count"), self.numbers("made", 2)
        check(len(counts) == len(book.recipes), counts >= 0, counts.sum() == len(made))
        self.makers = np.repeat(np.arange(len(counts)), counts)
        self.made = made
        ends = np.array([recipe[:2] for recipe in book.recipes], np.int64).reshape(-1, 2)
        check(made >= 0, made < self.sizes[ends[self.makers]])

    def recipe(self, encoded: Any) -> Any:
        """A settled recipe from JSON."""
        if type(encoded) is int:
            return self.number(encoded)
        what = encoded[0]
        if what == "copy":
            return what, self.path(encoded[1])
        if what == "evolve":
            parts = [(int(index), self.recipe(part)) for index, part in encoded[2]]
            return what, self.path(encoded[1]), tuple(parts)
        if what == "tuple":
            return what, tuple([self.recipe(part) for part in encoded[1]])
        if what == "set":
            more, less = (tuple(map(self.number, numbers)) for numbers in encoded[2:4])
            return what, self.path(encoded[1]), more, less
        check(what == "record")
        shape = self.book.values.shape(self.record_class(encoded[1]))
        parts = [self.recipe(part) for part in encoded[3]]
        check(len(parts) == len(shape.names))
        return what, shape, self.apart(encoded[2], shape), tuple(parts)

    def take_effects(self) -> None:
        """The writes of steps: each component at most once, with values that it has."""
        book, writes, effects = self.book, self.numbers("writes", 3), self.numbers("effects", 3)
        constants = self.numbers("constants", 2)
        places = np.array([recipe[:2] for recipe in book.recipes], np.int64).reshape(-1, 2)
        check(within(writes[:, 1], len(places)))
        check(places[writes[:, 1], 0] == writes[:, 2], places[writes[:, 1], 1] == writes[:, 0])
        check(within(constants[:, 0], len(self.sizes)), constants[:, 1] >= 0)
        check(constants[:, 1] < self.sizes[constants[:, 0]])
        check(effects[:, 0] == np.arange(len(effects)), effects[:, 1] <= effects[:, 2])
        check(within(effects[:, 1:], len(writes) + 1))
        book.writes = [(k, recipe, base) for k, recipe, base in writes.tolist()]
        pieces = self.split("effect_count", constants)
        for (number, begin, end), some in zip(effects.tolist(), pieces, strict=True):
            given = [(k, new) for k, new in some]
            made = book.writes[begin:end]
            book.widest = max(book.widest, len(made))
            effect = given + [(k, -1) for k, _, _ in made]
            if len({k for k, _ in effect}) != len(effect):
                raise Unusable
            book.effects.append(effect)
            book.effect_numbers[tuple(given), tuple(made)] = number, begin, end
        check(len(book.effect_numbers) == len(effects))
        self.effects = effects

    def take_leaves(self) -> None:
        """Lists of choices, and leaves."""
        book, leaves, lists = self.book, self.numbers("leaves", 5), self.numbers("lists")
        places = self.numbers("list_places", 2)
        check(len(leaves), leaves[:1] == 0, within(leaves[:, 0], walk.MARK + 1))
        check(within(lists, len(book.instances)), within(places, len(lists) + 1))
        book.lists = lists.tolist()
        for begin, end in places.tolist():
            book.list_numbers[tuple(book.lists[begin:end])] = begin, end
        kind, one, two, _, four = leaves.T
        blocked, step, choices, mark = (
            kind == what for what in (walk.BLOCKED, walk.STEP, walk.CHOICES, walk.MARK)
        )
        check(within(one[blocked], len(book.guards)))
        check(within(two[blocked], len(book.instances), -1))
        edges = two[blocked & (two >= 0)]
        check(self.kinds[edges] == BEYOND)
        check(within(one[step], len(book.effects)), within(four[step], len(book.rule_numbers)))
        check(leaves[step, 2:4] == self.effects[one[step], 1:])
        check(within(one[choices], len(lists) + 1), within(two[choices], len(lists) + 1))
        check(one[choices] <= two[choices])
        bits = one[mark]
        special = (bits == walk.FINAL_BIT) | (bits == walk.FAILED_BIT)
        check(special | ((bits >= 0) & (bits < max(1, len(book.marks)))))
        book.leaves = [(k, a, b, c, d) for k, a, b, c, d in leaves.tolist()]
        book.leaf_numbers = {leaf: number for number, leaf in enumerate(book.leaves)}
        check(len(book.leaf_numbers) == len(book.leaves))
        self.leaves = leaves

    def take_runs(self) -> tuple[Array, Array]:
        """Paths of the instances that have not changed."""
        book, runs, reads = self.book, self.numbers("runs", 4), self.arrays["reads"]
        check(reads.dtype == np.int32, reads.ndim == 1, len(reads) % 2 == 0)
        check(within(reads[::2], len(book.probes)), within(runs[:, 0], len(book.instances)))
        check(within(runs[:, 1:3], len(reads) + 1), runs[:, 1] <= runs[:, 2])
        check(runs[:, 1:3] % 2 == 0, within(runs[:, 3], len(book.leaves)))
        check(runs[1:, 1] >= runs[:-1, 2])
        alive = self.alive[runs[:, 0]]
        if not alive.all():
            runs, reads = without_gaps(runs[alive], reads)
        check(len(book.leaves) <= 3 * len(np.unique(runs[:, 3])) + UNUSED)
        kind = self.kinds[runs[:, 0]]
        outcomes = self.leaves[runs[:, 3], 0]
        allowed = np.zeros((FINAL + 1, walk.MARK + 1), bool)
        for what, some in LEAVES.items():
            allowed[what, list(some)] = True
        check(allowed[kind, outcomes])
        self.check_names(runs, outcomes)
        lists = outcomes == walk.CHOICES
        for number, leaf in np.unique(runs[lists][:, [0, 3]], axis=0).tolist():
            begin, end = book.leaves[leaf][1:3]
            instance = book.instances[number]
            of = RULE if instance.kind == RULE_CHOICES else PROPERTY
            for listed in book.lists[begin:end]:
                other = book.instances[listed]
                if other.kind != of or other.asked is not instance.asked:
                    raise Unusable
            book.longest[number] = max(book.longest.get(number, 0), end - begin)
        for number, paths in enumerate(np.bincount(runs[:, 0], minlength=1).tolist()):
            if paths:
                book.instances[number].paths = paths
        return runs, reads

    def check_names(self, runs: Array, outcomes: Array) -> None:
        """Check that each leaf names the rule or property of its instance."""
        book = self.book
        names: dict[str, int] = {}
        of = np.array([names.setdefault(name_of(i), len(names)) for i in book.instances], np.int64)
        guards = [rule for rule, _ in book.guards]
        columns: dict[int, tuple[int, Iterable[str]]] = {
            walk.STEP: (4, book.rule_numbers),
            walk.BLOCKED: (1, guards),
            walk.MARK: (1, book.marks),
        }
        for what, (column, by_number) in columns.items():
            some = runs[outcomes == what]
            if what == walk.MARK:
                some = some[self.kinds[some[:, 0]] == PROPERTY]
                some = some[self.leaves[some[:, 3], 1] != walk.FAILED_BIT]
            named = np.array([names.get(name, -1) for name in by_number], np.int64)
            check(named[self.leaves[some[:, 3], column]] == of[some[:, 0]])

    def fill(self, tables: Tables, runs: Array, reads: Array) -> None:
        """Fill the tables with what the book does not hold."""
        tables.reads.extend(reads)
        tables.runs.extend(runs)
        self.book.taken = len(reads)
        recipes = tables.recipes
        for recipe in np.unique(self.makers).tolist():
            recipes.have(recipe, int(self.sizes[self.book.recipes[recipe][0]]))
        recipes.content.array[recipes.at.array[self.makers] + self.made[:, 0]] = self.made[:, 1]
        tables.sync()


def name_of(instance: Instance) -> str:
    """The name of an instance's rule or property."""
    return "" if instance.asked is None else str(instance.asked.name)


ASKED = {
    RULE: "rule",
    RULE_CHOICES: "rule",
    BEYOND: "rule",
    PROPERTY: "property",
    PROPERTY_CHOICES: "property",
    FINAL: "final",
}


def numbered(names: Iterable[Any]) -> dict[str, int]:
    """Names with their indexes in a list."""
    return {str(name): number for number, name in enumerate(names)}
