"""Groups are made as simple as they can be, and stay what they are."""

from __future__ import annotations

from hypothesis import given, settings

from checkers.conform.simplify import simpler, simplest, size
from checkers.strategies import Group, groups
from spec.assignors import Member, TopicPartition, kafka_order


def test_everything_that_does_not_matter_goes() -> None:
    members = {
        "ü": Member(["é", "日本"], [TopicPartition("日本", 3)], 2, "\uffee"),
        "BBBB": Member(["é", "topic-1"]),
        "AaAa": Member(["é"]),
    }
    group = Group({"é": 5, "日本": 4, "d": 1}, kafka_order(members))
    owns = simplest(group, lambda g: any(m.owned for m in g.members.values()))
    assert owns == Group({}, {"m1": Member([], [TopicPartition("a", 0)], 1)})
    static = simplest(group, lambda g: any(m.instance_id for m in g.members.values()))
    assert static == Group({}, {"m1": Member([], instance_id="i1")})
    assert simplest(group, lambda _: True) == Group({}, {})


def test_a_partition_that_goes_takes_its_number_with_it() -> None:
    group = Group({"a": 5}, {"m1": Member(["a"], [TopicPartition("a", 4)], 1)})

    def owns_the_last(g: Group) -> bool:
        last = TopicPartition("a", g.partitions.get("a", 0) - 1)
        return any(last in m.owned and m.topics for m in g.members.values())

    assert simplest(group, owns_the_last) == Group(
        {"a": 1}, {"m1": Member(["a"], [TopicPartition("a", 0)], 1)}
    )


@given(groups())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_nothing_more_can_go_and_members_stay_in_kafkas_order(group: Group) -> None:
    def still(g: Group) -> bool:
        return sum(count or 0 for count in g.partitions.values()) >= 2 and len(g.members) >= 1

    smallest = simplest(group, still)
    assert list(smallest.members) == list(kafka_order(smallest.members))
    assert size(smallest) <= size(group)
    if still(group):
        assert still(smallest)
        assert not any(size(g) < size(smallest) and still(g) for g in simpler(smallest))
