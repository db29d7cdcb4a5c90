"""The replicas of `kspec.impl.partition` in lockstep with every variant of `spec.replication`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search
from kspec.checkers.lockstep import Differs, compare_everywhere, walk_in_step
from kspec.impl.partition import EpochCache, Leader, Replica
from kspec.impl.partition.generations import KIP_320, KIP_595, TO_HW, Generation
from kspec.impl.partition.messages import (
    DivergingEpoch,
    FetchRequest,
    FetchResponse,
    Request,
    Response,
)
from kspec.spec.core import Blocked, System, Taken
from kspec.spec.replication import REPLICATION
from tests.impl.partition.adapter import (
    BEFORE_FIRST,
    DIVERGES,
    FIRST_TRY,
    HELD_TO,
    NOT_REFUSED,
    OLDER_ABOVE,
    OLDER_THAN_FIRST,
    OTHER_START,
    OUT_OF_RANGE,
    REFUSED,
    SAME_LEADER,
    UNKNOWN_EPOCH,
    PartitionAdapter,
)

NAMES = [generation.name for generation in HELD_TO]
LEFT_OUT = {
    "truncate to HW": {SAME_LEADER, OUT_OF_RANGE},
    "KIP-101": {SAME_LEADER, OLDER_ABOVE, OLDER_THAN_FIRST, OUT_OF_RANGE},
    "KIP-279": {SAME_LEADER, OLDER_ABOVE, OTHER_START, UNKNOWN_EPOCH, BEFORE_FIRST, OUT_OF_RANGE},
    "first try": {DIVERGES, OLDER_ABOVE, UNKNOWN_EPOCH, OUT_OF_RANGE},
    "KIP-320": set(),
    "KIP-595": set(),
}
"""By generation: the reasons for which steps are skipped; none once requests are fenced."""

SMALL = {"brokers": 2, "log_size": 2, "max_records": 2, "max_epoch": 2}
ROOMY = {"brokers": 3, "log_size": 5, "max_records": 7, "max_epoch": 5}


def test_a_replica_refuses_every_guard_but_those_with_a_reason() -> None:
    guards = {
        (rule.name, guard)
        for variant in REPLICATION.variants
        for rule in variant.rules
        for guard, is_limit in rule.guard_names()
        if rule.by != "controller" and not is_limit
    }
    refused = {(rule, guard) for rule, names in REFUSED.items() for guard in names}
    excepted = {(rule, guard) for rule, reasons in NOT_REFUSED.items() for guard in reasons}
    assert refused & excepted == set()
    assert refused | excepted == guards


def test_a_replica_expands_the_isr_where_the_specification_is_stricter_than_kafka() -> None:
    """The exception is real: like Kafka, a replica compares the follower's log end offset."""
    stricter = "high watermark has reached the leader's epoch"
    adapter, kip_320 = PartitionAdapter(KIP_320), system(KIP_320, brokers=2)
    [rule] = [rule for rule in kip_320.rules if rule.name == "leader_expands_isr"]
    expanded = 0
    for s in states_of(kip_320):
        for leader, follower in rule.instances(s):
            if rule.attempt(s, (leader, follower)) != Blocked(stricter):
                continue
            epoch = s.views[leader].epoch
            log = s.logs[leader].records
            start = next((o for o, r in enumerate(log) if r.epoch == epoch), len(log))
            taken = Taken(rule.name, {"leader": leader, "follower": follower})
            joins = adapter.apply(adapter.load(s), taken)
            assert joins == (s.logs[follower].end >= start)
            expanded += joins
    assert expanded > 0


def states_of(explored: System[Any]) -> list[Any]:
    backend = Reference(explored)
    Search(explored, backend, Options(keep_going=True)).run()
    return list(backend.came_from)


def system(generation: Generation, **bounds: int) -> System[Any]:
    return REPLICATION.system(HELD_TO[generation], bounds)


def every_edge(generation: Generation, **bounds: int) -> None:
    compared = compare_everywhere(PartitionAdapter(generation), system(generation, **bounds))
    assert compared.differences == []
    few = compared.left_out.copy()
    assert compared.steps > few.pop(SAME_LEADER, 0) * 5
    assert compared.steps > few.total() * 15
    assert set(compared.left_out) <= LEFT_OUT[generation.name]


@pytest.mark.slow
@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_every_step_of_a_small_graph_agrees(generation: Generation) -> None:
    every_edge(generation, brokers=2, log_size=1, max_epoch=1)


@pytest.mark.slow
@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_every_step_of_two_brokers_agrees(generation: Generation) -> None:
    every_edge(generation, **SMALL)


