"""The model `group`: healthy variants keep its properties, and each fault breaks its own."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutants, mutate
from kspec.spec.group.assignment import cooperative_assignment, range_assignment
from kspec.spec.group.properties import GroupSettles
from kspec.spec.group.state import Owns
from kspec.spec.group.variants import assignment_by_all_claims
from kspec.spec.messages import NO_GENERATION
from tests.known import explore_learned as explore

GROUP = find_model("group")

WITHOUT_FAULTS = {"crashes": 0, "failovers": 0}

SIZES = [
    ("eager", {"consumers": 1}, 2_924, 44),
    ("eager", WITHOUT_FAULTS, 463, 43),
    ("eager", {"consumers": 1, "static": 1}, 1_235, 31),
    ("cooperative", WITHOUT_FAULTS, 1_090, 49),
    ("scala", {"consumers": 1}, 2_948, 44),
    ("scala", {"consumers": 1, "static": 1, "early": 1, "crashes": 0}, 1_651, 34),
]


@pytest.mark.parametrize(("variant", "bounds", "distinct", "depth"), SIZES)
def test_a_healthy_variant_holds_with_the_pinned_counts(
    variant: str, bounds: dict[str, int], distinct: int, depth: int
) -> None:
    verdict = explore(GROUP.system(variant, bounds))
    assert (verdict.verdict, verdict.distinct, verdict.depth) == ("holds", distinct, depth)


SLOW_TO_FIND = ("no-generation-check", "before-kafka-12890", "before-kafka-12984")
FAILING = [
    pytest.param(v.name, marks=[pytest.mark.slow] if v.name in SLOW_TO_FIND else [])
    for v in GROUP.variants
    if v.violates
]


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAILING)
def test_each_fault_violates_its_named_property(variant: str) -> None:
    expected = GROUP.variant(variant).violates
    bounds = bounds_of(expected)
    asked = {p.name for p in GROUP.properties} - {"GroupSettles"} | expected.keys()
    system = GROUP.system(variant, bounds).with_properties(sorted(asked))
    verdict = explore(system, Options(keep_going=True))
    broken = {v.name: v.states for v in verdict.violations}
    if "GroupSettles" in expected:
        assert set(broken) == {"GroupSettles"}
    else:
        assert broken == {name: v.states for name, v in expected.items()}


@pytest.mark.parametrize("variant", FAILING)
def test_the_repaired_rule_holds_in_the_same_bounds(variant: str) -> None:
    failing = GROUP.variant(variant)
    verdict = explore(
        GROUP.system(failing.parent, bounds_of(failing.violates)).with_properties(failing.violates)
    )
    assert verdict.violations == []
    # In so small bounds a group may run out of ids before it settles, which decides nothing.
    assert verdict.verdict == ("inconclusive" if "GroupSettles" in failing.violates else "holds")


def bounds_of(expected: Mapping[str, object]) -> dict[str, int]:
    """The bounds in which a variant violates its properties, the same for all."""
    (bounds,) = {tuple(v.bounds.items()) for v in expected.values()}  # type: ignore[attr-defined]
    return dict(bounds)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["eager", "cooperative", "scala"])
@pytest.mark.parametrize(
    "bounds",
    [
        {"consumers": 1, "failovers": 0, "ids": 4, "generations": 7},
        {"consumers": 1, "crashes": 0, "ids": 3, "generations": 4},
        {"consumers": 1, "losses": 1, "stalls": 1, "ids": 3, "generations": 5} | WITHOUT_FAULTS,
    ],
)
def test_a_group_settles_once_no_more_faults_occur(bounds: dict[str, int], variant: str) -> None:
    system = GROUP.system(variant, bounds).with_properties(["GroupSettles"])
    verdict = explore(system)
    assert verdict.verdict == "holds"
    assert [count.cut_off for count in verdict.liveness] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["eager", "scala"])
def test_two_eager_consumers_settle(variant: str) -> None:
    system = GROUP.system(variant, WITHOUT_FAULTS).with_properties(["GroupSettles"])
    assert explore(system).verdict == "holds"


@pytest.mark.slow
@pytest.mark.parametrize("generations", [3, 5])
def test_whether_two_cooperative_consumers_settle_is_undecided(generations: int) -> None:
    """A heartbeat error of the last rebalance can begin the next one, in every generation."""
    bounds = {**WITHOUT_FAULTS, "generations": generations}
    verdict = explore(GROUP.system("cooperative", bounds).with_properties(["GroupSettles"]))
    assert (verdict.verdict, verdict.violations) == ("inconclusive", [])


@pytest.mark.slow
def test_exhausted_bounds_do_not_count_as_settled() -> None:
    system = GROUP.system("eager", {"consumers": 1}).with_properties(["GroupSettles"])
    verdict = explore(system)
    assert (verdict.verdict, verdict.violations) == ("inconclusive", [])
    assert verdict.liveness[0].cut_off == 21


def test_group_settles_is_checked_by_default_where_the_bounds_can_decide_it() -> None:
    def asked(**bounds: int) -> bool:
        return GroupSettles in GROUP.system("eager", bounds).properties

    assert asked(consumers=1, **WITHOUT_FAULTS)
    assert asked(generations=4, **WITHOUT_FAULTS)
    assert asked(consumers=1, failovers=0, ids=4, generations=7)
    assert not asked(consumers=1)
    assert GroupSettles in GROUP.system("eager").with_all_properties().properties


@pytest.mark.parametrize("variant", ["eager", pytest.param("scala", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "bounds",
    [
        GROUP.baseline.bounds[0],
        *(pytest.param(b, marks=pytest.mark.slow) for b in GROUP.baseline.bounds[1:]),
    ],
)
def test_consistency_invariants_hold_in_the_bounds_of_mutation(
    bounds: dict[str, int], variant: str
) -> None:
    assert explore(GROUP.system(variant, bounds).with_all_properties()).verdict == "holds"


@pytest.mark.slow
def test_every_mutant_of_the_consumers_requests_is_killed_or_equivalent() -> None:
    rules = ("consumer_joins", "consumer_receives_generation", "coordinator_accepts_sync")
    report = mutate(GROUP, GROUP.variant("eager"), GROUP.baseline.bounds, rules=rules, workers=2)
    assert report.having("survived") == []
    assert report.stale == []
    assert {o.rule for o in report.having("killed")} == set(rules)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eager", "cooperative"])
def test_every_mutant_of_heartbeat_errors_is_killed_or_equivalent(name: str) -> None:
    rules = (
        "consumer_learns_of_rebalance",
        "consumer_loses_coordinator",
        "consumer_discards_stale_error",
        "consumer_receives_heartbeat_error",
    )
    report = mutate(GROUP, GROUP.variant(name), GROUP.baseline.bounds, rules=rules, workers=2)
    assert report.having("survived") == []
    assert report.stale == []
    assert {o.rule for o in report.having("killed")} == set(rules)


@pytest.mark.slow
def test_every_mutant_of_the_cooperative_rules_is_killed_or_equivalent() -> None:
    cooperative, eager = GROUP.variant("cooperative"), GROUP.variant("eager")
    rules = {r.name for r in cooperative.rules if r not in eager.rules}
    report = mutate(GROUP, cooperative, GROUP.baseline.bounds, rules=rules, workers=2)
    assert report.having("survived") == []
    assert (report.stale, report.not_asked) == ([], [])
    assert {o.rule for o in report.having("killed")} == rules


@pytest.mark.slow
def test_a_wrong_claim_is_detected() -> None:
    bounds = WITHOUT_FAULTS | {"ids": 1, "generations": 2}
    system = GROUP.system("cooperative", bounds).with_all_properties()
    wrong = [m for m in mutants(system) if "metadata.generation" in m.name]
    assert {m.rule for m in wrong} == {"coordinator_accepts_rejoin"}
    for mutant in wrong:
        caught = explore(mutant.of(system)).violations
        assert [v.name for v in caught] == ["ClaimMatchesOwnedPartitions"], mutant.name


def test_an_eager_leader_assigns_contiguous_runs_and_static_members_first() -> None:
    members = (("b1", None, ()), ("a1", None, ()), ("c1", "c-static", ()))
    assert dict(range_assignment(members, 7)) == {"c1": (0, 1, 2), "a1": (3, 4), "b1": (5, 6)}


def subscriptions(**owned: Owns) -> tuple[tuple[str, None, Owns], ...]:
    """Members by id, with their claims."""
    return tuple((who, None, owns) for who, owns in owned.items())


NEW = Owns((), NO_GENERATION)


def test_a_partition_that_moves_is_first_withheld() -> None:
    given = cooperative_assignment(subscriptions(a=Owns((0, 1), 4), b=NEW), 2)
    assert dict(given) == {"a": (0,), "b": ()}


def test_an_unowned_partition_is_assigned_at_once() -> None:
    given = cooperative_assignment(subscriptions(a=Owns((0,), 5), b=NEW), 2)
    assert dict(given) == {"a": (0,), "b": (1,)}


def test_claims_of_an_older_generation_do_not_count() -> None:
    given = cooperative_assignment(subscriptions(a=Owns((0, 1), 3), b=Owns((1,), 4)), 2)
    assert dict(given) == {"a": (0,), "b": (1,)}


def test_a_partition_claimed_twice_in_one_generation_is_withheld() -> None:
    given = cooperative_assignment(subscriptions(a=Owns((0,), 4), b=Owns((0,), 4)), 2)
    assert sorted(partition for _, partitions in given for partition in partitions) == [1]


def test_before_kafka_12984_a_stale_claim_counts_as_much_as_a_current_one() -> None:
    stale = subscriptions(a=Owns((0, 1), 3), b=Owns((1,), 4))
    assert dict(cooperative_assignment(stale, 2)) == {"a": (0,), "b": (1,)}
    both = subscriptions(a=Owns((0,), 3), b=Owns((0,), 4))
    assert dict(assignment_by_all_claims(both, 2)) == {"a": (0,), "b": (0,)}
