"""Snapshots: Kafka's files byte for byte, and what happens to those that are corrupt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kspec.impl.producer_state import CorruptSnapshot, ProducerState, SnapshotFiles, decode
from kspec.impl.producer_state.snapshot import encode
from kspec.spec.core import SpecError
from kspec.spec.producer import snapshots

CASES = Path(__file__).parents[2] / "cases" / "producer" / "producer-state.json"


def kafkas_files() -> list[bytes]:
    """The snapshots that Kafka wrote in the recorded histories."""
    words = [
        word.split("/")[0]
        for cases in json.loads(CASES.read_text()).values()
        for _, answer in cases
        for word in answer.split(" ")
    ]
    return [bytes.fromhex(word) for word in words if word.startswith("0001") and len(word) > 20]


def test_kafkas_files_are_written_again_as_they_were() -> None:
    files = kafkas_files()
    assert len(files) > 50
    for data in files:
        assert encode(decode(data)) == data
        assert snapshots.encode(snapshots.decode(data)) == data


def test_kafkas_files_are_loaded_and_written_again() -> None:
    for data in kafkas_files():
        state = ProducerState()
        state.load(decode(data), now=0)
        assert encode(state.rows()) == data


def a_state(folder: Path) -> ProducerState:
    """A state with two snapshots in a folder."""
    state = ProducerState(snapshots=SnapshotFiles(folder))
    for number in range(4):
        state.append(7, 0, number, number, number, number, 5)
        if number % 2:
            assert state.take_snapshot()
            assert not state.take_snapshot()
    return state


def test_snapshots_are_files_by_offset(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["00000000000000000002.snapshot", "00000000000000000004.snapshot"]
    assert list(state.snapshots) == [2, 4]
    assert len(state.snapshots) == 2
    with pytest.raises(KeyError):
        state.snapshots[3]
    with pytest.raises(KeyError):
        del state.snapshots[3]


def test_a_broker_that_starts_again_loads_the_latest_snapshot(tmp_path: Path) -> None:
    a_state(tmp_path)
    again = ProducerState(snapshots=SnapshotFiles(tmp_path))
    again.truncate(log_start=0, log_end=5)
    assert again.end == 4
    assert [batch.last_sequence for batch in again.producers[7].batches] == [3]
    assert again.check(7, 0, 4, 4) is None
    assert again.check(7, 0, 2, 2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"  # no longer recognised


@pytest.mark.parametrize("at", [0, 3, 20])
def test_a_corrupt_snapshot_is_deleted_and_the_one_before_it_loaded(
    tmp_path: Path, at: int
) -> None:
    state = a_state(tmp_path)
    data = bytearray(state.snapshots[4])
    data[at] ^= 1
    state.snapshots[4] = bytes(data)
    again = ProducerState(snapshots=SnapshotFiles(tmp_path))
    again.truncate(log_start=0, log_end=5)
    assert again.end == 2
    assert list(again.snapshots) == [2]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\1\0",
        b"\0\2" + bytes(8),
        b"\0\1" + bytes(4) + b"\0\0\0\1",
        b"\0\1" + bytes(4) + b"\xff" * 4,
        b"\0\1" + bytes(8),
    ],
)
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptSnapshot):
        decode(data)
    with pytest.raises(SpecError, match="snapshot"):
        snapshots.decode(data)
