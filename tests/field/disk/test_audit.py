"""Each problem that an audit can find is found, at its file and byte, and a sound log has none."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from kspec.field.disk.audit import PartitionReport, audit
from kspec.field.disk.folders import find_partitions
from kspec.field.disk.problems import MOST
from kspec.field.disk.replicas import compare_replicas
from kspec.impl.storage.segment import Segment
from kspec.impl.storage.writer import SegmentWriter
from kspec.spec.core import SpecError
from kspec.spec.leader_epochs import EpochEntry
from kspec.spec.storage.checkpoints import write_leader_epochs, write_offsets, write_topic_id
from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.control_records import TransactionMarker, write_marker
from kspec.spec.storage.record_batch import Record, RecordBatch, write_batch
from kspec.spec.vocabulary import TopicPartition
from tests.spec.storage.draws import with_checksum

NAME = TopicPartition("orders", 0)
FIRST, SECOND = f"{0:020}", f"{20:020}"
"""The names of the two segments."""
TOPIC_ID = "q1vK0FfQSoGVBcZ2VCxkyA"

Damage: TypeAlias = Callable[[Path], object]
"""What is done to a sound log directory."""


def batch(sequence: int, count: int = 2, **header: Any) -> bytes:
    """A batch of an idempotent producer."""
    records = tuple(Record(number, b"k", b"v" * 40, number) for number in range(count))
    fields = {
        "producer_id": 7,
        "producer_epoch": 1,
        "base_timestamp": 1000 + sequence,
        "max_timestamp": 1000 + sequence + count - 1,
        **header,
    }
    return write_batch(RecordBatch(0, count - 1, records=records, base_sequence=sequence, **fields))


def marker(is_commit: bool, producer_id: int = 8) -> bytes:
    """A transaction marker."""
    return write_batch(
        RecordBatch(
            0,
            0,
            (write_marker(TransactionMarker(is_commit, 0)),),
            is_transactional=True,
            is_control=True,
            base_timestamp=5000,
            max_timestamp=5000,
            producer_id=producer_id,
            producer_epoch=0,
        )
    )


def snapshot(*producers: tuple[int, ...]) -> bytes:
    """A producer snapshot."""
    body = struct.pack(">i", len(producers))
    body += b"".join(struct.pack(">qhiqiqiq", *producer) for producer in producers)
    return struct.pack(">hI", 1, crc32c(body)) + body


def sound(root: Path) -> Path:
    """A log directory with a partition of two segments, and everything beside them."""
    folder = root / "orders-0"
    folder.mkdir(parents=True)
    first = SegmentWriter(folder, 0, index_interval=250)
    for sequence in range(0, 20, 2):
        first.append(batch(sequence), leader_epoch=0 if sequence < 10 else 2)
    first.close()
    second = SegmentWriter(folder, 20, index_interval=250)
    transactional = {"producer_id": 8, "producer_epoch": 0, "is_transactional": True}
    second.append(batch(0, **transactional), 2)  # 20, 21
    second.append(batch(20), 2)  # 22, 23
    second.append(marker(False), 2)  # 24
    second.append(batch(2, **transactional), 3)  # 25, 26
    second.append(marker(True), 3)  # 27
    second.append(batch(4, **transactional), 3)  # 28, 29: still open
    second.close()
    aborted = struct.pack(">hqqqq", 0, 8, 20, 24, 25)
    (folder / f"{SECOND}.txnindex").write_bytes(aborted)
    (folder / f"{SECOND}.snapshot").write_bytes(snapshot((7, 1, 19, 19, 1, 1019, -1, -1)))
    epochs = [EpochEntry(0, 0), EpochEntry(1, 10), EpochEntry(2, 10), EpochEntry(3, 25)]
    epochs.pop(1)  # Kafka keeps no epoch without records
    (folder / "leader-epoch-checkpoint").write_text(write_leader_epochs(epochs))
    (folder / "partition.metadata").write_text(write_topic_id(TOPIC_ID))
    for file, offset in (
        ("replication-offset-checkpoint", 28),
        ("recovery-point-offset-checkpoint", 20),
        ("log-start-offset-checkpoint", 4),
    ):
        (root / file).write_text(write_offsets({NAME: offset, TopicPartition("other", 1): 99}))
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
    return folder


def report(root: Path) -> PartitionReport:
    """The audit of the one partition in a log directory."""
    _, (folder,) = find_partitions([root])
    return audit(folder)


def test_a_sound_log_has_no_problem(tmp_path: Path) -> None:
    sound(tmp_path)
    found = report(tmp_path)
    assert found.problems == ()
    assert (found.segments, found.batches, found.records) == (2, 16, 30)
    assert (found.start, found.end, found.high_watermark) == (4, 30, 28)
    assert found.last_stable_offset == 28
    assert found.open_transactions == {8: 28}
    assert found.leader_epochs == ((0, 0), (2, 10), (3, 25))
    assert found.holes == ()
    assert found.topic_id == TOPIC_ID
    assert not found.is_compacted


# -- damages --------------------------------------------------------------------------------------


def positions(file: Path) -> list[tuple[int, int]]:
    """Where each batch of a segment begins, and its size."""
    with Segment(file) as segment:
        return [(int(r["position"]), int(r["size"])) for rows in segment.batches() for r in rows]


def edit(file: Path, at: int, data: bytes) -> None:
    """Overwrite bytes of a file."""
    content = bytearray(file.read_bytes())
    content[at : at + len(data)] = data
    file.write_bytes(bytes(content))


def in_batch(name: str, number: int, at: int, data: bytes, *, checked: bool = True) -> Damage:
    """Overwrite bytes of a batch, and correct its checksum."""

    def damage(folder: Path) -> None:
        file = folder / f"{name}.log"
        start, size = positions(file)[number]
        edit(file, start + at, data)
        if checked:
            whole = file.read_bytes()[start : start + size]
            edit(file, start, with_checksum(whole))

    return damage


def without_batch(name: str, number: int) -> Damage:
    """Remove a batch, and the indexes."""

    def damage(folder: Path) -> None:
        file = folder / f"{name}.log"
        start, size = positions(file)[number]
        content = file.read_bytes()
        file.write_bytes(content[:start] + content[start + size :])
        for suffix in (".index", ".timeindex"):
            file.with_suffix(suffix).unlink()

    return damage


def written(name: str, content: str | bytes) -> Damage:
    """Write a file of the partition."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def beside(name: str, offset: int) -> Damage:
    """Write a checkpoint of the log directory."""
    return lambda folder: (folder.parent / name).write_text(
        write_offsets({TopicPartition("other", 1): 9, NAME: offset})
    )


