"""The search: level by level, for every engine.

A search asks the states of a level for their marks (which properties they violate, or show),
then has the level expanded into the next, until nothing is new or something ends it. What holds
the states is a **backend**: Python objects in one, packed states and compiled code in another,
files and Spark jobs in a third. Everything that a verdict says is decided here, once: when a
violation ends a run, what a limit stops, what a deadlock is, what the bounds cut off.

Exploration is breadth-first, so counterexamples are shortest. A run that a violation ends is
counted to the end of that level, so that no count depends on the order within a level.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checkers.blame import folders_of, line_to_blame
from checkers.interrupt import noted
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
from spec.core import Always, Reachable, SpecError, System
from traces.trace import Trace

TOLD_EVERY = 0.2
"""Seconds between two reports of progress, at least."""

FAILED = "failed"
"""The mark of a state in which a rule or a property raises an exception."""


class RuleFailed(SpecError):
    """A rule or a property that raised an exception, and the behaviour that leads there."""

    def __init__(self, what: str, error: Exception, trace: Trace) -> None:
        """Say what failed, and how."""
        bodies = [part.body for part in (*trace.system.rules, *trace.system.properties)]
        frame = line_to_blame(error, folders_of(bodies))
        where = f"{Path(frame.filename).name}, line {frame.lineno}"
        super().__init__(f"{what} raised {type(error).__name__}: {error} ({where})")
        self.trace = trace


class Counts:
    """What expanding counts."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.fired: dict[str, int] = {}
        """How often each rule was enabled."""
        self.new: dict[str, int] | None = None
        """How often each rule was the first to reach a state, where that is counted."""
        self.blocked: dict[str, dict[str, int]] = {}
        """By rule, how often each guard was the first that did not hold."""
        self.edge_of_bounds = 0
        """States in which limits alone block every rule."""

    def add(self, other: Counts) -> None:
        """Add other counts to these."""
        add(self.fired, other.fired)
        for rule, guards in other.blocked.items():
            add(self.blocked.setdefault(rule, {}), guards)
        self.edge_of_bounds += other.edge_of_bounds

    @property
    def generated(self) -> int:
        """How often any rule was enabled."""
        return sum(self.fired.values())


def add(to: dict[str, int], more: Mapping[str, int]) -> None:
    """Add counts by name."""
    for name, times in more.items():
        to[name] = to.get(name, 0) + times


class Stopped(Exception):
    """A limit, or something outside, ends the run; what was found so far counts."""


class Backend(ABC):
    """What holds the states of a search, level by level."""

    engine: str
    workers = 1
    counts: Counts
    """Of the levels that are expanded."""

    @abstractmethod
    def begin(self) -> int:
        """Take the initial states as the first level; answers how many there are."""

    @abstractmethod
    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Which of these properties a state of the last level violates, or shows; and FAILED."""

    @abstractmethod
    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the last level into the next; whether it shows DEADLOCK or FAILED.

        Calls `go_on` now and then with how many states are found and not yet expanded: it raises
        Stopped where the run is to end at once.
        """

    def cut_short(self) -> set[str]:
        """Count what was expanded before `expand` was stopped; answers what that has shown."""
        return set()

    @property
    @abstractmethod
    def found(self) -> int:
        """How many states there are in the next level, as far as it is found."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """How many states are found in all."""

    def next_level(self) -> int:
        """Take what is found as the last level; answers how many states it has."""
        return self.found

    @abstractmethod
    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest behaviour to a state of a level (the first is 0) that has a mark."""

    def keep(self, *, complete: bool) -> None:  # noqa: B027 - most keep nothing
        """A level is complete, or the run ends: write down what is kept of it, if anything is."""

    def stands_for(self) -> int | None:
        """Up to symmetry, how many states those found stand for."""
        return None

    def violation_of_leads_to(self, prop: Any, go_on: Callable[[int], None]) -> Any:
        """A fair behaviour in which the one does not lead to the other, or None."""
        raise SpecError(f"the {self.engine} engine cannot check {prop.name}")

    def seconds(self) -> Mapping[str, float]:
        """Where time went beside exploring."""
        return {}

    def statistics(self) -> Mapping[str, Any]:
        """What else the backend counts."""
        return {}


