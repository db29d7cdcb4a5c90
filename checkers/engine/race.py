"""`auto`: the rules themselves and learned rules explore the same system, and one of them wins.

The reference engine explores alone for `SMALL` states and `ALONE` seconds, since small models end
there. Then a forked process explores by learned rules, from the beginning, while this process goes
on by the rules. The first to end gives the verdict, and what it reports does not depend on which
one that is:

- This process pauses while the other one has found `LEAD` times as many states as it would have
  found itself by now. So pausing costs at most the `LEAD`th part of the time of the rules alone.
- The other process is ended when it has had a fair time, has found fewer states than this one, and
  is slower. From then on this process expands large levels in several processes.
- If both together need more memory than a run may use, the one that is behind ends.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any

import attrs

from kspec.checkers.engine.forked import Forked, some_message
from kspec.checkers.engine.interrupt import noted
from kspec.checkers.engine.memory import resident_bytes
from kspec.checkers.engine.options import INTERRUPTED, Options, Progress
from kspec.checkers.engine.reference import RAISED, Reference, explore
from kspec.checkers.engine.search import RuleFailed, Search, failure_at
from kspec.checkers.engine.transfer import (
    TraceData,
    trace_as_data,
    trace_from_data,
    verdict_as_data,
    verdict_from_data,
)
from kspec.checkers.engine.verdict import DEADLOCK, RuleCount, Verdict
from kspec.spec.core import Rule, SpecError, System

SMALL = 1_000
"""Up to this many states, running the rules takes less time than loading compiled code."""

THIN = 8
"""With fewer states per level than this, compiled code spends its time on starting levels."""

ALONE = 0.1
"""Processor seconds of exploration before which learned rules are not loaded: to fork, and to
share the machine with what is loaded, costs more than a tenth of so short a run."""

LEAD = 10
"""How many times as many states the learned rules must have found for this process to pause."""

FAIR = 3.0
"""Processor seconds of exploration after which learned rules may be found too slow."""

HEAD_START = 1.0
"""Seconds in which learned rules wait whenever this process lacked a processor."""

LACKS = 0.9
"""It does if it had a processor for less than this share of the time."""

LOOKED = 0.02
"""Minimum seconds between two looks at the other process."""


def is_large(system: System[Any], options: Options) -> bool:
    """Whether a system has more than a few states, in levels that are not thin."""
    few = attrs.evolve(
        options, max_states=SMALL, symmetry=False, workers=1, on_progress=None, whole_levels=False
    )
    try:
        verdict = explore(system.with_properties([]), few)
    except SpecError:
        return False  # the reference engine reports it, unless a violation ends the run first
    if verdict.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    return verdict.stopped_by == few.limit("max_states") and not is_thin(verdict)


def is_thin(verdict: Verdict) -> bool:
    """Whether the levels of a run have few states on average."""
    return verdict.distinct < THIN * verdict.depth


# -- the decision ---------------------------------------------------------------------------------


class Decision(Enum):
    """What becomes of the race now."""

    BOTH = auto()
    """Both explore."""
    PAUSE = auto()
    """This process waits for the learned rules."""
    RULES = auto()
    """The learned rules are given up."""
    LEARNED = auto()
    """This process gives up, and only waits."""


@attrs.frozen
class Standing:
    """How the two stand."""

    here: int
    """The states that this process has found."""
    here_rate: float
    """How many it finds in a second on a processor."""
    paused: float
    """The seconds of all pauses."""
    there: int
    """The states that learned rules have found."""
    there_rate: float
    """How many they found in a second on a processor, during the later half of their time."""
    there_seconds: float
    """The seconds that they have explored on a processor."""
    is_too_large: bool
    """Whether both take more memory than a run may use."""

    @property
    def would_be(self) -> float:
        """The states that this process would have found without pausing."""
        return self.here + self.here_rate * self.paused


def decide(standing: Standing) -> Decision:
    """The decision, by the standing alone."""
    s = standing
    if s.is_too_large:
        return Decision.LEARNED if s.there > s.would_be else Decision.RULES
    if s.there >= LEAD * s.would_be:
        return Decision.PAUSE
    if s.there_seconds >= FAIR and s.there < s.here and s.there_rate < s.here_rate:
        return Decision.RULES
    return Decision.BOTH


Decide = Callable[[Standing], Decision]


# -- learned rules in another process -------------------------------------------------------------


@attrs.frozen
class Failed:
    """The behaviour to a state in which a rule or a property raises an exception."""

    trace: TraceData


@attrs.frozen
class Lost:
    """Learned rules cannot explore the system."""

    why: str


class Pace:
    """How fast states are found, in the later half of the time so far."""

    def __init__(self) -> None:
        self.seen: deque[tuple[float, int]] = deque([(0.0, 0)])

    def note(self, seconds: float, found: int) -> None:
        """Note how many states were found by then."""
        self.seen.append((seconds, found))

    def rate(self, seconds: float) -> float:
        """States per second, at that time."""
        while len(self.seen) > 1 and self.seen[1][0] <= seconds / 2:
            self.seen.popleft()
        before, found = self.seen[0]
        return (self.seen[-1][1] - found) / max(seconds - before, 1e-9)


COMPILING = "compiling"
"""The message that code is compiled first."""


class Learned:
    """Learned rules, which explore in a forked process."""

    def __init__(self, system: System[Any], options: Options) -> None:
        """Start it."""
        self.system = system
        self.options = options
        self.process = Forked(lambda send: send(explored(system, options, send)))
        self.progress: Progress | None = None
        self.begun = 0.0
        self.pace = Pace()

    @property
    def found(self) -> int:
        """The states that it has found."""
        return self.progress.distinct if self.progress else 0

    @property
    def seconds(self) -> float:
        """The seconds on a processor since it has begun to explore."""
        return self.process.had - self.begun if self.progress else 0.0

    def take_messages(self) -> Verdict | Lost | None:
        """Take its messages; returns its result, if it has ended. Raises the errors that it met."""
        process = self.process
        while process.messages:
            message = process.messages.popleft()
            if isinstance(message, Progress):
                if self.progress is None:
                    self.begun = max(0.0, process.had - message.seconds)
                self.progress = message
                self.pace.note(self.seconds, message.distinct)
            elif message == COMPILING:
                if self.options.on_compiling:
                    self.options.on_compiling()
            elif isinstance(message, Verdict):
                return verdict_from_data(message, self.system)
            elif isinstance(message, Failed):
                raise failure(trace_from_data(message.trace, self.system))
            elif isinstance(message, Lost):
                return message
            else:
                raise message
        return Lost("their process ended without a result") if process.ended else None


def failure(trace: Any) -> SpecError:
    """The exception at the end of a behaviour, of the rule or the property that it names."""
    names = {prop.name for prop in trace.system.properties}
    return failure_at(trace, names - {trace.property.removeprefix("property ")})


def explored(system: System[Any], options: Options, send: Callable[[Any], None]) -> Any:
    """In the forked process: the message with the result."""
    # `timeout` signals every process of the run; the parent decides which one is to end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.default_int_handler)
    from kspec.checkers.engine.learned.search import explore_by_learning  # imports compiled code
    from kspec.checkers.engine.learned.values import Unable

    asked = attrs.evolve(options, on_progress=send, on_compiling=lambda: send(COMPILING))
    try:
        return verdict_as_data(explore_by_learning(system, asked))
    except RuleFailed as error:
        return Failed(trace_as_data(error.trace))
    except Unable as error:
        return Lost(str(error))
    except SpecError as error:
        return SpecError(str(error))
    except BaseException as error:
        return Lost(f"{type(error).__name__}: {error}")


# -- this process ---------------------------------------------------------------------------------


class Won(BaseException):
    """The learned rules have ended first."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict


