"""The search: one breadth-first loop for every engine.

The search asks for the marks of each level's states (the properties that they violate or witness),
and then expands the level into the next one, until there are no new states or a limit is reached.
A **backend** holds the states: Python objects, packed words in compiled code, or files that Spark
jobs read and write. The search decides everything that the verdict contains: when a violation ends
the run, which limit stopped it, what counts as a deadlock, and what the bounds cut off.

Exploration is breadth-first, so counterexamples are shortest. A run that a violation ends still
completes that level, so counts do not depend on the order of states within a level.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from kspec.checkers.engine.interrupt import noted
from kspec.checkers.engine.memory import peak_resident_bytes, resident_bytes
from kspec.checkers.engine.options import INTERRUPTED, Options, Progress
from kspec.checkers.engine.verdict import (
    BOUNDS,
    DEADLOCK,
    DEADLOCK_SAYS,
    EXIT_ALWAYS,
    EXIT_DEADLOCK,
    EXIT_LEADS_TO,
    HOLDS,
    INCONCLUSIVE,
    VIOLATED,
    LivenessCount,
    RuleCount,
    Verdict,
    Violation,
    conclude,
    fails,
    kinds,
    not_shown,
)
from kspec.spec.core import Always, Reachable, SpecError, System
from kspec.spec.core.errors import assert_hashable, place_to_blame, raised
from kspec.traces.trace import Trace

if TYPE_CHECKING:
    from kspec.checkers.engine.steps import Source

PROGRESS_INTERVAL = 0.2
"""Minimum seconds between progress reports."""

MEMORY_INTERVAL = 0.05
"""Minimum seconds between memory checks."""

MARGIN = 1.1
"""A stopped run may exceed its memory limit by this factor while it evaluates the marks of the
states found."""

Number = TypeVar("Number", int, float)

FAILED = "failed"
"""The mark of a state in which a rule or a property raises an exception."""


class RuleFailed(SpecError):
    """A rule or a property raised an exception; carries the behaviour that leads to it."""

    def __init__(self, what: str, error: Exception, trace: Trace) -> None:
        """Describe the exception, and where it was raised."""
        bodies = [part.body for part in (*trace.system.rules, *trace.system.properties)]
        where = place_to_blame(error, bodies)
        super().__init__(raised(what, error, where))
        self.trace = trace


@attrs.define(eq=False)
class Counts:
    """The counts that expanding produces."""

    fired: dict[str, int] = attrs.field(factory=dict)
    """By rule: enabled instances."""
    blocked: dict[str, dict[str, int]] = attrs.field(factory=dict)
    """By rule and guard: how often that guard was the first to fail."""
    edge_of_bounds: int = 0
    """States in which every rule is blocked by limits alone."""
    new: dict[str, int] | None = None
    """By rule: states that it was the first to reach, if counted."""

    def add(self, other: Counts) -> None:
        """Add other counts to these."""
        add(self.fired, other.fired)
        for rule, guards in other.blocked.items():
            add(self.blocked.setdefault(rule, {}), guards)
        self.edge_of_bounds += other.edge_of_bounds

    @property
    def generated(self) -> int:
        """The number of enabled instances of all rules."""
        return sum(self.fired.values())


def add(to: dict[str, Number], more: Mapping[str, Number]) -> None:
    """Add counts by name."""
    for name, times in more.items():
        to[name] = to.get(name, 0) + times


def shows(prop: Always[Any] | Reachable[Any], state: Any) -> bool:
    """Whether a state violates an invariant, or is a witness."""
    return prop.failure(state) is not None if isinstance(prop, Always) else bool(prop.body(state))


class Stopped(Exception):
    """A limit or an interruption ends the run; what was found so far is reported."""


class Backend(ABC):
    """Holds the states of a search, level by level."""

    engine: str
    workers = 1
    counts: Counts
    """Counts of the levels that were expanded."""
    watch: Callable[[], None] = staticmethod(lambda: None)
    """Called regularly during long work; raises Stopped on interruption or at the memory limit.
    The search sets it."""

    @abstractmethod
    def begin(self) -> int:
        """Take the initial states as the first level; returns their number."""

    @abstractmethod
    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Those of these properties that the last level violates or witnesses; and FAILED."""

    @abstractmethod
    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the last level into the next; returns the marks DEADLOCK and FAILED if they were
        found.

        Regularly calls `go_on` with the number of states that are found but not expanded. It
        raises Stopped to end the run.
        """

    def cut_short(self) -> set[str]:
        """Complete the counts after `expand` was stopped; returns the marks found until then."""
        return set()

    @property
    @abstractmethod
    def found(self) -> int:
        """The number of states in the next level so far."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """The number of distinct states so far."""

    def next_level(self) -> int:
        """Make the states found the last level; returns their number."""
        return self.found

    @abstractmethod
    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest behaviour to a state of a level (the first is 0) that has a mark."""

    def keep(self, *, complete: bool) -> None:  # noqa: B027 - most keep nothing
        """Write a complete level to the checkpoint, if any; called per level and at the end."""

    def check_last(self) -> None:  # noqa: B027 - most have nothing to check
        """Make the last checks, when the exploration ends."""

    @property
    def bytes_beside(self) -> int:
        """The memory of other processes that work for it."""
        return 0

    @property
    def most_bytes_beside(self) -> int:
        """The same at its peak."""
        return 0

    @property
    def learned(self) -> int:
        """The number of learned paths, if the backend learns."""
        return 0

    def stands_for(self) -> int | None:
        """Up to symmetry, the number of states in all orbits found."""
        return None

    def steps_of(self, system: System[Any]) -> Source[Any]:
        """All states and steps of the system that is explored, with further rules."""
        raise SpecError(f"the {self.engine} engine cannot check liveness")

    def seconds(self) -> Mapping[str, float]:
        """Time spent on anything but exploring, by name."""
        return {}

    def statistics(self) -> Mapping[str, Any]:
        """Other statistics of the backend."""
        return {}


