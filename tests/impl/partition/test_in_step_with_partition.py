"""The replicas of `kspec.impl.partition` in lockstep with the versions of `spec.partition`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from kspec.checkers.lockstep import Compared, Differs, compare_everywhere, walk_in_step
from kspec.impl.partition import EpochCache, Leader, Replica
from kspec.impl.partition.messages import FetchRequest, FetchResponse, Request, Response
from kspec.spec.core import Blocked, System, Taken
from kspec.spec.partition import PARTITION
from kspec.spec.partition.state import Cluster
from tests.impl.partition.cluster_adapter import (
    ELSEWHERE,
    GENERATION_OF,
    NOT_REFUSED,
    REFUSED,
    STEPS,
    ClusterAdapter,
)

RULES = {rule for version in GENERATION_OF for rule in PARTITION.variant(version).rules}


NOT_COMPARED = {"kafka-4.1-repaired": "it is in no release"}
"""Versions without a generation, and why. A fault (`before-…`) is not to be in a replica."""


def test_every_version_of_the_model_is_compared() -> None:
    versions = {v.name for v in PARTITION.variants if not v.name.startswith("before-")}
    assert versions == GENERATION_OF.keys() | NOT_COMPARED.keys()


def test_a_replica_refuses_every_guard_but_those_with_a_reason() -> None:
    compared = {rule for rule in RULES if rule.by not in ELSEWHERE}
    guards = {guard for rule in compared for guard, is_limit in rule.guard_names() if not is_limit}
    assert REFUSED & NOT_REFUSED.keys() == set()
    assert REFUSED | NOT_REFUSED.keys() == guards
    assert {rule.name for rule in RULES} <= STEPS.keys()


def system(version: str, **bounds: int) -> System[Any]:
    return PARTITION.system(version, bounds)


def adapter(explored: System[Any]) -> ClusterAdapter:
    return ClusterAdapter(explored.variant.name, explored.bounds)


def every_edge(explored: System[Any], by: ClusterAdapter) -> Compared:
    compared = compare_everywhere(by, explored)
    assert compared.differences == [], f"{explored.bounds}: {compared.differences[0]}"
    assert not compared.left_out
    return compared


@pytest.mark.slow
@pytest.mark.parametrize("version", GENERATION_OF)
def test_every_step_of_a_small_graph_agrees(version: str) -> None:
    explored = system(version, brokers=2, min_insync=1)
    assert every_edge(explored, adapter(explored)).steps > 250


SMALL = (
    {"brokers": 3, "crashes": 0},
    {"brokers": 2, "leader_moves": 1},
    {"brokers": 2, "records": 2, "crashes": 0, "leader_moves": 1},
    {"brokers": 2, "min_insync": 1, "power_losses": 1},
    {"brokers": 2, "crashes": 0, "cut_offs": 1},
    {"brokers": 2, "records": 2, "acks": 1, "crashes": 0, "disk_losses": 1},
    {"brokers": 2, "records": 2, "acks": 0, "unclean": 1, "min_insync": 1},
)
"""Each failure and setting once, as small as takes some seconds: in all of them together, every
rule is enabled and every guard that a replica refuses blocks a step, which the test asserts."""


class Counting(ClusterAdapter):
    """Notes what is compared: the rules of enabled steps, and the guards of refused ones."""

    def __init__(self, explored: System[Any]) -> None:
        super().__init__(explored.variant.name, explored.bounds)
        self.enabled: set[str] = set()
        self.refused: set[str] = set()

    def answer(self, before: Cluster, taken: Taken, outcome: Any) -> Any:
        if isinstance(outcome, Blocked):
            self.refused.add(str(outcome.guard))
        else:
            self.enabled.add(taken.rule)
        return super().answer(before, taken, outcome)


@pytest.mark.slow
@pytest.mark.parametrize("version", GENERATION_OF)
def test_every_step_agrees(version: str) -> None:
    enabled: set[str] = set()
    refused: set[str] = set()
    for bounds in SMALL:
        explored = system(version, **bounds)
        counting = Counting(explored)
        every_edge(explored, counting)
        enabled |= counting.enabled
        refused |= counting.refused
    rules = PARTITION.variant(version).rules
    assert enabled == {rule.name for rule in rules}
    compared = [rule for rule in rules if rule.by not in ELSEWHERE]
    assert refused == {g for rule in compared for g, _ in rule.guard_names()} & REFUSED


@pytest.mark.parametrize("version", GENERATION_OF)
def test_every_step_agrees_if_min_insync_is_above_the_replication_factor(version: str) -> None:
    explored = system(version, brokers=1, records=2, min_insync=2)
    assert every_edge(explored, adapter(explored)).steps > 0


ROOMY = {
    "brokers": 3,
    "records": 4,
    "crashes": 2,
    "power_losses": 1,
    "disk_losses": 1,
    "cut_offs": 1,
    "leader_moves": 2,
    "unclean": 1,
}


def weights(explored: System[Any]) -> dict[str, int]:
    """A step that is possible is likelier than one to refuse, and a failure is rarer."""
    return {rule.name: 4 if rule.by == "machine" else 40 for rule in explored.rules}


def walk(version: str, examples: int, steps: int) -> int:
    explored = system(version, **ROOMY)
    chosen = settings(max_examples=examples, stateful_step_count=steps)
    compared = walk_in_step(adapter(explored), explored, chosen, weights=weights(explored))
    assert not compared.left_out
    return compared.steps


@pytest.mark.parametrize("version", GENERATION_OF)
def test_walks_agree(version: str) -> None:
    assert walk(version, examples=5, steps=60) > 80


@pytest.mark.slow
@pytest.mark.parametrize("version", GENERATION_OF)
def test_long_walks_agree(version: str) -> None:
    assert walk(version, examples=50, steps=100) > 1_000


# -- planted faults -------------------------------------------------------------------------------


def keeps_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader-epoch cache keeps the epochs of truncated records."""
    monkeypatch.setattr(EpochCache, "truncate_from_end", lambda self, offset: None)


