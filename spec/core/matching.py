"""Parts of sets: the members of a class with given fields, their number, their greatest field.

A set of messages in flight is read in parts: the promises of one ballot, the votes for one
candidate. A rule that says which part it reads is easier to read, and is learned faster, since it
does not depend on the other members:

    promises = matching(s.sent, Promise, ballot=ballot)
    yield "a quorum promised", 2 * count(s.sent, Promise, ballot=ballot) > s.bounds.acceptors

`each` lists members as the choices of a rule: `@rule(by="acceptor", m=each("sent", Prepare))`.

An engine may substitute its own object for a set. Three methods of its class are then used, where
they exist. `_kspec_selected` takes **tests** and returns the members that pass all of them, as an
ordered set. `_kspec_summary` returns a **summary**, a named function of that part. `_kspec_sorts`
says whether `sorts` holds for all members that the set ever has; only then do rewritten rules read
a part of `sorted(members)`. The values of a test may contain such objects, too: the engine replaces
them before it compares or keeps the test.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, overload

import attrs

from kspec.spec.core.errors import SpecError
from kspec.spec.core.maps import Bag
from kspec.spec.core.sets import OrderedSet, parts_of, subset

T = TypeVar("T")
U = TypeVar("U")

Classes: TypeAlias = tuple[type, ...]
"""The classes of members; none stands for any."""

MISSING = object()
"""In place of a field that a member lacks, or of a default that was not given."""


# -- tests ----------------------------------------------------------------------------------------


def exactly(value: Any) -> Any:
    """A key that differs for equal values that can be told apart, such as 1 and True."""
    cls: Any = type(value)
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(exactly, value))
    if isinstance(value, tuple):
        return cls, *map(exactly, value)
    names = parts_of(cls)
    if names:
        return cls, *[exactly(getattr(value, name)) for name in names]
    return cls, value


@attrs.frozen(cache_hash=True)
class Test:
    """A condition on one member of a set."""

    __test__ = False  # no test of pytest

    site: str
    """The code of the condition; empty if it is about a class and fields."""
    values: tuple[Any, ...] = attrs.field(eq=exactly)
    """What it depends on besides the member: classes and fields, or the arguments of the code."""
    code: Callable[..., object] | None = attrs.field(default=None, eq=False, repr=False)
    """The function of the member and the values that the site names."""

    def holds(self, member: Any) -> bool:
        """Whether a member passes. If the code raises, it passes.

        Rewritten rules evaluate the condition again for each member of the part, and raise then.
        """
        if self.code is None:
            return has_fields(member, *self.values)
        try:
            return bool(self.code(member, *self.values))
        except Exception:
            return True

    def raises(self, member: Any) -> bool:
        """Whether the code raises for a member."""
        if self.code is None:
            return False
        try:
            bool(self.code(member, *self.values))
        except Exception:
            return True
        return False


def has_fields(member: Any, classes: Classes, fields: tuple[tuple[str, Any], ...]) -> bool:
    """Whether a member is of one of these classes, with these values of its fields."""
    if classes and not isinstance(member, classes):
        return False
    return all(getattr(member, name, MISSING) == value for name, value in fields)


def test_of(cls: Any, fields: Mapping[str, Any]) -> tuple[Test, ...]:
    """The test for a class and fields; none if every member passes it."""
    classes = classes_of(cls)
    for name in fields:
        assert_has(classes, name)
    if not classes and not fields:
        return ()
    return (Test("", (classes, tuple(sorted(fields.items(), key=lambda item: item[0])))),)


test_of.__test__ = False  # type: ignore[attr-defined]


def classes_of(cls: Any) -> Classes:
    """A class, a union, or a tuple of classes as a tuple; SpecError for anything else."""
    if cls is None:
        return ()
    if isinstance(cls, types.UnionType):
        cls = typing.get_args(cls)
    classes = cls if isinstance(cls, tuple) else (cls,)
    for one in classes:
        if not isinstance(one, type):
            raise SpecError(f"{one!r} is not a class of members")
    return classes


@cache
def assert_has(classes: Classes, field: str) -> None:
    """Raise SpecError for a field that none of these classes has, since no member would match."""
    if classes and not any(field in parts_of(c) or hasattr(c, field) for c in classes):
        names = " or ".join(cls.__name__ for cls in classes)
        raise SpecError(f"{names} has no field {field!r}")


# -- parts ----------------------------------------------------------------------------------------


def select(members: Any, *tests: Test) -> Any:
    """The part that passes the tests if an engine's object is asked for it; else all members."""
    if hasattr(type(members), "_kspec_selected"):
        return members._kspec_selected(tests)
    return members


def selected(members: Any, tests: tuple[Test, ...]) -> OrderedSet[Any]:
    """The part that passes the tests."""
    if hasattr(type(members), "_kspec_selected"):
        found: OrderedSet[Any] = members._kspec_selected(tests)
        return found
    return subset(members, [m for m in members if all(test.holds(m) for test in tests)])