def appended(name: str, content: bytes) -> Damage:
    """Append to a file of the partition."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + content)


def epochs(*entries: tuple[int, int]) -> Damage:
    """Write the leader epochs."""
    return written("leader-epoch-checkpoint", write_leader_epochs(EpochEntry(*e) for e in entries))


def entry(offset: int, position: int) -> bytes:
    return struct.pack(">ii", offset, position)


DAMAGES: dict[str, tuple[Damage, str, int | None, str]] = {
    "checksum": (
        in_batch(FIRST, 2, 70, b"\xff", checked=False),
        f"{FIRST}.log",
        2,
        "the checksum of the batch is wrong",
    ),
    "format": (
        in_batch(FIRST, 2, 16, b"\x05", checked=False),
        f"{FIRST}.log",
        2,
        "the format of the batch is not 0, 1 or 2",
    ),
    "record": (in_batch(FIRST, 3, 61, b"\x00"), f"{FIRST}.log", 3, "the length of a record is"),
    "codec": (in_batch(FIRST, 3, 22, b"\x07"), f"{FIRST}.log", 3, "compression type of the batch"),
    "times": (in_batch(FIRST, 1, 35, bytes(8)), f"{FIRST}.log", 1, "maximum timestamp is not"),
    "cut off": (
        lambda folder: edit(folder / f"{SECOND}.log", 8, (10**6).to_bytes(4)),
        f"{SECOND}.log",
        0,
        "the file ends within a batch, after",
    ),
    "short": (
        lambda folder: edit(folder / f"{SECOND}.log", 8, bytes(4)),
        f"{SECOND}.log",
        0,
        "a batch has an impossible length",
    ),
    "zeros": (
        appended(f"{SECOND}.log", bytes(50)),
        f"{SECOND}.log",
        None,
        "50 bytes of the file",
    ),
    "offset goes back": (
        in_batch(FIRST, 4, 0, (6).to_bytes(8)),
        f"{FIRST}.log",
        4,
        "begins at offset 6, below 8",
    ),
    "offset below the segment": (
        in_batch(SECOND, 0, 0, (18).to_bytes(8)),
        f"{SECOND}.log",
        0,
        "offset 18 is not in a segment that begins at 20",
    ),
    "hole": (
        without_batch(FIRST, 7),
        f"{FIRST}.log",
        7,
        "offset 14 to 15 are missing, and the log was never compacted",
    ),
    "epoch goes back": (
        in_batch(FIRST, 8, 12, (1).to_bytes(4)),
        f"{FIRST}.log",
        8,
        "leader epoch 1 follows leader epoch 2",
    ),
    "index points into a batch": (
        written(f"{FIRST}.index", entry(7, 333)),
        f"{FIRST}.index",
        0,
        "the entry for offset 7 points at byte 333, where no batch begins",
    ),
    "index points past its batch": (
        lambda folder: written(
            f"{FIRST}.index", entry(3, positions(folder / f"{FIRST}.log")[4][0])
        )(folder),
        f"{FIRST}.index",
        0,
        "past its batch: offset 8 is there",
    ),
    "index points behind the end": (
        appended(f"{FIRST}.index", entry(500, 50_000)),
        f"{FIRST}.index",
        None,
        "behind the last batch",
    ),
    "index without order": (
        written(f"{FIRST}.index", entry(9, 400) + entry(5, 300)),
        f"{FIRST}.index",
        8,
        "the entry for offset 5 is out of order",
    ),
    "index cut off": (
        appended(f"{FIRST}.index", b"\1\2\3"),
        f"{FIRST}.index",
        None,
        "cut off after 3 bytes",
    ),
    "time index": (
        written(f"{FIRST}.timeindex", struct.pack(">qi", 1004, 7)),
        f"{FIRST}.timeindex",
        0,
        "has time 1004, but the latest time up to this offset is 1007",
    ),
    "time index behind the end": (
        appended(f"{FIRST}.timeindex", struct.pack(">qi", 9999, 50)),
        f"{FIRST}.timeindex",
        None,
        "the entry for offset 50 is beyond the last batch",
    ),
    "epoch is missing": (
        epochs((0, 0), (3, 25)),
        f"{FIRST}.log",
        5,
        "leader epoch 2 begins here, at offset 10, but is not in leader-epoch-checkpoint",
    ),
    "epoch starts elsewhere": (
        epochs((0, 0), (2, 12), (3, 25)),
        "leader-epoch-checkpoint",
        8,
        "epoch 2 starts at 12, but in the log at 10",
    ),
    "epoch starts too early": (
        epochs((0, 0), (2, 9), (3, 25)),
        "leader-epoch-checkpoint",
        8,
        "epoch 2 starts at 9, but in the log at 10",
    ),
    "epoch beyond the end": (
        epochs((0, 0), (2, 10), (3, 25), (4, 31)),
        "leader-epoch-checkpoint",
        18,
        "epoch 4 starts at 31, beyond the end 30",
    ),
    "epochs without order": (
        epochs((0, 0), (3, 25), (2, 30)),
        "leader-epoch-checkpoint",
        13,
        "epoch 2 from 30 follows epoch 3 from 25",
    ),
    "epochs that are no text": (
        written("leader-epoch-checkpoint", b"\xff\n"),
        "leader-epoch-checkpoint",
        0,
        "should have a number",
    ),
    "topic id": (written("partition.metadata", "x"), "partition.metadata", 0, "two lines"),
    "high watermark": (
        beside("replication-offset-checkpoint", 31),
        "../replication-offset-checkpoint",
        14,
        "the high watermark of orders-0 is 31, beyond the end 30",
    ),
    "recovery point": (
        beside("recovery-point-offset-checkpoint", 99),
        "../recovery-point-offset-checkpoint",
        14,
        "the recovery point of orders-0 is 99",
    ),
    "log start": (
        beside("log-start-offset-checkpoint", 99),
        "../log-start-offset-checkpoint",
        14,
        "the log start offset of orders-0 is 99",
    ),
    "producer repeats": (
        in_batch(SECOND, 1, 53, (18).to_bytes(4)),
        f"{SECOND}.log",
        1,
        "producer 7 repeats sequence number 18 of epoch 1: 19 was at offset 19",
    ),
    "producer is fenced": (
        in_batch(SECOND, 1, 51, (0).to_bytes(2)),
        f"{SECOND}.log",
        1,
        "producer 7 writes in epoch 0 after epoch 1",
    ),
    "transaction is not indexed": (
        written(f"{SECOND}.txnindex", b""),
        f"{SECOND}.log",
        2,
        "the transaction of producer 8, aborted at 24, is not in the transaction index",
    ),
    "transaction begins elsewhere": (
        written(f"{SECOND}.txnindex", struct.pack(">hqqqq", 0, 8, 21, 24, 25)),
        f"{SECOND}.txnindex",
        0,
        "begins at 20 in the log, not at 21",
    ),
    "transaction leaves another stable offset": (
        written(f"{SECOND}.txnindex", struct.pack(">hqqqq", 0, 8, 20, 24, 22)),
        f"{SECOND}.txnindex",
        0,
        "leaves 25 as the last stable offset, not 22",
    ),
    "transaction is not in the log": (
        appended(f"{SECOND}.txnindex", struct.pack(">hqqqq", 0, 9, 25, 27, 28)),
        f"{SECOND}.txnindex",
        34,
        "no transaction of producer 9 from 25 is aborted at 27",
    ),
    "transaction index cut off": (
        appended(f"{SECOND}.txnindex", b"\0" * 9),
        f"{SECOND}.txnindex",
        34,
        "cut off after 9 bytes",
    ),
    "marker": (
        in_batch(SECOND, 2, 66, b"\xff"),
        f"{SECOND}.log",
        2,
        "the version of a control record is",
    ),
    "snapshot checksum": (
        lambda folder: edit(folder / f"{SECOND}.snapshot", 20, b"\xff"),
        f"{SECOND}.snapshot",
        0,
        "the snapshot is damaged: its checksum is wrong",
    ),
    "snapshot epoch": (
        written(f"{SECOND}.snapshot", snapshot((7, 2, 19, 19, 1, 1019, -1, -1))),
        f"{SECOND}.snapshot",
        10,
        "producer 7 has epoch 1 in the log, but 2 in the snapshot of offset 20",
    ),
    "snapshot sequence": (
        written(f"{SECOND}.snapshot", snapshot((7, 1, 17, 19, 1, 1019, -1, -1))),
        f"{SECOND}.snapshot",
        10,
        "producer 7 has sequence number 19, but 17 in the snapshot",
    ),
    "snapshot offset": (
        written(f"{SECOND}.snapshot", snapshot((7, 1, 19, 17, 1, 1019, -1, -1))),
        f"{SECOND}.snapshot",
        10,
        "producer 7 wrote last at offset 19, but at 17 in the snapshot",
    ),
    "snapshot transaction": (
        written(f"{SECOND}.snapshot", snapshot((7, 1, 19, 19, 1, 1019, -1, 18))),
        f"{SECOND}.snapshot",
        10,
        "producer 7 has its open transaction at -1 in the log, but at 18",
    ),
    "snapshot beyond the end": (
        written(f"{40:020}.snapshot", snapshot()),
        f"{40:020}.snapshot",
        0,
        "the snapshot is for offset 40, beyond the end 30",
    ),
    "left over": (
        written(f"{FIRST}.log.swap", b""),
        f"{FIRST}.log.swap",
        0,
        "a swap of segments was interrupted",
    ),
}
"""For each problem: a damage, and the file, the batch of a segment or the byte, and the words."""


@pytest.mark.parametrize("name", list(DAMAGES))
def test_a_damage_is_found_at_its_file_and_byte(name: str, tmp_path: Path) -> None:
    damage, file, place, says = DAMAGES[name]
    folder = sound(tmp_path)
    damage(folder)
    path = (folder / file).resolve()
    problems = [
        problem
        for problem in report(tmp_path).problems
        if says in problem.problem and Path(problem.file).resolve() == path
    ]
    assert problems, report(tmp_path).problems
    if place is None:
        return
    if path.suffix == ".log":
        starts = [0, *(start + size for start, size in positions(path))]
        place = starts[place]
    assert problems[0].position == place


WITH_CONSEQUENCES = {
    "cut off": 6,  # checkpoints, epochs and indexes are about what is cut off
    "short": 6,
    "offset goes back": 3,
    "offset below the segment": 3,
    "index without order": 3,
}
"""The damages that are more than one problem."""


@pytest.mark.parametrize("name", list(DAMAGES))
def test_only_the_damage_is_reported(name: str, tmp_path: Path) -> None:
    """What follows from a damage is not reported as well, where that can be told."""
    damage, *_ = DAMAGES[name]
    damage(sound(tmp_path))
    assert len(report(tmp_path).problems) == WITH_CONSEQUENCES.get(name, 1)


def first_segment_deleted(folder: Path) -> None:
    """Retention: epochs, an aborted transaction and a producer's records began before the log."""
    for path in folder.glob(f"{FIRST}.*"):
        path.unlink()
    (folder / f"{SECOND}.txnindex").write_bytes(struct.pack(">hqqqq", 0, 8, 15, 24, 25))
    write = (folder / f"{SECOND}.snapshot").write_bytes
    write(snapshot((7, 1, 19, 19, 1, 1019, -1, -1), (9, 0, 3, 12, 0, 1, 0, 11)))


