"""Lists of members, in the order in which they were added: each has a number.

So a list is one small field of a state, to copy it is to copy a number, and a table says which
number the list has that is longer by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from impl.packed.compiled import Words
from impl.packed.group.fields import MOST_MEMBERS


@cache
def numbers(ids: int) -> dict[tuple[int, ...], int]:
    """The number of every list of so many member ids, the shorter ones first."""
    found: dict[tuple[int, ...], int] = {(): 0}
    for shorter in (queue := [()]):
        for i in range(ids):
            if i not in shorter:
                longer = (*shorter, i)
                found[longer] = len(found)
                queue.append(longer)  # type: ignore[arg-type]
    return found


@cache
def tables(ids: int) -> tuple[Words, Words]:
    """By list: its members, four bits for each; and by list and member id: the longer list."""
    found = numbers(ids)
    members = [sum(i + 1 << 4 * k for k, i in enumerate(listed)) for listed in found]
    longer = np.zeros((len(found), MOST_MEMBERS), np.int64)
    for listed, number in found.items():
        if listed:
            longer[found[listed[:-1]], listed[-1]] = number
    return np.array(members, np.int64), longer


class Lists:
    """All lists of some member ids."""

    def __init__(self, ids: int) -> None:
        self.ids = ids
        self._numbers = numbers(ids)
        self._members = list(self._numbers)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._members)

    def number(self, members: Iterable[int]) -> int:
        """The number of a list."""
        return self._numbers[tuple(members)]

    def members(self, number: int) -> tuple[int, ...]:
        """The list of that number."""
        return self._members[number]

    def tables(self) -> tuple[Words, Words]:
        """By list: its members, four bits for each; and by list and member id: the longer list."""
        return tables(self.ids)
