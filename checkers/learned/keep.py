"""What was learned, kept in the user's cache folder from one run to the next.

There is one file for each model, state class and bounds. Rules and properties are found in it by
name and fingerprint (`source`): after an edit of one rule, the answers of that rule are dropped
and those of all others are used. The classes of values have fingerprints, too: after an edit of
one, and so of a method that rules call on a value, nothing in the file is used.

A file holds arrays and JSON, and nothing that is executed. It is checked when it is read: what
does not fit is ignored, and replaced after the run. A file that fits and gives wrong answers is
found by the checks of every run (`checking`), and the run begins anew without it.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from checkers.learned import walk
from checkers.learned.book import (
    BEYOND,
    FINAL,
    PROPERTY,
    PROPERTY_CHOICES,
    RULE,
    RULE_CHOICES,
    Book,
    Instance,
)
from checkers.learned.source import Sources, environment
from checkers.learned.standins import EQUALS, HAS, SHAPE, Place
from checkers.learned.tables import Tables
from checkers.learned.values import RECORD, SCALAR, SET, TUPLE, Shape, Values, is_plain
from impl.packed.compiled import cache_folder
from spec.core import Always, Reachable, System

FORMAT = 1
LARGEST = 200 << 20
"""A file is not larger than this, in bytes."""
ALL = 500 << 20
"""All files together are not larger than this."""
UNUSED = 10_000
"""If a file has so many leaves more than three times those that its paths lead to, nothing in it
is used: what former versions of rules have left behind is too much."""
LEAST_SECONDS = 0.3
"""Less learning than this is not worth a file."""

LEAVES = {
    RULE: (walk.BLOCKED, walk.STEP, walk.MARK),
    RULE_CHOICES: (walk.CHOICES, walk.MARK),
    BEYOND: (walk.NOTHING, walk.MARK),
    PROPERTY: (walk.NOTHING, walk.MARK),
    PROPERTY_CHOICES: (walk.CHOICES, walk.MARK),
    FINAL: (walk.NOTHING, walk.MARK),
}
"""By what is asked: what leaves may say."""

Array = Any


class Unkeepable(Exception):
    """Something that cannot be written to a file."""


class Unusable(Exception):
    """A file whose content does not fit."""


def check(*conditions: Any) -> None:
    """Raise Unusable unless everything holds, of arrays everywhere."""
    for condition in conditions:
        if condition is not True and not np.all(condition):
            raise Unusable


def within(array: Array, end: int, begin: int = 0) -> bool:
    """Whether all numbers are from `begin` on, and less than `end`."""
    return not array.size or (int(array.min()) >= begin and int(array.max()) < end)


class Keeping:
    """Reads and writes what is kept of one system."""

    def __init__(self, system: System[Any]) -> None:
        self.system = system
        self.sources = Sources()
        self.path = self.find_path()
        self.asked: dict[str, Any] = {}
        """By key: a rule, a property, or the model, for where a behaviour may end."""
        self.keys: dict[Any, str] = {}
        self.seconds = 0.0
        self.loaded = 0
        """How many paths came from the file."""

    def find_path(self) -> Path | None:
        """The file, or None if nothing can be kept."""
        folder = cache_folder("learned")
        first = self.system.initial()[:1]
        if folder is None or not first:
            return None
        cls = type(first[0])
        code = self.sources.fingerprint_of((cls, self.system.bounds))
        if code is None:
            return None
        parts = FORMAT, environment(), self.system.model.name, cls.__qualname__, code
        self.key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
        return folder / f"{self.key}.npz"

    def find_keys(self) -> None:
        """Give keys to what can be asked: by all variants, so that they share one file."""
        system, model = self.system, self.system.model
        rules = [*system.rules, *(rule for variant in model.variants for rule in variant.rules)]
        for rule in dict.fromkeys(rules):
            choices = tuple(rule.choices.items())
            self.give_key("rule", rule, (choices, rule.body, rule.ignored, rule.effect))
        for prop in dict.fromkeys([*system.properties, *model.properties, *model.sanity]):
            if isinstance(prop, Always | Reachable):
                fields = [f.name for f in attrs.fields(type(prop)) if f.name not in NOT_ASKED]
                self.give_key("property", prop, tuple(getattr(prop, name) for name in fields))
        self.give_key("final", model, model.final)

    def give_key(self, what: str, asked: Any, code: Any) -> None:
        """Give a key to something if it has a fingerprint."""
        fingerprint = self.sources.fingerprint_of(code)
        if fingerprint is not None:
            key = self.keys[asked] = f"{what} {asked.name} {fingerprint}"
            self.asked.setdefault(key, asked)

    # -- reading --------------------------------------------------------------------------------

    def load(self, apart: Iterable[str]) -> Tables | None:
        """What is kept, if it fits, with at least these fields as one component each."""
        if self.path is None:
            return None
        begun = time.perf_counter()
        collects = gc.isenabled()
        gc.disable()  # everything that is made here stays
        try:
            if self.path.stat().st_size > LARGEST:
                return None
            with self.path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                check(sum(entry.file_size for entry in file.zip.infolist()) <= 2 * LARGEST)
                arrays = dict(file)
            if not self.keys:
                self.find_keys()
            tables = Reading(self, arrays).tables({*apart})
            self.loaded = tables.runs.count
            os.utime(self.path)
        except Exception:  # whatever is wrong with it, it is of no use
            return None
        finally:
            if collects:
                gc.enable()
            self.seconds += time.perf_counter() - begun
        return tables

    def discard(self) -> None:
        """Remove what gives wrong answers, and use it no more."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()
        self.loaded = 0

    # -- writing --------------------------------------------------------------------------------

    def save(self, tables: Tables) -> None:
        """Keep what is known, if that is worth it and can be done."""
        book = tables.book
        learned = sum(instance.runs for instance in book.instances)
        worth_it = learned and book.seconds >= LEAST_SECONDS
        if self.path is None or not worth_it or not tables.is_settled:
            return
        begun = time.perf_counter()
        try:
            if not self.keys:
                self.find_keys()
            arrays = Writing(self, tables).arrays()
            if sum(array.nbytes for array in arrays.values()) <= LARGEST:
                self.write(self.path, arrays)
        except Exception:  # the verdict stands, and what is not kept is learned again
            return
        finally:
            self.seconds += time.perf_counter() - begun

    def write(self, path: Path, arrays: dict[str, Array]) -> None:
        """Replace the file at once, and remove those that were not used for the longest time."""
        with (path.parent / "lock").open("w") as lock:
            flock(lock, LOCK_EX)
            with new_file(path) as file:
                np.savez(file, **arrays)
            files = [(file.stat(), file) for file in path.parent.iterdir() if file.suffix != ""]
            total = 0
            for about, file in sorted(files, key=lambda one: -one[0].st_mtime):
                total += about.st_size
                if total > ALL or file.suffix != ".npz":
                    file.unlink()


