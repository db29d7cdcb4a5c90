"""The reference engine: explores every state within the bounds by running the specification's own
rules.

It is written to be obviously correct: states are Python objects in a dict, and every rule is run
in every state. States are compared whole, so no two states are ever confused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.search import FAILED, Backend, Counts, Search, shows
from kspec.checkers.engine.symmetry import Checks, Symmetry
from kspec.checkers.engine.verdict import DEADLOCK, Verdict
from kspec.spec.core import Always, Blocked, Reachable, System, ordered
from kspec.traces.trace import Trace, between

if TYPE_CHECKING:
    from kspec.checkers.engine.steps import Source


def explore(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore every state, or one state per orbit, until a limit is reached."""
    options = options or Options()
    backend = Reference(system)
    if options.symmetry:
        backend = UpToSymmetry(system, Checks(Symmetry(system), everything=options.check_learning))
    return Search(system, backend, options).run()


class Reference(Backend):
    """A backend that holds states as Python objects."""

    engine = "reference"

    def __init__(self, system: System[Any]) -> None:
        """Start with no states."""
        self.system = system
        self.came_from: dict[Any, Any] = {}
        """Each state, in the order of discovery, with its predecessor."""
        self.level: list[Any] = []
        self.next: list[Any] = []
        self.shown: dict[str, Any] = {}
        """By mark, the first state of the last level that has it."""
        blocked: dict[str, dict[str, int]] = {rule.name: Counter() for rule in system.rules}
        self.counts = Counts(Counter(), blocked, new=Counter())
        self.properties = {
            p.name: p for p in system.properties if isinstance(p, Always | Reachable)
        }

    @property
    def found(self) -> int:
        """The number of states in the next level so far."""
        return len(self.next)

    @property
    def distinct(self) -> int:
        """The number of distinct states so far."""
        return len(self.came_from)

    def begin(self) -> int:
        """Take the initial states."""
        self.level = self.system.initial()
        self.came_from = dict.fromkeys(self.level)
        return len(self.level)

    def next_level(self) -> int:
        """Make the states found the last level."""
        self.level, self.next = self.next, []
        return len(self.level)

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Evaluate each property in the level's states until one state has the mark."""
        self.shown = {}
        left = [self.properties[name] for name in wanted]
        for index, state in enumerate(self.level):
            if index % 1024 == 1023:
                self.watch()
            for prop in left:
                try:
                    found = shows(prop, state)
                except Exception:
                    self.shown[FAILED] = state
                    return {FAILED}
                if found:
                    self.shown[prop.name] = state
            if len(self.shown) + len(left) != len(wanted):
                left = [prop for prop in left if prop.name not in self.shown]
        return set(self.shown)

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Run every rule in each state of the level."""
        for index, state in enumerate(self.level):
            try:
                taken = self.take_rules(state)
                if not taken and self.system.is_deadlock(state):
                    self.shown.setdefault(DEADLOCK, state)
                elif not taken and not self.system.is_final(state):
                    self.counts.edge_of_bounds += 1
            except Exception:
                self.shown[FAILED] = state
                return {FAILED}
            if index % 64 == 0:
                go_on(len(self.level) - index + len(self.next))
        return self.cut_short()

    def cut_short(self) -> set[str]:
        """Return DEADLOCK if a deadlock was found; everything else is counted as it happens."""
        return {DEADLOCK} & self.shown.keys()

    def take_rules(self, state: Any) -> int:
        """Run every rule in a state; returns the number of enabled instances."""
        came_from, counts = self.came_from, self.counts
        assert counts.new is not None, "this engine counts it"
        enabled = 0
        for rule in self.system.rules:
            name, blocked = rule.name, counts.blocked[rule.name]
            for choice in rule.instances(state):
                after = rule.outcome(state, choice)
                if type(after) is Blocked:
                    blocked[after.guard] += 1
                    continue
                enabled += 1
                counts.fired[name] += 1
                if self.is_new(after):
                    after = ordered(after, state)
                    came_from[after] = state
                    self.next.append(after)
                    counts.new[name] += 1
        return enabled

    def is_new(self, state: Any) -> bool:
        """Whether this state has not been found before."""
        return state not in self.came_from

    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest behaviour to the state that has a mark."""
        return self.way_to(self.shown[mark], mark)

    def way_to(self, state: Any, mark: str = "") -> Trace:
        """The behaviour by which a state was found."""
        states = [state]
        while (before := self.came_from[states[-1]]) is not None:
            states.append(before)
        states.reverse()
        steps = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, tuple(states), steps, mark)

    def steps_of(self, system: System[Any]) -> Source[Any]:
        from kspec.checkers.engine.steps import StepsByRules  # it imports numpy

        return StepsByRules(system, self.came_from)


class UpToSymmetry(Reference):
    """A backend that keeps the first state found of each orbit. Predecessors are real states, so
    traces are behaviours.
    """

    def __init__(self, system: System[Any], checks: Checks) -> None:
        """Start with no states."""
        super().__init__(system)
        self.checks = checks
        self.seen: set[Any] = set()
        """All states of the orbits found."""

    def begin(self) -> int:
        """Take one initial state per orbit."""
        self.level = [state for state in self.system.initial() if self.is_new(state)]
        self.came_from = dict.fromkeys(self.level)
        return len(self.level)

    def is_new(self, state: Any) -> bool:
        """Whether no state of this orbit has been found before; marks the orbit as found."""
        if state in self.seen:
            return False
        self.seen |= self.checks.symmetry.orbit(state)
        return True

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the level, and check a share of its states for symmetry."""
        shown = super().expand(go_on)
        if FAILED not in shown:
            for state in self.checks.share(self.level):
                self.checks.check(state)
        return shown

    def stands_for(self) -> int:
        """The number of states in all orbits."""
        return len(self.seen)
