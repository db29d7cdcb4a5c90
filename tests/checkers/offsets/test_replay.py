"""The replay of segments, and that of the specification, know the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from checkers.logs.problems import Problems
from checkers.offsets.replay import Replay, replay_batches, replay_rows, replay_run
from impl.storage.segment import Segment
from spec.messages import GroupMetadata, Offset, OffsetsTopicRecord
from spec.offsets_topic.records import LogEntry
from spec.offsets_topic.replay import Replayed, end_transaction, replay
from spec.storage.record_batch import Record, RecordBatch, write_batch
from spec.vocabulary import TopicPartition
from tests.checkers.offsets.logs import Row, batch

PRODUCERS = (1, 2)

APPENDS = st.tuples(
    st.just("append"),
    st.sampled_from([None, 0, 1]),  # the group, or a partition
    st.booleans(),  # a tombstone
    st.sampled_from([None, *PRODUCERS]),
)
ENDS = st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.booleans())


@given(st.lists(st.one_of(APPENDS, ENDS), max_size=30))
def test_both_replays_know_the_same(history: list[tuple[Any, ...]]) -> None:
    known, fast = Replayed(), Replay()
    written = 0
    for offset, (what, *details) in enumerate(history):
        if what == "end":
            producer, is_commit = details
            known = end_transaction(known, producer, is_commit=is_commit)
            fast.end(producer, is_commit=is_commit)
            continue
        partition, is_tombstone, producer = details
        place = None if partition is None else TopicPartition("t", partition)
        value = Offset(offset) if place else GroupMetadata(offset, "consumer")
        record = OffsetsTopicRecord("g", place, None if is_tombstone else value)
        known = replay(known, LogEntry(offset, record), producer)
        data = None if is_tombstone else str(offset).encode()
        fast.append(key_of(place), data, offset, 10, -1 if producer is None else producer)
        written += 0 if is_tombstone else 10
    assert offsets_of(fast.latest) == {key_of(k[1]): e.offset for k, e in known.latest.items()}
    pending = {id_: offsets_of(commits) for id_, commits in fast.pending.items()}
    assert {id_: found for id_, found in pending.items() if found} == {
        id_: {key_of(k[1]): e.offset for k, e in commits.items()}
        for id_, commits in known.pending.items()
        if commits
    }
    kept = [*fast.latest.values(), *(e for c in fast.pending.values() for e in c.values())]
    assert sum(e.size + e.dead for e in kept) <= written


def key_of(partition: TopicPartition | None) -> bytes:
    """Bytes that stand for a key."""
    return b"\0\2g" if partition is None else b"\0\1g" + bytes([partition.partition])


def offsets_of(latest: dict[bytes, Any]) -> dict[bytes, int]:
    return {key: entry.offset for key, entry in latest.items()}


def test_the_order_of_commits_decides_and_not_that_of_markers() -> None:
    fast = Replay()
    key = b"\0\1g"
    fast.append(key, b"1", 0, 10, 1)
    fast.append(key, b"2", 1, 10, -1)
    fast.end(1, is_commit=True)
    assert fast.latest[key].value == b"2"
    assert fast.latest[key].dead == 10


ROWS = st.tuples(st.sampled_from([b"\0\1g", b"\0\1gg", b"\0\2", b""]), st.none() | st.binary())


@given(st.lists(st.lists(ROWS, min_size=1, max_size=8), min_size=1, max_size=6))
def test_a_run_of_batches_is_replayed_as_its_records_are(batches: list[list[Row]]) -> None:
    data, base = b"", 0
    for rows in batches:
        written = batch(*rows)
        data += base.to_bytes(8) + written[8:]
        base += len(rows)
    fast, slow, problems = Replay(), Replay(), Problems()
    segment = Segment(data)
    for found in segment.batches():
        assert replay_run(fast, segment, found)
        replay_batches(slow, Path("log"), segment, found, problems)
    assert (fast.latest, fast.tombstones) == (slow.latest, slow.tombstones)
    assert problems.count == 0


def test_a_record_without_a_key_is_a_problem() -> None:
    segment = Segment(write_batch(RecordBatch(0, 0, (Record(0, None, b"v", 0),), 0)))
    problems = Problems()
    for found in segment.batches():
        replay_rows(Replay(), Path("log"), segment, found, problems)
    assert [problem.problem for problem in problems.kept] == ["the record at offset 0 has no key"]