class Run:
    """What searches and simulations have in common: what ends them, and when they report."""

    def __init__(self, system: System[Any], options: Options) -> None:
        """Start now, with no results."""
        self.system = system
        self.options = options
        self.always, self.reachable, self.liveness = kinds(system)
        self.witnesses: dict[str, Trace] = {}
        self.stopped_by = ""
        self.started = self.reported = self.memory_asked = time.perf_counter()
        self.interrupted: Callable[[], bool] = lambda: False
        """Whether a signal has arrived."""

    def is_time_to_report(self) -> bool:
        """Whether progress is to be reported now."""
        now = time.perf_counter()
        if not self.options.on_progress or now - self.reported <= PROGRESS_INTERVAL:
            return False
        self.reported = now
        return True

    def watch(self) -> None:
        """Raise Stopped if the run must not go on, at any moment."""
        now = time.perf_counter()
        if now - self.memory_asked >= MEMORY_INTERVAL:
            self.memory_asked = now
            most = self.options.max_memory * (MARGIN if self.stopped_by else 1)
            if self.bytes_in_use() > most:
                raise Stopped(self.options.limit("max_memory"))
        if self.interrupted():
            raise Stopped(INTERRUPTED)

    def bytes_in_use(self) -> int:
        """The memory that the run takes now."""
        return resident_bytes()


