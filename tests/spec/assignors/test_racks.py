"""Racks: recorded assignments of Kafka's own assignors, and small examples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kspec.impl import assignors as fast_assignors
from kspec.spec import assignors as spec_assignors
from kspec.spec.assignors import ASSIGNORS, GUARANTEES, InvalidGroup, Member, TopicPartition
from kspec.spec.assignors.properties import Round, failure

FILE = Path(__file__).parents[2] / "cases" / "assignors_racks.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]


def members_of(case: dict[str, Any]) -> dict[str, Member]:
    """The members of a recorded call."""
    return {
        name: Member(
            told["topics"],
            told.get("owned", ()),
            told.get("generation"),
            told.get("instance_id"),
            rack=told.get("rack"),
        )
        for name, told in case["members"].items()
    }


@pytest.mark.parametrize("assignors", [spec_assignors, fast_assignors], ids=["spec", "impl"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['assignor']}: {case['id']}")
def test_result_is_kafkas_own_list_order_included(case: dict[str, Any], assignors: Any) -> None:
    assign = assignors.ASSIGNORS[case["assignor"]]
    assignment = assign(case["partitions"], members_of(case), racks=case["racks"])
    got = {member: [list(tp) for tp in assigned] for member, assigned in assignment.items()}
    assert got == case["result"]


FROM_SCRATCH = [case for case in CASES if not case["id"].startswith("random")]


@pytest.mark.parametrize("case", FROM_SCRATCH, ids=lambda c: f"{c['assignor']}: {c['id']}")
def test_kafkas_assignments_satisfy_every_guarantee(case: dict[str, Any]) -> None:
    members = members_of(case)
    assignment = ASSIGNORS[case["assignor"]](case["partitions"], members, racks=case["racks"])
    of = Round(case["partitions"], members, assignment, case["racks"])
    broken = {holds.__name__: failure(holds, of) for holds in GUARANTEES[case["assignor"]]}
    assert not any(broken.values()), broken


def given(strategy: str, members: dict[str, Member], **racks: list[list[str]]) -> dict[str, str]:
    """The members' partitions, written as `t0 t2`, of topics with these racks."""
    sizes = {topic: len(of) for topic, of in racks.items()}
    assignment = ASSIGNORS[strategy](sizes, members, racks=racks)
    return {name: " ".join(f"{t}{i}" for t, i in got) for name, got in assignment.items()}


def standing(**racks: str | None) -> dict[str, Member]:
    """Members that all subscribe to t and u, on these racks."""
    return {name: Member(["t", "u"], rack=rack) for name, rack in racks.items()}


def test_range_and_sticky_prefer_members_on_the_same_rack_and_round_robin_does_not() -> None:
    members = standing(m="west", n="east")
    racks = [["east"], ["east"], ["west"], ["west"]]
    assert given("range", members, t=racks) == {"m": "t2 t3", "n": "t0 t1"}
    assert given("sticky", members, t=racks) == {"m": "t2 t3", "n": "t0 t1"}
    assert given("roundrobin", members, t=racks) == {"m": "t0 t2", "n": "t1 t3"}


def test_range_prefers_co_partitioning_to_racks() -> None:
    members = standing(m="west", n="east")
    one, other = [["east"], ["west"]], [["west"], ["east"]]
    assert given("range", members, t=one, u=other) == {"m": "t0 u0", "n": "t1 u1"}
    assert given("range", members, t=one, u=one) == {"m": "t1 u1", "n": "t0 u0"}


@pytest.mark.parametrize("strategy", ["range", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize(
    ("racks", "near"),
    [
        ([["east", "west"], ["east", "west"]], {"m": "west", "n": "east"}),
        ([["east"], ["west"]], {"m": "north", "n": "south"}),
        ([["east"], ["west"]], {"m": "", "n": None}),
        ([[], []], {"m": "west", "n": "east"}),
    ],
    ids=["replicas everywhere", "members elsewhere", "members on no rack", "replicas on no rack"],
)
def test_racks_are_irrelevant_where_all_partitions_are_on_the_same_racks(
    strategy: str, racks: list[list[str]], near: dict[str, str | None]
) -> None:
    assert given(strategy, standing(**near), t=racks) == {"m": "t0", "n": "t1"}


def test_a_sticky_member_gives_up_partitions_off_its_rack_and_a_cooperative_one_in_two_rounds() -> (
    None
):
    members = {
        "m": Member(["t"], [TopicPartition("t", 0)], 1, rack="west"),
        "n": Member(["t"], [TopicPartition("t", 1)], 1, rack="east"),
    }
    racks = [["east"], ["west"]]
    assert given("sticky", members, t=racks) == {"m": "t1", "n": "t0"}
    assert given("cooperative-sticky", members, t=racks) == {"m": "", "n": ""}


@pytest.mark.parametrize("assignors", [spec_assignors, fast_assignors], ids=["spec", "impl"])
@pytest.mark.parametrize(
    ("racks", "line"),
    [
        ({"t": [["a"]]}, "topic 't' has 2 partitions, and racks are given of 1"),
        ({"t": ["ab", "b"]}, "the racks of a partition are a list of names, not 'ab'"),
    ],
)
def test_malformed_racks_are_reported_in_one_line(assignors: Any, racks: Any, line: str) -> None:
    for strategy in ("range", "sticky", "cooperative-sticky"):
        with pytest.raises(InvalidGroup, match=f"^{line}$"):
            assignors.ASSIGNORS[strategy]({"t": 2}, {"m": Member(["t"], rack="a")}, racks=racks)


def test_racks_of_other_topics_are_ignored() -> None:
    members = {"m": Member(["t"], rack="a")}
    for strategy in ASSIGNORS:
        got = ASSIGNORS[strategy]({"t": 1, "gone": None}, members, racks={"gone": [["a"]]})
        assert got == {"m": (TopicPartition("t", 0),)}
