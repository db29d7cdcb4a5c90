"""The reference engine on models with known answers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs
import pytest

from kspec import examples
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.reference import Reference, explore
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.verdict import EXIT_ALWAYS, EXIT_DEADLOCK, EXIT_INCONCLUSIVE, EXIT_OK
from kspec.examples.counter import Counter, CounterBounds
from kspec.spec.core import Blocked, Model, Rule, SpecError, Step, Variant, always, reachable, rule
from kspec.spec.replication import REPLICATION
from tests.known import counterexample


def test_a_counter_to_n_has_n_plus_one_states() -> None:
    verdict = explore(examples.COUNTER.system(bounds={"top": 41}))
    assert (verdict.verdict, verdict.exit_code) == ("holds", EXIT_OK)
    assert (verdict.distinct, verdict.generated, verdict.depth) == (42, 42, 42)
    assert verdict.edge_of_bounds == 1
    assert list(verdict.levels) == [1] * 42


def test_the_jugs_of_die_hard_have_sixteen_states_and_a_solution_of_six_steps() -> None:
    verdict = explore(examples.DIE_HARD.system(), Options(keep_going=True))
    assert (verdict.distinct, verdict.generated) == (16, 97)
    (violation,) = verdict.violations
    assert (violation.name, violation.states) == ("GoalIsNeverMeasured", 7)
    assert verdict.exit_code == EXIT_ALWAYS


def test_jugs_with_a_common_divisor_cannot_reach_the_goal() -> None:
    assert explore(examples.DIE_HARD.system(bounds={"big": 6})).verdict == "holds"


def test_a_deadlock_has_a_shortest_counterexample() -> None:
    verdict = explore(examples.TWO_PHASE_LOCK.system("own-order"))
    (violation,) = verdict.violations
    assert (violation.name, violation.states) == ("deadlock", 3)
    assert verdict.exit_code == EXIT_DEADLOCK
    assert explore(examples.TWO_PHASE_LOCK.system("one-order")).verdict == "holds"


def test_a_deadlock_is_reported_in_a_level_cut_short() -> None:
    @rule(by="fan", step=lambda s: range(1, 101) if s.value == 0 else [1000])
    def fan_out(s: Counter, step: int) -> Step[Counter]:
        yield "the first of a hundred is stuck", s.value != 1
        return attrs.evolve(s, value=s.value + step)

    system = counting_with(fan_out).system()
    limits = Options(max_states=120)
    verdict = explore(system, limits)
    assert verdict.stopped_by == "max-states 120"
    assert [(v.name, v.states) for v in verdict.violations] == [("deadlock", 2)]


def test_deadlocks_are_found_without_properties() -> None:
    system = examples.TWO_PHASE_LOCK.system("own-order").with_properties([])
    assert [v.name for v in explore(system).violations] == ["deadlock"]


@pytest.mark.slow
def test_a_counterexample_is_a_behaviour_of_the_system() -> None:
    trace = counterexample("truncate-to-hw")
    assert trace.states[0] in trace.system.initial()
    rules = {r.name: r for r in trace.system.rules}
    for (before, after), taken in zip(pairwise(trace.states), trace.steps, strict=True):
        choice = tuple(taken.choices[name] for name in rules[taken.rule].choices)
        assert rules[taken.rule].attempt(before, choice) == after


def test_a_run_ends_after_the_level_of_a_violation() -> None:
    short = explore(examples.DIE_HARD.system())
    assert short.depth == 7
    assert sum(short.levels) == short.distinct == 14


def test_rules_and_blocking_guards_are_counted() -> None:
    verdict = explore(REPLICATION.system("kip-320", {"brokers": 2}))
    assert sum(count.fired for count in verdict.rules.values()) == verdict.generated - 1
    assert sum(count.new or 0 for count in verdict.rules.values()) == verdict.distinct - 1
    advance = verdict.rules["leader_advances_hw"]
    assert advance.fired + sum(advance.stopped_by.values()) == 2 * verdict.distinct
    assert advance.stopped_by["every ISR member holds a record there"] > 0


def test_a_rule_that_is_never_enabled_is_named() -> None:
    assert explore(examples.CORRIDOR.system("both-polite")).silent_rules == ["pass_by"]


def test_reachability_properties_have_shortest_witnesses() -> None:
    verdict = explore(examples.TWO_PHASE_LOCK.system("one-order"))
    assert len(verdict.witnesses["BothCommit"].states) == 7


def test_a_missing_witness_is_a_violation_without_a_trace() -> None:
    @reachable
    def Flies(s: Counter) -> bool:
        return s.value > 1000

    system = attrs.evolve(examples.COUNTER.system(), properties=(Flies,))
    (violation,) = explore(system).violations
    assert (violation.name, violation.states, violation.exit_code) == ("Flies", 0, EXIT_ALWAYS)


@pytest.mark.parametrize(
    ("limits", "reason", "distinct"),
    [
        (Options(max_states=100), "max-states 100", None),
        (Options(max_depth=3), "max-depth 3", 3),
    ],
)
def test_a_limit_ends_the_run_as_inconclusive(
    limits: Options, reason: str, distinct: int | None
) -> None:
    verdict = explore(examples.COUNTER.system(bounds={"top": 10_000}), limits)
    assert (verdict.verdict, verdict.exit_code) == ("inconclusive", EXIT_INCONCLUSIVE)
    assert verdict.stopped_by == reason
    if distinct:
        assert verdict.distinct == verdict.depth == distinct
    else:
        assert 100 <= verdict.distinct < 300


def test_an_unreached_limit_has_no_effect() -> None:
    verdict = explore(examples.COUNTER.system(), Options(max_states=1000, max_depth=1000))
    assert verdict.verdict == "holds"


def test_an_interrupted_run_reports_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take_rules = Reference.take_rules

    def interrupt_at_the_tenth(self: Reference, number: int, state: Counter) -> int:
        if state.value == 10:
            raise KeyboardInterrupt
        return take_rules(self, number, state)

    monkeypatch.setattr(Reference, "take_rules", interrupt_at_the_tenth)
    verdict = explore(examples.COUNTER.system(bounds={"top": 100}))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")
    assert verdict.distinct == verdict.depth == 11


def test_progress_is_reported_during_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Progress] = []
    clock = iter(range(10**9))
    monkeypatch.setattr(
        "kspec.checkers.engine.search.time.perf_counter", lambda: float(next(clock))
    )
    explore(examples.COUNTER.system(bounds={"top": 300}), Options(on_progress=told.append))
    assert told[0].level == 1
    assert [p.distinct for p in told] == sorted(p.distinct for p in told)
    assert told[-1].rate > 0


# -- models that are wrong -------------------------------------------------------------------------


def counting_with(body: Any, properties: tuple[object, ...] = ()) -> Model[Counter]:
    made = body if isinstance(body, Rule) else rule(by="counter")(body)
    return Model(
        name="wrong",
        doc="",
        initial=lambda bounds: [Counter(0, bounds=CounterBounds())],
        properties=properties,  # type: ignore[arg-type]
        variants=(Variant("wrong", (made,), why=""),),  # type: ignore[arg-type]
    )


def test_an_exception_in_a_rule_is_reported_with_a_trace() -> None:
    def count(s: Counter) -> Counter:
        return attrs.evolve(s, value=(0, 1, 2, 3).index(s.value) + 1)

    with pytest.raises(RuleFailed, match="rule count raised ValueError") as failure:
        explore(counting_with(count).system())
    assert [s.value for s in failure.value.trace.states] == [0, 1, 2, 3, 4]


def test_an_exception_in_a_property_is_reported_with_a_trace() -> None:
    @always
    def Fine(s: Counter) -> bool:
        return 6 // (2 - s.value) > 0

    system = attrs.evolve(examples.COUNTER.system(), properties=(Fine,))
    with pytest.raises(RuleFailed, match="property Fine raised ZeroDivisionError") as failure:
        explore(system)
    assert len(failure.value.trace.states) == 3


def test_unhashable_states_are_rejected() -> None:
    model = attrs.evolve(examples.COUNTER, initial=lambda bounds: [[]])  # type: ignore[list-item]
    with pytest.raises(SpecError, match="initial states of counter"):
        explore(model.system())


def test_a_model_without_an_initial_state_is_rejected() -> None:
    model = attrs.evolve(examples.COUNTER, initial=lambda bounds: [])
    with pytest.raises(SpecError, match="no initial state"):
        explore(model.system())


# -- against an exploration that shares nothing with it -----------------------------------------


def test_counts_agree_with_an_independent_search() -> None:
    system = REPLICATION.system("kip-279", {"brokers": 2})
    seen, todo, generated = set(system.initial()), list(system.initial()), 1
    while todo:
        state = todo.pop()
        for r in system.rules:
            for choice in r.instances(state):
                after = r.attempt(state, choice)
                if not isinstance(after, Blocked):
                    generated += 1
                    if after not in seen:
                        seen.add(after)
                        todo.append(after)
    verdict = explore(system, Options(keep_going=True))
    assert (verdict.distinct, verdict.generated) == (len(seen), generated)
