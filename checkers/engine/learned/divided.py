"""Divided fields: a set, a mapping or a bag of the state that has a component for each key.

A protocol keeps the messages in flight in a set, and almost every state has another set. So a field
with many values is **divided**: each key that it ever had, or was asked for, is an **element** with
a component of its own: whether a set has it, the value of a mapping, the number in a bag. A step
that writes one element leaves the others alone, and a rule that asks for one reads no other.

A rule that asks for all elements with some property reads a **view**: the elements for which some
tests hold. What it reads is the answer of the view, for example the set of those present. An
element that is found later, and for which the tests hold, becomes part of the view. It is absent in
all states before it, so what was learned of them stays valid.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from kspec.checkers.engine.learned.standins import Place
from kspec.checkers.engine.learned.values import Values
from kspec.checkers.engine.learned.walk import VIEW
from kspec.spec.core import Bag, Map, OrderedSet, ordered
from kspec.spec.core.matching import Test, sorts, summary
from kspec.spec.core.sets import key_of

if TYPE_CHECKING:
    from kspec.checkers.engine.learned.standins import ReadTrace

FROM = 256
"""A set is divided when it has more values than this."""


class Unfit(Exception):
    """A state does not fit the components: the length of a tuple or its class differs."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class Divide(Unfit):
    """A field has many different sets, mappings or bags: it is to be divided."""


class Unlistable(Unfit):
    """A function that lists a set, or sorts it, raises for an element that was found."""


@attrs.frozen
class Layout:
    """How the fields of states become components; fields not named here need no exception."""

    whole: frozenset[str] = frozenset()
    """Fields of one component each: their lengths or classes differ between states."""
    divided: frozenset[str] = frozenset()
    """Fields that are divided into elements."""
    unlistable: frozenset[str] = frozenset()
    """Divided fields whose elements are not treated as choices that a function lists or sorts."""

    def for_unfit(self, unfit: Unfit) -> Layout:
        """The layout that resolves an Unfit exception."""
        field = {unfit.field}
        if isinstance(unfit, Divide):
            return attrs.evolve(self, divided=self.divided | field)
        if isinstance(unfit, Unlistable):
            return attrs.evolve(self, unlistable=self.unlistable | field)
        return attrs.evolve(self, whole=self.whole | field, divided=self.divided - field)

    def covers(self, other: Layout) -> bool:
        """Whether everything that is special in another layout is so in this one."""
        return all(
            getattr(other, field.name) <= getattr(self, field.name)
            for field in attrs.fields(Layout)
        )


class Presence(Enum):
    """The values of elements that say whether they are present; those of mappings have others."""

    ABSENT = 0
    PRESENT = 1


Present: TypeAlias = tuple[tuple[int, int], ...]
"""Some elements that are present: for each, its component and the local number of its value."""

WHOLE_FIELD = "whole"
"""The summary of a view that is the mapping or the bag itself, and not the set of its keys."""


class InOrder:
    """Values that can be compared, in ascending order."""

    def __init__(self, values: Iterable[Any]) -> None:
        """Unlistable is raised later, for a value that cannot be compared with these."""
        self.values = sorted(values, key=key_of)

    def insert(self, value: Any, field: str) -> None:
        """Insert a value of a field."""
        insort(self.values, value, key=key_of)
        at = bisect_left(self.values, key_of(value), key=key_of)
        if not sorts(self.values[max(0, at - 1) : at + 2]):
            raise Unlistable(field)


@attrs.define(eq=False)
class View:
    """The elements of a division for which some tests hold."""

    number: int
    division: Division
    tests: tuple[Test, ...]
    summary: str | None
    """The name of a function of the set of those present, or None for the set itself."""
    place: Place
    components: list[int] = attrs.field(factory=list)
    members: list[int] = attrs.field(factory=list)
    """The numbers of their elements."""
    answers: dict[Present, int] = attrs.field(factory=dict)
    """The number of the answer where these of its elements are present."""
    is_listed: bool = False
    """Whether the elements are choices, which a function lists: it must not raise."""
    sorted: InOrder | None = None
    """The elements, if that function sorts them."""

    def take(self, component: int, member: int) -> None:
        """Take an element if the tests hold for it."""
        value = self.division.values.value(member)
        if self.is_listed and any(test.raises(value) for test in self.tests):
            raise Unlistable(self.division.field)
        if all(test.holds(value) for test in self.tests):
            self.components.append(component)
            self.members.append(member)
            if self.sorted is not None:
                self.sorted.insert(value, self.division.field)

    def answer(self, row: Sequence[int]) -> int:
        """The number of the answer in a state, given as a row."""
        among = len(row)
        present = tuple([(k, row[k]) for k in self.components if k < among and row[k]])
        found = self.answers.get(present)
        if found is None:
            found = self.answers[present] = self.answer_for(present)
        return found

    def answer_for(self, present: Present) -> int:
        """The number of the answer where these elements are present."""
        division, values = self.division, self.division.values
        if self.summary == WHOLE_FIELD:
            return division.value_of(present)
        keys = values.set_of(tuple(sorted([division.member_of[k] for k, _ in present])))
        if self.summary is None:
            return keys
        return values.number(summary(self.summary)(values.value(keys)))

    def read(self, trace: ReadTrace) -> Any:
        """The answer; it counts as read."""
        number = self.answer(trace.row)
        trace.note(self.place, VIEW, -1, number)
        return self.division.values.value(number)