def without_indexes(folder: Path) -> None:
    """Kafka makes missing indexes anew."""
    for suffix in (".index", ".timeindex"):
        (folder / f"{FIRST}{suffix}").unlink()


def rolled(folder: Path) -> None:
    """The last segment is empty, with indexes that were allocated in advance."""
    (folder / f"{30:020}.log").write_bytes(b"")
    for suffix in (".index", ".timeindex"):
        (folder / f"{30:020}{suffix}").write_bytes(bytes(240))
    rows = (7, 1, 21, 23, 1, 1021, -1, -1), (8, 0, 5, 29, 1, 1005, 0, 28)
    (folder / f"{30:020}.snapshot").write_bytes(snapshot(*rows))


SOUND: dict[str, Damage] = {
    "indexes with zeros": lambda folder: [
        appended(f"{SECOND}{suffix}", bytes(240))(folder) for suffix in (".index", ".timeindex")
    ],
    "no indexes": without_indexes,
    "an entry for a fetch of several batches": lambda folder: written(
        f"{FIRST}.index", entry(7, positions(folder / f"{FIRST}.log")[2][0])
    )(folder),
    "an epoch without records": epochs((0, 0), (2, 10), (3, 25), (9, 30)),
    "a segment that has just rolled": rolled,
    "a deleted segment": first_segment_deleted,
    "a snapshot at the end": written(
        f"{30:020}.snapshot",
        snapshot((7, 1, 21, 23, 1, 1021, -1, -1), (8, 0, 5, 29, 1, 1005, 0, 28)),
    ),
    "a file that is being deleted": written(f"{FIRST}.log.deleted", b"x"),
}
"""What may be in a sound log."""


