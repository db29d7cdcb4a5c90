"""Things by their numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


class Numbered(list[T]):
    """Different things, each with a number: its index."""

    def __init__(self, things: Iterable[T] = ()) -> None:
        super().__init__(things)
        self.numbers = {thing: number for number, thing in enumerate(self)}

    def number(self, thing: T) -> int:
        """The number of a thing; a new one gets the next."""
        found = self.numbers.setdefault(thing, len(self))
        if found == len(self):
            self.append(thing)
        return found