@attrs.define(eq=False)
class Choices:
    """The instances for each element of a view, where the elements are the values of a choice."""

    number: int
    instance: Any
    """That which lists them."""
    view: View
    place: int
    """The place of the elements among the choices."""
    others: tuple[tuple[Any, ...], ...]
    """The values of the other choices, each in its place."""
    begin: list[int] = attrs.field(factory=list)
    """By element of the view: where the list of its instances begins in the book's lists."""

    @property
    def count(self) -> int:
        """The number of instances of an element."""
        return prod(len(some) for at, some in enumerate(self.others) if at != self.place)

    def choices_for(self, element: Any) -> Iterable[tuple[Any, ...]]:
        """All choices with an element."""
        return product(
            *((element,) if at == self.place else some for at, some in enumerate(self.others))
        )


@attrs.define(eq=False)
class Division:
    """A set, a mapping or a bag of the state, by element."""

    number: int
    field: str
    index: int | None
    cls: type
    """OrderedSet, Map or Bag."""
    values: Values
    new_component: Callable[[Division], int]
    new_view: Callable[[Division, tuple[Test, ...], str | None], View]
    value_at: Callable[[int, int], int]
    """The number of the value of a component with a local number."""
    components: dict[int, int] = attrs.field(factory=dict)
    """By the least number of the equals of an element: its component."""
    member_of: dict[int, int] = attrs.field(factory=dict)
    """By component: the number of its element."""
    places: dict[int, Place] = attrs.field(factory=dict)
    """By component."""
    views: dict[Any, View] = attrs.field(factory=dict)
    is_listable: bool = True
    """Whether to assume that functions that list or sort the set raise for no element."""
    sorted: InOrder | None = None
    """The elements, if it was relied on that they can be compared."""

    def sorts(self) -> bool:
        """Whether `sorted` gives any of the elements in ascending order; relied on from now on."""
        if self.sorted is None and self.is_listable:
            values = [self.values.value(number) for number in self.member_of.values()]
            if sorts(values):
                self.sorted = InOrder(values)
        return self.sorted is not None

    def lists(self, view: View, *, sorted_too: bool) -> bool:
        """Whether a function may list the elements of a view as choices; relied on if so."""
        value = self.values.value
        raises = any(test.raises(value(n)) for n in self.member_of.values() for test in view.tests)
        listed = list(map(value, view.members))
        if not self.is_listable or raises or (sorted_too and not sorts(listed)):
            return False
        view.is_listed = True
        if sorted_too and view.sorted is None:
            view.sorted = InOrder(listed)
        return True

    def component(self, number: int) -> int:
        """The component of an element, given a number of it; a new one if it is new."""
        same = self.values.same[number]
        found = self.components.get(same)
        if found is None:
            found = self.components[same] = self.new_component(self)
            self.member_of[found] = number
            self.places[found] = Place(found, ())
            if self.sorted is not None:
                self.sorted.insert(self.values.value(number), self.field)
            for view in self.views.values():
                view.take(found, number)
        return found

    def view(self, tests: Iterable[Test] = (), summary: str | None = None) -> View:
        """The view of the elements for which these tests hold."""
        key = tuple(tests), summary
        found = self.views.get(key)
        if found is None:
            found = self.views[key] = self.new_view(self, *key)
            for component, member in self.member_of.items():
                found.take(component, member)
        return found

    def whole(self) -> View:
        """The view of everything."""
        return self.view((), None if self.cls is OrderedSet else WHOLE_FIELD)

    def read(self, trace: ReadTrace, number: int) -> Any:
        """The value of an element, or a stand-in for it, given a number of the element."""
        k = self.component(number)
        local = trace.row[k] if k < len(trace.row) else 0
        return trace.read(self.places[k], self.value_at(k, local))

    def parts(self, value: Any) -> Iterable[tuple[int, Any]]:
        """The components of the elements of a value of this field, with their values."""
        if type(value) not in CLASSES[self.cls]:
            raise Unfit(self.field)
        pairs = value.pairs() if self.cls is not OrderedSet else ((m, PRESENT) for m in value)
        return [(self.component(self.values.number(key)), one) for key, one in pairs]

    def value_of(self, present: Present) -> int:
        """The number of the value of this field where these elements are present."""
        values = self.values
        if self.cls is OrderedSet:
            return values.set_of(tuple(sorted([self.member_of[k] for k, _ in present])))
        return values.number(self.built(present))

    def built(self, present: Iterable[tuple[int, int]]) -> Any:
        """The mapping or the bag with these elements."""
        value, made = self.values.value, cast(Any, self.cls)
        pairs = [(self.member_of[k], self.value_at(k, local)) for k, local in present]
        return ordered(made.of_pairs((value(key), value(item)) for key, item in pairs))


ABSENT, PRESENT = Presence

CLASSES: Mapping[type, frozenset[type]] = {
    OrderedSet: frozenset({frozenset, OrderedSet}),
    Map: frozenset({Map}),
    Bag: frozenset({Bag}),
}
"""The classes of fields that can be divided, and those of their values."""


def kind_of(value: Any) -> type | None:
    """The class of a field with such a value, if it can be divided."""
    return next((cls for cls, classes in CLASSES.items() if type(value) in classes), None)
