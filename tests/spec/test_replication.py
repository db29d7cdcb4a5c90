"""The replication family: the counts and the outcomes that an independent checker found.

The counts at the default bounds are those of the public TLA+ family under another checker; the
others are what rumur, a Murphi checker, finds for a model of kip-320 in its own language.
"""

from __future__ import annotations

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.models.find import find_model
from kspec.spec.core import Reachable
from tests.known import counterexample, first_violation
from tests.known import explore_learned as explore

REPLICATION = find_model("replication")

PINNED = {
    # variant: distinct states, depth, and the states in each shortest counterexample
    "truncate-to-hw": (67_807, 21, {"WeakIsr": 9, "StrongIsr": 9}),
    "kip-101": (59_788, 22, {"StrongIsr": 12, "RecordsAreCommitted": 13, "ReplicasConverge": 13}),
    "kip-279": (60_106, 22, {"StrongIsr": 12}),
    "kip-320-first-try": (59_092, 22, {}),
    "kip-320": (39_619, 22, {}),
}


def test_the_counts_of_every_variant_are_pinned() -> None:
    assert PINNED.keys() == {variant.name for variant in REPLICATION.variants}


@pytest.mark.slow
@pytest.mark.parametrize("variant", PINNED)
def test_every_variant_is_explored_to_the_end(variant: str) -> None:
    """The counts and violations are those of the independent checker; no rule is silent."""
    explored = explore(REPLICATION.system(variant).with_all_properties(), Options(keep_going=True))
    distinct, depth, violated = PINNED[variant]
    assert (explored.distinct, explored.depth) == (distinct, depth)
    assert {v.name: v.states for v in explored.violations} == violated
    said = REPLICATION.variant(variant).violates
    assert {name: v.states for name, v in said.items() if not v.bounds} == violated
    assert explored.silent_rules == []
    wanted = {p.name for p in REPLICATION.baseline.invariants if isinstance(p, Reachable)}
    assert set(explored.witnesses) == wanted


@pytest.mark.parametrize(
    ("variant", "first", "states"),
    [
        ("truncate-to-hw", "WeakIsr", 9),
        ("kip-101", "StrongIsr", 12),
        ("kip-279", "StrongIsr", 12),
    ],
)
def test_the_shortest_counterexample_ends_the_run(variant: str, first: str, states: int) -> None:
    verdict = first_violation(variant)
    assert verdict.violations[0].name == first
    assert verdict.violations[0].states == states == verdict.depth
    assert verdict.exit_code == 12


@pytest.mark.parametrize(
    ("bounds", "distinct", "generated"),
    [
        ({"brokers": 2}, 957, 1_801),
        ({"max_epoch": 0}, 1_063, 2_866),
        pytest.param({"brokers": 4, "max_epoch": 0}, 12_041, 43_133, marks=pytest.mark.slow),
        pytest.param(
            {"brokers": 2, "log_size": 3, "max_records": 3, "max_epoch": 2},
            21_493,
            44_745,
            marks=pytest.mark.slow,
        ),
        pytest.param({"log_size": 1, "max_epoch": 2}, 173_779, 427_477, marks=pytest.mark.slow),
    ],
)
def test_kip_320_in_other_bounds_has_the_counts_of_rumur(
    bounds: dict[str, int], distinct: int, generated: int
) -> None:
    verdict = explore(REPLICATION.system("kip-320", bounds))
    assert (verdict.verdict, verdict.distinct, verdict.generated) == ("holds", distinct, generated)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "orbits", "distinct"),
    [
        ({"max_epoch": 2, "log_size": 3}, 123_311, 737_794),
        ({"max_epoch": 2, "log_size": 3, "max_records": 3}, 683_278, 4_093_531),
    ],
)
def test_orbits_are_those_of_tlc_by_the_declaration_alone(
    bounds: dict[str, int], orbits: int, distinct: int
) -> None:
    verdict = run(REPLICATION.system("kip-320", bounds), Options("learned", symmetry=True))
    assert (verdict.distinct, verdict.stands_for) == (orbits, distinct)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["kip-320", "kip-279"])
def test_records_are_committed_and_replicas_converge(variant: str) -> None:
    system = REPLICATION.system(variant, {"max_records": 1, "log_size": 1})
    verdict = explore(system.with_properties(["RecordsAreCommitted", "ReplicasConverge"]))
    assert verdict.verdict == "holds"
    assert [count.cut_off for count in verdict.liveness] == [0, 0]


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ("follower_fetches", "ReplicasConverge"),
        ("broker_becomes_follower_and_truncates", "RecordsAreCommitted"),
        ("leader_advances_hw", "RecordsAreCommitted"),
        ("broker_becomes_leader", "ReplicasConverge"),
    ],
)
def test_without_a_fair_rule_liveness_fails(missing: str, name: str) -> None:
    system = REPLICATION.system("kip-320", {"max_records": 1, "log_size": 1, "max_epoch": 0})
    kept = tuple(rule for rule in system.rules if rule.name != missing)
    verdict = explore(attrs.evolve(system.with_properties([name]), rules=kept))
    assert [violation.name for violation in verdict.violations] == [name]


@pytest.mark.slow
def test_the_first_try_fails_to_fence_with_one_more_epoch() -> None:
    (bounds,) = {
        tuple(v.bounds.items()) for v in REPLICATION.variant("kip-320-first-try").violates.values()
    }
    system = REPLICATION.system("kip-320-first-try", dict(bounds))
    verdict = run(system, Options("learned", keep_going=True))
    said = REPLICATION.variant("kip-320-first-try").violates
    assert {v.name: v.states for v in verdict.violations} == {n: v.states for n, v in said.items()}


def test_the_record_that_truncating_to_the_hw_loses_was_committed() -> None:
    """The follower held the committed record, and truncated it in a newer epoch."""
    trace = counterexample("truncate-to-hw")
    before, after = trace.states[-2], trace.states[-1]
    taken = trace.steps[-1]
    assert taken.rule == "broker_becomes_follower_and_truncates"
    follower = taken.choices["follower"]
    leader = taken.choices["request"].leader
    assert before.views[leader].hw == 1
    assert before.logs[follower].agrees_at(0, before.logs[leader])
    assert before.views[follower].hw == 0
    assert after.logs[follower].end == 0
    assert follower in after.quorum.isr
