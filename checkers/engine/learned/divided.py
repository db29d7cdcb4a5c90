"""Divided sets: a field of the state whose frozenset has a component for each member.

A protocol keeps the messages in flight in a set, and almost every state has another set. So a set
with many values is **divided**: each value that was ever a member, or was asked for, is an
**element** with a component of its own, which says whether it is present. Adding and removing an
element are then constants, and membership is one read.

A rule that asks for all members with some property reads a **view**: the elements for which some
tests hold. What it reads is the answer of the view, for example the set of those present. An
element that is found later, and for which the tests hold, becomes part of the view. It is absent in
all states before it, so what was learned of them stays valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import attrs

from kspec.checkers.engine.learned.standins import Place
from kspec.checkers.engine.learned.values import Values
from kspec.checkers.engine.learned.walk import VIEW, WHOLE
from kspec.spec.core.matching import Test, sorts, summary

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
    """A field has many different sets: it is to be divided."""


class Unlistable(Unfit):
    """A function that lists a set, or sorts it, raises for an element that was found."""


@attrs.frozen
class Layout:
    """How the fields of states become components; the rest are found fit as they are."""

    whole: frozenset[str] = frozenset()
    """Fields of one component each: their lengths or classes differ between states."""
    divided: frozenset[str] = frozenset()
    """Fields whose sets are divided into elements."""
    unlistable: frozenset[str] = frozenset()
    """Of these, those that no function is relied on to list or sort."""

    def for_unfit(self, unfit: Unfit) -> Layout:
        """The layout in which something fits that did not."""
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


UNLISTED, LISTED, SORTED = range(3)


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
    answers: dict[tuple[int, ...], int] = attrs.field(factory=dict)
    """By the components of those present: the number of the answer."""

    listed: int = UNLISTED
    """Whether the elements are choices, which a function lists, or sorts: it must not raise."""

    def take(self, component: int, member: int) -> None:
        """Take an element if the tests hold for it."""
        value = self.division.values.value(member)
        if self.listed and any(test.raises(value) for test in self.tests):
            raise Unlistable(self.division.field)
        if all(test.holds(value) for test in self.tests):
            self.components.append(component)
            self.members.append(member)
            if self.listed == SORTED and not self.can_sort():
                raise Unlistable(self.division.field)

    def can_sort(self) -> bool:
        """Whether `sorted` gives any of the elements so far in ascending order."""
        return sorts(map(self.division.values.value, self.members))

    def answer(self, numbers: Sequence[int]) -> int:
        """The number of the answer in a state, given the numbers of its values."""
        present, among = self.division.present, len(numbers)
        return self.answer_for(
            tuple([k for k in self.components if k < among and numbers[k] == present])
        )

    def answer_in(self, row: Sequence[int]) -> int:
        """The number of the answer in a state, given as a row."""
        among = len(row)
        return self.answer_for(tuple([k for k in self.components if k < among and row[k]]))

    def answer_for(self, present: tuple[int, ...]) -> int:
        """The number of the answer if the elements of these components are present."""
        found = self.answers.get(present)
        if found is None:
            values = self.division.values
            found = self.division.value_of(present)
            if self.summary is not None:
                found = values.number(summary(self.summary)(values.value(found)))
            self.answers[present] = found
        return found

    def read(self, trace: ReadTrace) -> Any:
        """The answer; it counts as read."""
        number = self.answer(trace.numbers)
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
    """A set of the state, by element."""

    number: int
    field: str
    index: int | None
    values: Values
    new_component: Callable[[Division, int], int]
    new_view: Callable[[Division, tuple[Any, ...], Any], View]
    present: int
    """The number of the value that says that an element is present; another says that it is
    absent."""
    components: dict[int, int] = attrs.field(factory=dict)
    """By the least number of the equals of an element: its component."""
    member_of: dict[int, int] = attrs.field(factory=dict)
    """By component: the number of its element."""
    places: dict[int, Place] = attrs.field(factory=dict)
    """By component."""
    views: dict[Any, View] = attrs.field(factory=dict)
    is_listable: bool = True
    """Whether functions that list or sort the set may be taken to raise for no element."""
    is_sorted: bool = False
    """Whether it was relied on that the elements can be compared."""

    def sorts(self) -> bool:
        """Whether `sorted` gives any of the elements in ascending order; relied on from now on."""
        if not self.is_sorted:
            self.is_sorted = self.is_listable and self.can_sort()
        return self.is_sorted

    def can_sort(self) -> bool:
        """Whether it does for all elements so far."""
        return sorts(map(self.values.value, self.member_of.values()))

    def lists(self, view: View, how: int) -> bool:
        """Whether a function may list the elements of a view as choices; relied on if so."""
        values = [self.values.value(number) for number in self.member_of.values()]
        fits = self.is_listable and not any(t.raises(v) for v in values for t in view.tests)
        fits = fits and (how != SORTED or view.can_sort())
        view.listed = max(view.listed, how if fits else UNLISTED)
        return fits

    def component(self, number: int) -> int:
        """The component of an element, given a number of it; a new one if it is new."""
        same = self.values.same[number]
        found = self.components.get(same)
        if found is None:
            found = self.components[same] = self.new_component(self, number)
            self.member_of[found] = number
            self.places[found] = Place(found, ())
            if self.is_sorted and not self.can_sort():
                raise Unlistable(self.field)
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

    def members(self, trace: ReadTrace) -> Any:
        """The set itself; all of it counts as read."""
        return self.view().read(trace)

    def has(self, trace: ReadTrace, number: int) -> bool:
        """Whether an element is present; it counts as read."""
        k = self.component(number)
        answer = k < len(trace.numbers) and trace.numbers[k] == self.present
        absent = self.values.number(False)
        trace.note(self.places[k], WHOLE, -1, self.present if answer else absent)
        return answer

    def value_of(self, present: Iterable[int]) -> int:
        """The number of the set with the elements of these components."""
        return self.values.set_of(tuple(sorted([self.member_of[k] for k in present])))
