"""Recorded assignments of Kafka's own assignors: from its unit tests, and on random groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kspec.spec.assignors import ASSIGNORS, GUARANTEES, Member, kafka_order
from kspec.spec.assignors.properties import Round, failure

CASES = json.loads((Path(__file__).parents[2] / "cases" / "assignors_sample.json").read_text())


def members_of(case: dict[str, Any]) -> dict[str, Member]:
    """The members of a recorded call."""
    return {
        name: Member(
            told["topics"],
            told["owned"],
            told["generation"],
            told["instance_id"],
            subscription_generation=told.get("sub_generation", told["generation"]),
        )
        for name, told in case["members"].items()
    }


def recorded() -> Iterator[Any]:
    """Every case, with Kafka's result."""
    for case in CASES["unit"]:
        yield pytest.param(case, case["expect"]["exact"], id=case["id"])
    for number, case in enumerate(CASES["random"]):
        yield pytest.param(case, case["result"], id=f"random-{number}-{case['assignor']}")


@pytest.mark.parametrize(("case", "result"), list(recorded()))
def test_result_is_kafkas_own_list_order_included(case: dict[str, Any], result: Any) -> None:
    assignment = ASSIGNORS[case["assignor"]](case["partitions"], members_of(case))
    assert {m: [list(tp) for tp in assigned] for m, assigned in assignment.items()} == result


@pytest.mark.parametrize("case", CASES["unit"], ids=lambda case: case["id"])
def test_the_assignments_of_kafkas_unit_tests_satisfy_every_guarantee(case: dict[str, Any]) -> None:
    members = members_of(case)
    assignment = ASSIGNORS[case["assignor"]](case["partitions"], members)
    of = Round(case["partitions"], members, assignment)
    broken = {holds.__name__: failure(holds, of) for holds in GUARANTEES[case["assignor"]]}
    assert not any(broken.values()), broken


@pytest.mark.parametrize("case", [*CASES["unit"], *CASES["random"]])
def test_kafka_order_is_that_of_the_hash_map(case: dict[str, Any]) -> None:
    recorded_order = case.get("java_member_order") or case["order_subscriptions"]
    assert list(kafka_order(members_of(case))) == recorded_order