def answers_with_new_hw(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader reads the high watermark after it has counted the fetch."""
    answer_fetch = Leader.answer_fetch

    def answer(self: Leader, request: FetchRequest, now: int) -> Any:
        answered = answer_fetch(self, request, now)
        if isinstance(answered, FetchResponse):
            return answered._replace(hw=self.replica.hw)
        return answered

    monkeypatch.setattr(Leader, "answer_fetch", answer)


def forgets_to_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader answers followers of another epoch."""
    answer = Replica.answer

    def unfenced(self: Replica, request: Request, now: int = 0) -> Response:
        return answer(self, request._replace(leader_epoch=self.leader_epoch), now)

    monkeypatch.setattr(Replica, "answer", unfenced)


def truncates_under_the_same_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this implementation did before: each newer leader epoch begins with truncation."""
    become_follower = Replica.become_follower

    def become(self: Replica, epoch: int, version: int, leader: int, isr: Any) -> bool:
        if epoch > self.leader_epoch:
            self.role = None
        return become_follower(self, epoch, version, leader, isr)

    monkeypatch.setattr(Replica, "become_follower", become)


def ignores_min_isr_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer is answered as soon as the high watermark has passed its record."""
    monkeypatch.setattr(Leader, "is_acked", lambda self, end: self.replica.hw >= end)


PLANTED = [
    (keeps_epochs, "kafka-2.1", {"brokers": 2, "crashes": 0, "power_losses": 1}),
    (answers_with_new_hw, "kafka-2.1", {"brokers": 2, "crashes": 0, "records": 2}),
    (forgets_to_fence, "kafka-2.1", {"brokers": 2}),
    (truncates_under_the_same_leader, "kafka-0.10", {"brokers": 3}),
    (ignores_min_isr_of_the_answer, "kafka-2.1", {"brokers": 2}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "version", "bounds"), PLANTED, ids=[p[0].__name__ for p in PLANTED]
)
def test_a_planted_fault_is_found(
    plant: Any, version: str, bounds: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    explored = system(version, **bounds)
    plant(monkeypatch)
    [story] = compare_everywhere(adapter(explored), explored).differences
    assert story.says


@pytest.mark.slow
def test_walks_find_a_planted_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    answers_with_new_hw(monkeypatch)
    with pytest.raises(Differs):
        walk("kafka-2.1", examples=300, steps=60)
