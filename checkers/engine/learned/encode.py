"""Encode tables as the arrays of a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

import attrs
import numpy as np

from kspec.checkers.engine.learned import walk
from kspec.checkers.engine.learned.keys import Keys
from kspec.checkers.engine.learned.source import resolved
from kspec.checkers.engine.learned.tables import Tables
from kspec.checkers.engine.learned.values import SCALAR, Values
from kspec.spec.core import Bag, Map

Array = Any


class Unkeepable(Exception):
    """A value cannot be written to a file."""


class Encoder:
    """Encodes tables as arrays."""

    def __init__(self, keys: Keys, tables: Tables) -> None:
        self.keys = keys
        self.tables = tables
        self.book = tables.book
        self.values: Values = tables.book.values
        self.classes: list[tuple[str, str, str]] = []
        self.class_numbers: dict[type, int] = {}

    def class_number(self, cls: type) -> int:
        """The number of a class that can be found by name."""
        found = self.class_numbers.get(cls)
        if found is None:
            module, name = cls.__module__, cls.__qualname__
            code = self.keys.sources.fingerprint_of(cls)
            if code is None or resolved(module, name) is not cls:
                raise Unkeepable(name)
            found = self.class_numbers[cls] = len(self.classes)
            self.classes.append((module, name, code))
        return found

    def scalar(self, number: int) -> Any:
        """A scalar in JSON."""
        value = self.values.objects[number]
        cls = type(value)
        if cls in (int, str, bool, type(None)):
            return value
        if cls is float and value == value:
            return {"float": value.hex()}
        if cls is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, Enum) and cls.__members__.get(value.name) is value:
            return {"member": [self.class_number(cls), value.name]}
        if cls.__bases__ == (tuple,) and hasattr(cls, "_fields"):
            parts = [self.values.number(part) for part in value]
            if all(part < number for part in parts):
                return {"named": [self.class_number(cls), parts]}
        if cls in (Map, Bag):
            pairs = [tuple(map(self.values.number, pair)) for pair in value.pairs()]
            if all(part < number for pair in pairs for part in pair):
                return {cls.__name__: pairs}
        raise Unkeepable(cls.__qualname__)

    def apart(self, apart: Sequence[Any]) -> list[Any]:
        """Fields that are not compared: each as a reference to the state's field or as a value."""
        return [
            next((["state", at] for at, same in enumerate(self.book.apart) if same is value), None)
            or ["value", self.values.number(value)]
            for value in apart
        ]

    def recipe(self, how: Any) -> Any:
        """A settled recipe in JSON."""
        if type(how) is int:
            return how
        what = how[0]
        if what == "copy":
            return [what, how[1]]
        if what == "evolve":
            return [what, how[1], [[index, self.recipe(part)] for index, part in how[2]]]
        if what == "tuple":
            return [what, [self.recipe(part) for part in how[1]]]
        if what == "set":
            return list(how)
        parts = [self.recipe(part) for part in how[3]]
        return [what, self.class_number(how[1].cls), self.apart(how[2]), parts]

    def shape(self, shape: Any) -> Any:
        """The class of a record or the length of a tuple, in JSON."""
        if shape == "set":
            return "set"
        if isinstance(shape, type):
            return ["class", self.class_number(shape)]
        return ["tuple", shape[1]]

    def part(self, value: Any) -> Any:
        """A value of a test in JSON."""
        if isinstance(value, type):
            return ["class", self.class_number(value)]
        if type(value) is tuple:
            return ["tuple", list(map(self.part, value))]
        return ["value", self.values.number(value)]

    def divided(self) -> dict[str, Any]:
        """Divided sets, their views, and the choices that are elements, in JSON."""
        book = self.book
        numbers = {id(instance): number for number, instance in enumerate(book.instances)}
        return {
            "sorted": [division.sorted is not None for division in book.divisions],
            "elements": [
                [division.number, division.member_of[k]]
                for k, division in enumerate(
                    (c.division for c in book.components[book.fixed :]), book.fixed
                )
                if division is not None
            ],
            "views": [
                [
                    view.division.number,
                    [[test.site, self.part(test.values)] for test in view.tests],
                    view.summary,
                    [view.is_listed, view.sorted is not None],
                    [[number, present] for present, number in view.answers.items()],
                ]
                for view in book.views
            ],
            "choices": [
                [
                    numbers[id(choices.instance)],
                    choices.view.number,
                    choices.place,
                    [list(map(self.values.number, some)) for some in choices.others],
                    choices.begin,
                ]
                for choices in book.choices
            ],
        }

    def arrays(self) -> dict[str, Array]:
        """All arrays; Unkeepable if a part cannot be written."""
        book, values, tables = self.book, self.values, self.tables
        recipes = [[base, to, self.recipe(how)] for base, to, how in book.recipes]
        apart = [self.apart(some) if some else None for some in values.apart]
        choices = [[values.number(value) for value in i.choice] for i in book.instances]
        apart += [self.apart(some) if some else None for some in values.apart[len(apart) :]]
        state_apart = self.keys.sources.fingerprint_of(book.apart)
        if state_apart is None:
            raise Unkeepable("a field that is not compared")
        tables.sync()
        divided = self.divided()
        if len(values.kinds) > tables.kinds.count:
            tables.sync()
        paths: dict[tuple[int | str, ...], int] = {}
        probes = [
            (component, what, of, paths.setdefault(path, len(paths)))
            for component, what, of, path in book.probes
        ]
        keys = list(self.keys.by_key)
        key_numbers = {key: number for number, key in enumerate(keys)}
        instances = [
            (i.kind, i.follow, key_numbers.get(self.keys.of.get(i.asked, ""), -1))
            for i in book.instances
        ]
        about = {
            "key": self.keys.file,
            "layout": list(map(sorted, attrs.astuple(book.layout))),
            "components": [[c.field, c.index] for c in book.components[: book.fixed]],
            **divided,
            "state_apart": state_apart,
            "shapes": [self.shape(shape) for shape in values.shape_numbers],
            "scalars": [self.scalar(n) for n, k in enumerate(values.kinds) if k == SCALAR],
            "apart": [[n, some] for n, some in enumerate(apart) if some],
            "paths": list(paths),
            "keys": keys,
            "marks": list(book.marks),
            "guards": book.guards,
            "rules": book.rules,
            "recipes": recipes,
            "plainer": book.plainer,
            "classes": self.classes,
        }
        counts = tables.component_count
        made = [
            lane(tables.recipes, recipe, int(counts[base]))
            for recipe, (base, _, _) in enumerate(book.recipes)
        ]
        effects = list(book.effect_numbers)
        runs = tables.runs.array[: tables.runs.count]
        kept = np.array([key >= 0 for _, _, key in instances], bool)
        runs, reads = without_gaps(runs[kept[runs[:, 0]]], tables.reads.array)
        return {
            "about": np.frombuffer(json.dumps(about).encode(), np.uint8),
            "kinds": tables.kinds.array[: tables.kinds.count],
            "shapes": tables.shapes.array[: tables.shapes.count],
            "part_count": tables.part_count.array[: tables.part_count.count],
            "parts": tables.parts.array[: tables.parts.count],
            "component_count": counts,
            "component_values": flat([c.values for c in book.components]),
            "probes": rows(probes, 4),
            "instances": rows(instances, 3),
            "choice_count": np.array(list(map(len, choices)), np.int32),
            "choices": flat(choices),
            "leaves": rows(book.leaves, walk.LEAF_SIZE),
            "lists": np.array(book.lists, np.int32),
            "list_places": rows(book.list_numbers.values(), 2),
            "writes": rows(book.writes, 3),
            "effects": rows(book.effect_numbers.values(), 3),
            "effect_count": np.array([len(constants) for constants, _ in effects], np.int32),
            "constants": rows([pair for constants, _ in effects for pair in constants], 2),
            "made_count": np.array(list(map(len, made)), np.int32),
            "made": np.concatenate([np.zeros((0, 2), np.int32), *made]),
            "runs": runs.astype(np.int32),
            "reads": reads.astype(np.int32),
        }