@pytest.mark.parametrize("name", list(SOUND))
def test_what_kafka_does_is_no_problem(name: str, tmp_path: Path) -> None:
    SOUND[name](sound(tmp_path))
    assert report(tmp_path).problems == ()


def test_a_compacted_log_may_have_holes(tmp_path: Path) -> None:
    folder = sound(tmp_path)
    without_batch(FIRST, 7)(folder)
    (tmp_path / "cleaner-offset-checkpoint").write_text(write_offsets({NAME: 20}))
    found = report(tmp_path)
    assert found.problems == ()
    assert found.holes == ((14, 16),)
    assert found.is_compacted


def says_missing(found: PartitionReport) -> bool:
    """Whether the audit reports missing records."""
    return any("are missing" in problem.problem for problem in found.problems)


def test_a_broker_killed_before_the_cleaner_wrote_its_checkpoint_leaves_a_sound_log(
    tmp_path: Path,
) -> None:
    """The replaced segments are still there; a segment that retention removed says nothing."""
    folder = sound(tmp_path)
    without_batch(SECOND, 1)(folder)
    (folder / f"{FIRST}.log").unlink()
    (folder / f"{FIRST}.index").unlink()
    (folder / f"{FIRST}.log.deleted").touch()
    assert says_missing(report(tmp_path))
    (folder / f"{SECOND}.log.deleted").touch()
    found = report(tmp_path)
    assert not says_missing(found)
    assert found.is_compacted


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_a_topic_of_the_coordinators_is_compacted(topic: str, tmp_path: Path) -> None:
    folder = sound(tmp_path)
    without_batch(FIRST, 7)(folder)
    (tmp_path / "cleaner-offset-checkpoint").write_text(write_offsets({}))
    folder.rename(tmp_path / f"{topic}-0")
    assert not says_missing(report(tmp_path))