NOT_ASKED = ("name", "within")
"""Of properties: fields that do not change an answer."""


@contextmanager
def new_file(path: Path) -> Iterator[Any]:
    """A file that takes a place when it is complete."""
    with tempfile.NamedTemporaryFile(suffix=".tmp", dir=path.parent, delete=False) as file:
        place = Path(file.name)
        try:
            yield file
            file.flush()
            place.replace(path)
        except BaseException:
            place.unlink(missing_ok=True)
            raise


def resolved(module: str, qualname: str) -> Any:
    """A class by its name, of a module that is imported."""
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found


# -- from tables to a file ------------------------------------------------------------------------


class Writing:
    """Puts tables into arrays."""

    def __init__(self, keeping: Keeping, tables: Tables) -> None:
        self.keeping = keeping
        self.tables = tables
        self.book = tables.book
        self.values: Values = tables.book.values
        self.classes: list[tuple[str, str, str]] = []
        self.class_numbers: dict[type, int] = {}

    def class_number(self, cls: type) -> int:
        """A class, as one that is found again by its name."""
        found = self.class_numbers.get(cls)
        if found is None:
            module, name = cls.__module__, cls.__qualname__
            code = self.keeping.sources.fingerprint_of(cls)
            if code is None or resolved(module, name) is not cls:
                raise Unkeepable(name)
            found = self.class_numbers[cls] = len(self.classes)
            self.classes.append((module, name, code))
        return found

    def scalar(self, number: int) -> Any:
        """A scalar, in JSON."""
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
        raise Unkeepable(cls.__qualname__)

    def apart(self, apart: Sequence[Any]) -> list[Any]:
        """Fields that are not compared: each by where the state has the same, or as a value."""
        return [
            next((["state", at] for at, same in enumerate(self.book.apart) if same is value), None)
            or ["value", self.values.number(value)]
            for value in apart
        ]

    def recipe(self, how: Any) -> Any:
        """A settled recipe, in JSON."""
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
        """The class of a record, or the length of a tuple, in JSON."""
        if shape == "set":
            return "set"
        if isinstance(shape, type):
            return ["class", self.class_number(shape)]
        return ["tuple", shape[1]]

    def arrays(self) -> dict[str, Array]:
        """Everything; Unkeepable if a part of it cannot be written."""
        book, values, tables, keeping = self.book, self.values, self.tables, self.keeping
        recipes = [[base, to, self.recipe(how)] for base, to, how in book.recipes]
        apart = [self.apart(some) if some else None for some in values.apart]
        choices = [[values.number(value) for value in i.choice] for i in book.instances]
        apart += [self.apart(some) if some else None for some in values.apart[len(apart) :]]
        state_apart = keeping.sources.fingerprint_of(book.apart)
        if state_apart is None:
            raise Unkeepable("a field that is not compared")
        tables.sync()
        paths: dict[tuple[int | str, ...], int] = {}
        probes = [
            (component, what, of, paths.setdefault(path, len(paths)))
            for component, what, of, path in book.probes
        ]
        keys = list(keeping.asked)
        key_numbers = {key: number for number, key in enumerate(keys)}
        instances = [
            (i.kind, i.follow, key_numbers.get(keeping.keys.get(i.asked, ""), -1))
            for i in book.instances
        ]
        about = {
            "key": keeping.key,
            "fields": sorted(book.whole_fields),
            "components": [[c.field, c.index] for c in book.components],
            "state_apart": state_apart,
            "shapes": [self.shape(shape) for shape in values.shape_numbers],
            "scalars": [self.scalar(n) for n, k in enumerate(values.kinds) if k == SCALAR],
            "apart": [[n, some] for n, some in enumerate(apart) if some],
            "paths": list(paths),
            "keys": keys,
            "marks": list(book.marks),
            "guards": book.guards,
            "rules": list(book.rule_numbers),
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
    if not within(array, 1 << 31, -(1 << 31)):
        raise Unkeepable("a number")
    return array.astype(np.int32)


def flat(lists: Iterable[Sequence[int]]) -> Array:
    """Lists of numbers, one after the other."""
    return np.array([number for some in lists for number in some], np.int32)


def lane(lanes: Any, number: int, count: int) -> Array:
    """What a lane has up to some length: places and numbers."""
    begin = int(lanes.at.array[number])
    content = lanes.content.array[begin : begin + min(count, int(lanes.room.array[number]))]
    places = np.flatnonzero(content >= 0)
    return np.stack([places, content[places]], axis=1).astype(np.int32)


def without_gaps(runs: Array, reads: Array) -> tuple[Array, Array]:
    """The runs, and their reads without those of others; each run's reads are its own."""
    ends = np.zeros(len(reads) + 1, np.int8)
    np.add.at(ends, runs[:, 1], 1)
    np.add.at(ends, runs[:, 2], -1)
    used = np.cumsum(ends[:-1], dtype=np.int8) > 0
    place = np.zeros(len(reads) + 1, np.int64)
    np.cumsum(used, out=place[1:])
    moved = runs.copy()
    moved[:, 1:3] = place[runs[:, 1:3]]
    return moved, reads[used]


# -- from a file to tables ------------------------------------------------------------------------


class Reading:
    """Takes arrays for tables, if they fit."""

    def __init__(self, keeping: Keeping, arrays: dict[str, Array]) -> None:
        self.keeping = keeping
        self.arrays = arrays
        self.about = json.loads(bytes(arrays["about"]))
        check(self.about["key"] == keeping.key)

    def numbers(self, name: str, width: int = 0) -> Array:
        """An array of small numbers."""
        array = self.arrays[name]
        check(array.dtype in (np.int32, np.int8, np.int64))
        check(array.ndim == (2 if width else 1), not width or array.shape[1] == width)
        return array.astype(np.int64)

    def split(self, count: str, content: Array) -> list[Any]:
        """Content, split into pieces of these lengths."""
        counts = self.numbers(count)
        ends = np.cumsum(counts)
        check(within(counts, 1 << 31), (ends[-1] if len(ends) else 0) == len(content))
        items = content.tolist()
        return [items[e - n : e] for e, n in zip(ends.tolist(), counts.tolist(), strict=True)]

    def tables(self, apart: set[str]) -> Tables:
        """Everything; an exception if something does not fit."""
        about = self.about
        check(apart <= set(about["fields"]))
        self.book = book = Book(self.keeping.system, about["fields"])
        check([[c.field, c.index] for c in book.components] == about["components"])
        check(self.keeping.sources.fingerprint_of(book.apart) == about["state_apart"])
        asked = [p.name for p in self.keeping.system.properties]
        check(len({*about["marks"], *asked}) <= walk.FINAL_BIT)  # or there are no bits left
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
        """The classes of values: the same as when the file was written."""
        self.classes = []
        for module, name, code in self.about["classes"]:
            cls = resolved(module, name)
            check(isinstance(cls, type), self.keeping.sources.fingerprint_of(cls) == code)
            self.classes.append(cls)

    def record_class(self, number: int) -> type:
        """A class of records."""
        cls: type = self.classes[number]
        check(is_plain(cls))
        return cls

    def scalar(self, told: Any) -> Any:
        """A scalar from JSON."""
        if not isinstance(told, dict):
            check(type(told) in (int, str, bool, type(None)))
            return told
        ((what, of),) = told.items()
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
        for number, told in apart.items():
            values.apart[number] = self.apart(told, values.shape_of(number))
        with_apart = [shape for shape, of in values.records.items() if of.apart]
        check(len(apart) == np.isin(shapes, with_apart).sum())

    def apart(self, told: Any, shape: Shape) -> tuple[Any, ...]:
        """Fields that are not compared."""
        check(len(told) == len(shape.apart))
        return tuple(
            self.book.apart[at] if where == "state" else self.value(at) for where, at in told
        )

    def value(self, number: Any) -> Any:
        """The value of a number."""
        return self.book.values.value(self.number(number))

    def number(self, number: Any) -> int:
        """A number that a value has."""
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

    def path(self, told: Any) -> tuple[int | str, ...]:
        """The way to a part of a value."""
        fields = self.book.values.field_numbers
        for step in told:
            check(step in fields if type(step) is str else type(step) is int and step >= 0)
        return tuple(told)

    def take_probes(self) -> None:
        """Probes, and their places."""
        book, probes = self.book, self.numbers("probes", 4)
        paths = [self.path(told) for told in self.about["paths"]]
        check(within(probes[:, 0], len(book.components)), within(probes[:, 1], EQUALS + 1))
        with_value = np.isin(probes[:, 1], (HAS, EQUALS))
        check(within(probes[with_value, 2], self.count), probes[~with_value, 2] == -1)
        places: dict[tuple[int, int], Place] = {}
        for number, (component, what, of, at) in enumerate(probes.tolist()):
            place = places.get((component, at))
            if place is None:
                place = book.component_place(component)
                for step in paths[at]:
                    place = place.child(step)
                places[component, at] = place
            if what == SHAPE:
                check(place.shape_probe < 0)
                place.shape_probe = number
            else:
                key = what if of < 0 else (what, of)
                check(key not in place.probes)
                place.probes[key] = number
            book.probes.append((component, what, of, paths[at]))

    def take_instances(self) -> None:
        """What is asked; what has changed since stays without an answer."""
        book, instances = self.book, self.numbers("instances", 3)
        kinds = instances[:, 0]
        check(within(kinds, FINAL + 1), within(instances[:, 1], 3))
        asked = [self.keeping.asked.get(key) for key in self.about["keys"]]
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
        """Recipes, and what they have made."""
        book = self.book
        for base, to, told in self.about["recipes"]:
            check(type(base) is int and 0 <= base < len(book.components))
            check(type(to) is int and 0 <= to < len(book.components))
            how = self.recipe(told)
            check((base, to, how) not in book.recipe_numbers)
            book.recipe(base, to, how)
        counts, made = self.numbers("made_count"), self.numbers("made", 2)
        check(len(counts) == len(book.recipes), counts >= 0, counts.sum() == len(made))
        self.makers = np.repeat(np.arange(len(counts)), counts)
        self.made = made
        ends = np.array([recipe[:2] for recipe in book.recipes], np.int64).reshape(-1, 2)
        check(made >= 0, made < self.sizes[ends[self.makers]])

    def recipe(self, told: Any) -> Any:
        """A settled recipe from JSON."""
        if type(told) is int:
            return self.number(told)
        what = told[0]
        if what == "copy":
            return what, self.path(told[1])
        if what == "evolve":
            parts = [(int(index), self.recipe(part)) for index, part in told[2]]
            return what, self.path(told[1]), tuple(parts)
        if what == "tuple":
            return what, tuple([self.recipe(part) for part in told[1]])
        if what == "set":
            more, less = (tuple(map(self.number, numbers)) for numbers in told[2:4])
            return what, self.path(told[1]), more, less
        check(what == "record")
        shape = self.book.values.shape(self.record_class(told[1]))
        parts = [self.recipe(part) for part in told[3]]
        check(len(parts) == len(shape.names))
        return what, shape, self.apart(told[2], shape), tuple(parts)

    def take_effects(self) -> None:
        """What steps write: each component once, with what it may have."""
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
        """Paths, as far as what was asked is still the same."""
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
        says = self.leaves[runs[:, 3], 0]
        allowed = np.zeros((FINAL + 1, walk.MARK + 1), bool)
        for what, some in LEAVES.items():
            allowed[what, list(some)] = True
        check(allowed[kind, says])
        self.check_names(runs, says)
        lists = says == walk.CHOICES
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

    def check_names(self, runs: Array, says: Array) -> None:
        """Check that leaves speak of the rule or property that was asked."""
        book = self.book
        names: dict[str, int] = {}
        of = np.array([names.setdefault(name_of(i), len(names)) for i in book.instances], np.int64)
        guards = [rule for rule, _ in book.guards]
        told: dict[int, tuple[int, Iterable[str]]] = {
            walk.STEP: (4, book.rule_numbers),
            walk.BLOCKED: (1, guards),
            walk.MARK: (1, book.marks),
        }
        for what, (column, by_number) in told.items():
            some = runs[says == what]
            if what == walk.MARK:
                some = some[self.kinds[some[:, 0]] == PROPERTY]
                some = some[self.leaves[some[:, 3], 1] != walk.FAILED_BIT]
            named = np.array([names.get(name, -1) for name in by_number], np.int64)
            check(named[self.leaves[some[:, 3], column]] == of[some[:, 0]])

    def fill(self, tables: Tables, runs: Array, reads: Array) -> None:
        """Put what the book does not hold into the tables."""
        tables.reads.extend(reads)
        tables.runs.extend(runs)
        self.book.taken = len(reads)
        recipes = tables.recipes
        for recipe in np.unique(self.makers).tolist():
            recipes.have(recipe, int(self.sizes[self.book.recipes[recipe][0]]))
        recipes.content.array[recipes.at.array[self.makers] + self.made[:, 0]] = self.made[:, 1]
        tables.sync()


def name_of(instance: Instance) -> str:
    """The name of the rule or property that is asked."""
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
    """Names, by their places in a list."""
    return {str(name): number for number, name in enumerate(names)}


__all__ = ["Keeping"]
