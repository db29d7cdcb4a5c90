"""Simulation by random walks."""

from __future__ import annotations

import signal
from itertools import pairwise
from typing import Any

import pytest

from kspec import examples
from kspec.checkers.cli.report import effort
from kspec.checkers.engine.learned.simulate import simulate_by_learning
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.run import simulate
from kspec.checkers.engine.search import RuleFailed
from kspec.checkers.engine.simulate import Sampling, TooManyStates, WalksByRules
from kspec.checkers.engine.verdict import EXIT_DEADLOCK, Verdict
from kspec.checkers.models.find import find_model
from kspec.spec.core import Always, Model, Step, Variant, limit, rule
from kspec.spec.replication import REPLICATION
from kspec.traces.trace import between


@pytest.mark.slow
def test_equal_seeds_give_equal_walks() -> None:
    def walked(seed: int) -> tuple[object, ...]:
        v = simulate(REPLICATION.system(), Sampling(walks=20, seed=seed))
        return v.distinct, v.generated, v.depth, {n: c.fired for n, c in v.rules.items()}

    assert walked(1) == walked(1)
    assert walked(1) != walked(2)


@pytest.mark.parametrize(
    ("model", "variant", "walks"),
    [
        ("replication", "kip-320", 15),
        ("replication", "truncate-to-hw", 40),
        ("group", None, 12),
        ("delivery", None, 20),
        ("offsets-topic", None, 20),
        ("die-hard", None, 50),
        ("two-phase-lock", "own-order", 30),
    ],
)
def test_learned_rules_and_rules_give_equal_walks(
    model: str, variant: str | None, walks: int
) -> None:
    system = find_model(model).system(variant)
    sampling = Sampling(walks=walks, max_depth=40, seed=3)
    by_rules, learned = (
        WalksByRules(system, sampling, Options()),
        simulate_by_learning(system, sampling),
    )
    assert what_is_said(by_rules.run()) == what_is_said(learned)


def what_is_said(verdict: Verdict) -> dict[str, object]:
    record = verdict.to_json(1.0)
    return {name: record[name] for name in record if not name.startswith(("seconds", "states_per"))}


@pytest.mark.slow
def test_walks_prefer_new_states() -> None:
    """Choosing uniformly, as many walks as these visit 1,131 states."""
    verdict = simulate(find_model("group").system(), Sampling(walks=200))
    assert verdict.distinct > 3000


@pytest.mark.slow
def test_a_small_system_is_simulated_without_compiled_code() -> None:
    compiled: list[None] = []
    for system, few in ((examples.DIE_HARD.system(), 1000), (REPLICATION.system(), 10)):
        options = Options(on_compiling=lambda: compiled.append(None))
        simulate(system, Sampling(walks=9), options, few_states=few)
    with pytest.raises(TooManyStates):
        WalksByRules(REPLICATION.system(), Sampling(walks=9), Options(), 10).run()
    assert (
        WalksByRules(examples.DIE_HARD.system(), Sampling(walks=9), Options(), 1000).run().distinct
    )


@pytest.mark.parametrize("few_states", [0, 1000])
def test_an_exception_is_reported_with_its_walk(few_states: int) -> None:
    @rule(by="x")
    def count(n: int) -> Step[int]:
        yield limit("room"), n < 9
        return [1, 2, 3][n]

    model = Model(
        name="raising", doc="", initial=lambda bounds: [0], properties=(),
        variants=(Variant("only", rules=(count,), why="There is no other."),),
    )  # fmt: skip
    with pytest.raises(RuleFailed, match="rule count raised IndexError") as failed:
        simulate(model.system(), Sampling(walks=3), few_states=few_states)
    assert failed.value.trace.states == (0, 1, 2, 3)


def test_walks_without_a_violation_are_a_sample() -> None:
    verdict = simulate(REPLICATION.system("kip-320"), Sampling(walks=30, max_depth=20, seed=5))
    assert (verdict.verdict, verdict.exit_code, verdict.seed) == ("sampled", 0, 5)
    assert verdict.statistics["walks"] == verdict.statistics["finished"] == 30
    assert verdict.statistics["states_per_walk"]["longest"] == verdict.depth <= 20
    assert sum(c.new or 0 for c in verdict.rules.values()) == verdict.distinct - 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_violating_walk_is_shrunk_to_a_violating_behaviour(seed: int) -> None:
    system = REPLICATION.system("truncate-to-hw")
    simulation = WalksByRules(system, Sampling(walks=20_000, seed=seed), Options())
    verdict = simulation.run()
    (violation,) = verdict.violations
    trace = violation.trace
    assert trace is not None
    assert trace.states[0] in system.initial()
    assert tuple(between(system, a, b) for a, b in pairwise(trace.states)) == trace.steps
    prop = next(p for p in system.properties if p.name == violation.name)
    assert isinstance(prop, Always)
    assert [prop.failure(s) is not None for s in trace.states] == [False] * (
        violation.states - 1
    ) + [True]
    assert violation.states <= max(simulation.lengths)
    assert 9 <= violation.states <= 14, "the shortest that there is has 9"


@pytest.mark.slow
def test_a_long_walk_to_the_solution_is_shrunk_to_a_shortest_one() -> None:
    for seed in range(5):
        verdict = simulate(examples.DIE_HARD.system(), Sampling(walks=1000, seed=seed))
        assert 7 <= verdict.violations[0].states <= 9


def test_a_walk_into_a_deadlock_is_reported() -> None:
    verdict = simulate(examples.TWO_PHASE_LOCK.system("own-order"), Sampling(walks=100))
    assert (verdict.violations[0].name, verdict.exit_code) == ("deadlock", EXIT_DEADLOCK)
    assert verdict.violations[0].states == 3


def test_a_witness_found_by_a_walk_is_reported() -> None:
    verdict = simulate(examples.TWO_PHASE_LOCK.system("one-order"), Sampling(walks=10))
    assert verdict.witnesses["BothCommit"].states[-1].done == {0, 1}


def test_an_interrupted_simulation_reports_what_it_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    step = WalksByRules.step

    def interrupt_at_the_third(self: WalksByRules, *given: Any) -> Any:
        if len(self.taken) == 2:
            raise KeyboardInterrupt
        return step(self, *given)

    monkeypatch.setattr(WalksByRules, "step", interrupt_at_the_third)
    verdict = simulate(examples.DIE_HARD.system(), Sampling(walks=100))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")
    assert verdict.statistics["states_per_walk"]["longest"] == 3
    assert (verdict.statistics["walks"], verdict.statistics["finished"]) == (100, 0)
    assert " 0 of 100 walks finished, of 3.0 states on average" in effort(verdict)


def test_ctrl_c_is_not_lost_between_the_rules_and_the_learned_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt_and_give_up(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        raise TooManyStates

    monkeypatch.setattr(WalksByRules, "walk", interrupt_and_give_up)
    verdict = simulate(examples.DIE_HARD.system(), Sampling(walks=100))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")


@pytest.mark.slow
@pytest.mark.parametrize("few_states", [0, 1000])
def test_ctrl_c_ends_a_simulation_with_its_results(few_states: int) -> None:
    reports: list[Progress] = []

    def press(progress: Progress) -> None:
        if not reports:
            signal.raise_signal(signal.SIGINT)
        reports.append(progress)

    system = find_model("group").system()
    verdict = simulate(
        system, Sampling(walks=10**9), Options(on_progress=press), few_states=few_states
    )
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")
    assert verdict.distinct
