"""The reference engine: every state within the bounds, breadth first, by the spec's own rules.

Written to be believed; `impl/packed` is written to be fast. Whole states are compared, so no
state is ever taken for another. The first state that violates a property is at the least
depth there is, so counterexamples are shortest. A run that a violation ends is ended after the
level in which it was found, so that what it counts does not depend on the order within a level.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from checkers.blame import folders_of, line_to_blame
from checkers.limits import INTERRUPTED, Limits, OnProgress, Progress
from checkers.memory import peak_resident_bytes, resident_bytes
from checkers.verdict import (
    DEADLOCK,
    DEADLOCK_SAYS,
    EXIT_ALWAYS,
    EXIT_DEADLOCK,
    EXIT_LEADS_TO,
    RuleCount,
    Verdict,
    Violation,
    conclude,
    fails,
    kinds,
    not_shown,
)
from spec.core import Blocked, SpecError, System
from traces.trace import Trace, between


class RuleFailed(SpecError):
    """A rule or a property that raised an exception, and the behaviour that leads there."""

    def __init__(self, what: str, error: Exception, trace: Trace) -> None:
        """Say what failed, and how."""
        bodies = [part.body for part in (*trace.system.rules, *trace.system.properties)]
        frame = line_to_blame(error, folders_of(bodies))
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        super().__init__(f"{what} raised {type(error).__name__}: {error} ({where})")
        self.trace = trace


def explore(
    system: System[Any], limits: Limits | None = None, on_progress: OnProgress | None = None
) -> Verdict:
    """Look at every state, or as far as the limits go."""
    return Exploration(system, limits or Limits(), on_progress).run()


class Exploration:
    """One run. What it has found so far is complete at every moment: it may be interrupted."""

    def __init__(
        self, system: System[Any], limits: Limits, on_progress: OnProgress | None = None
    ) -> None:
        """Nothing is explored yet."""
        self.system = system
        self.limits = limits
        self.on_progress = on_progress
        self.always, self.reachable, self.leads_to = kinds(system)
        self.came_from: dict[Any, Any] = {}
        """Each state found, in the order in which it was found, and the one it came from."""
        self.levels: list[int] = []
        self.generated = 0
        self.fired: Counter[str] = Counter()
        self.new: Counter[str] = Counter()
        self.stopped: dict[str, Counter[str]] = {r.name: Counter() for r in system.rules}
        self.found: list[Any] = []
        """The next level, as far as it is found."""
        self.edge_of_bounds = 0
        self.violations: dict[str, Violation] = {}
        self.witnesses: dict[str, Trace] = {}
        self.stopped_by = ""
        self.started = time.perf_counter()
        self.reported = self.started

    def run(self) -> Verdict:
        """Level by level, until nothing is new, or a reason to stop."""
        memory = peak_resident_bytes()
        try:
            self.explore_levels()
            if not self.stopped_by and not self.ended_early():
                self.judge_whole_graph()
        except KeyboardInterrupt:
            self.stopped_by = INTERRUPTED
        return self.verdict(peak_resident_bytes() - memory)

    # -- breadth first ------------------------------------------------------------------------

    def explore_levels(self) -> None:
        """Find the states, level by level, and look at each."""
        level = self.initial_level()
        while level:
            self.levels.append(len(level))
            for state in level:
                self.look_at(state)
            if self.ended_early() or self.is_stopped():
                return
            self.found = []
            for index, state in enumerate(level):
                self.expand(state)
                if index % 64 == 0:
                    self.say_progress(len(level) - index + len(self.found))
                    if self.is_stopped():
                        break
            level, self.found = self.found, []

    def initial_level(self) -> list[Any]:
        """The states in which a behaviour may begin."""
        level = self.system.initial()
        if not level:
            raise SpecError(f"{self.system.model.name} has no initial state")
        self.generated = len(level)
        self.came_from = dict.fromkeys(level)
        return level

    def look_at(self, state: Any) -> None:
        """Ask every property that has no answer yet."""
        asked = ""
        try:
            for prop in self.always:
                if prop.name not in self.violations:
                    asked = prop.name
                    where = prop.failure(state)
                    if where is not None:
                        self.violations[prop.name] = Violation(
                            prop.name,
                            EXIT_ALWAYS,
                            fails(prop.name, where),
                            self.trace_to(state, prop.name, where),
                        )
            if self.ended_early():
                return
            for shown in self.reachable:
                if shown.name not in self.witnesses:
                    asked = shown.name
                    if shown.body(state):
                        self.witnesses[shown.name] = self.trace_to(state, shown.name)
        except SpecError:
            raise
        except Exception as error:
            raise self.failed(f"property {asked}", error, state) from error

    def expand(self, state: Any) -> None:
        """Take every rule that can be taken here."""
        came_from = self.came_from
        taken = 0
        for rule in self.system.rules:
            stopped = self.stopped[rule.name]
            for choice in rule.instances(state):
                try:
                    after = rule.attempt(state, choice)
                except SpecError:
                    raise
                except Exception as error:
                    raise self.failed(f"rule {rule.name}", error, state) from error
                if type(after) is Blocked:
                    stopped[after.guard] += 1
                    continue
                taken += 1
                self.fired[rule.name] += 1
                try:
                    is_new = after not in came_from
                except TypeError as error:
                    raise SpecError(
                        f"rule {rule.name} leads to a state that has no hash ({error}): "
                        "tuples and frozensets have one, lists and sets do not"
                    ) from error
                if is_new:
                    came_from[after] = state
                    self.found.append(after)
                    self.new[rule.name] += 1
        self.generated += taken
        if not taken:
            self.end_at(state)

    def end_at(self, state: Any) -> None:
        """Nothing can happen here: the end, a deadlock, or the edge of the bounds."""
        if self.system.is_deadlock(state):
            if DEADLOCK not in self.violations:
                self.violations[DEADLOCK] = Violation(
                    DEADLOCK,
                    EXIT_DEADLOCK,
                    DEADLOCK_SAYS,
                    self.trace_to(state, DEADLOCK),
                )
        elif not self.system.is_final(state):
            self.edge_of_bounds += 1

    def ended_early(self) -> bool:
        """Whether a violation ends the run."""
        return bool(self.violations) and not self.limits.keep_going

    def is_stopped(self) -> bool:
        """Whether a limit ends the run."""
        limits = self.limits
        if limits.max_states and len(self.came_from) >= limits.max_states:
            self.stopped_by = limits.says("max_states")
        elif limits.max_depth and len(self.levels) >= limits.max_depth and not self.found:
            self.stopped_by = limits.says("max_depth")
        elif resident_bytes() > limits.max_memory:
            self.stopped_by = limits.says("max_memory")
        return bool(self.stopped_by)

    # -- what needs the whole graph -------------------------------------------------------------

    def judge_whole_graph(self) -> None:
        """What no state showed, and what does not come about."""
        for shown in self.reachable:
            if shown.name not in self.witnesses:
                self.violations[shown.name] = not_shown(shown.name)
        if not self.leads_to:
            return
        from checkers import liveness  # brings networkx, which nothing else here needs

        for prop in self.leads_to:
            found = liveness.find_violation(self.system, prop, self.came_from)
            if found is not None:
                self.violations[prop.name] = Violation(
                    prop.name, EXIT_LEADS_TO, found.says, found.trace
                )

    # -- what is said ---------------------------------------------------------------------------

    def trace_to(self, state: Any, prop: str, where: str = "") -> Trace:
        """A shortest behaviour that ends in this state."""
        states = [state]
        while (before := self.came_from[states[-1]]) is not None:
            states.append(before)
        states.reverse()
        steps = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, tuple(states), steps, prop, where)

    def failed(self, what: str, error: Exception, state: Any) -> RuleFailed:
        """An exception in the model, with the behaviour that leads to it."""
        return RuleFailed(what, error, self.trace_to(state, what))

    def say_progress(self, queue: int) -> None:
        """Tell where the run is, several times a second."""
        now = time.perf_counter()
        if self.on_progress and now - self.reported > 0.2:
            self.reported = now
            seconds = now - self.started
            self.on_progress(Progress(len(self.levels), len(self.came_from), queue, seconds))

    def verdict(self, memory: int) -> Verdict:
        """What was found, so far or in all."""
        word, violations = conclude(
            violations=list(self.violations.values()), stopped_by=self.stopped_by
        )
        levels = [*self.levels, *([len(self.found)] if self.found else [])]
        return Verdict(
            system=self.system,
            engine="reference",
            verdict=word,
            stopped_by=self.stopped_by,
            distinct=len(self.came_from),
            generated=self.generated,
            depth=len(levels),
            levels=levels,
            rules={
                rule.name: RuleCount(
                    self.fired[rule.name], self.new[rule.name], dict(self.stopped[rule.name])
                )
                for rule in self.system.rules
            },
            violations=violations,
            witnesses=self.witnesses,
            edge_of_bounds=self.edge_of_bounds,
            seconds={"explore": time.perf_counter() - self.started},
            bytes_per_state=round(memory / max(1, len(self.came_from))),
        )