class GivenUp(BaseException):
    """The rules are given up, and their process waits for the learned rules."""


class NotShared(BaseException):
    """Nothing can be forked: learned rules explore in this process, unless they are too slow."""

    def __init__(self, rate: float) -> None:
        self.rate = rate


class Racing(Search):
    """A run by the rules, beside which learned rules explore when it has found a few states."""

    backend: Reference

    def __init__(self, system: System[Any], options: Options, decide: Decide) -> None:
        """Start with nothing explored."""
        backend = Reference(system)
        backend.finds_all = True
        super().__init__(system, backend, attrs.evolve(options, whole_levels=True))
        self.decide = decide
        self.is_small = True
        """Whether so few states were found that the reference engine might end with them."""
        self.is_due = False
        """Whether learned rules begin once `ALONE` has passed."""
        self.had = time.process_time()
        """The processor time of this process when the run began."""
        self.learned_rules: Learned | None = None
        self.paused = 0.0
        self.looked = 0.0
        self.began = 0.0, 0.0
        """The time, and the time on a processor, when the race began."""
        self.why = ""
        """Why the other process does not explore any more."""

    def run(self) -> Verdict:
        """Explore until one of both has ended."""
        try:
            return self.explored() or self.wait()
        finally:
            self.end_other()

    def explored(self) -> Verdict | None:
        """The verdict of the one that ended first; None if this process has given up."""
        try:
            verdict = super().run()
        except Won as won:
            return self.comparable(won.verdict, "learned rules finished first")
        except GivenUp:
            return None
        if self.backend.key:
            why = "the reference engine finished first" if self.learned_rules else self.why
            if self.is_due:
                why = "the run ended before learned rules began"
            elif verdict.stopped_by == INTERRUPTED:
                why = "it had found more when the run was interrupted"
            return self.comparable(verdict, why or "the run ended within a few states")
        return verdict

    def comparable(self, verdict: Verdict, why: str) -> Verdict:
        """A verdict as either of the two engines gives it."""
        return comparable(verdict, self.options, why)

    # -- the first states -----------------------------------------------------------------------

    def go_on(self, queue: int) -> None:
        """Begin the race when there are more than a few states."""
        if self.is_small and self.backend.distinct >= SMALL:
            self.is_small = False
            self.begin_race()
        super().go_on(queue)

    def begin_race(self) -> None:
        """Have learned rules explore as well, unless the levels are thin."""
        found = self.backend.distinct
        if found < THIN * (len(self.levels) + (found > sum(self.levels))):
            self.backend.finds_all = False
            self.use_all_cores()
            return
        self.take_least()
        if not can_share(self.options):
            raise NotShared(self.rate)
        self.is_due = True

    def begin_other(self) -> None:
        """Start the other process."""
        self.is_due = False
        options = attrs.evolve(self.options, engine="learned")
        self.learned_rules = Learned(self.system, options)
        self.began = time.perf_counter(), time.process_time()

    def take_least(self) -> None:
        """Report least states, as learned rules do, also where other ones were found already."""
        self.backend.key = text_of
        for level in sorted(level for level, mark in self.backend.marked if mark == RAISED):
            known = {**self.witnesses, **{v.name: v.trace for v in self.violations.values()}}
            answered = {n for n, trace in known.items() if trace and len(trace.states) <= level}
            raise failure_at(self.backend.trace_to(level, RAISED), answered)
        for name, trace in self.witnesses.items():
            self.witnesses[name] = self.backend.trace_to(len(trace.states) - 1, name)
        always = {prop.name: prop for prop in self.always}
        for name, violation in self.violations.items():
            level = violation.states - 1
            if name == DEADLOCK:
                self.violations[name] = self.deadlock(level)
            else:
                self.violations[name] = self.violation(always[name], level)

    # -- the race -------------------------------------------------------------------------------

    def watch(self) -> None:
        """Start the other process or look at it, and at the limits of this one."""
        if self.is_due and time.process_time() - self.had >= ALONE:
            self.begin_other()
        if self.learned_rules is not None and time.perf_counter() - self.looked >= LOOKED:
            self.look(self.learned_rules)
            self.looked = time.perf_counter()
        super().watch()

    def look(self, other: Learned) -> None:
        """Take what the other process has sent, and pause, go on alone or give up."""
        self.share_processors(other)
        while (decision := self.decision(other)) is Decision.PAUSE:
            other.process.resume()
            begun = time.perf_counter()
            self.report(other)
            some_message([other.process])
            self.paused += time.perf_counter() - begun
        if decision is Decision.LEARNED:
            other.process.resume()
            raise GivenUp
        if decision is Decision.RULES:
            self.end_other()
            self.use_all_cores()

    def share_processors(self, other: Learned) -> None:
        """On a busy machine, let a small model end before learned rules are loaded."""
        time_passed = time.perf_counter() - self.began[0]
        time_had = time.process_time() - self.began[1]
        if time_passed >= HEAD_START or self.paused or time_had >= LACKS * time_passed:
            other.process.resume()
        else:
            other.process.pause()

    def decision(self, other: Learned) -> Decision:
        """What becomes of the race now."""
        some_message([other.process], 0)
        result = other.take_messages()
        if isinstance(result, Verdict) and self.is_cut_short(result):
            result = Lost(f"{result.stopped_by} ended them")
        if isinstance(result, Verdict):
            raise Won(result)
        if isinstance(result, Lost):
            self.why = f"learned rules were given up: {result.why}"
            return Decision.RULES
        decision = self.decide(self.standing(other))
        if self.interrupted():
            is_behind = other.found > self.backend.distinct
            decision = Decision.LEARNED if is_behind else Decision.RULES
            other.process.interrupt()
        found = f"{other.found:,} states in {other.seconds:.1f} s of processor time"
        self.why = f"learned rules were given up: they had found {found}"
        return decision

    def is_cut_short(self, verdict: Verdict) -> bool:
        """Whether the other process was behind when it reached a limit that this one need not."""
        by_chance = INTERRUPTED, self.options.limit("max_memory")
        return verdict.stopped_by in by_chance and verdict.distinct <= self.backend.distinct

    def standing(self, other: Learned) -> Standing:
        """How the two stand."""
        return Standing(
            self.backend.distinct, self.rate, self.paused, other.found,
            other.pace.rate(other.seconds), other.seconds,
            is_too_large=resident_bytes() + other.process.bytes > self.options.max_memory,
        )  # fmt: skip

    @property
    def rate(self) -> float:
        """How many states this process finds in a second on a processor."""
        return self.backend.distinct / max(time.process_time() - self.had, 1e-9)

    def report(self, other: Learned) -> None:
        """Report the progress of the other process."""
        if other.progress and self.is_time_to_report() and self.options.on_progress:
            self.options.on_progress(other.progress)

    def progress(self, queue: int, seconds: float) -> Progress:
        """The progress of the one that leads."""
        other = self.learned_rules
        if other and other.progress and other.found > self.backend.distinct:
            return other.progress
        return super().progress(queue, seconds)

    def use_all_cores(self) -> None:
        """Expand large levels in several processes."""
        if can_share(self.options):
            self.backend.use(self.options.cores)

    def end_other(self) -> None:
        """End the other process, if there is one."""
        if self.learned_rules is not None:
            self.learned_rules.process.end()
            self.learned_rules = None

    def wait(self) -> Verdict:
        """The verdict of the learned rules, after this process has given up."""
        other, self.backend = self.learned_rules, Reference(self.system)  # without its states
        assert other is not None, "it explores"
        with noted() as interrupted:
            while True:
                some_message([other.process])
                result = other.take_messages()
                if isinstance(result, Verdict):
                    return self.comparable(result, "the reference engine was given up")
                if interrupted():
                    other.process.interrupt()
                if result is not None:
                    if other.process.is_interrupted:
                        raise KeyboardInterrupt
                    return alone(self.system, self.options, result.why)
                self.report(other)