@pytest.mark.slow
def test_every_step_of_three_brokers_agrees() -> None:
    """With one record; two records have two brokers above, and longer logs are left to walks."""
    every_edge(KIP_320, max_records=1)


def walk(generation: Generation, walks: int, steps: int) -> int:
    """Walks whose controller acts seldom: it would soon run out of epochs, which ends a walk."""
    explored = system(generation, **ROOMY)
    compared = walk_in_step(
        PartitionAdapter(generation),
        explored,
        settings(max_examples=walks, stateful_step_count=steps),
        weights={rule.name: 1 if rule.by == "controller" else 40 for rule in explored.rules},
    )
    assert set(compared.left_out) <= LEFT_OUT[generation.name]
    return compared.steps


@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_walks_agree(generation: Generation) -> None:
    assert walk(generation, walks=5, steps=60) > 60


@pytest.mark.slow
@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_long_walks_agree(generation: Generation) -> None:
    """Thousands of steps that both take, and more that both refuse, whatever the seed."""
    assert walk(generation, walks=60, steps=100) > 1_000


# -- planted faults -------------------------------------------------------------------------------


def records_progress_of_diverging_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader records a follower's progress before it detects the divergence."""
    answer_fetch = Leader.answer_fetch

    def answer(
        self: Leader, request: FetchRequest, now: int
    ) -> FetchResponse | DivergingEpoch | Any:
        answered = answer_fetch(self, request, now)
        if isinstance(answered, DivergingEpoch):
            self.followers[request.replica].fetched(request.offset, self.replica.log.end, now)
            self.advance_hw(now)
        return answered

    monkeypatch.setattr(Leader, "answer_fetch", answer)


def keeps_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader-epoch cache keeps the epochs of truncated records."""
    monkeypatch.setattr(EpochCache, "truncate_from_end", lambda self, offset: None)


def truncates_one_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truncation offset is taken for the last one to keep."""
    truncate_to = Replica.truncate_to
    monkeypatch.setattr(Replica, "truncate_to", lambda self, o: truncate_to(self, o + 1))


def forgets_to_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader answers followers of another epoch."""
    answer = Replica.answer

    def unfenced(self: Replica, request: Request, now: int = 0) -> Response:
        return answer(self, request._replace(leader_epoch=self.leader_epoch), now)

    monkeypatch.setattr(Replica, "answer", unfenced)


def commits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader ignores members that have not fetched yet."""
    advance_hw = Leader.advance_hw

    def advance(self: Leader, now: int = 0) -> bool:
        heard = {f: p for f, p in self.followers.items() if p.leo >= 0}
        all_of_them, self.followers = self.followers, heard
        try:
            return advance_hw(self, now)
        finally:
            self.followers = all_of_them

    monkeypatch.setattr(Leader, "advance_hw", advance)


PLANTED = [
    (records_progress_of_diverging_fetch, FIRST_TRY, "leader_advances_hw", 8),
    (keeps_epochs, KIP_595, "broker_becomes_follower_and_truncates", 8),
    (truncates_one_too_few, TO_HW, "broker_becomes_follower_and_truncates", 5),
    (forgets_to_fence, KIP_320, "broker_becomes_follower_and_truncates", 4),
    (commits_alone, KIP_320, "leader_advances_hw", 4),
]
"""Each with the last rule of its trace, and the length of the shortest one."""
SOON = PLANTED[2:4]
"""Those that a few hundred walks find."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "generation", "last", "steps"), PLANTED, ids=[p[0].__name__ for p in PLANTED]
)
def test_a_planted_fault_is_found_with_a_shortest_trace(
    plant: Any, generation: Generation, last: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    adapter = PartitionAdapter(generation)
    [story] = compare_everywhere(adapter, system(generation, **SMALL)).differences
    assert (story.steps[-1].rule, len(story.steps)) == (last, steps), str(story)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "generation", "last", "steps"), SOON, ids=[p[0].__name__ for p in SOON]
)
def test_walks_find_a_planted_fault_and_shrink_its_trace(
    plant: Any, generation: Generation, last: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shrunk trace is at most three steps longer than the shortest one."""
    plant(monkeypatch)
    with pytest.raises(Differs) as differs:
        walk_in_step(
            PartitionAdapter(generation),
            system(generation, **SMALL),
            settings(max_examples=300, stateful_step_count=20),
        )
    story = differs.value.difference
    assert story.steps[-1].rule == last, str(story)
    assert len(story.steps) <= steps + 3, str(story)
