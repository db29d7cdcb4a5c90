"""Simulation: seeded random walks, for bounds too large to explore.

Walks prefer new states: each step leads to one of the least visited successors, chosen at random.
Many walks advance together, one step at a time.

Small systems run their rules, and larger ones use learned rules
(`checkers.engine.learned.simulate`). Both produce the same walks: a choice depends only on the
seed, the number and length of the walk, and the enabled rules and choices.

A walk that violates a property is shrunk before it is shown: steps are left out and detours cut
short, as long as the rest is still a behaviour of the system that violates the property.
"""

from __future__ import annotations

import hashlib
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import attrs

from kspec.checkers.engine.interrupt import noted
from kspec.checkers.engine.numbered import Numbered
from kspec.checkers.engine.options import INTERRUPTED, Options, Progress
from kspec.checkers.engine.search import FAILED, Run, Stopped, failure_at
from kspec.checkers.engine.verdict import (
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
)
from kspec.checkers.shrink import shrink
from kspec.spec.core import Blocked, Choice, Rule, SpecError, System
from kspec.traces.trace import Trace, between

Act: TypeAlias = tuple[Rule[Any], Choice]
"""A rule with its choices."""
Step: TypeAlias = tuple[Rule[Any], Choice, Any]
"""A rule with its choices, and the state that it leads to."""
Mark: TypeAlias = tuple[int, str]
"""A walk, and a mark of its last state: a property that it violates or witnesses, DEADLOCK or
FAILED."""

TOGETHER = 1024
"""The number of walks that advance together."""

BITS = (1 << 64) - 1


@attrs.frozen
class Sampling:
    """How much to sample."""

    walks: int = 1000
    max_depth: int = 100
    """The most states in a walk."""
    seed: int = 0