class Search:
    """One run. What it has found so far is complete at every moment."""

    def __init__(
        self,
        system: System[Any],
        backend: Backend,
        limits: Limits,
        on_progress: OnProgress | None = None,
    ) -> None:
        """Nothing is explored yet."""
        self.system = system
        self.backend = backend
        self.limits = limits
        self.on_progress = on_progress
        self.always, self.reachable, self.leads_to = kinds(system)
        self.levels: list[int] = []
        self.violations: dict[str, Violation] = {}
        self.witnesses: dict[str, Trace] = {}
        self.stopped_by = ""
        self.started = time.perf_counter()
        self.reported = self.started
        self.memory_asked = self.started

    def run(self) -> Verdict:
        """Level by level, until nothing is new, or a reason to stop."""
        memory = peak_resident_bytes()
        try:
            with noted() as interrupted:
                self.interrupted = interrupted
                self.explore()
            if not self.stopped_by and not self.has_ended:
                self.judge_whole_graph()
        except KeyboardInterrupt:
            self.stopped_by = INTERRUPTED
        except Stopped as stopped:
            self.stopped_by = self.stopped_by or str(stopped)
        except MemoryError:
            self.stopped_by = self.limits.says("max_memory")
        return self.verdict(peak_resident_bytes() - memory)

    # -- levels ---------------------------------------------------------------------------------

    def explore(self) -> None:
        """Find the states, level by level, and ask each for its marks."""
        size = self.backend.begin()
        if not size:
            raise SpecError(f"{self.system.model.name} has no initial state")
        while size:
            self.levels.append(size)
            self.look_at_level()
            if self.has_ended or self.is_stopped():
                break
            shown = self.expand_level()
            if FAILED in shown:
                self.say_failure()
            if DEADLOCK in shown and DEADLOCK not in self.violations:
                trace = self.backend.trace_to(len(self.levels) - 1, DEADLOCK)
                self.violations[DEADLOCK] = Violation(DEADLOCK, EXIT_DEADLOCK, DEADLOCK_SAYS, trace)
            size = self.backend.next_level()
            if not self.stopped_by:
                self.backend.keep(complete=True)
        self.backend.keep(complete=False)

    def expand_level(self) -> set[str]:
        """Have the last level expanded; what that shows, also where a limit cuts it short."""
        try:
            return self.backend.expand(self.go_on)
        except Stopped as stopped:
            self.stopped_by = str(stopped)
        except MemoryError:
            self.stopped_by = self.limits.says("max_memory")
        return self.backend.cut_short()

    @property
    def has_ended(self) -> bool:
        """Whether a violation ends the run."""
        return bool(self.violations) and not self.limits.keep_going

    def look_at_level(self) -> None:
        """Ask the states of the last level for what no state has shown yet."""
        level = len(self.levels) - 1
        always = [p.name for p in self.always if p.name not in self.violations]
        reachable = [p.name for p in self.reachable if p.name not in self.witnesses]
        shown = self.backend.marks([*always, *reachable])
        if FAILED in shown:
            self.say_failure()
        for prop in self.always:
            if prop.name in shown and prop.name not in self.violations:
                self.violations[prop.name] = self.violation(prop, level)
        for name in reachable:
            if name in shown:
                self.witnesses[name] = self.backend.trace_to(level, name)

    def violation(self, prop: Always[Any], level: int) -> Violation:
        """A property that a state of a level violates, with the place where it fails."""
        trace = self.backend.trace_to(level, prop.name)
        where = prop.failure(trace.states[-1])
        if where is None:
            raise SpecError(
                f"the {self.backend.engine} engine sees {prop.name} violated where the "
                "specification does not: please report it"
            )
        trace = Trace(trace.system, trace.states, trace.steps, prop.name, where)
        return Violation(prop.name, EXIT_ALWAYS, fails(prop.name, where), trace)

    def say_failure(self) -> None:
        """Raise what a rule or a property raises in a state of the last level."""
        trace = self.backend.trace_to(len(self.levels) - 1, FAILED)
        raise failure_at(trace) or SpecError(
            "a rule or a property raised an exception, and does not when asked again"
        )

    def is_stopped(self) -> bool:
        """Whether a limit ends the run where a level is complete."""
        limits = self.limits
        if not self.stopped_by and limits.max_depth and len(self.levels) >= limits.max_depth:
            self.stopped_by = limits.says("max_depth")
        if not self.stopped_by:
            try:
                self.go_on(self.levels[-1])
            except Stopped as stopped:
                self.stopped_by = str(stopped)
        return bool(self.stopped_by)

    def go_on(self, queue: int) -> None:
        """Tell how far it is, and raise Stopped where the run is to end at once."""
        now = time.perf_counter()
        if self.on_progress and now - self.reported > TOLD_EVERY:
            self.reported = now
            found, seconds = self.backend.distinct, now - self.started
            self.on_progress(Progress(len(self.levels), found, queue, seconds))
        limits = self.limits
        if limits.max_states and self.backend.distinct >= limits.max_states:
            raise Stopped(limits.says("max_states"))
        if now - self.memory_asked > 0.05:
            self.memory_asked = now
            if resident_bytes() > limits.max_memory:
                raise Stopped(limits.says("max_memory"))
        if self.interrupted():
            raise Stopped(INTERRUPTED)

    # -- what needs the whole graph -------------------------------------------------------------

    def judge_whole_graph(self) -> None:
        """What no state showed, and what does not come about."""
        for shown in self.reachable:
            if shown.name not in self.witnesses:
                self.violations[shown.name] = not_shown(shown.name)
        for prop in self.leads_to:
            found = self.backend.violation_of_leads_to(prop, self.go_on)
            if found is not None:
                self.violations[prop.name] = Violation(
                    prop.name, EXIT_LEADS_TO, found.says, found.trace
                )

    # -- what is said ---------------------------------------------------------------------------

    def verdict(self, memory: int) -> Verdict:
        """What was found, so far or in all."""
        backend, counts = self.backend, self.backend.counts
        word, violations = conclude(
            violations=list(self.violations.values()), stopped_by=self.stopped_by
        )
        return Verdict(
            system=self.system,
            engine=backend.engine,
            verdict=word,
            stopped_by=self.stopped_by,
            distinct=sum(self.levels),
            generated=sum(self.levels[:1]) + counts.generated,
            depth=len(self.levels),
            levels=self.levels,
            rules={
                rule.name: RuleCount(
                    counts.fired.get(rule.name, 0),
                    None if counts.new is None else counts.new.get(rule.name, 0),
                    counts.blocked.get(rule.name, {}),
                )
                for rule in self.system.rules
            },
            violations=violations,
            witnesses=self.witnesses,
            edge_of_bounds=counts.edge_of_bounds,
            seconds={"explore": time.perf_counter() - self.started, **backend.seconds()},
            bytes_per_state=round(memory / max(1, sum(self.levels))),
            workers=backend.workers,
            stands_for=backend.stands_for(),
            statistics=backend.statistics(),
        )


def failure_at(trace: Trace) -> SpecError | None:
    """What a rule or a property raises in the last state of a behaviour."""
    system, state = trace.system, trace.states[-1]
    what = ""
    try:
        for prop in system.properties:
            what = f"property {prop.name}"
            if isinstance(prop, Always):
                prop.failure(state)
            elif isinstance(prop, Reachable):
                prop.body(state)
        for rule in system.rules:
            what = f"rule {rule.name}"
            for choice in rule.instances(state):
                after = rule.attempt(state, choice)
                try:
                    hash(after)
                except TypeError as error:
                    return SpecError(
                        f"rule {rule.name} leads to a state that has no hash ({error}): "
                        "tuples and frozensets have one, lists and sets do not"
                    )
        system.is_deadlock(state)
    except SpecError as error:
        return error
    except Exception as error:
        return RuleFailed(what, error, Trace(system, trace.states, trace.steps, what))
    return None
