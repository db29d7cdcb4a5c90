"""The fixture kspec_recording, in someone else's project."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from kspec.field.recorded.fixture import RecordingRejected, Recordings

ROOT = Path(__file__).parents[3]


def assign(recordings: Recordings, consumer: str) -> None:
    """Record that a consumer is assigned a partition in generation 1."""
    recordings.consumers.add(
        "assigned", consumer=consumer, group="g", generation=1, partitions=[["t", 0]]
    )


def test_two_owners_are_rejected_with_a_diagnosis(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path)
    recordings.check()
    assign(recordings, "c1")
    recordings.check()
    assign(recordings, "c2")
    with pytest.raises(RecordingRejected, match="a partition has one owner in a generation"):
        recordings.check()
    assert len((tmp_path / "kspec-trace-1.ndjson").read_text().splitlines()) == 3


def test_an_accepted_trace_is_kept(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path)
    assign(recordings, "c1")
    recordings.check()
    assert len((tmp_path / "kspec-trace-1.ndjson").read_text().splitlines()) == 2


def test_any_mapping_may_be_recorded(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path)
    trace = recordings.record("replica")
    common = {"node": 1, "topic": "t", "partition": 0, "leader": 1, "leader_epoch": 1}
    trace.add("state", **common, log_end_offset=5, high_watermark=4)
    recordings.check()
    trace.add("state", **common, log_end_offset=5, high_watermark=6)
    assert "rejected" in recordings.diagnosis()


TESTS = """
def assign(recording, consumer):
    recording.consumers.add(
        "assigned", consumer=consumer, group="g", generation=1, partitions=[["t", 0]]
    )

def test_one_owner(kspec_recording):
    assign(kspec_recording, "c1")

def test_two_owners(kspec_recording):
    assign(kspec_recording, "c1")
    assign(kspec_recording, "c2")

def test_two_owners_and_another_fault(kspec_recording):
    test_two_owners(kspec_recording)
    assert 1 == 2

def test_without_a_recording():
    pass
"""


@pytest.mark.slow
def test_the_fixture_checks_other_projects(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    found = any(point.name == "kspec" for point in entry_points(group="pytest11"))
    plugin = [] if found else ["-p", "kspec.field.pytest_plugin"]
    options = ["-q", "-W", "error", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert "2 failed, 2 passed" in ran.stdout, ran.stdout
    assert ran.stdout.count("Blocked by: a partition has one owner in a generation") >= 2
    assert "assert 1 == 2" in ran.stdout
