"""Liveness of the model of a partition: records are committed, and followers catch up."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutants
from kspec.spec.core import Rule
from kspec.spec.partition import elr, follower, kraft, leader, versions
from kspec.spec.partition.liveness import LIVENESS
from kspec.traces.trace import STUTTERING
from tests.known import explore_learned as explore

PARTITION = find_model("partition")
PROPERTIES = [prop.name for prop in LIVENESS]
KEEPING_UP = {**versions.ONE_IN_SYNC, "slow_followers": 0}
MOVE = {**versions.ONE_IN_SYNC, "crashes": 0, "leader_moves": 1}
CUT_OFF = {**versions.ONE_IN_SYNC, "crashes": 0, "cut_offs": 1}


@pytest.mark.parametrize("variant", ["kafka-2.1", "kafka-4.1"])
@pytest.mark.parametrize(
    "bounds",
    [
        KEEPING_UP,
        MOVE,
        CUT_OFF,
        pytest.param({"slow_followers": 0}, marks=pytest.mark.slow),
        pytest.param({"crashes": 0, "leader_moves": 1}, marks=pytest.mark.slow),
    ],
)
def test_records_are_committed_and_followers_catch_up(variant: str, bounds: dict[str, int]) -> None:
    system = PARTITION.system(variant, bounds).with_properties(PROPERTIES)
    assert explore(system).verdict == "holds"


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(v.name, marks=[] if v.name in ("kafka-2.1", "kafka-4.1") else pytest.mark.slow)
        for v in PARTITION.variants
    ],
)
def test_followers_catch_up_in_every_variant(variant: str) -> None:
    system = PARTITION.system(variant, versions.ONE_IN_SYNC).with_properties(["FollowersCatchUp"])
    assert explore(system).verdict == "holds"


@pytest.mark.parametrize(
    "variant",
    [
        *("kafka-0.10", "kafka-2.7"),
        *(pytest.param(f"kafka-{v}", marks=pytest.mark.slow) for v in ("0.11", "2.0", "2.1")),
    ],
)
def test_a_follower_that_is_removed_delays_no_record(variant: str) -> None:
    """Proposals are never refused in these versions, and 2.7 has the repair of KAFKA-13091."""
    system = PARTITION.system(variant, versions.ONE_IN_SYNC)
    assert explore(system.with_properties(["RecordsAreCommitted"])).verdict == "holds"


def test_a_refused_proposal_leaves_a_record_uncommitted() -> None:
    system = PARTITION.system("kafka-4.1", versions.ONE_IN_SYNC)
    (violation,) = explore(system.with_properties(["RecordsAreCommitted"])).violations
    assert violation.trace is not None
    assert [step.rule for step in violation.trace.steps[-2:]] == [
        "controller_refuses_isr",
        STUTTERING,
    ]
    end = violation.trace.states[-1]
    assert (end.replicas[0].hw, end.replicas[0].log.end) == (0, 1)
    assert end.registration.isr == end.replicas[0].leadership.isr == {0}


@pytest.mark.parametrize(
    ("variant", "rule", "name"),
    [
        ("kafka-2.1", follower.follower_truncates, "FollowersCatchUp"),
        ("kafka-2.1", leader.broker_becomes_leader, "FollowersCatchUp"),
        ("kafka-2.1", leader.follower_fetches, "RecordsAreCommitted"),
        ("kafka-4.1", kraft.follower_fetches_from_kraft_leader, "RecordsAreCommitted"),
        ("kafka-4.1", elr.controller_commits_isr_and_elr, "FollowersCatchUp"),
        ("kafka-4.1", kraft.leader_applies_isr, "FollowersCatchUp"),
    ],
)
def test_without_a_fair_rule_a_behaviour_ends_too_early(
    variant: str, rule: Rule[Any], name: str
) -> None:
    system = PARTITION.system(variant, KEEPING_UP).with_properties([name])
    kept = tuple(r for r in system.rules if r is not rule)
    (violation,) = explore(attrs.evolve(system, rules=kept)).violations
    assert violation.trace is not None
    assert violation.trace.steps[-1].rule == STUTTERING
    _, reached = next(prop for prop in LIVENESS if prop.name == name).body(
        violation.trace.states[-1]
    )
    assert not reached


@pytest.mark.slow
def test_a_leader_that_drops_its_proposals_never_takes_a_follower_back() -> None:
    """The leader drops its proposal, proposes again with the next fetch, and so forever."""
    system = PARTITION.system("kafka-4.1", versions.ONE_IN_SYNC)
    system = system.with_properties(["FollowersCatchUp"])
    name = "leader_applies_isr without the guard 'ISR changed'"
    (mutant,) = (m for m in mutants(system) if m.name == name)
    (violation,) = explore(mutant.of(system)).violations
    assert violation.trace is not None
    loop = violation.trace.loop
    assert loop is not None
    repeated = {step.rule for step in violation.trace.steps[loop:]}
    assert repeated == {"leader_counts_kraft_fetch", "leader_applies_isr"}
