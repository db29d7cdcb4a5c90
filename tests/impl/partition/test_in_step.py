"""The replicas of `impl.partition` in lockstep with every variant of `spec.replication`."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from checkers.lockstep import Differs, compare_everywhere, walk_in_step
from impl.partition import EpochCache, Generation, Leader, Replica
from impl.partition.generations import KIP_320, KIP_595, TO_HW
from impl.partition.messages import Answer, Diverging, Fetched, FetchRequest, Request
from spec.core import System
from spec.replication import REPLICATION
from tests.impl.partition.adapter import (
    DIVERGES,
    FIRST_TRY,
    HELD_TO,
    OLDER_ABOVE,
    OUT_OF_RANGE,
    UNKNOWN_EPOCH,
    PartitionAdapter,
)

NAMES = [generation.name for generation in HELD_TO]
LEFT_OUT = {
    "truncate to HW": {OUT_OF_RANGE},
    "KIP-101": {OLDER_ABOVE, OUT_OF_RANGE},
    "KIP-279": {OLDER_ABOVE, UNKNOWN_EPOCH, OUT_OF_RANGE},
    "first try": {DIVERGES, OLDER_ABOVE, UNKNOWN_EPOCH, OUT_OF_RANGE},
    "KIP-320": set(),
    "KIP-595": set(),
}
"""What the model says too little of: nothing, once requests are fenced."""

SMALL = {"brokers": 2, "log_size": 2, "max_records": 2, "max_epoch": 2}
ROOMY = {"brokers": 3, "log_size": 5, "max_records": 7, "max_epoch": 5}


def system(generation: Generation, **bounds: int) -> System[Any]:
    return REPLICATION.system(HELD_TO[generation], bounds)


def every_edge(generation: Generation, **bounds: int) -> None:
    compared = compare_everywhere(PartitionAdapter(generation), system(generation, **bounds))
    assert compared.differences == []
    assert compared.steps > compared.left_out.total() * 20
    assert set(compared.left_out) <= LEFT_OUT[generation.name]


@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_every_step_of_a_small_graph_is_the_same(generation: Generation) -> None:
    every_edge(generation, brokers=2, log_size=1, max_epoch=1)


@pytest.mark.slow
@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_every_step_of_two_brokers_is_the_same(generation: Generation) -> None:
    every_edge(generation, **SMALL)


@pytest.mark.slow
def test_every_step_of_the_default_graph_is_the_same() -> None:
    every_edge(KIP_320)


def walk(generation: Generation, **chosen: int | bool) -> int:
    compared = walk_in_step(
        PartitionAdapter(generation),
        system(generation, **ROOMY),
        settings(database=None, **chosen),  # type: ignore[arg-type]
    )
    assert set(compared.left_out) <= LEFT_OUT[generation.name]
    return compared.steps


@pytest.mark.parametrize("generation", HELD_TO, ids=NAMES)
def test_walks_go_the_same_way(generation: Generation) -> None:
    assert walk(generation, max_examples=8, stateful_step_count=40, derandomize=True) > 100


LONG_WALKS = [generation for generation in HELD_TO if generation != TO_HW]
"""Long walks of truncation to the HW find a difference that is known: a follower that truncates
under the leader that it already follows holds less than its last fetch has told the leader. The
model's leader sees the follower's log, that of `impl` goes by the fetch. Kafka of that time did
not truncate there (`Partition.makeFollower`), so the model is what is to be changed."""


@pytest.mark.slow
@pytest.mark.parametrize("generation", LONG_WALKS, ids=[g.name for g in LONG_WALKS])
def test_long_walks_go_the_same_way(generation: Generation) -> None:
    """Five thousand steps that both take, and more that are refused."""
    assert walk(generation, max_examples=200, stateful_step_count=100) > 5_000


# -- planted faults -------------------------------------------------------------------------------


def counts_who_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that notes what a follower says it holds before it finds that it diverges."""
    answer_fetch = Leader.answer_fetch

    def answer(self: Leader, request: FetchRequest, now: int) -> Fetched | Diverging | Any:
        answered = answer_fetch(self, request, now)
        if isinstance(answered, Diverging):
            self.followers[request.replica].fetched(request.offset, self.replica.log.end, now)
            self.advance_hw(now)
        return answered

    monkeypatch.setattr(Leader, "answer_fetch", answer)


def keeps_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader-epoch cache that knows of records which were cut off."""
    monkeypatch.setattr(EpochCache, "truncate_from_end", lambda self, offset: None)


def cuts_one_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """An offset that is taken for the last one to keep."""
    truncate_to = Replica.truncate_to
    monkeypatch.setattr(Replica, "truncate_to", lambda self, o: truncate_to(self, o + 1))


def forgets_to_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that answers followers of another epoch."""
    answer = Replica.answer

    def unfenced(self: Replica, request: Request, now: int = 0) -> Answer:
        return answer(self, request._replace(leader_epoch=self.leader_epoch), now)

    monkeypatch.setattr(Replica, "answer", unfenced)


def commits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that forgets a member of which it has not heard."""
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
    (counts_who_diverges, FIRST_TRY, "leader_advances_hw", 8),
    (keeps_epochs, KIP_595, "become_follower_and_truncate", 8),
    (cuts_one_too_few, TO_HW, "become_follower_and_truncate", 5),
    (forgets_to_fence, KIP_320, "become_follower_and_truncate", 4),
    (commits_alone, KIP_320, "leader_advances_hw", 4),
]
"""Each with the last step of its story, and how many steps the shortest one has."""
SOON = PLANTED[2:4]
"""Those that a few hundred walks come upon."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "generation", "last", "steps"), PLANTED, ids=[p[0].__name__ for p in PLANTED]
)
def test_a_planted_fault_is_found_with_the_shortest_story(
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
def test_walks_find_a_planted_fault_and_make_its_story_short(
    plant: Any, generation: Generation, last: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the most three steps are told that the shortest story does without."""
    plant(monkeypatch)
    with pytest.raises(Differs) as differs:
        walk_in_step(
            PartitionAdapter(generation),
            system(generation, **SMALL),
            settings(max_examples=300, stateful_step_count=20, database=None, derandomize=True),
        )
    story = differs.value.difference
    assert story.steps[-1].rule == last, str(story)
    assert len(story.steps) <= steps + 3, str(story)
