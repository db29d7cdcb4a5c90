"""The guarantees of the assignors hold for their results, and fail for faulty assignors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import Phase, find, given, settings

from kspec.field.groups.strategies import AssignorInput, groups
from kspec.spec.assignors import ASSIGNORS, GUARANTEES, Assignment, Member
from kspec.spec.assignors.common import Assignor
from kspec.spec.assignors.cooperative import rounds
from kspec.spec.assignors.properties import VALID, Property, Round, failure
from tests.spec.assignors.faulty import assign_ignoring_subscriptions
from tests.spec.assignors.racks import on_racks

DERANDOMIZED = settings(max_examples=50)


def answered(strategy: str, group: AssignorInput) -> Round:
    """A round with the specification's assignment."""
    assignment = ASSIGNORS[strategy](group.partitions, group.members, racks=group.racks)
    return Round(group.partitions, group.members, assignment, group.racks)


def satisfies_all_guarantees(strategy: str, of: Round) -> None:
    """Every guarantee of the strategy holds."""
    broken = {holds.__name__: failure(holds, of) for holds in GUARANTEES[strategy]}
    assert not any(broken.values()), broken


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
@given(group=groups() | groups().flatmap(on_racks))
@DERANDOMIZED
def test_the_guarantees_of_range_and_round_robin_hold_for_any_claims(
    strategy: str, group: AssignorInput
) -> None:
    satisfies_all_guarantees(strategy, answered(strategy, group))


PLAIN = groups(plain=True) | groups(plain=True).flatmap(on_racks)


def all_subscribe(group: AssignorInput) -> bool:
    """Whether every member has topics: sticky has a quirk with members that have none."""
    return all(member.topics for member in group.members.values())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
@given(group=PLAIN.filter(all_subscribe))
@DERANDOMIZED
def test_the_guarantees_of_sticky_hold_for_consistent_claims(
    strategy: str, group: AssignorInput
) -> None:
    satisfies_all_guarantees(strategy, answered(strategy, group))


@given(group=groups(plain=True).filter(all_subscribe))
@DERANDOMIZED
def test_cooperative_rounds_settle_within_three_with_everything_assigned(
    group: AssignorInput,
) -> None:
    history = rounds(ASSIGNORS["cooperative-sticky"], group.partitions, group.members, limit=4)
    assert len(history) <= 3
    for holds in VALID:
        assert failure(holds, history[-1]) is None


@pytest.mark.slow
@given(group=groups(plain=True).filter(all_subscribe).flatmap(on_racks))
@DERANDOMIZED
def test_cooperative_rounds_settle_where_racks_are_relevant(group: AssignorInput) -> None:
    assign = partial(ASSIGNORS["cooperative-sticky"], racks=group.racks)
    history = rounds(assign, group.partitions, group.members, 10, group.racks)
    assert len(history) < 10
    for holds in VALID:
        assert failure(holds, history[-1]) is None


# -- faulty assignors are detected ---------------------------------------------------------------


def giving_everything_to_all(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """Every member gets every partition that it subscribes to."""
    return {
        name: ASSIGNORS["range"](partitions, {name: member})[name]
        for name, member in members.items()
    }


def answering_only_who_gets_something(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """Members without partitions are missing from the result."""
    return {name: got for name, got in ASSIGNORS["range"](partitions, members).items() if got}


def counting_partitions_from_one(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """The first partition of each topic is not assigned."""
    assignment = ASSIGNORS["range"](partitions, members)
    return {name: tuple(tp for tp in got if tp.partition) for name, got in assignment.items()}


def giving_nothing_new(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """Partitions new to a member are withheld, although no other member owns them."""
    assignment = ASSIGNORS["sticky"](partitions, members)
    return {
        name: tuple(tp for tp in got if tp in members[name].owned)
        for name, got in assignment.items()
    }


BREAKS: Mapping[str, Assignor] = {
    "every_member_has_an_assignment": answering_only_who_gets_something,
    "only_subscribers_own_partitions": assign_ignoring_subscriptions,
    "one_owner_per_partition": giving_everything_to_all,
    "every_partition_is_assigned": counting_partitions_from_one,
    "ranges_are_contiguous": ASSIGNORS["roundrobin"],
    "ranges_are_even": ASSIGNORS["sticky"],
    "copartitioned_topics_have_equal_ranges": ASSIGNORS["roundrobin"],
    "no_swap_within_a_topic_improves_racks": ASSIGNORS["roundrobin"],
    "loads_are_even": ASSIGNORS["range"],
    "no_single_move_improves_balance": ASSIGNORS["roundrobin"],
    "owned_partitions_stay_within_quota": ASSIGNORS["roundrobin"],
    "no_partitions_are_swapped": ASSIGNORS["roundrobin"],
    "no_swap_improves_racks": ASSIGNORS["range"],
    "no_partition_assigned_while_owned": ASSIGNORS["sticky"],
    "only_transferred_partitions_are_withheld": giving_nothing_new,
}
"""For each guarantee, an assignor that violates it; some are correct, with other guarantees."""

ANY = settings(max_examples=2_000, phases=[Phase.generate])
"""The first group that shows a violation is enough; shrinking it would take long."""

ALL_GUARANTEES: Mapping[str, Property] = {
    holds.__name__: holds for guarantees in GUARANTEES.values() for holds in guarantees
}


def test_every_guarantee_has_an_assignor_that_violates_it() -> None:
    assert set(BREAKS) == set(ALL_GUARANTEES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_GUARANTEES)
def test_a_violated_guarantee_is_detected(name: str) -> None:
    holds, breaks = ALL_GUARANTEES[name], BREAKS[name]

    def is_noticed(group: AssignorInput) -> bool:
        of = Round(
            group.partitions, group.members, breaks(group.partitions, group.members), group.racks
        )
        return failure(holds, of) is not None

    assert find(PLAIN, is_noticed, settings=ANY)