@overload
def matching(members: Iterable[Any], cls: type[T], /, **fields: Any) -> OrderedSet[T]: ...


@overload
def matching(members: Iterable[T], cls: Any = None, /, **fields: Any) -> OrderedSet[T]: ...


def matching(members: Iterable[Any], cls: Any = None, /, **fields: Any) -> OrderedSet[Any]:
    """The members of a class, or of one of a tuple of classes, whose fields have these values.

    matching(s.sent, Promise, ballot=1)
    """
    return selected(members, test_of(cls, fields))


def sorts(members: Iterable[Any]) -> bool:
    """Whether `sorted` gives these members, and any of them, in the order of an ordered set.

    It raises for members that cannot be compared, such as messages of several classes.
    """
    try:
        return all((one < other) is True for one, other in pairwise(OrderedSet(members)))
    except TypeError:
        return False


# -- summaries ------------------------------------------------------------------------------------


def summary(name: str) -> Callable[[OrderedSet[Any]], Any]:
    """The function of a part that a name stands for: `count`, `highest:FIELD`, `distinct:FIELD`.

    The highest is a tuple of one value, or of none.
    """
    what, _, field = name.partition(":")
    return SUMMARIES[what](field)


def highest_of(field: str) -> Callable[[OrderedSet[Any]], tuple[Any, ...]]:
    """The greatest value of a field, in a tuple that is empty if there is none."""
    get = attrgetter(field)
    return lambda part: (max(map(get, part)),) if part else ()


def distinct_of(field: str) -> Callable[[OrderedSet[Any]], OrderedSet[Any]]:
    """The values of a field."""
    get = attrgetter(field)
    return lambda part: OrderedSet(map(get, part))


SUMMARIES: Mapping[str, Callable[[str], Callable[[OrderedSet[Any]], Any]]] = {
    "count": lambda _: len,
    "highest": highest_of,
    "distinct": distinct_of,
}


def summarised(members: Any, tests: tuple[Test, ...], name: str) -> Any:
    """A summary of the part that passes the tests."""
    if hasattr(type(members), "_kspec_summary"):
        return members._kspec_summary(tests, name, ())
    return summary(name)(selected(members, tests))


def count(members: Iterable[Any], cls: Any = None, /, **fields: Any) -> int:
    """The number of members that `matching` returns; of a `Bag`, with repetitions.

    2 * count(s.sent, Accepted, ballot=1, value=v) > acceptors
    """
    tests = test_of(cls, fields)
    if isinstance(members, Bag):
        return sum(members.count(member) for member in selected(members, tests))
    found: int = summarised(members, tests, "count")
    return found


def highest(
    members: Iterable[Any], field: str, cls: Any = None, /, *, default: Any = MISSING, **fields: Any
) -> Any:
    """The greatest value of a field among the members that `matching` returns.

    highest(s.sent, "voted", Promise, ballot=1, default=-1)
    """
    tests = test_of(cls, fields)
    assert_has(classes_of(cls), field)
    found = summarised(members, tests, f"highest:{field}")
    if not found and default is MISSING:
        raise ValueError(f"no member has a {field}, and there is no default")
    return found[0] if found else default


def distinct(
    members: Iterable[Any], field: str, cls: Any = None, /, **fields: Any
) -> OrderedSet[Any]:
    """The values of a field among the members that `matching` returns, each once.

    2 * len(distinct(s.sent, "acceptor", Promise, ballot=1)) > acceptors
    """
    tests = test_of(cls, fields)
    assert_has(classes_of(cls), field)
    found: OrderedSet[Any] = summarised(members, tests, f"distinct:{field}")
    return found


# -- choices --------------------------------------------------------------------------------------


@attrs.frozen
class Each:
    """The members of a set of the state as choices: a function that lists them in a state."""

    source: str | Callable[[Any], Any]
    """The field of the state, or the function of the state, that gives the set."""
    tests: tuple[Test, ...] = ()
    """What the members pass that are listed."""

    def members(self, s: Any) -> Any:
        """The set, of which those that pass the tests are listed."""
        if not isinstance(self.source, str):
            return self.source(s)
        found = getattr(s, self.source, MISSING)
        if found is MISSING:
            raise SpecError(f"each({self.source!r}): {type(s).__name__} has no such field")
        return found

    def __call__(self, s: Any) -> OrderedSet[Any]:
        """The members that pass the tests, in ascending order."""
        return selected(self.members(s), self.tests)


def each(source: str | Callable[[Any], Any], cls: Any = None, /, **fields: Any) -> Each:
    """The members of a field of the state, in ascending order, as the choices of a rule.

    @rule(by="acceptor", m=each("sent", Prepare))

    A function of the state may stand in place of the field. A class and fields choose members, as
    in `matching`. Of a `Map` the keys are listed, of a `Bag` each member once.
    """
    return Each(source, test_of(cls, fields))
