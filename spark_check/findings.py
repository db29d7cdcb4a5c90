"""What was found of what is asked for, and the shortest way to each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from checkers.native.behaviour import behaviour
from checkers.native.checkpoint import Way
from checkers.native.search import Violation
from impl.packed.kernel import DEADLOCK
from spark_check.jobs import Wanted
from spec.core import Always, Reachable, System

Least: TypeAlias = Callable[[int, Wanted, str], tuple[int, ...] | None]
"""Of the states of a level that are wanted, the one with the least words; for which property."""


class Findings:
    """What a run has found, and what it still looks for."""

    def __init__(
        self, system: System[Any], pack: Callable[[Any], tuple[int, ...]], least: Least
    ) -> None:
        self.system = system
        self.pack = pack
        self.least = least
        self.wanted = [p.name for p in system.properties if isinstance(p, Always)] + [DEADLOCK]
        """The properties still to be violated."""
        self.unseen = [p.name for p in system.properties if isinstance(p, Reachable)]
        """The properties that some state should show, and none did yet."""
        self.violations: list[Violation[Any]] = []
        self.witnesses: list[Violation[Any]] = []

    def take_witnesses(self, witnesses: Sequence[Violation[Any]]) -> None:
        """What another engine has seen."""
        self.witnesses = list(witnesses)
        self.unseen = [n for n in self.unseen if n not in {w.property for w in witnesses}]

    def take_violation(self, name: str, way: Sequence[Sequence[int]]) -> None:
        """A violation that need not be looked for any more."""
        if name in self.wanted:
            self.wanted.remove(name)
            self.violations.append(self.told(name, way))

    def find(self, level: int, shown: Sequence[str]) -> list[Way]:
        """Find the way to each property that shows in a level, and did not before.

        Answers the ways to violations.
        """
        ways: list[Way] = []
        for name in dict.fromkeys(shown):
            if name not in self.wanted and name not in self.unseen:
                continue
            words = self.least(level, Wanted(shows=name), name)
            if words is None:
                continue
            way = [words]
            for before in reversed(range(level)):
                words = self.least(before, Wanted(leads_to=words), name)
                if words is None:
                    return ways  # somebody ended it
                way.append(words)
            if name in self.unseen:
                self.unseen.remove(name)
                self.witnesses.append(self.told(name, way[::-1]))
            else:
                self.take_violation(name, way[::-1])
                ways.append(Way(name, way[::-1]))
        return ways

    def told(self, name: str, way: Sequence[Sequence[int]]) -> Violation[Any]:
        """A way as states and steps."""
        words = [tuple(state) for state in way]
        return Violation(name, *behaviour(self.system, self.pack, words))
