"""The leader-epoch cache, and the truncation of a follower."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.leader_epochs import (
    NOWHERE,
    EpochEnd,
    EpochEntry,
    LeaderEpochs,
    truncation_for,
)
from kspec.spec.log import Log, Record

CASES = json.loads(
    (Path(__file__).parent.parent / "cases" / "epoch_cache_sample.json").read_text("utf-8")
)


def cache(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(tuple(EpochEntry(*entry) for entry in entries))


def applied(operations: list[list[Any]]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for name, *arguments in operations:
        if name == "reload":  # what a restart reads back is what was written
            continue
        epochs = getattr(epochs, name)(*arguments)
    return epochs


def answer(epochs: LeaderEpochs, query: dict[str, Any]) -> Any:
    if "end_offset_for" in query:
        return list(epochs.end_of(query["end_offset_for"], query["log_end_offset"]))
    if "epoch_entries" in query:
        return [list(entry) for entry in epochs.entries]
    if "epoch_for_offset" in query:
        return epochs.epoch_at(query["epoch_for_offset"])
    if "latest_epoch" in query:
        return epochs.latest_epoch
    ((name, epoch),) = query.items()
    return getattr(epochs, name)(epoch)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_cache_answers_as_kafka_does(case: dict[str, Any]) -> None:
    assert answer(applied(case["ops"]), case["query"]) == case["expect"]


def test_negative_epochs_and_offsets_are_refused() -> None:
    for epoch, start in ((-1, 0), (0, -1)):
        with pytest.raises(ValueError, match="negative"):
            LeaderEpochs().assign(epoch, start)


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 30)), max_size=12))
def test_epochs_and_offsets_increase_along_the_cache(steps: list[tuple[int, int]]) -> None:
    epochs = LeaderEpochs()
    for epoch, start in steps:
        epochs = epochs.assign(epoch, start)
        assert epochs.latest_epoch == epoch
    pairs = list(zip(epochs.entries, epochs.entries[1:], strict=False))
    assert all(a.epoch < b.epoch and a.start < b.start for a, b in pairs)


# -- truncation: a conversation between two replicas ---------------------------------------------


def cache_of(log: Log) -> LeaderEpochs:
    """The cache that a replica has after it wrote these records."""
    epochs = LeaderEpochs()
    for offset, record in enumerate(log.records):
        epochs = epochs.assign(record.epoch, offset)
    return epochs


@st.composite
def histories(draw: st.DrawFn) -> tuple[Log, Log]:
    """Two replicas' logs that the protocol can produce: each epoch has one leader.

    Every epoch's leader begins with some prefix of one of the two logs and appends to it; a
    replica copies a prefix of what that leader has. So a record's epoch and offset decide it.
    """
    replicas = [Log(), Log()]
    next_id = 0
    for epoch in range(draw(st.integers(0, 4))):
        leader = draw(st.integers(0, 1))
        log = replicas[leader]
        for _ in range(draw(st.integers(0, 3))):
            log = log.append(Record(next_id, epoch))
            next_id += 1
        replicas[leader] = log
        if draw(st.booleans()):  # the other one truncates to where they agree, and copies
            agreed = agreement(replicas[1 - leader], log)
            copied = draw(st.integers(agreed, log.end))
            replicas[1 - leader] = Log(log.records[:copied])
    return replicas[0], replicas[1]


def agreement(one: Log, other: Log) -> int:
    """The offset after the last one at which the logs hold the same record."""
    agreed = [o for o in range(min(one.end, other.end)) if one.agrees_at(o, other)]
    return agreed[-1] + 1 if agreed else 0


@given(histories())
def test_the_exchange_of_kip_279_ends_where_the_logs_agree(logs: tuple[Log, Log]) -> None:
    """The exchange of requests ends where the one step of the model truncates."""
    leader, follower = logs
    if leader.last is None or follower.last is None:
        return
    wanted = agreement(follower, leader)
    for _ in range(10):
        latest = cache_of(follower).latest_epoch
        if latest is None:
            break
        said = cache_of(leader).end_of(latest, leader.end)
        if said == NOWHERE:  # the leader has not heard of this epoch: KIP-320 has it wait
            return
        cut = truncation_for(said, cache_of(follower), follower.end, high_watermark=0)
        follower = follower.truncate_to(cut.offset)
        if cut.done:
            break
    assert follower.end == wanted


def test_an_unknown_epoch_truncates_to_the_high_watermark() -> None:
    assert truncation_for(NOWHERE, cache((0, 0)), 5, 3) == (3, True)


def test_a_response_without_an_epoch_is_handled_as_before_kip_279() -> None:
    assert truncation_for(EpochEnd(-1, 4), cache((0, 0)), 9, 3) == (4, True)
    assert truncation_for(EpochEnd(-1, 12), cache((0, 0)), 9, 3) == (9, True)


def test_a_follower_without_that_epoch_truncates_to_the_offset() -> None:
    assert truncation_for(EpochEnd(7, 4), cache((0, 0)), 9, 3) == (4, True)


def test_another_epoch_in_the_response_causes_another_request() -> None:
    epochs = cache((0, 0), (2, 5))
    assert truncation_for(EpochEnd(1, 4), epochs, 9, 0) == (5, False)


def test_the_same_epoch_ends_truncation_at_the_smaller_offset() -> None:
    epochs = cache((0, 0), (2, 5))
    assert truncation_for(EpochEnd(0, 3), epochs, 9, 0) == (3, True)
    assert truncation_for(EpochEnd(0, 8), epochs, 9, 0) == (5, True)
