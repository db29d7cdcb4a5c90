"""What is true of a function of plain numbers for all of them: lemmas, stated beside it.

A **lemma** is written as a property is, with numbers in the place of a state: it yields claims,
each what it says and whether it is true of these numbers.

    @lemma(remainder_first, h=JAVA_INT, n=POSITIVE_JAVA_INT)
    def remainder_first_gives_a_partition(h: int, n: int) -> Claims:
        \"\"\"`Math.abs(hash % n)` is one of n partitions, whatever the hash.\"\"\"
        partition = remainder_first(h, n)
        yield f"partition {partition} of {n}", 0 <= partition < n

What a lemma takes for granted comes first, as `yield provided("the HW is in the log"), hw <= leo`.

Next to it stands a **false neighbour**: a statement about the same numbers that one could take
for the lemma, and that is wrong. It shows that the lemma says something.

A lemma is plain Python and calls the function that runs. Whoever has numbers can ask about them
(`Lemma.failure`), which is how tests read it; `kspec prove` reads it for all numbers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from spec.core import Claims, SpecError
from spec.core.text import first_paragraph, guards_in_text


@attrs.frozen
class Numbers:
    """The numbers that a variable of a lemma stands for: integers, all between two bounds."""

    words: str
    """Which they are, in words."""
    low: int | None = None
    """The least of them, if there is one."""
    high: int | None = None
    """The greatest of them, if there is one."""


INTEGER = Numbers("any integer")
NATURAL = Numbers("any integer from 0", 0)
POSITIVE = Numbers("any integer from 1", 1)
JAVA_INT = Numbers("any 32-bit int", -(2**31), 2**31 - 1)
POSITIVE_JAVA_INT = Numbers("any 32-bit int from 1", 1, 2**31 - 1)


class Provided(str):
    """The name of a condition: where it is not met, a lemma claims nothing."""

    __slots__ = ()


def provided(name: str) -> Provided:
    """Mark a condition, where the lemma names it."""
    return Provided(name)


@attrs.frozen(eq=False)
class Lemma:
    """A statement about all numbers of its domain."""

    name: str
    """The name of the function that states it."""
    speaks_of: tuple[Callable[..., Any], ...]
    """The functions of the specification that it is about."""
    domain: Mapping[str, Numbers]
    """For each of its variables, the numbers that it may be."""
    body: Callable[..., Claims]
    """The function itself."""
    neighbour_of: Lemma | None = None
    """The lemma that it could be taken for, if it is a false neighbour."""

    @property
    def summary(self) -> str:
        """What it says of itself."""
        return first_paragraph(self.body)

    def conditions(self) -> list[str]:
        """What it takes for granted, as its text names it."""
        return [name for name, is_condition in guards_in_text(self.body) if is_condition]

    def claims(self, **numbers: Any) -> Iterator[tuple[str, bool]]:
        """What it claims of these numbers, up to a condition that they do not meet."""
        for says, true in self.body(**numbers):
            if not isinstance(says, Provided):
                yield says, true
            elif not true:
                return

    def failure(self, **numbers: int) -> str | None:
        """The first claim that is false of these numbers, or None if none is."""
        return next((says for says, true in self.claims(**numbers) if not true), None)


def lemma(
    *speaks_of: Callable[..., Any], **domain: Numbers
) -> Callable[[Callable[..., Claims]], Lemma]:
    """Make a lemma about these functions; each keyword gives the numbers of one variable."""

    def decorate(body: Callable[..., Claims]) -> Lemma:
        return Lemma(body.__name__, speaks_of, same_variables(body, domain), body)

    return decorate


def false_neighbour(of: Lemma) -> Callable[[Callable[..., Claims]], Lemma]:
    """Make the false neighbour of a lemma; its docstring says what is wrong about it."""

    def decorate(body: Callable[..., Claims]) -> Lemma:
        domain = same_variables(body, of.domain)
        return Lemma(body.__name__, of.speaks_of, domain, body, neighbour_of=of)

    return decorate


def same_variables(
    body: Callable[..., Any], domain: Mapping[str, Numbers]
) -> Mapping[str, Numbers]:
    """Make sure that each variable has its numbers."""
    variables = list(inspect.signature(body).parameters)
    if sorted(variables) != sorted(domain):
        raise SpecError(
            f"lemma {body.__name__} is about {', '.join(variables) or 'no numbers'}, "
            f"but its domain lists {', '.join(domain) or 'none'}"
        )
    return {name: domain[name] for name in variables}
