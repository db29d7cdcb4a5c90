"""The fast assignors agree with the specification, list order and exceptions included."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import attrs
import pytest
from hypothesis import given, settings

from kspec.field.groups.strategies import (
    AssignorInput,
    History,
    groups,
    histories,
    outcome,
)
from kspec.impl.assignors import ASSIGNORS as FAST
from kspec.spec.assignors import ASSIGNORS as BY_SPEC
from kspec.spec.assignors import Member, TopicPartition, kafka_order
from kspec.spec.assignors.properties import Round
from tests.spec.assignors.racks import on_racks

STRATEGIES = list(BY_SPEC)
RACK_AWARE = [strategy for strategy in STRATEGIES if strategy != "roundrobin"]


def both_agree(strategy: str, group: AssignorInput | Round) -> None:
    """Compare both assignments, with their order."""
    racks = group.racks
    expected = outcome(partial(BY_SPEC[strategy], racks=racks), group)
    got = outcome(partial(FAST[strategy], racks=racks), group)
    assert got == expected
    assert list(got) == list(expected)


def follow(strategy: str, history: History) -> None:
    """Play a history by the specification, and compare both in every round."""
    for step in history.play(BY_SPEC[strategy]):
        both_agree(strategy, step if isinstance(step, Round) else step.asked)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@given(group=groups())
@settings(max_examples=40)
def test_same_for_any_group(strategy: str, group: AssignorInput) -> None:
    both_agree(strategy, group)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", RACK_AWARE)
@given(group=groups().flatmap(on_racks))
@settings(max_examples=40)
def test_same_for_any_group_on_racks(strategy: str, group: AssignorInput) -> None:
    both_agree(strategy, group)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", RACK_AWARE)
@given(group=groups().flatmap(on_racks))
@settings(max_examples=300)
def test_same_for_many_groups_on_racks(strategy: str, group: AssignorInput) -> None:
    both_agree(strategy, group)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(history=histories())
@settings(max_examples=60)
def test_same_over_histories(strategy: str, history: History) -> None:
    follow(strategy, history)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
@given(history=histories(max_rounds=10))
@settings(max_examples=200)
def test_same_over_many_histories(strategy: str, history: History) -> None:
    follow(strategy, history)


def random_group(seed: int) -> AssignorInput:
    """A group with about forty topics and members, and mostly consistent claims."""
    r = random.Random(seed)
    partitions = {f"t{number}": r.randint(1, 30) for number in range(r.randint(2, 40))}
    names = [f"m{r.randrange(10**6)}" for _ in range(r.randint(2, 40))]
    topics = {name: r.sample(list(partitions), r.randint(1, len(partitions))) for name in names}
    owned: dict[str, list[TopicPartition]] = {name: [] for name in names}
    for topic, size in partitions.items():
        for index in range(size):
            if r.random() < 0.8:
                owned[r.choice(names)].append(TopicPartition(topic, index))
    since = {name: r.choice([3, 3, 3, 2, None]) for name in names}
    return AssignorInput(
        partitions, kafka_order({n: Member(topics[n], owned[n], since[n]) for n in names})
    )


def random_group_on_racks(seed: int) -> AssignorInput:
    """The same on four racks, with two replicas of each partition."""
    r = random.Random(seed)
    group = random_group(seed)
    names = ["r1", "r2", "r3", "r4"]
    alike = r.random() < 0.5
    topics = tuple(group.partitions)
    members = {
        name: attrs.evolve(
            told, rack=r.choice([*names, None]), topics=topics if alike else told.topics
        )
        for name, told in group.members.items()
    }
    racks = {t: [r.sample(names, 2) for _ in range(n)] for t, n in group.partitions.items()}
    return AssignorInput(group.partitions, members, racks)


@pytest.mark.parametrize("strategy", RACK_AWARE)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_same_for_larger_groups_on_racks(strategy: str, seed: int) -> None:
    both_agree(strategy, random_group_on_racks(seed))


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("seed", [1, 2])
def test_same_for_larger_groups_with_many_moves(strategy: str, seed: int) -> None:
    both_agree(strategy, random_group(seed))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("seed", range(3, 20))
def test_same_for_more_larger_groups(strategy: str, seed: int) -> None:
    both_agree(strategy, random_group(seed))


def test_a_topic_that_shrinks_or_grows_is_not_cached() -> None:
    members = {"m": Member(["t"])}
    for before, after in pairwise([3, 5, 2, 0, 1]):
        for size in (before, after):
            assignment = FAST["sticky"]({"t": size}, members)
            assert [tp.partition for tp in assignment["m"]] == list(range(size))
