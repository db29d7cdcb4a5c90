"""Bounds: the limits of an exploration, chosen for each run."""

from __future__ import annotations

from typing import Any

import attrs

from kspec.spec.core.errors import SpecError


@attrs.frozen
class Bound:
    """One bound: its default, its range, and what it limits."""

    name: str
    default: int
    low: int
    high: int
    doc: str


def bound(default: int, low: int, high: int, doc: str) -> Any:
    """A field of a class of bounds: an integer from `low` to `high`."""

    def within(bounds: object, field: attrs.Attribute[int], value: object) -> None:
        if type(value) is not int:
            raise SpecError(f"{field.name} is a whole number, not {value!r}")
        if not low <= value <= high:
            raise SpecError(f"{field.name} is {value}, and may be {low} to {high}")

    return attrs.field(default=default, validator=within, metadata={"bound": (low, high, doc)})


def constant() -> Any:
    """A field that has the same value in every state of a run; states are compared without it.

    It is a keyword argument, so it may stand anywhere among the fields.
    """
    return attrs.field(eq=False, repr=False, kw_only=True)


def tally() -> Any:
    """A count that only limits read, such as the number of crashes so far.

    Kafka has no such count. Like a limit, it is not mutated.
    """
    return attrs.field(default=0, metadata={"tally": True})


@attrs.frozen
class NoBounds:
    """The bounds of a model that is finite by itself."""
