"""Bounds: how large the world is in which every state is looked at; given from outside."""

from __future__ import annotations

from typing import Any

import attrs

from spec.core.errors import SpecError


@attrs.frozen
class Bound:
    """The range of one bound, and what it limits."""

    name: str
    default: int
    low: int
    high: int
    doc: str


def bound(default: int, low: int, high: int, doc: str) -> Any:
    """A field of a model's bounds: a whole number from `low` to `high`."""

    def within(bounds: object, field: attrs.Attribute[int], value: object) -> None:
        if type(value) is not int:
            raise SpecError(f"{field.name} is a whole number, not {value!r}")
        if not low <= value <= high:
            raise SpecError(f"{field.name} is {value}, and may be {low} to {high}")

    return attrs.field(default=default, validator=within, metadata={"bound": (low, high, doc)})


def constant() -> Any:
    """A field that is the same in every state of a run and no part of what tells them apart.

    It is given by name, so that it may stand anywhere among the fields.
    """
    return attrs.field(eq=False, repr=False, kw_only=True)


def tally() -> Any:
    """A count that only limits read: how often something happened that the bounds allow so often.

    Kafka has no such count, and like a limit no mutation gets it wrong.
    """
    return attrs.field(default=0, metadata={"tally": True})


@attrs.frozen
class NoBounds:
    """The bounds of a model that is finite by itself."""
