"""What is wrong in a file, and where."""

from __future__ import annotations

from pathlib import Path

import attrs

MOST = 100
"""How many problems of a partition are kept; a damaged file can have millions."""


@attrs.frozen
class Problem:
    """Something that is wrong in a file."""

    file: str
    """The file."""
    position: int
    """The byte of the file at which it is."""
    problem: str
    """What is wrong."""


class Problems:
    """The problems of a partition: the first ones, and how many there are."""

    def __init__(self) -> None:
        self.kept: list[Problem] = []
        self.count = 0

    @property
    def more(self) -> int:
        """How many problems were not kept."""
        return self.count - len(self.kept)

    def add(self, file: Path, position: int, problem: str) -> None:
        """Note a problem."""
        self.count += 1
        if len(self.kept) < MOST:
            self.kept.append(Problem(str(file), int(position), problem))