class TooSlow(BaseException):
    """Learned rules find fewer states than the rules themselves."""


def explore_by_auto(system: System[Any], options: Options, decide: Decide = decide) -> Verdict:
    """Explore with the engine that ends first."""
    try:
        return Racing(system, options, decide).run()
    except NotShared as begun:
        return one_after_the_other(system, options, begun.rate)


def one_after_the_other(system: System[Any], options: Options, rate: float) -> Verdict:
    """Explore by learned rules, and by the rules themselves if these are faster.

    The rules themselves find states at this rate, by time on a processor.
    """
    from kspec.checkers.engine.learned.search import explore_by_learning  # imports compiled code
    from kspec.checkers.engine.learned.values import Unable

    pace = Pace()
    begun: list[float] = []  # when it begins to explore: code may be compiled before

    def look(progress: Progress) -> None:
        if options.on_progress:
            options.on_progress(progress)
        had = time.process_time()
        begun.append(had - progress.seconds)
        seconds = had - begun[0]
        pace.note(seconds, progress.distinct)
        is_behind = progress.distinct < rate * seconds and pace.rate(seconds) < rate
        if seconds >= FAIR and is_behind:
            raise TooSlow

    try:
        asked = attrs.evolve(options, on_progress=look, whole_levels=True)
        return comparable(
            explore_by_learning(system, asked), options, "learned rules were fast enough"
        )
    except TooSlow:
        return alone(system, options, "learned rules were too slow")
    except Unable as error:
        return alone(system, options, str(error))


