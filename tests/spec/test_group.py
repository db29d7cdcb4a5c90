"""The group: what the healthy variants keep, and what each fault that production saw breaks."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from checkers.explore import explore
from checkers.limits import Limits
from checkers.mutate import mutants, mutate
from spec.assignors import assign_range
from spec.group import GROUP
from spec.group.consuming import plan
from spec.group.cooperative import cooperative_plan
from spec.group.settling import GroupSettles
from spec.group.world import Owns
from spec.messages import NO_GENERATION
from spec.vocabulary import Member

NOTHING_FAILS = {"crashes": 0, "failovers": 0}

SIZES = [
    ("eager", {"consumers": 1}, 2_924, 44),
    ("eager", NOTHING_FAILS, 463, 43),
    ("eager", {"consumers": 1, "static": 1}, 1_235, 31),
    ("cooperative", NOTHING_FAILS, 1_090, 49),
]


@pytest.mark.parametrize(("variant", "bounds", "distinct", "depth"), SIZES)
def test_a_healthy_group_keeps_its_promises(
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


@pytest.mark.parametrize("variant", FAILING)
def test_a_fault_that_production_saw_breaks_what_its_history_names(variant: str) -> None:
    said = GROUP.variant(variant).violates
    bounds = bounds_of(said)
    asked = [p.name for p in (*GROUP.properties, GroupSettles)]
    system = GROUP.system(variant, bounds).with_properties(asked)
    verdict = explore(system, Limits(keep_going=True))
    broken = {v.name: v.states for v in verdict.violations}
    if "GroupSettles" in said:
        assert set(broken) == {"GroupSettles"}
    else:
        assert {n: s for n, s in broken.items() if n != "GroupSettles"} == {
            name: v.states for name, v in said.items()
        }


@pytest.mark.parametrize("variant", FAILING)
def test_the_mended_rule_keeps_it_in_the_same_bounds(variant: str) -> None:
    failing = GROUP.variant(variant)
    verdict = explore(
        GROUP.system(failing.parent, bounds_of(failing.violates)).with_properties(failing.violates)
    )
    assert verdict.verdict == "holds"


def bounds_of(said: Mapping[str, object]) -> dict[str, int]:
    """The bounds in which a variant shows what it violates: the same for all of it."""
    (bounds,) = {tuple(v.bounds.items()) for v in said.values()}  # type: ignore[attr-defined]
    return dict(bounds)


@pytest.mark.parametrize(
    "bounds",
    [
        pytest.param({"consumers": 1, "ids": 3, "generations": 5}, marks=pytest.mark.slow),
        {"consumers": 1, "losses": 1, "stalls": 1, "ids": 3, "generations": 5} | NOTHING_FAILS,
        NOTHING_FAILS,
        pytest.param({"failovers": 0, "ids": 1}, marks=pytest.mark.slow),
    ],
)
def test_a_group_settles_once_nothing_more_goes_wrong(bounds: dict[str, int]) -> None:
    system = GROUP.system("eager", bounds).with_properties(["GroupSettles"])
    assert explore(system).verdict == "holds"


@pytest.mark.parametrize("bounds", GROUP.mutation_bounds)
def test_its_states_are_built_as_they_should_be_where_mutants_are_looked_at(
    bounds: dict[str, int],
) -> None:
    assert explore(GROUP.system("eager", bounds).with_sanity()).verdict == "holds"


@pytest.mark.slow
def test_every_mutant_of_the_consumers_requests_is_caught_or_explained() -> None:
    rules = ("consumer_joins", "consumer_takes_join_answer", "coordinator_takes_sync")
    report = mutate(GROUP, GROUP.variant("eager"), GROUP.mutation_bounds, rules=rules, workers=2)
    assert report.having("survived") == []
    assert report.stale == []
    assert {o.rule for o in report.having("killed")} == set(rules)


@pytest.mark.slow
def test_every_mutant_of_what_cooperative_consumers_do_otherwise_is_caught_or_explained() -> None:
    cooperative, eager = GROUP.variant("cooperative"), GROUP.variant("eager")
    rules = {r.name for r in cooperative.rules if r not in eager.rules}
    report = mutate(GROUP, cooperative, GROUP.mutation_bounds, rules=rules, workers=2)
    assert report.having("survived") == []
    assert (report.stale, report.not_asked) == ([], [])
    assert {o.rule for o in report.having("killed")} == rules


def test_a_claim_that_the_coordinator_gets_wrong_is_noticed() -> None:
    bounds = NOTHING_FAILS | {"ids": 1, "generations": 2}
    system = GROUP.system("cooperative", bounds).with_sanity()
    wrong = [m for m in mutants(system) if "metadata.generation" in m.name]
    assert {m.rule for m in wrong} == {"coordinator_takes_rejoin"}
    for mutant in wrong:
        caught = explore(mutant.of(system)).violations
        assert [v.name for v in caught] == ["AClaimIsWhatIsOwned"], mutant.name


@pytest.mark.parametrize("partitions", range(1, 8))
@pytest.mark.parametrize("members", range(1, 5))
def test_the_leader_shares_out_as_the_range_assignor_does(members: int, partitions: int) -> None:
    ids = [f"{name}1" for name in "dbac"[:members]]
    given = dict(plan(tuple((i, None, ()) for i in ids), partitions))
    expected = assign_range({"topic": partitions}, {i: Member(topics=("topic",)) for i in ids})
    assert given == {i: tuple(p.partition for p in ps) for i, ps in expected.items()}


def subscriptions(**owned: Owns) -> tuple[tuple[str, None, Owns], ...]:
    """Members by id, with what they say they own."""
    return tuple((who, None, owns) for who, owns in owned.items())


NEW = Owns((), NO_GENERATION)


def test_a_partition_that_is_to_move_is_first_given_to_nobody() -> None:
    given = cooperative_plan(subscriptions(a=Owns((0, 1), 4), b=NEW), 2)
    assert dict(given) == {"a": (0,), "b": ()}


def test_a_partition_that_nobody_owns_is_given_at_once() -> None:
    given = cooperative_plan(subscriptions(a=Owns((0,), 5), b=NEW), 2)
    assert dict(given) == {"a": (0,), "b": (1,)}


def test_claims_of_an_older_generation_do_not_count() -> None:
    given = cooperative_plan(subscriptions(a=Owns((0, 1), 3), b=Owns((1,), 4)), 2)
    assert dict(given) == {"a": (0,), "b": (1,)}


def test_claims_of_one_generation_that_differ_do_not_count() -> None:
    given = cooperative_plan(subscriptions(a=Owns((0,), 4), b=Owns((0,), 4)), 2)
    assert sorted(p for _, partitions in given for p in partitions) == [0, 1]
