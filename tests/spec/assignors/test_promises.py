"""What the strategies promise holds on what they answer, and is noticed where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest
from hypothesis import Phase, find, given, settings

from checkers.strategies import Group, groups, on_racks
from spec.assignors import ASSIGNORS, PROMISES, Assignment, Member
from spec.assignors.common import Assignor
from spec.assignors.cooperative import rounds
from spec.assignors.properties import VALID, Property, Round, failure
from spec.assignors.roundrobin import assign_ignoring_subscriptions

DERANDOMIZED = settings(max_examples=100, deadline=None, derandomize=True)


def answered(strategy: str, group: Group) -> Round:
    """A round that the specification answers."""
    assignment = ASSIGNORS[strategy](group.partitions, group.members, racks=group.racks)
    return Round(group.partitions, group.members, assignment, group.racks)


def keeps_all_promises(strategy: str, of: Round) -> None:
    """Every promise of the strategy holds."""
    broken = {holds.__name__: failure(holds, of) for holds in PROMISES[strategy]}
    assert not any(broken.values()), broken


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
@given(group=groups() | groups().flatmap(on_racks))
@DERANDOMIZED
def test_range_and_round_robin_keep_their_promises_whatever_members_say(
    strategy: str, group: Group
) -> None:
    keeps_all_promises(strategy, answered(strategy, group))


PLAIN = groups(plain=True) | groups(plain=True).flatmap(on_racks)


def all_subscribe(group: Group) -> bool:
    """Whether everybody subscribes to something: sticky may give to who does not, see its quirk."""
    return all(member.topics for member in group.members.values())


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
@given(group=PLAIN.filter(all_subscribe))
@DERANDOMIZED
def test_sticky_keeps_its_promises_where_claims_fit_together(strategy: str, group: Group) -> None:
    keeps_all_promises(strategy, answered(strategy, group))


@given(group=groups(plain=True).filter(all_subscribe))
@DERANDOMIZED
def test_cooperative_rounds_end_after_three_with_everything_assigned(group: Group) -> None:
    history = rounds(ASSIGNORS["cooperative-sticky"], group.partitions, group.members, limit=4)
    assert len(history) <= 3
    for holds in VALID:
        assert failure(holds, history[-1]) is None


@given(group=groups(plain=True).filter(all_subscribe).flatmap(on_racks))
@DERANDOMIZED
def test_cooperative_rounds_end_where_racks_matter_too(group: Group) -> None:
    assign = partial(ASSIGNORS["cooperative-sticky"], racks=group.racks)
    history = rounds(assign, group.partitions, group.members, 10, group.racks)
    assert len(history) < 10
    for holds in VALID:
        assert failure(holds, history[-1]) is None


# -- who breaks a promise is noticed -------------------------------------------------------------


def giving_everything_to_all(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """Everybody gets what it subscribes to, as if each were alone in the group."""
    return {
        name: ASSIGNORS["range"](partitions, {name: member})[name]
        for name, member in members.items()
    }


def answering_only_who_gets_something(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """Members that get nothing are left out, as an assignor that starts from partitions does."""
    return {name: got for name, got in ASSIGNORS["range"](partitions, members).items() if got}


def counting_partitions_from_one(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """The first partition of each topic is forgotten."""
    assignment = ASSIGNORS["range"](partitions, members)
    return {name: tuple(tp for tp in got if tp.partition) for name, got in assignment.items()}


def giving_nothing_new(
    partitions: Mapping[str, int | None], members: Mapping[str, Member]
) -> Assignment:
    """What is new to a member is withheld from it, although nobody else has it."""
    assignment = ASSIGNORS["sticky"](partitions, members)
    return {
        name: tuple(tp for tp in got if tp in members[name].owned)
        for name, got in assignment.items()
    }


BREAKS: Mapping[str, Assignor] = {
    "members_are_answered": answering_only_who_gets_something,
    "only_subscribers_get_partitions": assign_ignoring_subscriptions,
    "nobody_shares_a_partition": giving_everything_to_all,
    "every_partition_is_assigned": counting_partitions_from_one,
    "partitions_of_a_topic_are_one_run": ASSIGNORS["roundrobin"],
    "runs_are_even": ASSIGNORS["sticky"],
    "topics_alike_stay_together": ASSIGNORS["roundrobin"],
    "topics_are_shared_out_near": ASSIGNORS["roundrobin"],
    "loads_are_even": ASSIGNORS["range"],
    "no_single_move_helps": ASSIGNORS["roundrobin"],
    "keeps_what_fits": ASSIGNORS["roundrobin"],
    "nothing_is_swapped": ASSIGNORS["roundrobin"],
    "is_shared_out_near": ASSIGNORS["range"],
    "nothing_is_both_given_and_revoked": ASSIGNORS["sticky"],
    "only_what_changes_hands_is_withheld": giving_nothing_new,
}
"""For each promise, an assignor that does not keep it; some are right, but promise other things."""

ANY = settings(
    max_examples=2_000, phases=[Phase.generate], deadline=None, derandomize=True, database=None
)
"""The first group that shows it will do; to make it small would take long."""

ALL_PROMISES: Mapping[str, Property] = {
    holds.__name__: holds for promises in PROMISES.values() for holds in promises
}


def test_every_promise_has_somebody_who_breaks_it() -> None:
    assert set(BREAKS) == set(ALL_PROMISES)


@pytest.mark.parametrize("name", ALL_PROMISES)
def test_who_breaks_a_promise_is_noticed(name: str) -> None:
    holds, breaks = ALL_PROMISES[name], BREAKS[name]

    def is_noticed(group: Group) -> bool:
        of = Round(
            group.partitions, group.members, breaks(group.partitions, group.members), group.racks
        )
        return failure(holds, of) is not None

    assert find(PLAIN, is_noticed, settings=ANY)
