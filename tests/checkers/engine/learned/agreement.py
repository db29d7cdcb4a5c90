"""Compare the learned engine with the reference engine, on one system or on many random models."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol
from unittest.mock import patch

import attrs

from kspec.checkers.engine.learned import search as native
from kspec.checkers.engine.learned.backend import LearnedBackend
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search, failure_at
from kspec.checkers.engine.verdict import DEADLOCK, Verdict
from kspec.spec.core import Always, Blocked, Reachable, SpecError, System
from kspec.traces.trace import Trace

MOST = 600
"""Models with more states than these are skipped."""


@attrs.frozen
class Answer:
    """What comparing says."""

    says: str
    """The first difference, or nothing."""
    states: int = 0
    skipped: bool = False


@attrs.frozen
class Run:
    """What an engine says."""

    verdict: Verdict | None
    error: str
    backend: Any


def run_reference(system: System[Any], limits: Options) -> Run:
    """What the reference engine says."""
    backend = Reference(system)
    try:
        return Run(Search(system, backend, limits).run(), "", backend)
    except SpecError as error:
        return Run(None, str(error), backend)


def run_learned(system: System[Any], options: Options) -> Run:
    """What the learned engine says."""
    backends: list[Any] = []

    class Recorded(LearnedBackend):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            backends.append(self)

    with patch.object(native, "LearnedBackend", Recorded):
        try:
            verdict = native.explore_by_learning(system, options)
        except SpecError as error:
            return Run(None, str(error), backends[-1] if backends else None)
    return Run(verdict, "", backends[-1])


def disagreement(
    system: System[Any], *, thorough: bool = False, odd: bool = False, most: int = MOST
) -> Answer:
    """The first difference between the engines, with all violations and with the first.

    Thorough: with one worker and with two each time; otherwise with one of both.
    """
    states = 0
    for keep_going in (True, False):
        reference = run_reference(system, Options(max_states=most, keep_going=keep_going))
        if reference.verdict is not None and reference.verdict.stopped_by:
            return Answer("", skipped=True)
        states = max(states, reference.backend.distinct)
        if not keep_going and reference.verdict is not None and not reference.verdict.violations:
            break
        for workers in (1, 2) if thorough else (2 if odd == keep_going else 1,):
            where = f"keep_going={keep_going}, workers={workers}"
            try:
                options = Options(
                    keep_going=keep_going, workers=workers, check_learning=workers == 2
                )
                learned = run_learned(system, options)
                for difference in differences(system, reference, learned):
                    return Answer(f"{where}: {difference}", states)
            except Exception:
                return Answer(f"{where}: {traceback.format_exc()}", states)
    return Answer("", states)


def differences(system: System[Any], reference: Run, learned: Run) -> Iterator[str]:
    """Everything in which two runs differ."""
    if learned.verdict is None and learned.error in failures_of_shown(system, reference):
        return
    if reference.verdict is None or learned.verdict is None:
        expected = failures(system, reference)
        if not (reference.error and learned.error in expected):
            yield f"reference {reference.error!r} (of {expected}), learned {learned.error!r}"
        return
    one, two = summary(reference.verdict), summary(learned.verdict)
    for what, expected_value in one.items():
        if two[what] != expected_value:
            yield f"{what}: reference {expected_value}, learned {two[what]}"
    yield from false_steps(system, learned.verdict)
    found = [
        learned.backend.learning.state(words)
        for level in range(len(learned.verdict.levels))
        for worker in learned.backend.all
        for block, count in worker.batches(level)
        for words in zip(*block[:, :count].tolist(), strict=True)
    ]
    if len(found) != len(set(found)):
        yield "states found twice"
    missing, extra = reference.backend.came_from.keys() - set(found), set(found)
    extra -= reference.backend.came_from.keys()
    if missing or extra:
        yield f"states: missing {list(missing)[:3]}, extra {list(extra)[:3]}"


def failures(system: System[Any], run: Run) -> set[str]:
    """What the states of the level raise where the reference engine has failed."""
    if run.verdict is not None:
        return set()
    return {run.error} | errors_in(system, run.backend, run.backend.level)


def failures_of_shown(system: System[Any], run: Run) -> set[str]:
    """What properties raise in states of the level where another state answers them.

    The reference engine does not ask a property again that is answered.
    """
    if run.verdict is None:
        return set()
    found = [(v.name, v.states) for v in run.verdict.violations if v.trace]
    found += [(name, len(trace.states)) for name, trace in run.verdict.witnesses.items()]
    errors, states = set(), list(run.backend.came_from)
    for name, depth in found:
        begin = sum(run.verdict.levels[: depth - 1])
        level = states[begin : begin + run.verdict.levels[depth - 1]]
        raised = errors_in(system, run.backend, level)
        errors |= {error for error in raised if error.startswith(f"property {name} ")}
    return errors


def errors_in(system: System[Any], backend: Any, states: Sequence[Any]) -> set[str]:
    """What the rules raise in some states, and each property by itself."""
    names = {p.name for p in system.properties}
    answered = [names, *(names - {name} for name in names)]
    errors = (failure_at(backend.way_to(state), some) for state in states for some in answered)
    return {str(error) for error in errors if "once and not again" not in str(error)}


def summary(verdict: Verdict) -> dict[str, Any]:
    """What both engines must say."""
    return {
        "verdict": verdict.verdict,
        "stopped_by": verdict.stopped_by,
        "levels": list(verdict.levels),
        "distinct": verdict.distinct,
        "depth": verdict.depth,
        "fired": {name: count.fired for name, count in verdict.rules.items()},
        "blocked": {
            name: {str(guard): n for guard, n in sorted(count.stopped_by.items()) if n}
            for name, count in verdict.rules.items()
        },
        "generated": verdict.generated,
        "edge_of_bounds": verdict.edge_of_bounds,
        "violations": sorted((v.name, v.states, v.exit_code) for v in verdict.violations),
        "witnesses": {name: len(t.states) for name, t in sorted(verdict.witnesses.items())},
    }


def false_steps(system: System[Any], verdict: Verdict) -> Iterator[str]:
    """What is wrong with the behaviours in a verdict."""
    always = {p.name: p for p in system.properties if isinstance(p, Always)}
    shown = {p.name: p for p in system.properties if isinstance(p, Reachable)}
    traces = [(v.name, v.trace) for v in verdict.violations if v.trace]
    for name, trace in [*traces, *verdict.witnesses.items()]:
        last = trace.states[-1]
        if trace.states[0] not in system.initial():
            yield f"the trace of {name} does not begin in an initial state"
        if len(trace.steps) != len(trace.states) - 1:
            yield f"the trace of {name} has {len(trace.steps)} steps"
        yield from (f"the trace of {name}: {wrong}" for wrong in wrong_steps(system, trace))
        if name == DEADLOCK:
            if any(True for _ in system.steps(last)) or not system.is_deadlock(last):
                yield "the trace of a deadlock does not end in one"
        elif name in always:
            where = always[name].failure(last)
            if where is None or trace.where != where:
                yield f"{name} fails at {where}, not at {trace.where}"
        elif not shown[name].body(last):
            yield f"the witness of {name} does not show it"


def wrong_steps(system: System[Any], trace: Trace) -> Iterator[str]:
    """The steps that the system does not take."""
    rules = {rule.name: rule for rule in system.rules}
    for before, taken, after in zip(trace.states, trace.steps, trace.states[1:], strict=False):
        rule, choice = rules[taken.rule], tuple(taken.choices.values())
        if choice not in list(rule.instances(before)):
            yield f"{taken.rule} has no choice {choice} in {before}"
        found = rule.attempt(before, choice)
        if isinstance(found, Blocked) or found != after:
            yield f"{taken.rule} leads from {before} to {found}, not to {after}"


__all__ = ["Answer", "disagreement"]


class Compared(Protocol):
    """Compares the engines on the model with a seed."""

    def __call__(self, seed: int, *, thorough: bool) -> Answer: ...


def compare_many(compared: Compared, text_of: Callable[[int], str], header: str) -> int:
    """Compare the engines on many random models, and stop where they disagree.

    The options are those of the command line. The header begins the text of each model.
    """
    parser = argparse.ArgumentParser(description="Compare the engines on many models.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--keep-going", action="store_true", help="report each, stop at none")
    parser.add_argument("--thorough", action="store_true", help="one worker and two each time")
    parser.add_argument("--print", action="store_true", help="print the text of the first model")
    given = parser.parse_args()
    if given.print:
        print(text_of(given.first_seed))
        return 0
    begun, found, states, skipped = time.perf_counter(), 0, 0, 0
    for done, seed in enumerate(range(given.first_seed, given.first_seed + given.count), 1):
        answer = compared(seed, thorough=given.thorough)
        states += answer.states
        skipped += answer.skipped
        if answer.says:
            found += 1
            print(f"seed {seed}: {answer.says}", flush=True)
            if not given.keep_going:
                print(text_of(seed).removeprefix(header))
                return 1
        if done % 100 == 0:
            seconds = time.perf_counter() - begun
            print(
                f"{done} models, {skipped} skipped, {states} states, {found} disagreements, "
                f"{seconds:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    return 1 if found else 0
