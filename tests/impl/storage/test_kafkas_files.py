"""Files that Kafka wrote are read as Kafka reads them, and Kafka reads the files of `impl`."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from random import Random

import pytest

from kspec.checkers.cli.main import run
from kspec.field.disk.audit import LEFT_OVER
from kspec.impl.storage.segment import Segment
from kspec.impl.storage.writer import SegmentWriter, encode_batch
from kspec.spec.storage.compression import Codec
from kspec.spec.storage.record_batch import read_batch, write_batch
from tests.impl.storage.real_logs import (
    RECORDED,
    comparable,
    dumped_files,
    kafka_dump,
    our_dump,
    write_logs,
)
from tests.spec.storage.draws import draw_batch


def test_recorded_files_are_read_as_kafka_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that was killed wrote them: codecs, transactions, compaction, rolled segments."""
    with zipfile.ZipFile(RECORDED) as archive:
        archive.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    dump = Path("dump.txt").read_text()
    assert comparable(our_dump(dumped_files(Path()))) == comparable(dump)
    for said in (
        "zstd",
        "lz4",
        "snappy",
        "gzip",
        "ABORT",
        "COMMIT",
        "LogAppendTime",
        "firstOffset",
    ):
        assert said in dump
    assert run(["log", "."]) == 0


def write_segment(folder: Path) -> None:
    """A segment with batches of every codec, and its indexes."""
    chance = Random("a written segment")
    writer = SegmentWriter(folder, 100, index_interval=500)
    for number in range(60):
        writer.append(write_batch(draw_batch(chance, Codec(number % 5))), leader_epoch=number // 20)
        writer.append(encode_batch([(10**12 + number, b"k", b"v" * number)]), number // 20)
    writer.close()


def test_a_written_segment_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    write_segment(folder)
    with Segment(folder / f"{100:020}.log", chunk=7) as segment:
        rows = [row.copy() for rows in segment.batches() for row in rows]
        assert not segment.ended_by
        for row in rows[1::2]:
            assert len(read_batch(segment.bytes_of(row)).records) == 1
    assert len(rows) == 120
    assert not any(row["fault"] for row in rows)
    assert run(["log", str(folder)]) == 0


@pytest.mark.slow
@pytest.mark.other_software
def test_kafka_accepts_a_written_segment(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    write_segment(folder)
    files = dumped_files(tmp_path)
    assert len(files) == 3
    assert comparable(our_dump(files)) == comparable(kafka_dump(files))


@pytest.mark.slow
@pytest.mark.other_software
def test_the_log_of_a_killed_broker_is_read_as_kafka_reads_it(tmp_path: Path) -> None:
    """Not the log of the controller, which may be writing, nor one that is being compacted."""
    pytest.importorskip("confluent_kafka")
    write_logs(tmp_path)
    shutil.rmtree(tmp_path / "__cluster_metadata-0")
    for path in list(tmp_path.glob("*/*")):
        if path.suffix in LEFT_OVER and path.exists():
            shutil.rmtree(path.parent)
    files = dumped_files(tmp_path)
    assert {"transactions-0", "zstd-0"} <= {file.parent.name for file in files}
    assert comparable(our_dump(files)) == comparable(kafka_dump(files))
    assert run(["log", str(tmp_path)]) == 0