def alone(system: System[Any], options: Options, why: str) -> Verdict:
    """Explore by the rules, and report what learned rules would."""
    backend = Reference(system, workers=options.cores if can_share(options) else 1)
    backend.finds_all, backend.key = True, text_of
    verdict = Search(system, backend, attrs.evolve(options, whole_levels=True)).run()
    return comparable(verdict, options, why)


def text_of(state: Any) -> str:
    """The key by which learned rules choose the state that they report."""
    from kspec.checkers.engine.learned import canonical  # few runs need it

    return canonical.text_of(state)


def can_share(options: Options) -> bool:
    """Whether processes may be forked: not where other threads of the caller might hold locks."""
    return options.cores > 1 and threading.current_thread() is threading.main_thread()


def comparable(verdict: Verdict, options: Options, why: str) -> Verdict:
    """A verdict as either engine gives it: without counts that only one has, in one order."""
    rules = {rule.name: rule for rule in verdict.system.rules}
    return attrs.evolve(
        verdict,
        rules={
            name: RuleCount(count.fired, None, in_text_order(rules[name], count.stopped_by))
            for name, count in verdict.rules.items()
        },
        workers=options.cores,
        statistics={**verdict.statistics, "auto": why},
    )


def in_text_order(rule: Rule[Any], counts: Mapping[str, int]) -> dict[str, int]:
    """The counts of guards, in the order in which the rule's text names them."""
    named = {name: place for place, (name, _) in enumerate(rule.guard_names())}
    order = sorted(counts, key=lambda guard: (named.get(guard, len(named)), guard))
    return {guard: counts[guard] for guard in order if counts[guard]}