class Simulation(Run, ABC):
    """One run of walks, of which `TOGETHER` advance together."""

    def __init__(self, system: System[Any], sampling: Sampling, options: Options) -> None:
        """Start with no walks."""
        super().__init__(system, options)
        self.sampling = sampling
        self.random = random.Random(sampling.seed)
        self.initial = list(dict.fromkeys(system.initial()))
        self.first = 0
        """The number of walks that ended before the current ones."""
        self.starts: list[int] = []
        """By current walk: its initial state."""
        self.taken: list[Sequence[int]] = []
        """By step, and by current walk: the label of the step, or -1."""
        self.lengths: list[int] = []
        self.unfinished = 0
        """The number of walks that were cut short."""
        self.generated = 0
        self.violation: Violation | None = None

    # -- where the states come from -------------------------------------------------------------

    @abstractmethod
    def begin(self, wanted: Collection[str]) -> Sequence[Mark]:
        """Start walks at the initial states `starts`; returns the marks of new states, in order.

        `wanted` names the properties to evaluate.
        """

    @abstractmethod
    def step(self, chance: int, wanted: Collection[str]) -> tuple[Sequence[int], Sequence[Mark]]:
        """Take one step in each walk that has an enabled rule.

        Returns the label of each walk's step, or -1; and the marks of deadlocks, followed by those
        of new states. `chance` is the random number of this step, and `mixed(chance ^ number)`
        that of a walk.
        """

    @abstractmethod
    def act(self, label: int) -> Act:
        """The rule and choices of a label."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """The number of states visited."""

    @property
    def has_remembered_all(self) -> bool:
        """Whether every visited state is remembered. If not, `distinct` is a lower bound, and a
        state may count as new more than once.
        """
        return True

    @abstractmethod
    def counts(self) -> Iterable[tuple[int, int, int]]:
        """For each label: how often it was taken, and how often that led to a new state."""

    # -- walks ----------------------------------------------------------------------------------

    def run(self) -> Verdict:
        """Run the walks until all are done or the run ends."""
        try:
            with noted() as self.interrupted:
                try:
                    while not self.has_ended and len(self.lengths) < self.sampling.walks:
                        self.walk(min(TOGETHER, self.sampling.walks - len(self.lengths)))
                except TooManyStates:
                    if not self.interrupted():
                        raise
                    self.stopped_by = INTERRUPTED  # not lost on the way to the learned rules
                except Stopped as stopped:
                    self.stopped_by = str(stopped)
        except KeyboardInterrupt:
            self.stopped_by = INTERRUPTED
        with noted():  # the result is known: a signal does not discard it
            return self.verdict()

    @property
    def has_ended(self) -> bool:
        """Whether a violation or an interruption ends the run."""
        return self.violation is not None or bool(self.stopped_by)

    @property
    def wanted(self) -> list[str]:
        """The properties without an answer."""
        shown = [p.name for p in self.reachable if p.name not in self.witnesses]
        return [*(p.name for p in self.always), *shown]

    def walk(self, count: int) -> None:
        """Run a number of walks from beginning to end."""
        self.starts = [self.random.randrange(len(self.initial)) for _ in range(count)]
        self.taken = []
        self.first = len(self.lengths)
        going, depth = count, 1
        try:
            self.judge(self.begin(self.wanted))
            while going and depth < self.sampling.max_depth and not self.has_ended:
                labels, marks = self.step(chance(self.sampling.seed, depth), self.wanted)
                self.taken.append(labels)
                still = sum(label >= 0 for label in labels)
                self.lengths += [depth] * (going - still)
                going, depth = still, depth + bool(still)
                self.judge(marks)
                self.report_progress(depth)
        finally:
            self.lengths += [depth] * going
            if depth < self.sampling.max_depth:
                self.unfinished += going

    def judge(self, marks: Iterable[Mark]) -> None:
        """Record the marks of walks, up to the first violation."""
        for walk, name in marks:
            trace = self.trace(walk, name)
            if name == FAILED:
                raise failure_at(trace, self.witnesses)
            if name not in (p.name for p in self.reachable):
                self.find_shortest(trace, name)
                return
            self.witnesses.setdefault(name, trace)

    def trace(self, walk: int, name: str, where: str = "") -> Trace:
        """A walk as a trace, obtained by running the rules."""
        state = self.initial[self.starts[walk]]
        steps: list[Step] = []
        for labels in self.taken:
            if labels[walk] < 0:
                break
            rule, choice = self.act(labels[walk])
            after = rule.attempt(state, choice)
            if isinstance(after, Blocked):
                raise SpecError(f"rule {rule.name} is not a function of the state")
            steps.append((rule, choice, after))
            state = after
        return self.as_trace(self.initial[self.starts[walk]], steps, name, where)

    def as_trace(self, start: Any, steps: Sequence[Step], name: str, where: str = "") -> Trace:
        """Steps as a trace."""
        states = (start, *(state for _, _, state in steps))
        taken = tuple(between(self.system, a, b) for a, b in pairwise(states))
        return Trace(self.system, states, taken, name, where)

    # -- shrinking ------------------------------------------------------------------------------

    def find_shortest(self, trace: Trace, name: str) -> None:
        """Record the violation at the end of a walk, then shorten its trace.

        If that is interrupted, the shortest trace so far is kept.
        """
        start, states = trace.states[0], trace.states
        rules = {rule.name: rule for rule in self.system.rules}
        steps: Sequence[Step] = [
            (rules[taken.rule], tuple(taken.choices.values()), after)
            for taken, after in zip(trace.steps, states[1:], strict=True)
        ]
        if self.fault(states[-1]) is None:
            raise SpecError(f"{name} is not a function of the state")
        self.violation = self.violation_after(start, steps, name)
        while True:
            shorter = shrink(steps, lambda fewer: self.retry(start, fewer, name))
            shorter = self.with_shortcuts(start, shorter)
            if len(shorter) >= len(steps):
                break
            steps = shorter
            self.violation = self.violation_after(start, steps, name)

    def violation_after(self, start: Any, steps: Sequence[Step], name: str) -> Violation:
        """The violation that these steps lead to."""
        found, where = self.fault(steps[-1][2] if steps else start) or (name, "")
        shortest = self.as_trace(start, steps, found, where)
        if found == DEADLOCK:
            return Violation(found, EXIT_DEADLOCK, DEADLOCK_SAYS, shortest)
        return Violation(found, EXIT_ALWAYS, fails(found, where), shortest)

    def fault(self, state: Any) -> tuple[str, str] | None:
        """The first property that a state violates, and where it fails; or the deadlock."""
        for prop in self.always:
            where = prop.failure(state)
            if where is not None:
                return prop.name, where
        nothing = next(self.system.steps(state), None) is None
        return (DEADLOCK, "") if nothing and self.system.is_deadlock(state) else None

    def retry(self, start: Any, wanted: Sequence[Step], name: str) -> list[Step] | None:
        """Repeat these steps where they are enabled, until the same property fails."""
        state = start
        taken: list[Step] = []
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

    def with_shortcuts(self, start: Any, steps: Sequence[Step]) -> list[Step]:
        """Remove cycles, and replace detours by a single step."""
        position = {start: 0} | {state: i for i, (_, _, state) in enumerate(steps, 1)}
        state = start
        short: list[Step] = []
        while position[state] < len(steps):
            furthest = max(self.system.steps(state), key=lambda s: position.get(s[2], -1))
            short.append(furthest)
            state = furthest[2]
        return short

    # -- progress and verdict -------------------------------------------------------------------

    def report_progress(self, depth: int) -> None:
        """Report progress, and end the run on Ctrl-C or at the limit on memory."""
        try:
            self.watch()
        except Stopped as stopped:
            self.stopped_by = self.stopped_by or str(stopped)
        if self.is_time_to_report() and self.options.on_progress:
            left, seconds = self.sampling.walks - len(self.lengths), self.reported - self.started
            self.options.on_progress(Progress(depth, self.distinct, left, seconds))

    def verdict(self) -> Verdict:
        """The verdict: a violation is proof, its absence is not."""
        found = [self.violation] if self.violation else []
        word, violations = conclude(violations=found, stopped_by=self.stopped_by, otherwise=SAMPLED)
        lengths = self.lengths or [0]
        fired = dict.fromkeys([rule.name for rule in self.system.rules], (0, 0))
        for label, times, new in self.counts():
            name = self.act(label)[0].name
            fired[name] = fired[name][0] + times, fired[name][1] + new
        return Verdict(
            system=self.system,
            engine="simulation",
            verdict=word,
            stopped_by=self.stopped_by,
            distinct=self.distinct,
            generated=self.generated,
            depth=max(lengths),
            rules={name: RuleCount(times, new, {}) for name, (times, new) in fired.items()},
            violations=violations,
            witnesses=self.witnesses,
            seed=self.sampling.seed,
            seconds={"explore": time.perf_counter() - self.started},
            statistics={
                "walks": len(self.lengths),
                "finished": len(self.lengths) - self.unfinished,
                "max_depth": self.sampling.max_depth,
                "remembered": self.has_remembered_all,
                "states_per_walk": {
                    "shortest": min(lengths),
                    "mean": round(sum(lengths) / len(lengths), 1),
                    "longest": max(lengths),
                },
            },
        )


# -- chance ---------------------------------------------------------------------------------------


def mixed(number: int) -> int:
    """Mix the bits of a number: the finalizer of SplitMix64. `walk.mixed` is its compiled form."""
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & BITS
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & BITS
    return number ^ (number >> 31)


def chance(seed: int, depth: int) -> int:
    """The random number for one step of all walks."""
    return mixed(mixed(seed & BITS) ^ depth)


def rank(act: Act) -> int:
    """A random number for a rule with its choices, the same in every process."""
    text = f"{act[0].name} {stable_text(act[1])}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def stable_text(value: Any) -> str:
    """The text of a value, independent of the order of sets."""
    if isinstance(value, tuple):
        return f"({','.join(map(stable_text, value))})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(map(stable_text, value)))}}}"
    if attrs.has(type(value)):
        return type(value).__name__ + stable_text(attrs.astuple(value, recurse=False))
    return repr(value)


# -- by the rules ---------------------------------------------------------------------------------


class TooManyStates(Exception):
    """The system is not small."""


class WalksByRules(Simulation):
    """Runs the rules, and expands each state once."""

    def __init__(
        self,
        system: System[Any],
        sampling: Sampling,
        options: Options,
        limit: int | None = None,
    ) -> None:
        """Start with no walks; more expanded states than `limit` raise TooManyStates."""
        super().__init__(system, sampling, options)
        self.limit = limit
        self.acts: Numbered[Act] = Numbered()
        self.ranks: list[int] = []
        self.times: list[list[int]] = []
        """By label: how often it was taken, and how often that led to a new state."""
        self.visits: dict[Any, int] = {}
        self.expanded: dict[Any, list[tuple[int, Any]]] = {}
        """By state: the labels of its steps, and their successors."""
        self.states: list[Any] = []
        """By walk: its last state, or None if it has ended."""

    def act(self, label: int) -> Act:
        return self.acts[label]

    @property
    def distinct(self) -> int:
        return len(self.visits)

    def counts(self) -> Iterable[tuple[int, int, int]]:
        return ((label, times, new) for label, (times, new) in enumerate(self.times))

    def begin(self, wanted: Collection[str]) -> Sequence[Mark]:
        self.states = [self.initial[start] for start in self.starts]
        self.going = list(range(len(self.states)))
        new = [walk for walk, state in enumerate(self.states) if self.visit(state)]
        return list(self.marks(new, wanted))

    def step(self, chance: int, wanted: Collection[str]) -> tuple[Sequence[int], Sequence[Mark]]:
        labels = [-1] * len(self.states)
        new: list[int] = []
        marks: list[Mark] = []
        before, self.going = self.going, []
        try:
            possible = [(walk, self.steps(self.states[walk])) for walk in before]
        except TooManyStates:
            raise
        except Exception:
            return labels, [(walk, FAILED) for walk in before if self.fails(self.states[walk])]
        for walk, steps in possible:
            self.generated += len(steps)
            if not steps:
                if self.system.is_deadlock(self.states[walk]):
                    marks.append((walk, DEADLOCK))
                continue
            self.going.append(walk)
            label, after = self.chosen(steps, mixed(chance ^ (self.first + walk)))
            labels[walk], self.states[walk] = label, after
            is_new = self.visit(after)
            self.times[label][0] += 1
            self.times[label][1] += is_new
            if is_new:
                new.append(walk)
        return labels, [*marks, *self.marks(new, wanted)]

    def steps(self, state: Any) -> list[tuple[int, Any]]:
        """The steps that are enabled in a state."""
        found = self.expanded.get(state)
        if found is None:
            if self.limit is not None and len(self.expanded) >= self.limit:
                raise TooManyStates
            found = [(self.label((rule, c)), after) for rule, c, after in self.system.steps(state)]
            self.expanded[state] = found
        return found

    def label(self, act: Act) -> int:
        """The label of a rule with its choices."""
        label = self.acts.number(act)
        if label == len(self.ranks):
            self.ranks.append(rank(act))
            self.times.append([0, 0])
        return label

    def chosen(self, steps: Sequence[tuple[int, Any]], draw: int) -> tuple[int, Any]:
        """One of the steps to the least visited successors."""
        visits = [self.visits.get(after, 0) for _, after in steps]
        least = min(visits)
        best = [step for step, times in zip(steps, visits, strict=True) if times == least]
        return min(best, key=lambda step: mixed(self.ranks[step[0]] ^ draw))

    def visit(self, state: Any) -> bool:
        """Count a visit; returns whether it is the first."""
        times = self.visits.get(state, 0)
        self.visits[state] = times + 1
        return not times

    def marks(self, walks: Sequence[int], wanted: Collection[str]) -> Iterable[Mark]:
        """The marks of the last states of some walks."""
        for walk in walks:
            state = self.states[walk]
            try:
                shown = [p.name for p in self.reachable if p.name in wanted and p.body(state)]
                shown += [p.name for p in self.always if p.failure(state) is not None]
            except Exception:
                yield walk, FAILED
                return
            for name in shown:
                yield walk, name

    def fails(self, state: Any) -> bool:
        """Whether a rule raises an exception in a state."""
        try:
            self.steps(state)
        except Exception:
            return True
        return False
