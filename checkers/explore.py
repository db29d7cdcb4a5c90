"""The reference engine: every state within the bounds by the specification's own rules.

Written to be believed: states are Python objects, a dict has all of them, and the rules are run
in each. Whole states are compared, so no state is ever taken for another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from checkers.limits import Limits, OnProgress
from checkers.search import FAILED, Backend, Counts, RuleFailed, Search
from checkers.verdict import DEADLOCK, Verdict
from spec.core import Always, Blocked, Reachable, System
from traces.trace import Trace, between

__all__ = ["Reference", "RuleFailed", "explore"]


def explore(
    system: System[Any], limits: Limits | None = None, on_progress: OnProgress | None = None
) -> Verdict:
    """Look at every state, or as far as the limits go."""
    return Search(system, Reference(system), limits or Limits(), on_progress).run()


class Reference(Backend):
    """States as Python objects."""

    engine = "reference"

    def __init__(self, system: System[Any]) -> None:
        """Nothing is explored yet."""
        self.system = system
        self.came_from: dict[Any, Any] = {}
        """Each state found, in the order in which it was found, and the one it came from."""
        self.level: list[Any] = []
        self.next: list[Any] = []
        self.shown: dict[str, Any] = {}
        """By mark: the first state of the last level that has it."""
        self.counts = Counts()
        self.counts.blocked = {rule.name: Counter() for rule in system.rules}
        self.counts.fired = Counter()
        self.counts.new = Counter()
        self.properties = {
            p.name: p for p in system.properties if isinstance(p, Always | Reachable)
        }

    @property
    def found(self) -> int:
        """How many states there are in the next level so far."""
        return len(self.next)

    @property
    def distinct(self) -> int:
        """How many states are found."""
        return len(self.came_from)

    def begin(self) -> int:
        """Take the initial states."""
        self.level = self.system.initial()
        self.came_from = dict.fromkeys(self.level)
        return len(self.level)

    def next_level(self) -> int:
        """Go on with what was found."""
        self.level, self.next = self.next, []
        return len(self.level)

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Ask each property in each state, until it is answered."""
        self.shown = {}
        left = [self.properties[name] for name in wanted]
        for state in self.level:
            for prop in left:
                try:
                    if isinstance(prop, Always):
                        found = prop.failure(state) is not None
                    else:
                        found = bool(prop.body(state))
                except Exception:
                    self.shown[FAILED] = state
                    return {FAILED}
                if found:
                    self.shown[prop.name] = state
            if len(self.shown) + len(left) != len(wanted):
                left = [prop for prop in left if prop.name not in self.shown]
        return set(self.shown)

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Take every rule that can be taken, in each state of the level."""
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
        """Whether a deadlock was found; all else is counted at once."""
        return {DEADLOCK} & self.shown.keys()

    def take_rules(self, state: Any) -> int:
        """Take every rule that can be taken here; answers how many could."""
        came_from, counts = self.came_from, self.counts
        assert counts.new is not None, "this engine counts it"
        enabled = 0
        for rule in self.system.rules:
            name, blocked = rule.name, counts.blocked[rule.name]
            for choice in rule.instances(state):
                after = rule.attempt(state, choice)
                if type(after) is Blocked:
                    blocked[after.guard] += 1
                    continue
                enabled += 1
                counts.fired[name] += 1
                if after not in came_from:
                    came_from[after] = state
                    self.next.append(after)
                    counts.new[name] += 1
        return enabled

    def trace_to(self, level: int, mark: str) -> Trace:
        """The way by which a state was found; it is as short as any."""
        return self.way_to(self.shown[mark], mark)

    def way_to(self, state: Any, mark: str = "") -> Trace:
        """The way by which a state was found."""
        states = [state]
        while (before := self.came_from[states[-1]]) is not None:
            states.append(before)
        states.reverse()
        steps = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, tuple(states), steps, mark)

    def violation_of_leads_to(self, prop: Any, go_on: Callable[[int], None]) -> Any:
        """Search the graph of all states, made by the rules."""
        from checkers.graph import from_rules  # these bring what nothing else here needs
        from checkers.liveness import find_violation

        return find_violation(from_rules(self.system, self.came_from), prop, go_on)
