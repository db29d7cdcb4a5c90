"""Stand-ins for divided fields: sets, mappings and bags of which each element is read by itself."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from kspec.checkers.engine.learned.divided import ABSENT, Division
from kspec.checkers.engine.learned.recipes import Recipe, with_members
from kspec.checkers.engine.learned.standins import (
    DIVIDED,
    MEMBERS,
    NO_MEMBERS,
    SETS,
    Members,
    Printed,
    ReadTrace,
    is_standin,
    number_of,
    real,
)
from kspec.spec.core import Bag, Map, OrderedSet
from kspec.spec.core.matching import Test, summary
from kspec.spec.core.sets import TRANSIENT


class Elements(Members):
    """A stand-in for a divided frozenset: each element is read by itself."""

    __slots__ = ("division",)

    def __init__(
        self,
        trace: ReadTrace,
        division: Division,
        more: Mapping[int, int] = NO_MEMBERS,
        less: AbstractSet[int] = frozenset(),
    ) -> None:
        self.trace = trace
        self.division = division
        self.more = more
        self.less = less
        self.value = None

    def has(self, same: int) -> bool:
        return self.division.read(self.trace, same) is not ABSENT

    def size(self) -> int:
        return len(self.division.whole().read(self.trace))

    def is_empty(self) -> bool:
        return not self.division.whole().read(self.trace)

    def like(self, more: Mapping[int, int], less: AbstractSet[int]) -> Members:
        return Elements(self.trace, self.division, more, less)

    @property
    def is_untouched(self) -> bool:
        """Whether it is the frozenset of the state, and nothing else was read of it by value."""
        return self.value is None and not self.more and not self.less

    def recipe(self) -> Recipe:
        values, members = self.trace.values, self.division.whole().read(self.trace)
        return with_members(values, values.number(members), self.more.values(), self.less)

    def _kspec_selected(self, tests: Iterable[Test]) -> Any:
        """The members that pass all tests (`spec.core.matching`)."""
        return self.part(tuple(map(plain_test, tests)), None)

    def _kspec_summary(self, tests: Iterable[Test], name: str, _: Any) -> Any:
        """A summary of these members."""
        return self.part(tuple(map(plain_test, tests)), name)

    def _kspec_sorts(self) -> bool:
        """Whether `sorted` gives any members that the set ever has in ascending order."""
        return self.is_untouched and self.division.sorts()

    def part(self, tests: tuple[Test, ...], name: str | None) -> Any:
        """The members that pass plain tests, or a summary of them."""
        if self.is_untouched:
            return self.division.view(tests, name).read(self.trace)
        if self.value is not None:
            members = list(self.value)
        else:
            values = self.trace.values
            others = {*self.less, *self.more}
            kept = self.division.view(tests).read(self.trace)
            members = [v for v in kept if values.same[values.number(v)] not in others]
            members += map(values.value, self.more.values())
        part = OrderedSet(m for m in members if all(test.holds(m) for test in tests))
        return part if name is None else summary(name)(part)

    def __and__(self, other: Any) -> Any:
        if self.value is not None or not isinstance(other, frozenset) or is_standin(other):
            return real(self) & real(other)
        return OrderedSet(member for member in other if member in self)

    def __rand__(self, other: Any) -> Any:
        return self & other if type(other) in SETS else other & real(self)


# -- mappings and bags ----------------------------------------------------------------------------


class Entered(Printed):
    """A stand-in for a divided mapping or bag: that of the state, with some values changed."""

    __slots__ = ("changes", "division", "trace", "value")

    def __init__(
        self, trace: ReadTrace, division: Division, changes: Mapping[int, tuple[int, Any]] = {}
    ) -> None:
        self.trace = trace
        self.division = division
        self.changes = changes
        """By the least number of the equals of a key: its number, and its value or ABSENT."""
        self.value: Any = None
        """The value itself, once this is settled."""

    @property
    def is_untouched(self) -> bool:
        """Whether it is that of the state, and was not read in full."""
        return self.value is None and not self.changes

    def item(self, key: Any) -> Any:
        """The value of a key, or ABSENT."""
        hash(key)
        number = number_of(self.trace, key)
        changed = self.changes.get(self.trace.values.same[number])
        return changed[1] if changed else self.division.read(self.trace, number)

    def keyed(self) -> OrderedSet[Any]:
        """The keys."""
        found: OrderedSet[Any] = self.part((), None)
        return found

    def changed(self, items: Iterable[tuple[Any, Any]]) -> Any:
        """The same with other values for some keys; ABSENT removes one."""
        values = self.trace.values
        numbered = [(number_of(self.trace, key), value) for key, value in items]
        changes = {values.same[number]: (number, value) for number, value in numbered}
        return type(self)(self.trace, self.division, {**self.changes, **changes})

    def recipe(self) -> Recipe:
        """The number of the value; all of it counts as read."""
        whole = self.division.whole().read(self.trace)
        if self.changes:
            values = self.trace.values
            entries = dict(whole.pairs())
            for number, value in self.changes.values():
                key = values.value(number)
                entries.pop(key, None)
                if value is not ABSENT:
                    entries[key] = values.value(number_of(self.trace, value))
            whole = type(whole).of_pairs(entries.items())
        return self.trace.values.number(whole)

    def part(self, tests: tuple[Test, ...], name: str | None) -> Any:
        """The keys that pass plain tests, or a summary of them."""
        view = self.division.view(tests, name if self.is_untouched else None)
        if self.is_untouched:
            return view.read(self.trace)
        values = self.trace.values
        keys = [
            k for k in view.read(self.trace) if values.same[values.number(k)] not in self.changes
        ]
        more = [
            values.value(number) for number, value in self.changes.values() if value is not ABSENT
        ]
        part = OrderedSet([*keys, *(k for k in more if all(test.holds(k) for test in tests))])
        return part if name is None else summary(name)(part)

    def _kspec_selected(self, tests: Iterable[Test]) -> Any:
        """The keys that pass all tests (`spec.core.matching`)."""
        if self.value is not None:
            return OrderedSet(k for k in self.value if all(t.holds(k) for t in tests))
        return self.part(tuple(map(plain_test, tests)), None)

    def _kspec_sorts(self) -> bool:
        """Whether `sorted` gives any keys that it ever has in ascending order."""
        return self.is_untouched and self.division.sorts()

    def __contains__(self, key: object) -> bool:
        if self.value is not None:
            return real(key) in self.value
        return self.item(key) is not ABSENT

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value if self.value is not None else self.keyed())

    def __bool__(self) -> bool:
        return len(self.keyed() if self.value is None else self.value) > 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if self.trace.is_over:
            return False
        return bool(real(self) == real(other))

    __hash__ = Printed.__hash__

    def __getattr__(self, name: str) -> Any:
        return getattr(real(self), name)


class MapElements(Entered):
    """A stand-in for a divided mapping."""

    __slots__ = ()
    __class__ = property(lambda self: Map)  # for isinstance

    def __getitem__(self, key: Any) -> Any:
        if self.value is not None:
            return self.value[real(key)]
        found = self.item(key)
        if found is ABSENT:
            raise KeyError(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        if self.value is not None:
            return self.value.get(real(key), default)
        found = self.item(key)
        return default if found is ABSENT else found

    def __len__(self) -> int:
        return len(self.keyed() if self.value is None else self.value)

    def keys(self) -> Any:
        return KeysView(self)

    def values(self) -> Any:
        return ValuesView(self)

    def items(self) -> Any:
        return ItemsView(self)

    def set(self, key: Any, value: Any) -> Any:
        if self.value is not None:
            return self.value.set(key, value)
        return self.changed([(key, value)])

    def without(self, key: Any) -> Any:
        if self.value is not None:
            return self.value.without(key)
        self[key]
        return self.changed([(key, ABSENT)])

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.value | other if self.value is not None else self.changed(other.items())

    def __ror__(self, other: Any) -> Any:
        return other | real(self)


class BagElements(Entered):
    """A stand-in for a divided bag."""

    __slots__ = ()
    __class__ = property(lambda self: Bag)  # for isinstance

    def count(self, member: Any) -> int:
        if self.value is not None:
            found: int = self.value.count(real(member))
            return found
        item = self.item(member)
        return 0 if item is ABSENT else int(item)

    def __len__(self) -> int:
        return sum(self.count(member) for member in self)

    def items(self) -> Iterator[tuple[Any, int]]:
        return ((member, self.count(member)) for member in self)

    def add(self, member: Any) -> Any:
        return self + {member}

    def remove(self, member: Any) -> Any:
        if member not in self:
            raise KeyError(member)
        return self - {member}

    def moved(self, others: Iterable[Any], by: int) -> Any:
        """The bag with some members once more, or once less."""
        counts: dict[Any, int] = {}
        for member, times in Bag(others).items():
            counts[member] = max(0, self.count(member) + by * times)
        return self.changed((member, times or ABSENT) for member, times in counts.items())

    def __add__(self, others: Any) -> Any:
        return self.value + others if self.value is not None else self.moved(others, 1)

    def __sub__(self, others: Any) -> Any:
        return self.value - others if self.value is not None else self.moved(others, -1)


def plain_test(test: Test) -> Test:
    """A test that depends on values alone, in place of stand-ins."""
    found = [plain_value(value) for value in test.values]
    return attrs.evolve(test, values=tuple(found))


def plain_value(value: Any) -> Any:
    """A value without stand-ins at any depth of its tuples; what they stand for counts as read."""
    if is_standin(value):
        return real(value)
    return tuple(map(plain_value, value)) if type(value) is tuple else value


DIVIDED.update({OrderedSet: Elements, Map: MapElements, Bag: BagElements})
MEMBERS.update(DIVIDED.values())
TRANSIENT.update(DIVIDED.values())
