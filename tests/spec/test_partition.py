"""The model of a partition: counts, and what each version and each fault violates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.spec.core import Violated
from kspec.spec.partition import versions
from tests.known import explore_learned as explore

PARTITION = find_model("partition")

COUNTS = {
    # variant: distinct states and depth at the default bounds
    "kafka-0.10": (7_465, 19),
    "kafka-0.11": (7_454, 19),
    "kafka-2.0": (7_454, 19),
    "kafka-2.1": (6_521, 19),
    "kafka-2.7": (17_892, 27),
    "kafka-3.9": (10_726, 26),
    "kafka-4.1": (10_745, 21),
}

EXPECTED = [
    (variant.name, name, expected)
    for variant in PARTITION.variants
    for name, expected in variant.violates.items()
]

SMALL = (
    versions.CUT_OFF,
    versions.TWO_BROKERS,
    versions.THREE_RECORDS,
    versions.THREE_MOVES,
    versions.ONE_IN_SYNC,
    {"brokers": 2},
)
"""Bounds of which a violation is found in a moment."""


def is_quick(variant: str, name: str, expected: Violated) -> bool:
    """Whether the fast suite has the violation: a loss of a release, in small bounds."""
    is_loss = name == "AcknowledgedRecordsKept"
    return is_loss and not variant.startswith("before-") and expected.bounds in SMALL


FAULTS = [
    # fault, the version that repaired it, the bounds that show it, and the property
    ("kafka-0.10", "kafka-0.11", versions.TWO_BROKERS, "CountedRecordsAgree"),
    # KIP-279 (2.0) is not enough: up to 2.0.0, a follower does not know where an epoch ended that
    # is older than its first (KAFKA-7415).
    ("kafka-0.11", "kafka-2.1", versions.THREE_RECORDS, "CountedRecordsAgree"),
    ("kafka-2.0", "kafka-2.1", versions.THREE_RECORDS, "CountedRecordsAgree"),
    ("kafka-2.0", "kafka-2.1", versions.MOVE, "AcknowledgedRecordsKept"),
    ("before-kip-279", "kafka-2.1", versions.TWO_BROKERS, "CountedRecordsAgree"),
    ("before-kafka-7128", "kafka-2.1", versions.MOVE, "AcknowledgedRecordsKept"),
    ("before-kafka-10706", "kafka-2.1", versions.THREE_MOVES, "FollowersCatchUp"),
    ("kafka-2.1", "kafka-2.7", {}, "ListedEndNeverGoesBack"),
    ("before-kafka-13141", "kafka-2.7", versions.TWO_BROKERS, "AcknowledgedRecordsKept"),
    ("before-kafka-14704", "kafka-2.7", versions.TWO_BROKERS, "LogsAgreeBelowHw"),
    ("before-kafka-13091", "kafka-2.7", {}, "HwKeepsUpWithIsr"),
    ("kafka-2.7", "kafka-3.9", {}, "FencedBrokerNotInIsr"),
    (
        "kafka-3.9",
        "kafka-4.1",
        {"crashes": 0, "power_losses": 1},
        "AcknowledgedRecordsKept",
    ),
    ("before-kip-841", "kafka-4.1", versions.CUT_OFF, "FencedBrokerNotInIsr"),
    (
        "before-kip-903",
        "kafka-4.1",
        {"crashes": 0, "disk_losses": 1, "leader_moves": 1},
        "AcknowledgedRecordsKept",
    ),
    (
        "kafka-4.1",
        "kafka-4.1-repaired",
        {"crashes": 0, "leader_moves": 3},
        "AcknowledgedRecordsKept",
    ),
]


def violated(variant: str, name: str, bounds: Mapping[str, int]) -> int | None:
    """The number of states of the shortest counterexample, or None where the property holds."""
    verdict = explore(PARTITION.system(variant, bounds).with_properties([name]))
    assert verdict.verdict in ("violated", "holds")
    return verdict.violations[0].states if verdict.violations else None


def test_the_page_has_these_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "partition.md").read_text(encoding="utf-8")
    for variant, (distinct, depth) in COUNTS.items():
        row = rf"^\| `{re.escape(variant)}` \|.*\| {distinct:,} \| {depth} \|$"
        assert re.search(row, page, flags=re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("variant", COUNTS)
def test_every_version_is_explored_at_the_default_bounds(variant: str) -> None:
    verdict = explore(PARTITION.system(variant), Options(keep_going=True))
    assert (verdict.distinct, verdict.depth) == COUNTS[variant]
    expected = PARTITION.variant(variant).violates
    asked = {p.name for p in PARTITION.properties}
    at_defaults = {n: v.states for n, v in expected.items() if n in asked and not v.bounds}
    assert {v.name: v.states for v in verdict.violations} == at_defaults


@pytest.mark.parametrize(
    ("variant", "name"),
    [
        pytest.param(*expected[:2], marks=() if is_quick(*expected) else pytest.mark.slow)
        for expected in EXPECTED
    ],
)
def test_every_variant_violates_what_it_declares(variant: str, name: str) -> None:
    expected = PARTITION.variant(variant).violates[name]
    assert violated(variant, name, expected.bounds) == expected.states


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "repaired", "bounds", "name"), FAULTS)
def test_every_fault_is_repaired_within_the_same_bounds(
    fault: str, repaired: str, bounds: dict[str, int], name: str
) -> None:
    assert violated(fault, name, bounds) is not None
    assert violated(repaired, name, bounds) is None


@pytest.mark.parametrize(
    "variant", [pytest.param("kafka-2.1", marks=pytest.mark.slow), "kafka-4.1"]
)
@pytest.mark.parametrize(
    ("bounds", "states"),
    [
        ({}, None),  # three replicas, two of which must be in sync: one crash is survived
        ({"min_insync": 3}, 4),  # none may fail
        ({"brokers": 2}, 4),
        ({"brokers": 2, "min_insync": 1}, None),
        ({"brokers": 1, "min_insync": 1}, 3),
        ({"crashes": 2}, 6),
        pytest.param({"crashes": 2, "min_insync": 1}, None, marks=pytest.mark.slow),
    ],
)
def test_writes_go_on_after_a_crash_if_enough_replicas_remain(
    variant: str, bounds: dict[str, int], states: int | None
) -> None:
    assert violated(variant, "WritesAccepted", {**bounds, "slow_followers": 0}) == states


@pytest.mark.parametrize(
    ("acks", "states"),
    [
        (0, 5),  # the leader crashes before a follower fetches
        (1, 5),
        pytest.param(-1, None, marks=pytest.mark.slow),
    ],
)
def test_only_acks_all_survives_a_crash_of_the_leader(acks: int, states: int | None) -> None:
    assert violated("kafka-4.1", "AcknowledgedRecordsKept", {"acks": acks}) == states


def test_an_isr_of_the_leader_alone_survives_nothing() -> None:
    bounds = {"crashes": 0, "disk_losses": 1, "brokers": 1, "min_insync": 1}
    assert violated("kafka-4.1", "AcknowledgedRecordsKept", bounds) is not None


@pytest.mark.parametrize("flush", [0, 1])
def test_a_power_loss_costs_only_what_is_not_flushed(flush: int) -> None:
    bounds = {"crashes": 0, "power_losses": 1, "brokers": 1, "min_insync": 1}
    lost = violated("kafka-4.1", "AcknowledgedRecordsKept", {**bounds, "flush_each_record": flush})
    assert (lost is None) == (flush == 1)