def rows(some: Iterable[Sequence[int]], width: int) -> Array:
    """Tuples of numbers as an array; Unkeepable if a number is too large."""
    array = np.array(list(some), np.int64).reshape(-1, width)
    narrow = array.astype(np.int32)
    if (narrow != array).any():
        raise Unkeepable("a number")
    return narrow


def flat(lists: Iterable[Sequence[int]]) -> Array:
    """Lists of numbers, concatenated."""
    return np.array([number for some in lists for number in some], np.int32)


def lane(lanes: Any, number: int, count: int) -> Array:
    """The entries of a lane up to some length: places and numbers."""
    begin = int(lanes.at.array[number])
    content = lanes.content.array[begin : begin + min(count, int(lanes.room.array[number]))]
    places = np.flatnonzero(content >= 0)
    return np.stack([places, content[places]], axis=1).astype(np.int32)


def without_gaps(runs: Array, reads: Array) -> tuple[Array, Array]:
    """The runs, and only the reads that they use, without overlaps."""
    ends = np.zeros(len(reads) + 1, np.int8)
    np.add.at(ends, runs[:, 1], 1)
    np.add.at(ends, runs[:, 2], -1)
    used = np.cumsum(ends[:-1], dtype=np.int8) > 0
    place = np.zeros(len(reads) + 1, np.int64)
    np.cumsum(used, out=place[1:])
    moved = runs.copy()
    moved[:, 1:3] = place[runs[:, 1:3]]
    return moved, reads[used]