class Search(Run):
    """One run. Its results are consistent at every moment."""

    def __init__(self, system: System[Any], backend: Backend, options: Options) -> None:
        """Start with nothing explored."""
        super().__init__(system, options)
        self.backend = backend
        self.judged: list[LivenessCount] = []
        self.levels: list[int] = []
        self.violations: dict[str, Violation] = {}
        self.complete = False
        self.learned = 0
        self.queue = 0
        """The number of states found but not expanded, as last reported."""
        backend.watch = self.watch

    def run(self) -> Verdict:
        """Explore level by level until there are no new states or a limit is reached."""
        memory = peak_resident_bytes()
        try:
            with noted() as self.interrupted:
                self.explore()
            if not self.stopped_by and not self.has_ended:
                self.judge_whole_graph()
        except KeyboardInterrupt:
            self.stopped_by = INTERRUPTED
        except Stopped as stopped:
            self.stopped_by = str(stopped)  # also after a limit: a checkpoint is incomplete
        except MemoryError:
            self.stopped_by = self.options.limit("max_memory")
        with noted():  # the result is known: a signal does not discard it
            return self.verdict(peak_resident_bytes() - memory + self.backend.most_bytes_beside)

    # -- levels ---------------------------------------------------------------------------------

    def explore(self) -> None:
        """Explore level by level, and ask for each level's marks."""
        size = self.backend.begin()
        if not size:
            raise SpecError(f"{self.system.model.name} has no initial state")
        while size:
            self.levels.append(size)
            self.mark_level()
            if self.has_ended or self.is_stopped():
                break
            shown = self.expand_level()
            if FAILED in shown:
                self.raise_failure()
            if DEADLOCK in shown and DEADLOCK not in self.violations:
                self.violations[DEADLOCK] = self.deadlock(len(self.levels) - 1)
            size = self.backend.next_level()
            if not self.stopped_by:
                self.backend.keep(complete=True)
        else:
            self.complete = not self.stopped_by
        if self.stopped_by != INTERRUPTED:
            with suppress(Stopped):
                self.backend.check_last()
        self.backend.keep(complete=False)

    def expand_level(self) -> set[str]:
        """Expand the last level; returns its marks, even if a limit cuts it short."""
        try:
            return self.backend.expand(self.go_on)
        except Stopped as stopped:
            self.stopped_by = str(stopped)
        except MemoryError:
            self.stopped_by = self.options.limit("max_memory")
        return self.backend.cut_short()

    @property
    def has_ended(self) -> bool:
        """Whether a violation ends the run."""
        return bool(self.violations) and not self.options.keep_going

    def mark_level(self) -> None:
        """Ask for the last level's marks, for properties without an answer."""
        level = len(self.levels) - 1
        always = [p.name for p in self.always if p.name not in self.violations]
        reachable = [p.name for p in self.reachable if p.name not in self.witnesses]
        shown = self.backend.marks([*always, *reachable])
        if FAILED in shown:
            self.raise_failure()
        for prop in self.always:
            if prop.name in shown and prop.name not in self.violations:
                self.violations[prop.name] = self.violation(prop, level)
        for name in reachable:
            if name in shown:
                self.witnesses[name] = self.backend.trace_to(level, name)

    def violation(self, prop: Always[Any], level: int) -> Violation:
        """The violation of a property in a level, with its counterexample."""
        trace = self.backend.trace_to(level, prop.name)
        where = prop.failure(trace.states[-1])
        if where is None:
            raise SpecError(
                f"the {self.backend.engine} engine reports {prop.name} violated where the "
                "specification does not: please report it"
            )
        trace = Trace(trace.system, trace.states, trace.steps, prop.name, where)
        return Violation(prop.name, EXIT_ALWAYS, fails(prop.name, where), trace)

    def deadlock(self, level: int) -> Violation:
        """A deadlock in a level, with its counterexample."""
        trace = self.backend.trace_to(level, DEADLOCK)
        return Violation(DEADLOCK, EXIT_DEADLOCK, DEADLOCK_SAYS, trace)

    def raise_failure(self) -> None:
        """Raise the exception of a rule or a property in a state of the last level."""
        trace = self.backend.trace_to(len(self.levels) - 1, FAILED)
        raise failure_at(trace, {*self.violations, *self.witnesses})

    def is_stopped(self) -> bool:
        """Whether a limit ends the run after a complete level."""
        options = self.options
        if not self.stopped_by and options.max_depth and len(self.levels) >= options.max_depth:
            self.stopped_by = options.limit("max_depth")
        most = options.max_states
        if not self.stopped_by and most and self.backend.distinct >= most:
            self.stopped_by = options.limit("max_states")
        if not self.stopped_by:
            try:
                self.go_on(self.levels[-1])
            except Stopped as stopped:
                self.stopped_by = str(stopped)
        return bool(self.stopped_by)

    def go_on(self, queue: int) -> None:
        """Report progress, and raise Stopped if the run is to end now."""
        self.queue = queue
        options = self.options
        most = None if options.whole_levels else options.max_states
        if most and self.backend.distinct >= most:
            raise Stopped(options.limit("max_states"))
        self.watch()

    def watch(self) -> None:
        """Report progress, and raise Stopped if the run must not go on, at any moment."""
        if self.is_time_to_report() and self.options.on_progress:
            self.options.on_progress(self.progress(self.queue, self.reported - self.started))
        super().watch()

    def bytes_in_use(self) -> int:
        """The memory that the run takes now."""
        return super().bytes_in_use() + self.backend.bytes_beside

    def progress(self, queue: int, seconds: float) -> Progress:
        """The current progress, with the number of paths if it has grown."""
        before, self.learned = self.learned, self.backend.learned
        learned = self.learned if self.learned > before else None
        return Progress(len(self.levels), self.backend.distinct, queue, seconds, learned)

    # -- what needs the whole graph -------------------------------------------------------------

    def judge_whole_graph(self) -> None:
        """Report missing witnesses, and check the liveness properties."""
        for shown in self.reachable:
            if shown.name not in self.witnesses:
                self.violations[shown.name] = not_shown(shown.name)
        if not self.liveness:
            return
        from kspec.checkers.engine.liveness.judge import judge  # it imports numpy

        found = judge(self.system, self.liveness, self.backend.steps_of, self.go_on)
        for prop, judged in zip(self.liveness, found, strict=True):
            word = INCONCLUSIVE if judged.cut_off else HOLDS
            if judged.found is not None:
                says, trace = judged.found.says, judged.found.trace
                self.violations[prop.name] = Violation(prop.name, EXIT_LEADS_TO, says, trace)
                word = VIOLATED
            elif judged.cut_off and not self.stopped_by:
                self.stopped_by = BOUNDS
            self.judged.append(LivenessCount(prop.name, word, judged.states, judged.cut_off))

    # -- what is said ---------------------------------------------------------------------------

    def verdict(self, memory: int) -> Verdict:
        """The verdict, for a complete or an incomplete run."""
        backend, counts = self.backend, self.backend.counts
        word, violations = conclude(
            violations=list(self.violations.values()), stopped_by=self.stopped_by
        )
        return Verdict(
            system=self.system,
            engine=backend.engine,
            verdict=word,
            stopped_by=self.stopped_by,
            complete=self.complete,
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
            liveness=self.judged,
            edge_of_bounds=counts.edge_of_bounds,
            seconds={"explore": time.perf_counter() - self.started, **backend.seconds()},
            bytes_per_state=round(memory / max(1, sum(self.levels))),
            workers=backend.workers,
            stands_for=backend.stands_for(),
            statistics=backend.statistics(),
        )


def failure_at(trace: Trace, answered: Collection[str] = ()) -> SpecError:
    """The exception of a rule or an unanswered property in a behaviour's last state."""
    system, state = trace.system, trace.states[-1]
    what = ""
    try:
        for prop in system.properties:
            what = f"property {prop.name}"
            if prop.name in answered:
                continue
            if isinstance(prop, Always):
                prop.failure(state)
            elif isinstance(prop, Reachable):
                prop.body(state)
        for rule in system.rules:
            what = f"rule {rule.name}"
            for choice in rule.instances(state):
                after = rule.attempt(state, choice)
                assert_hashable(after, f"{what} leads to")
        system.is_deadlock(state)
    except SpecError as error:
        return error
    except Exception as error:
        return RuleFailed(what, error, Trace(system, trace.states, trace.steps, what))
    return SpecError(
        "a rule or a property raised an exception once and not again: it is not a function of the "
        "state"
    )
