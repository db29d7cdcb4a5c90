"""Random walks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from checkers.simulate import Sampling, Simulation, simulate
from checkers.verdict import EXIT_DEADLOCK
from spec import toys
from spec.replication import REPLICATION
from traces.trace import between


def test_the_same_seed_walks_the_same_walks() -> None:
    def walked(seed: int) -> tuple[object, ...]:
        v = simulate(REPLICATION.system(), Sampling(walks=20, seed=seed))
        return v.distinct, v.generated, v.depth, {n: c.fired for n, c in v.rules.items()}

    assert walked(1) == walked(1)
    assert walked(1) != walked(2)


def test_walks_that_find_nothing_are_a_sample_and_no_proof() -> None:
    verdict = simulate(REPLICATION.system("kip-320"), Sampling(walks=30, max_depth=20, seed=5))
    assert (verdict.verdict, verdict.exit_code, verdict.seed) == ("sampled", 0, 5)
    assert verdict.statistics["walks"] == 30
    assert verdict.statistics["states_per_walk"]["longest"] == verdict.depth <= 20
    assert sum(c.new for c in verdict.rules.values()) == verdict.distinct - 1


@pytest.mark.parametrize("seed", range(3))
def test_a_violating_walk_is_shrunk_to_a_behaviour_that_still_violates(seed: int) -> None:
    system = REPLICATION.system("truncate-to-hw")
    simulation = Simulation(system, Sampling(walks=20_000, seed=seed), None)
    verdict = simulation.run()
    (violation,) = verdict.violations
    trace = violation.trace
    assert trace is not None
    assert trace.states[0] in system.initial()
    assert tuple(between(system, a, b) for a, b in pairwise(trace.states)) == trace.steps
    prop = next(p for p in system.properties if p.name == violation.name)
    assert [prop.failure(s) is not None for s in trace.states] == [False] * (
        violation.states - 1
    ) + [True]
    assert violation.states <= simulation.lengths[-1]
    assert 9 <= violation.states <= 14, "the shortest that there is has 9"


def test_the_longest_way_to_the_solution_is_made_the_shortest() -> None:
    for seed in range(5):
        verdict = simulate(toys.DIE_HARD.system(), Sampling(walks=1000, seed=seed))
        assert 7 <= verdict.violations[0].states <= 9


def test_a_walk_into_a_deadlock_says_so() -> None:
    verdict = simulate(toys.TWO_PHASE_LOCK.system("own-order"), Sampling(walks=100))
    assert (verdict.violations[0].name, verdict.exit_code) == ("deadlock", EXIT_DEADLOCK)
    assert verdict.violations[0].states == 3


def test_what_a_walk_shows_to_be_reachable_is_kept() -> None:
    verdict = simulate(toys.TWO_PHASE_LOCK.system("one-order"), Sampling(walks=10))
    assert verdict.witnesses["BothCommit"].states[-1].done == {0, 1}


def test_an_interrupted_simulation_reports_what_it_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Simulation.walk

    def interrupt_at_the_third(self: Simulation) -> None:
        if len(self.lengths) == 3:
            raise KeyboardInterrupt
        walk(self)

    monkeypatch.setattr(Simulation, "walk", interrupt_at_the_third)
    verdict = simulate(REPLICATION.system(), Sampling(walks=100))
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")
    assert verdict.statistics["walks"] == 3
