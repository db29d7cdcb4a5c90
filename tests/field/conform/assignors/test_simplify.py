"""Groups are simplified as far as they still show the disagreement."""

from __future__ import annotations

from hypothesis import given, settings

from kspec.field.conform.assignors.simplify import simpler, simplest, size
from kspec.field.groups.strategies import AssignorInput, groups
from kspec.spec.assignors import Member, TopicPartition, kafka_order


def test_irrelevant_elements_are_removed() -> None:
    members = {
        "ü": Member(["é", "日本"], [TopicPartition("日本", 3)], 2, "\uffee"),
        "BBBB": Member(["é", "topic-1"]),
        "AaAa": Member(["é"]),
    }
    group = AssignorInput({"é": 5, "日本": 4, "d": 1}, kafka_order(members))
    owns = simplest(group, lambda g: any(m.owned for m in g.members.values()))
    assert owns == AssignorInput({}, {"m1": Member([], [TopicPartition("a", 0)], 1)})
    static = simplest(group, lambda g: any(m.instance_id for m in g.members.values()))
    assert static == AssignorInput({}, {"m1": Member([], instance_id="i1")})
    assert simplest(group, lambda _: True) == AssignorInput({}, {})


def test_removing_a_partition_renumbers_the_later_ones() -> None:
    group = AssignorInput({"a": 5}, {"m1": Member(["a"], [TopicPartition("a", 4)], 1)})

    def owns_the_last(g: AssignorInput) -> bool:
        last = TopicPartition("a", g.partitions.get("a", 0) - 1)
        return any(last in m.owned and m.topics for m in g.members.values())

    assert simplest(group, owns_the_last) == AssignorInput(
        {"a": 1}, {"m1": Member(["a"], [TopicPartition("a", 0)], 1)}
    )


@given(groups())
@settings(max_examples=15)
def test_the_result_is_minimal_and_in_kafkas_order(group: AssignorInput) -> None:
    def still(g: AssignorInput) -> bool:
        return sum(count or 0 for count in g.partitions.values()) >= 2 and len(g.members) >= 1

    smallest = simplest(group, still)
    assert list(smallest.members) == list(kafka_order(smallest.members))
    assert size(smallest) <= size(group)
    if still(group):
        assert still(smallest)
        assert not any(size(g) < size(smallest) and still(g) for g in simpler(smallest))
