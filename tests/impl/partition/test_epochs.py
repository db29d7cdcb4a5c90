"""The leader-epoch cache and the log, compared with Kafka's cases and with the specification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.impl.partition import EpochCache
from kspec.impl.partition.log import Log
from kspec.spec import log as plain
from kspec.spec.leader_epochs import LeaderEpochs

NOT_ASKED = {"epoch_for_offset", "previous_epoch", "next_epoch"}
"""What replication does not ask the cache; the specification answers it."""

CASES = [
    case
    for case in json.loads(
        (Path(__file__).parents[2] / "cases" / "epoch_cache_sample.json").read_text("utf-8")
    )
    if not NOT_ASKED & case["query"].keys()
]


def answer(cache: EpochCache, query: dict[str, Any]) -> Any:
    if "end_offset_for" in query:
        return list(cache.end_of(query["end_offset_for"], query["log_end_offset"]))
    if "epoch_entries" in query:
        return [list(entry) for entry in cache.entries]
    assert "latest_epoch" in query
    return cache.latest_epoch


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_the_cache_answers_as_kafka_does(case: dict[str, Any]) -> None:
    cache = EpochCache()
    for name, *arguments in case["ops"]:
        if name != "reload":  # a restart changes nothing
            getattr(cache, name)(*arguments)
    assert answer(cache, case["query"]) == case["expect"]


EPOCHS, OFFSETS = st.integers(0, 6), st.integers(0, 12)
CHANGES = st.one_of(
    st.tuples(st.just("assign"), EPOCHS, OFFSETS),
    st.tuples(st.just("truncate_from_end"), st.integers(-1, 13)),
    st.tuples(st.just("truncate_from_start"), st.integers(-1, 13)),
    st.tuples(st.just("clear")),
)


@pytest.mark.slow
@given(st.lists(CHANGES, max_size=12), OFFSETS)
def test_the_cache_agrees_with_the_specification(
    changes: list[tuple[Any, ...]], beyond: int
) -> None:
    cache, epochs = EpochCache(), LeaderEpochs()
    for name, *arguments in changes:
        getattr(cache, name)(*arguments)
        epochs = getattr(epochs, name)(*arguments)
        assert cache.entries == list(epochs.entries)
    end = max((entry.start for entry in epochs.entries), default=0) + beyond
    assert cache.latest_epoch == epochs.latest_epoch
    for epoch in range(-1, 8):
        assert cache.end_of(epoch, end) == epochs.end_of(epoch, end)


@pytest.mark.parametrize(("epoch", "start"), [(-1, 0), (0, -1)])
def test_negative_epochs_and_offsets_are_refused(epoch: int, start: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        EpochCache().assign(epoch, start)


LOG_CHANGES = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 3), EPOCHS),
    st.tuples(st.just("truncate_to"), OFFSETS, st.just(0)),
    st.tuples(st.just("delete_before"), OFFSETS, st.just(0)),
)


@pytest.mark.slow
@given(st.lists(LOG_CHANGES, max_size=12), st.integers(0, 4))
def test_the_log_agrees_with_the_specification(
    changes: list[tuple[str, int, int]], at_most: int
) -> None:
    log, expected, record = Log(), plain.Log(), 0
    for name, number, epoch in changes:
        if name == "append":
            assert log.append(range(record, record + number), epoch) == expected.end
            for _ in range(number):
                expected = expected.append(plain.Record(record, epoch))
                record += 1
        else:
            number = min(number, log.end) if name == "delete_before" else number
            getattr(log, name)(number)
            expected = getattr(expected, name)(number)
        assert (log.start, log.end) == (expected.start, expected.end)
        assert read(log, log.start, 100) == list(expected.records)
    for offset in range(log.start, log.end + 1):
        skipped = offset - log.start
        assert read(log, offset, at_most) == list(expected.records[skipped : skipped + at_most])


def read(log: Log, offset: int, at_most: int) -> list[plain.Record]:
    """The records, and that batches follow each other."""
    records: list[plain.Record] = []
    for batch in log.read(offset, at_most):
        assert batch.base == offset + len(records)
        records += [plain.Record(i, batch.epoch) for i in batch.ids]
    return records
