"""The reference engine, on models whose answers are known."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from checkers.explore import Reference, RuleFailed, explore
from checkers.limits import Limits
from checkers.verdict import EXIT_ALWAYS, EXIT_DEADLOCK, EXIT_INCONCLUSIVE, EXIT_OK
from spec import toys
from spec.core import Blocked, Model, Rule, SpecError, Step, Variant, always, reachable, rule
from spec.replication import REPLICATION
from tests.known import counterexample


def test_a_counter_has_as_many_states_as_it_counts_and_one_more() -> None:
    verdict = explore(toys.COUNTER.system(bounds={"top": 41}))
    assert (verdict.verdict, verdict.exit_code) == ("holds", EXIT_OK)
    assert (verdict.distinct, verdict.generated, verdict.depth) == (42, 42, 42)
    assert verdict.edge_of_bounds == 1
    assert list(verdict.levels) == [1] * 42


def test_the_jugs_of_die_hard_have_sixteen_states_and_a_solution_of_six_steps() -> None:
    verdict = explore(toys.DIE_HARD.system(), Limits(keep_going=True))
    assert (verdict.distinct, verdict.generated) == (16, 97)
    (violation,) = verdict.violations
    assert (violation.name, violation.states) == ("GoalIsNeverMeasured", 7)
    assert verdict.exit_code == EXIT_ALWAYS


def test_jugs_with_a_common_divisor_cannot_measure_it() -> None:
    assert explore(toys.DIE_HARD.system(bounds={"big": 6})).verdict == "holds"


def test_a_deadlock_is_found_on_the_shortest_way() -> None:
    verdict = explore(toys.TWO_PHASE_LOCK.system("own-order"))
    (violation,) = verdict.violations
    assert (violation.name, violation.states) == ("deadlock", 3)
    assert verdict.exit_code == EXIT_DEADLOCK
    assert explore(toys.TWO_PHASE_LOCK.system("one-order")).verdict == "holds"


def test_a_deadlock_counts_where_a_limit_cuts_its_level_short() -> None:
    @rule(by="fan", step=lambda s: range(1, 101) if s.value == 0 else [1000])
    def fan_out(s: toys.Counter, step: int) -> Step[toys.Counter]:
        yield "the first of a hundred is stuck", s.value != 1
        return attrs.evolve(s, value=s.value + step)

    system = counting_with(fan_out).system()
    limits = Limits(max_states=120)
    verdict = explore(system, limits)
    assert verdict.stopped_by == "max-states 120"
    assert [(v.name, v.states) for v in verdict.violations] == [("deadlock", 2)]


def test_without_properties_deadlocks_are_still_seen() -> None:
    system = toys.TWO_PHASE_LOCK.system("own-order").with_properties([])
    assert [v.name for v in explore(system).violations] == ["deadlock"]


def test_a_counterexample_is_a_behaviour_of_the_system() -> None:
    trace = counterexample("truncate-to-hw")
    assert trace.states[0] in trace.system.initial()
    rules = {r.name: r for r in trace.system.rules}
    for (before, after), taken in zip(pairwise(trace.states), trace.steps, strict=True):
        choice = tuple(taken.choices[name] for name in rules[taken.rule].choices)
        assert rules[taken.rule].attempt(before, choice) == after


def test_a_run_that_is_not_kept_going_ends_after_the_level_of_the_violation() -> None:
    short = explore(toys.DIE_HARD.system())
    assert short.depth == 7
    assert sum(short.levels) == short.distinct == 14


def test_what_every_rule_did_and_what_stopped_it_is_counted() -> None:
    verdict = explore(REPLICATION.system("kip-320", {"brokers": 2}))
    assert sum(count.fired for count in verdict.rules.values()) == verdict.generated - 1
    assert sum(count.new for count in verdict.rules.values()) == verdict.distinct - 1
    advance = verdict.rules["leader_advances_hw"]
    assert advance.fired + sum(advance.stopped_by.values()) == 2 * verdict.distinct
    assert advance.stopped_by["isr holds the offset"] > 0


def test_a_rule_that_never_happens_is_named() -> None:
    assert explore(toys.CORRIDOR.system("both-polite")).silent_rules == ["pass_by"]


def test_what_is_reachable_comes_with_its_shortest_witness() -> None:
    verdict = explore(toys.TWO_PHASE_LOCK.system("one-order"))
    assert len(verdict.witnesses["BothCommit"].states) == 7


def test_what_no_state_shows_is_a_violation_without_a_counterexample() -> None:
    @reachable
    def Flies(s: toys.Counter) -> bool:
        return s.value > 1000

    system = attrs.evolve(toys.COUNTER.system(), properties=(Flies,))
    (violation,) = explore(system).violations
    assert (violation.name, violation.states, violation.exit_code) == ("Flies", 0, EXIT_ALWAYS)


@pytest.mark.parametrize(
    ("limits", "reason", "distinct"),
    [
        (Limits(max_states=100), "max-states 100", None),
        (Limits(max_depth=3), "max-depth 3", 3),
    ],
)
def test_a_limit_ends_the_run_as_inconclusive(
    limits: Limits, reason: str, distinct: int | None
) -> None:
    verdict = explore(toys.COUNTER.system(bounds={"top": 10_000}), limits)
    assert (verdict.verdict, verdict.exit_code) == ("inconclusive", EXIT_INCONCLUSIVE)
    assert verdict.stopped_by == reason
    if distinct:
        assert verdict.distinct == verdict.depth == distinct
    else:
        assert 100 <= verdict.distinct < 300


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    verdict = explore(toys.COUNTER.system(), Limits(max_states=1000, max_depth=1000))
    assert verdict.verdict == "holds"


def test_an_interrupted_run_reports_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take_rules = Reference.take_rules

    def interrupt_at_the_tenth(self: Reference, state: toys.Counter) -> int:
        if state.value == 10:
            raise KeyboardInterrupt
        return take_rules(self, state)

    monkeypatch.setattr(Reference, "take_rules", interrupt_at_the_tenth)
    verdict = explore(toys.COUNTER.system(bounds={"top": 100}))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")
    assert verdict.distinct == verdict.depth == 11


def test_progress_is_told_while_a_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    clock = iter(range(10**9))
    monkeypatch.setattr("checkers.search.time.perf_counter", lambda: float(next(clock)))
    explore(toys.COUNTER.system(bounds={"top": 300}), on_progress=told.append)
    assert told[0].level == 1
    assert [p.distinct for p in told] == sorted(p.distinct for p in told)
    assert told[-1].rate > 0


# -- models that are wrong -------------------------------------------------------------------------


def counting_with(body: object, properties: tuple[object, ...] = ()) -> Model[toys.Counter]:
    made = body if isinstance(body, Rule) else rule(by="counter")(body)  # type: ignore[type-var]
    return Model(
        name="wrong",
        doc="",
        initial=lambda bounds: [toys.Counter(0, bounds=toys.CounterBounds())],
        properties=properties,  # type: ignore[arg-type]
        variants=(Variant("wrong", (made,), why=""),),  # type: ignore[arg-type]
    )


def test_a_rule_that_raises_is_reported_with_the_way_to_it() -> None:
    def count(s: toys.Counter) -> toys.Counter:
        return attrs.evolve(s, value=(0, 1, 2, 3).index(s.value) + 1)

    with pytest.raises(RuleFailed, match="rule count raised ValueError") as failure:
        explore(counting_with(count).system())
    assert [s.value for s in failure.value.trace.states] == [0, 1, 2, 3, 4]


def test_a_property_that_raises_is_reported_with_the_way_to_it() -> None:
    @always
    def Fine(s: toys.Counter) -> bool:
        return 6 // (2 - s.value) > 0

    system = attrs.evolve(toys.COUNTER.system(), properties=(Fine,))
    with pytest.raises(RuleFailed, match="property Fine raised ZeroDivisionError") as failure:
        explore(system)
    assert len(failure.value.trace.states) == 3


def test_states_that_cannot_be_hashed_are_refused() -> None:
    model = attrs.evolve(toys.COUNTER, initial=lambda bounds: [[]])
    with pytest.raises(SpecError, match="initial states of counter"):
        explore(model.system())


def test_a_model_without_an_initial_state_is_refused() -> None:
    model = attrs.evolve(toys.COUNTER, initial=lambda bounds: [])
    with pytest.raises(SpecError, match="no initial state"):
        explore(model.system())


# -- against an exploration that shares nothing with it -----------------------------------------


def test_counts_are_those_of_a_search_that_shares_nothing_with_the_engine() -> None:
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
    verdict = explore(system, Limits(keep_going=True))
    assert (verdict.distinct, verdict.generated) == (len(seen), generated)
