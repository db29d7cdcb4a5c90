"""Simulation: seeded random walks, for bounds too large to explore.

A walk that violates a property is shrunk before it is shown: steps are left out, and detours
cut short, as long as what remains is still a behaviour of the system and still violates.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import pairwise
from typing import Any

import attrs

from checkers.limits import INTERRUPTED, OnProgress, Progress
from checkers.search import RuleFailed
from checkers.verdict import (
    DEADLOCK,
    DEADLOCK_SAYS,
    EXIT_ALWAYS,
    EXIT_DEADLOCK,
    SAMPLED,
    RuleCount,
    Verdict,
    Violation,
    conclude,
    fails,
    kinds,
)
from spec.core import Blocked, Choice, Rule, SpecError, System
from traces.trace import Trace, between

Walk = list[tuple[Rule[Any], Choice, Any]]
"""Steps with the state that each leads to; the initial state is not among them."""


@attrs.frozen
class Sampling:
    """How much to sample."""

    walks: int = 1000
    max_depth: int = 100
    """States in a walk, at the most."""
    seed: int = 0


def simulate(
    system: System[Any], sampling: Sampling, on_progress: OnProgress | None = None
) -> Verdict:
    """Walk at random until a property is violated or all walks are done."""
    return Simulation(system, sampling, on_progress).run()


class Simulation:
    """One run of walks."""

    def __init__(
        self, system: System[Any], sampling: Sampling, on_progress: OnProgress | None
    ) -> None:
        """Nothing is walked yet."""
        self.system = system
        self.sampling = sampling
        self.on_progress = on_progress
        self.always, self.reachable, _ = kinds(system)
        self.random = random.Random(sampling.seed)
        self.starts = system.initial()
        self.seen: set[Any] = set()
        self.fired: Counter[str] = Counter()
        self.new: Counter[str] = Counter()
        self.lengths: list[int] = []
        self.generated = 0
        self.witnesses: dict[str, Trace] = {}
        self.violation: Violation | None = None
        self.stopped_by = ""
        self.started = time.perf_counter()
        self.reported = self.started

    def run(self) -> Verdict:
        """All walks, or as many as it takes."""
        try:
            while len(self.lengths) < self.sampling.walks and self.violation is None:
                self.walk()
        except KeyboardInterrupt:
            self.stopped_by = INTERRUPTED
        return self.verdict()

    def walk(self) -> None:
        """One walk from an initial state."""
        start, walked = self.random.choice(self.starts), Walk()
        try:
            self.go_on(start, walked)
        except SpecError:
            raise
        except Exception as error:
            trace = self.as_trace(start, walked, "")
            raise RuleFailed("a rule or a property", error, trace) from error
        self.lengths.append(len(walked) + 1)
        self.say_progress()

    def go_on(self, start: Any, walked: Walk) -> None:
        """Add step after step to a walk, each chosen among all that can be taken."""
        state = start
        while not self.judged(start, walked) and len(walked) + 1 < self.sampling.max_depth:
            possible = list(self.system.steps(state))
            self.generated += len(possible)
            if not possible:
                break
            walked.append(self.random.choice(possible))
            rule, _, state = walked[-1]
            self.fired[rule.name] += 1
            if state not in self.seen:
                self.new[rule.name] += 1

    def judged(self, start: Any, walked: Walk) -> bool:
        """Whether the walk ends here, because its last state violates something."""
        state = walked[-1][2] if walked else start
        if state in self.seen:
            return False
        self.seen.add(state)
        for shown in self.reachable:
            if shown.name not in self.witnesses and shown.body(state):
                self.witnesses[shown.name] = self.as_trace(start, walked, shown.name)
        if self.fault(state) is None:
            return False
        self.violation = self.shrunk(start, walked)
        return True

    def fault(self, state: Any) -> tuple[str, str] | None:
        """What is wrong with a state: the property's name, and where it fails."""
        for prop in self.always:
            where = prop.failure(state)
            if where is not None:
                return prop.name, where
        nothing = next(self.system.steps(state), None) is None
        return (DEADLOCK, "") if nothing and self.system.is_deadlock(state) else None

    # -- shrinking ------------------------------------------------------------------------------

    def shrunk(self, start: Any, walked: Walk) -> Violation:
        """The violation that this walk ends in, with a trace that is as short as can be made."""
        state = walked[-1][2] if walked else start
        fault = self.fault(state)
        assert fault is not None
        name = fault[0]
        while True:
            shorter = self.without_some_steps(start, walked, name)
            shorter = self.with_shortcuts(start, shorter)
            if len(shorter) >= len(walked):
                break
            walked = shorter
        state = walked[-1][2] if walked else start
        where = (self.fault(state) or fault)[1]
        trace = self.as_trace(start, walked, name, where)
        if name == DEADLOCK:
            return Violation(name, EXIT_DEADLOCK, DEADLOCK_SAYS, trace)
        return Violation(name, EXIT_ALWAYS, fails(name, where), trace)

    def without_some_steps(self, start: Any, walked: Walk, name: str) -> Walk:
        """Leave out runs of steps, long ones first, while the same property still fails."""
        size = len(walked) // 2
        while size:
            at = 0
            while at < len(walked):
                shorter = self.retake(start, walked[:at] + walked[at + size :], name)
                if shorter is not None and len(shorter) < len(walked):
                    walked = shorter
                else:
                    at += size
            size //= 2
        return walked

    def retake(self, start: Any, wanted: Walk, name: str) -> Walk | None:
        """Take these steps as far as they can be taken, up to where the property fails."""
        state, taken = start, Walk()
        for rule, choice, _ in wanted:
            if choice not in rule.instances(state):
                continue
            after = rule.attempt(state, choice)
            if isinstance(after, Blocked):
                continue
            taken.append((rule, choice, after))
            state = after
            fault = self.fault(state)
            if fault is not None:
                return taken if fault[0] == name else None
        return None

    def with_shortcuts(self, start: Any, walked: Walk) -> Walk:
        """Go round no circles, and where one step leads to a state further on, take that."""
        position = {start: 0} | {state: i for i, (_, _, state) in enumerate(walked, 1)}
        short, state = Walk(), start
        while position[state] < len(walked):
            furthest = max(self.system.steps(state), key=lambda s: position.get(s[2], -1))
            short.append(furthest)
            state = furthest[2]
        return short

    # -- what is said -----------------------------------------------------------------------------

    def as_trace(self, start: Any, walked: Walk, name: str, where: str = "") -> Trace:
        """A walk as a trace."""
        states = (start, *(state for _, _, state in walked))
        steps = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, states, steps, name, where)

    def say_progress(self) -> None:
        """Tell how far the sampling is."""
        now = time.perf_counter()
        if self.on_progress and now - self.reported > 0.2:
            self.reported = now
            left = self.sampling.walks - len(self.lengths)
            self.on_progress(Progress(max(self.lengths), len(self.seen), left, now - self.started))

    def verdict(self) -> Verdict:
        """What the walks showed: a violation is proof, its absence is none."""
        found = [self.violation] if self.violation else []
        word, violations = conclude(violations=found, stopped_by=self.stopped_by, otherwise=SAMPLED)
        lengths = self.lengths or [0]
        return Verdict(
            system=self.system,
            engine="simulation",
            verdict=word,
            stopped_by=self.stopped_by,
            distinct=len(self.seen),
            generated=self.generated,
            depth=max(lengths),
            rules={
                rule.name: RuleCount(self.fired[rule.name], self.new[rule.name], {})
                for rule in self.system.rules
            },
            violations=violations,
            witnesses=self.witnesses,
            seed=self.sampling.seed,
            seconds={"explore": time.perf_counter() - self.started},
            statistics={
                "walks": len(self.lengths),
                "max_depth": self.sampling.max_depth,
                "states_per_walk": {
                    "shortest": min(lengths),
                    "mean": round(sum(lengths) / len(lengths), 1),
                    "longest": max(lengths),
                },
            },
        )