def test_a_partition_without_a_log_directory_is_read(tmp_path: Path) -> None:
    folder = sound(tmp_path / "broker")
    alone = tmp_path / "copy" / "orders-0"
    alone.parent.mkdir()
    folder.rename(alone)
    without_batch(FIRST, 7)(alone)
    _, (partition,) = find_partitions([alone])
    found = audit(partition)
    assert found.problems == ()  # it may have been compacted
    assert found.high_watermark is None
    assert found.holes == ((14, 16),)


def test_a_damaged_checkpoint_of_the_directory_is_reported_once(tmp_path: Path) -> None:
    sound(tmp_path)
    (tmp_path / "replication-offset-checkpoint").write_text("7\n")
    (directory,), _ = find_partitions([tmp_path])
    assert [problem.problem for problem in directory.problems] == ["the version is 7, not 0"]


def test_the_first_problems_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    writer = SegmentWriter(folder, 0)
    for _ in range(MOST + 20):
        writer.append(batch(0, producer_id=-1, producer_epoch=-1, max_timestamp=0))
    writer.close()
    found = report(tmp_path)
    assert len(found.problems) == MOST
    assert found.more_problems == 20


def test_no_more_leader_epochs_are_kept_than_a_log_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kspec.field.disk.batches.MOST_EPOCHS", 2)
    sound(tmp_path)
    found = report(tmp_path)
    assert len(found.leader_epochs) == 2
    assert "more than 2 leader epochs" in found.problems[0].problem


