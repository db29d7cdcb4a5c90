"""The schema of a state, from the annotations of its classes."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, NewType

import attrs
import pytest

from kspec.spec.core import SpecError, constant
from kspec.spec.core.schema import (
    Anything,
    Items,
    Members,
    OneOf,
    Product,
    Record,
    Scalar,
    all_types,
    fields_of,
    names_of,
)

Node = NewType("Node", int)
NODE: Any = Node
"""For type checkers, which take a NewType for a class."""


class Pair(NamedTuple):
    """A named tuple."""

    left: Node
    """One of them."""
    right: Tree | None = None


@attrs.frozen
class Tree:
    """A record that contains itself."""

    name: str
    """Its
    name."""
    parts: tuple[Tree, ...] = ()
    by_node: Annotated[tuple[int, ...], Node] = ()
    pair: tuple[int, frozenset[Node]] = (0, frozenset())
    other: Any = None
    size: int = constant()
    """Not compared."""


@attrs.frozen
class Misplaced:
    """A field that cannot be indexed."""

    leader: Annotated[Node, Node]


def local() -> type:
    """A class whose annotations name what no module has."""

    class Local:
        pass

    @attrs.frozen
    class Holder:
        held: Local

    return Holder


def test_fields_have_types_and_sentences() -> None:
    fields = {field.name: field for field in fields_of(Tree)}
    assert (fields["name"].type, fields["name"].doc) == (Scalar(str), "Its\nname.")
    assert fields["parts"].type == Items(Record(Tree))
    assert fields["by_node"].type == Items(Scalar(int), NODE)
    assert fields["pair"].type == Product((Scalar(int), Members(Scalar(int, NODE))))
    assert fields["other"].type == Anything()
    assert (fields["size"].compared, fields["size"].doc) == (False, "Not compared.")
    assert names_of(Tree) == ("name", "parts", "by_node", "pair", "other")


def test_named_tuples_are_records() -> None:
    left, right = fields_of(Pair)
    assert (left.type, left.doc) == (Scalar(int, NODE), "One of them.")
    assert right.type == OneOf((Record(Tree), Scalar(type(None))))
    assert names_of(Pair) == ("left", "right")
    assert names_of(int) is None


def test_a_record_may_contain_itself() -> None:
    assert Scalar(int, NODE) in all_types(Record(Tree))


def test_only_tuples_are_indexed() -> None:
    with pytest.raises(SpecError, match=r"only a tuple\[T, ...\] is indexed by Node"):
        fields_of(Misplaced)


def test_an_unreadable_annotation_is_named() -> None:
    with pytest.raises(SpecError, match=r"annotations of Holder cannot be read: .*Local"):
        fields_of(local())
