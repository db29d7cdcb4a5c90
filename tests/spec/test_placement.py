"""The partition of a group, and of a record's key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kspec.spec.core import SpecError
from kspec.spec.java import INT_MIN, string_hash
from kspec.spec.placement import (
    PLACEMENT_RULES,
    coordinator,
    group_partition,
    java_abs,
    java_remainder,
    key_partition,
    murmur2,
)

CASES = json.loads((Path(__file__).parents[1] / "cases" / "placement_sample.json").read_text())


@pytest.mark.parametrize("case", CASES["group_partition"], ids=lambda case: case["id"][:20])
def test_group_partition_is_kafkas(case: dict[str, Any]) -> None:
    assert string_hash(case["id"]) == case["java_hash"]
    assert group_partition(case["id"], case["num_partitions"]) == case["expect"]


def test_common_formulas_differ_for_one_hash_only() -> None:
    told = {
        group: [rule(string_hash(group), 50) for rule in PLACEMENT_RULES.values()]
        for group in ("test-group", "my-group", "group1", "polygenelubricants")
    }
    assert told == {
        "test-group": [12, 12, 12],
        "my-group": [12, 12, 12],
        "group1": [40, 40, 40],
        "polygenelubricants": [0, 48, -48],
    }
    assert string_hash("polygenelubricants") == INT_MIN


@pytest.mark.parametrize(
    ("h", "n", "of_h", "left", "left_first", "abs_first"),
    [
        (-2147483648, 3, -2147483648, -2, 2, -2),
        (-2147483648, 50, -2147483648, -48, 48, -48),
        (-2147483648, 1073741824, -2147483648, 0, 0, 0),
        (-2147483648, 2147483647, -2147483648, -1, 1, -1),
        (-2147483647, 50, 2147483647, -47, 47, 47),
        (-2147483647, 2147483647, 2147483647, 0, 0, 0),
        (-51, 50, 51, -1, 1, 1),
        (-50, 50, 50, 0, 0, 0),
        (-1, 1, 1, 0, 0, 0),
        (-1, 2147483647, 1, -1, 1, 1),
        (0, 3, 0, 0, 0, 0),
        (49, 50, 49, 49, 49, 49),
        (2147483647, 3, 2147483647, 1, 1, 1),
    ],
)
def test_arithmetic_is_javas(
    h: int, n: int, of_h: int, left: int, left_first: int, abs_first: int
) -> None:
    """As a Java program printed Math.abs(h), h % n, Math.abs(h % n) and Math.abs(h) % n."""
    assert (java_abs(h), java_remainder(h, n)) == (of_h, left)
    assert PLACEMENT_RULES["Math.abs(hash % n)"](h, n) == left_first
    assert PLACEMENT_RULES["Math.abs(hash) % n"](h, n) == abs_first


def test_the_formulas_agree_next_to_the_smallest_hash() -> None:
    for h in (INT_MIN + 1, -51, -50, -1, 0, 1, 49, 50, -INT_MIN - 1):
        for n in (1, 2, 3, 50, 2**31 - 1):
            assert len({rule(h, n) for rule in PLACEMENT_RULES.values()}) == 1


def test_coordinator_is_the_leader_of_the_groups_partition() -> None:
    assert coordinator("test-group", {12: 3}) == 3
    assert coordinator("test-group", {13: 3}) is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("abc", 479470107),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    ],
)
def test_murmur2_gives_kafkas_vectors(key: str, expected: int) -> None:
    assert murmur2(key.encode()) == expected
    assert key_partition(key.encode(), 10) == (expected & 0x7FFFFFFF) % 10


def test_a_topic_without_partitions_is_reported_in_one_line() -> None:
    with pytest.raises(SpecError, match=r"^a topic has at least one partition, not 0$"):
        group_partition("g", 0)
    with pytest.raises(SpecError, match=r"^a topic has at least one partition, not -1$"):
        key_partition(b"k", -1)
