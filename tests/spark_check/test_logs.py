"""What the audit of a cluster's logs does in the driver and in its tasks, without Spark."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import attrs
import pytest

from kspec.checkers.cli.main import run
from kspec.field.disk.folders import PartitionFolder, with_directories
from kspec.impl.storage.writer import SegmentWriter, encode_batch
from kspec.spark_check import logs
from kspec.spark_check.apart import apart, cautiously, repeating
from kspec.spark_check.logs import Replicas, Row, alone, audited, find_below, rows_of
from kspec.spec.core import SpecError
from kspec.spec.storage.checkpoints import write_offsets
from kspec.spec.vocabulary import TopicPartition

BATCH = encode_batch([(1_700_000_000_000, b"key", b"value")])


def write_partition(folder: Path, batches: int = 3) -> Path:
    """A partition of one segment."""
    folder.mkdir(parents=True)
    with_batches = SegmentWriter(folder, 0)
    for _ in range(batches):
        with_batches.append(BATCH, leader_epoch=0)
    with_batches.close()
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return folder


def make_unreadable(folder: Path) -> Path:
    """A partition whose only segment is no file."""
    (folder / f"{0:020}.log").mkdir(parents=True)
    return folder


def folders_of(*paths: Path) -> list[PartitionFolder]:
    """Partitions with their log directories."""
    return with_directories(paths)[1]


def test_partitions_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    wanted = [
        write_partition(tmp_path / "broker1" / "disk-1" / "orders-0"),
        write_partition(tmp_path / "broker1" / "disk-2" / "orders-1"),
        write_partition(tmp_path / "broker2" / "orders-0"),
    ]
    write_partition(tmp_path / "broker2" / "orders-1.0af4-delete")
    (tmp_path / "broker3" / "empty-0").mkdir(parents=True)
    assert find_below([tmp_path]) == (wanted, [])
    assert find_below([wanted[0]]) == ([wanted[0]], [])
    directories, partitions = with_directories(find_below([tmp_path, wanted[0].parent])[0])
    assert [folder.path for folder in partitions] == wanted
    assert [directory.path for directory in directories] == [path.parent for path in wanted]


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("missing", "missing is not a folder"),
        ("empty", "empty contains no folder of a partition"),
    ],
)
def test_a_folder_without_partitions_is_rejected_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    assert run([folder, "--out", "out"], logs.logs) == 151
    assert run(["empty", "--out", "empty"], logs.logs) == 151
    first, second = capsys.readouterr().err.splitlines()
    assert says in first
    assert second == "kspec: empty exists already"


def test_a_partition_is_sent_without_the_checkpoints_of_others(tmp_path: Path) -> None:
    write_partition(tmp_path / "orders-0")
    mine, other = TopicPartition("orders", 0), TopicPartition("orders", 1)
    for name in ("replication-offset", "recovery-point-offset", "log-start-offset"):
        (tmp_path / f"{name}-checkpoint").write_text(write_offsets({mine: 2, other: 9}))
    (tmp_path / "cleaner-offset-checkpoint").write_text(write_offsets({other: 9}))
    (folder,) = folders_of(tmp_path / "orders-0")
    sent = alone(folder).directory
    assert sent.high_watermarks == sent.recovery_points == sent.log_starts == {mine: 2}
    assert sent.cleaned == {}  # it is known that the cleaner has not been there
    assert audited([alone(folder)]) == audited([folder])
    unknown = attrs.evolve(folder, directory=attrs.evolve(folder.directory, cleaned=None))
    assert alone(unknown).directory.cleaned is None


def test_an_unreadable_replica_is_a_row_and_the_others_are_audited(tmp_path: Path) -> None:
    good = [write_partition(tmp_path / f"broker{n}" / "orders-0", batches=n) for n in (2, 3)]
    bad = make_unreadable(tmp_path / "broker1" / "orders-0")
    first, *others = audited(folders_of(bad, *good))
    assert (first["directory"], first.get("records")) == (str(bad), None)
    assert first["problems"] == [
        {"file": str(bad), "position": 0, "problem": f"no segment in {bad} is a file"}
    ]
    assert [(row["directory"], row["records"], row["problems"]) for row in others] == [
        (str(path), count, []) for path, count in zip(good, (2, 3), strict=True)
    ]


def test_a_failed_comparison_is_reported_with_each_replica(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SpecError("cannot read it")

    monkeypatch.setattr("kspec.field.disk.replicas.compare_replicas", fails)
    paths = [write_partition(tmp_path / broker / "orders-0") for broker in ("one", "two")]
    for row in audited(folders_of(*paths)):
        (problem,) = row["problems"]
        assert problem["problem"] == "the replica was not compared with the others: cannot read it"


# -- child processes ------------------------------------------------------------------------------


def times_ten(number: int) -> int:
    """Ten times a number; 2 is deadly."""
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * number


@pytest.mark.slow
def test_what_kills_a_child_process_stops_nothing_else() -> None:
    found = apart(times_ten, [1, 2, 3, 2], lambda number, why: -number)
    assert list(found) == [10, -2, 30, -2]


def process_of(_: object) -> int:
    """The process that calls this."""
    return os.getpid()


@pytest.mark.slow
def test_only_a_repeated_task_uses_child_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Attempt:
        def __init__(self, number: int) -> None:
            self.number = number

        def attemptNumber(self) -> int:
            return self.number

    for number in (0, 1):
        monkeypatch.setattr("pyspark.TaskContext.get", lambda number=number: Attempt(number))
        (process,) = cautiously(process_of, [1], lambda *_: 0)
        assert (process == os.getpid()) == (number == 0)


@pytest.mark.parametrize(
    ("master", "repeats"),
    [
        (None, "local[*,4]"),
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[2,1]", "local[2,1]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_local_master_repeats_tasks(master: str | None, repeats: str) -> None:
    assert repeating(master) == repeats


def audited_or_killed(replicas: Replicas) -> list[Row]:
    """An audit that the files of one broker end."""
    if any("bad" in folder.path.parts for folder in replicas):
        os.kill(os.getpid(), signal.SIGKILL)
    return audited(replicas)


@pytest.mark.slow
def test_a_replica_that_ends_its_process_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "cautiously", apart)
    paths = [write_partition(tmp_path / broker / "orders-0") for broker in ("bad", "good")]
    alone_there = write_partition(tmp_path / "good" / "orders-1")
    bad, good, other = rows_of([folders_of(*paths), folders_of(alone_there)], audited_or_killed)
    why = "the process that read it was killed"
    assert bad["problems"][0]["problem"] == why
    assert bad["directory"] == str(paths[0])
    assert good["problems"][0]["problem"] == (
        f"the replica was not compared with the others: {why}"
    )
    assert good["records"] == other["records"] == 3
    assert other["problems"] == []
