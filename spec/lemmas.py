"""Lemmas: statements about all numbers, proved by `kspec prove` and tested on random numbers.

A **lemma** is written like a property, with numbers in place of a state: it yields claims, each
with a text and whether it is true of these numbers.

    @lemma(remainder_first, h=JAVA_INT, n=POSITIVE_JAVA_INT)
    def remainder_first_gives_a_partition(h: int, n: int) -> Claims:
        \"\"\"`Math.abs(hash % n)` is one of n partitions, whatever the hash.\"\"\"
        partition = remainder_first(h, n)
        yield f"partition {partition} of {n}", 0 <= partition < n

Its conditions come first: `yield provided("the HW is in the log"), hw <= leo`.

Every lemma has a **false neighbour**: a similar statement about the same numbers that is wrong.
It shows that the lemma is not vacuous.

A lemma is plain Python and calls the function that it is about. Tests evaluate it for some
numbers (`Lemma.failure`); `kspec prove` proves it for all numbers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from kspec.spec.core import Claims, SpecError
from kspec.spec.core.text import first_paragraph, guards_in_text


@attrs.frozen
class Numbers:
    """The domain of a lemma's variable: all integers between two bounds."""

    words: str
    """The domain in words."""
    low: int | None = None
    """The lower bound, or None."""
    high: int | None = None
    """The upper bound, or None."""


INTEGER = Numbers("any integer")
NATURAL = Numbers("any integer from 0", 0)
POSITIVE = Numbers("any integer from 1", 1)
JAVA_INT = Numbers("any 32-bit int", -(2**31), 2**31 - 1)
POSITIVE_JAVA_INT = Numbers("any 32-bit int from 1", 1, 2**31 - 1)


class Provided(str):
    """The name of a condition: where it is false, the lemma claims nothing."""

    __slots__ = ()


def provided(name: str) -> Provided:
    """Mark a claim of a lemma as a condition."""
    return Provided(name)


@attrs.frozen(eq=False)
class Lemma:
    """A statement about all numbers of a domain."""

    name: str
    """The name of the function that states it."""
    speaks_of: tuple[Callable[..., Any], ...]
    """The functions that it is about."""
    domain: Mapping[str, Numbers]
    """The domain of each variable."""
    body: Callable[..., Claims]
    """The function itself."""
    neighbour_of: Lemma | None = None
    """The lemma that it resembles, if it is a false neighbour."""

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return first_paragraph(self.body)

    def conditions(self) -> list[str]:
        """The names of its conditions."""
        return [name for name, is_condition in guards_in_text(self.body) if is_condition]

    def claims(self, **numbers: Any) -> Iterator[tuple[str, bool]]:
        """Its claims about these numbers, up to the first condition that is false."""
        for says, true in self.body(**numbers):
            if not isinstance(says, Provided):
                yield says, true
            elif not true:
                return

    def failure(self, **numbers: int) -> str | None:
        """The first claim that is false of these numbers, or None."""
        return next((says for says, true in self.claims(**numbers) if not true), None)


def lemma(
    *speaks_of: Callable[..., Any], **domain: Numbers
) -> Callable[[Callable[..., Claims]], Lemma]:
    """Make a lemma about these functions; each keyword gives the domain of a variable."""

    def decorate(body: Callable[..., Claims]) -> Lemma:
        return Lemma(body.__name__, speaks_of, same_variables(body, domain), body)

    return decorate


def false_neighbour(of: Lemma) -> Callable[[Callable[..., Claims]], Lemma]:
    """Make the false neighbour of a lemma; its docstring says why it is wrong."""

    def decorate(body: Callable[..., Claims]) -> Lemma:
        domain = same_variables(body, of.domain)
        return Lemma(body.__name__, of.speaks_of, domain, body, neighbour_of=of)

    return decorate


def same_variables(
    body: Callable[..., Any], domain: Mapping[str, Numbers]
) -> Mapping[str, Numbers]:
    """The domains in the order of the variables; SpecError if they do not match."""
    variables = list(inspect.signature(body).parameters)
    if sorted(variables) != sorted(domain):
        raise SpecError(
            f"lemma {body.__name__} is about {', '.join(variables) or 'no numbers'}, "
            f"but its domain lists {', '.join(domain) or 'none'}"
        )
    return {name: domain[name] for name in variables}
