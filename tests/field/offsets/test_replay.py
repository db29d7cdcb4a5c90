"""The replay of segments, and that of the specification, know the same."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from kspec.field.disk.problems import Problems
from kspec.field.offsets.replay import Replay, replay_batches, replay_rows, replay_run
from kspec.impl.storage.segment import Segment
from kspec.spec.messages import GroupMetadata, Offset, OffsetsTopicRecord
from kspec.spec.offsets_topic.records import LogEntry
from kspec.spec.offsets_topic.replay import Replayed, end_transaction, replay
from kspec.spec.storage.record_batch import Record, RecordBatch, write_batch
from kspec.spec.vocabulary import TopicPartition
from tests.field.offsets.logs import batch

PRODUCERS = (1, 2)


def test_both_replays_know_the_same() -> None:
    chance = Random("replays")
    for _ in range(300):
        compare_replays(chance)


def compare_replays(chance: Random) -> None:
    """Replay a random history in both ways: commits, tombstones, markers."""
    known, fast = Replayed(), Replay()
    written = 0
    for offset in range(chance.randrange(20)):
        producer = chance.choice(PRODUCERS)
        if chance.random() < 0.2:
            is_commit = chance.random() < 0.7
            known = end_transaction(known, producer, is_commit=is_commit)
            fast.end(producer, is_commit=is_commit)
            continue
        writer = producer if chance.random() < 0.5 else None
        partition = chance.choice([None, 0, 1])
        place = None if partition is None else TopicPartition("t", partition)
        value = Offset(offset) if place else GroupMetadata(offset, "consumer")
        is_tombstone = chance.random() < 0.2
        record = OffsetsTopicRecord("g", place, None if is_tombstone else value)
        known = replay(known, LogEntry(offset, record), writer)
        data = None if is_tombstone else str(offset).encode()
        fast.append(key_of(place), data, offset, 10, -1 if writer is None else writer)
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


KEYS = [b"\0\1g", b"\0\1gg", b"\0\2", b""]


def test_runs_of_batches_are_replayed_as_their_records_are() -> None:
    chance = Random("runs")
    for _ in range(100):
        data, base = b"", 0
        for _ in range(6):
            values = (None, b"", bytes(chance.randrange(30)))
            rows = [(chance.choice(KEYS), chance.choice(values)) for _ in range(8)]
            written = batch(*rows[: chance.randrange(1, 9)])
            data += base.to_bytes(8) + written[8:]
            base += 8
        fast, slow, problems = Replay(), Replay(), Problems()
        for one in (fast, slow):
            one.append(KEYS[0], b"pending", 0, 10, 1)
        segment = Segment(data, chunk=2)
        for found in segment.batches():
            assert replay_run(fast, segment, found)
            replay_batches(slow, Path("log"), segment, found, problems)
        assert (fast.latest, fast.pending, fast.tombstones) == (
            slow.latest,
            slow.pending,
            slow.tombstones,
        )
        assert problems.count == 0


def test_a_record_without_a_key_is_a_problem() -> None:
    segment = Segment(write_batch(RecordBatch(0, 0, (Record(0, None, b"v", 0),), 0)))
    problems = Problems()
    for found in segment.batches():
        replay_rows(Replay(), Path("log"), segment, found, problems)
    assert [problem.problem for problem in problems.kept] == ["the record at offset 0 has no key"]