def test_folders_without_partitions_are_refused(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    for folder, says in ((tmp_path, "contains none"), (tmp_path / "no", "not a folder")):
        with pytest.raises(SpecError, match=says):
            find_partitions([folder])


# -- replicas -------------------------------------------------------------------------------------


def compared(*roots: Path) -> list[PartitionReport]:
    """The reports of replicas."""
    _, partitions = find_partitions(roots)
    return compare_replicas([audit(partition) for partition in partitions])


def replicas(tmp_path: Path, damage: Damage) -> list[str]:
    """The problems of the second of two replicas, which was changed; the first has none."""
    one, other = tmp_path / "1", tmp_path / "2"
    sound(one)
    damage(sound(other))
    first, second = compared(one, other)
    assert first.problems == ()
    return [problem.problem.replace(str(tmp_path), "") for problem in second.problems]


def test_replicas_are_the_same(tmp_path: Path) -> None:
    assert replicas(tmp_path, lambda folder: None) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (in_batch(FIRST, 3, 100, b"w"), "offset 6 of leader epoch 0 is a different record in /1/"),
        (
            lambda folder: (
                in_batch(FIRST, 5, 12, (1).to_bytes(4))(folder),
                epochs((0, 0), (1, 10), (2, 12), (3, 25))(folder),
            ),
            "offset 10 has leader epoch 1, but 2 in /1/",
        ),
        (
            written("partition.metadata", write_topic_id("A" * 21 + "Q")),
            f"the topic id is {'A' * 21}Q, in /1/orders-0 {TOPIC_ID}",
        ),
    ],
)
def test_the_first_difference_below_the_high_watermark_is_reported(
    damage: Damage, says: str, tmp_path: Path
) -> None:
    problems = replicas(tmp_path, damage)
    assert len(problems) == 1
    assert says in problems[0]


def test_records_above_the_high_watermark_may_differ(tmp_path: Path) -> None:
    """A follower truncates them."""
    assert replicas(tmp_path, in_batch(SECOND, 5, 100, b"w")) == []


def test_compacted_replicas_are_compared_record_by_record(tmp_path: Path) -> None:
    def compact(folder: Path) -> None:
        without_batch(FIRST, 2)(folder)
        (folder.parent / "cleaner-offset-checkpoint").write_text(write_offsets({NAME: 20}))

    assert replicas(tmp_path / "same", compact) == []

    def compact_and_damage(folder: Path) -> None:
        compact(folder)
        in_batch(FIRST, 3, 100, b"w")(folder)

    (problem,) = replicas(tmp_path / "different", compact_and_damage)
    assert "offset 8 of leader epoch 0 is a different record in" in problem


def test_a_report_is_json(tmp_path: Path) -> None:
    sound(tmp_path)
    record = report(tmp_path).to_json()
    wanted = {"topic", "partition", "segments", "batches", "records", "start", "end", "problems"}
    assert wanted <= set(record)
    assert json.loads(json.dumps(record)) == record
