"""Logs that a real broker wrote, and what kafka-dump-log prints of them.

`python -m tests.impl.storage.real_logs` records a small log directory of a broker that was killed,
with Kafka's dump, in `tests/cases/storage/kafka-4.0.0.zip`. Needs Java, Maven and the extra
`clients`.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from kspec.impl.producer_state import decode
from kspec.impl.storage.codecs import NAMES
from kspec.impl.storage.indexes import read_aborted, read_offset_index, read_time_index
from kspec.impl.storage.scan import APPEND_TIME, CODEC, CONTROL, DELETE_HORIZON, TRANSACTIONAL
from kspec.impl.storage.segment import Segment
from kspec.spec.storage.control_records import read_control_type, read_marker
from kspec.spec.storage.record_batch import Record
from tests.real_broker import KAFKA, classpath, real_broker

RECORDED = Path(__file__).parents[2] / "cases" / "storage" / f"kafka-{KAFKA}.zip"
"""The recorded directory, and the dump in `dump.txt`."""

SETTINGS = {
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "log.index.interval.bytes": "500",
    "log.index.size.max.bytes": "60",
    "replica.high.watermark.checkpoint.interval.ms": "200",
}
"""Segments roll when their small indexes are full; the cleaner hurries."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def write_logs(folder: Path) -> None:
    """Let a broker write logs of every kind, and kill it."""
    with real_broker(settings={**SETTINGS, "log.dirs": str(folder)}) as address:
        create_topics(address)
        chance = Random("logs of a broker")
        for codec in CODECS:
            produce(address, codec, 40, chance, codec=codec)
        produce(address, "compact", 400, chance, codec="lz4")
        produce(address, "append-time", 20, chance, codec="none")
        abandoned = transactions(address, chance)
        wait_for_cleaner(folder)
        wait_for_checkpoint(folder)
    del abandoned


def create_topics(address: str) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    configs: dict[str, dict[str, str]] = {name: {} for name in (*CODECS, "transactions", "empty")}
    configs["compact"] = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    configs["append-time"] = {"message.timestamp.type": "LogAppendTime"}
    topics = [NewTopic(name, 1, 1, config=config) for name, config in configs.items()]
    admin = AdminClient({"bootstrap.servers": address})  # it has to live until they are created
    for created in admin.create_topics(topics).values():
        created.result(120)


def produce(address: str, topic: str, count: int, chance: Random, codec: str) -> None:
    from confluent_kafka import Producer

    settings = {"compression.type": codec, "batch.num.messages": 10, "linger.ms": 1}
    producer = Producer(
        {"bootstrap.servers": address, "enable.idempotence": topic != "gzip", **settings}
    )
    for number in range(count):
        producer.produce(
            topic,
            key=None if topic != "compact" and chance.random() < 0.1 else b"k%d" % (number % 9),
            value=None if chance.random() < 0.1 else bytes(chance.choices(b"ab", k=80)),
            headers=[("h", b"x"), ("n", None)] if chance.random() < 0.2 else None,
            timestamp=1_700_000_000_000 + chance.randrange(10**6),
        )
        if number % 8 == 7:
            assert producer.flush(120) == 0
    assert producer.flush(120) == 0


def transactions(address: str, chance: Random) -> list[Any]:
    """Committed, aborted and open transactions of three producers; returns the producers."""
    from confluent_kafka import Producer

    producers = []
    for number in range(3):
        settings = {"transactional.id": f"t{number}", "linger.ms": 0}
        producer = Producer({"bootstrap.servers": address, **settings})
        producer.init_transactions(120)
        producers.append(producer)
    for _ in range(25):
        producer = chance.choice(producers)
        producer.begin_transaction()
        for _ in range(chance.randint(1, 3)):
            producer.produce("transactions", key=b"k", value=b"v" * chance.randrange(90))
        assert producer.flush(120) == 0
        end = producer.abort_transaction if chance.random() < 0.4 else producer.commit_transaction
        end(120)
    for producer in producers[:2]:
        producer.begin_transaction()
        producer.produce("transactions", value=b"open")
        assert producer.flush(120) == 0
    return producers


def wait_for_cleaner(folder: Path) -> None:
    """Wait until the compacted topic has been cleaned."""
    wait_until(lambda: "compact 0" in text_of(folder / "cleaner-offset-checkpoint"))


def wait_for_checkpoint(folder: Path) -> None:
    """Wait until the high watermark of each topic is written."""
    names = (*CODECS, "append-time", "compact", "transactions")
    end = "compact 0 400"

    def is_written() -> bool:
        text = text_of(folder / "replication-offset-checkpoint")
        return end in text and all(f"{name} 0 " in text for name in names)

    wait_until(is_written)


def wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert time.monotonic() < deadline, "the broker does not do it"
        time.sleep(0.1)


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


# -- dumps ----------------------------------------------------------------------------------------

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def dumped_files(folder: Path) -> list[Path]:
    """The files of which kafka-dump-log prints the content; it fails for an empty segment's."""
    return sorted(
        path
        for path in folder.glob("*/*")
        if path.suffix in SUFFIXES and is_full(path.with_suffix(".log"))
    )


def is_full(log: Path) -> bool:
    return log.exists() and log.stat().st_size > 0


def kafka_dump(files: Sequence[Path]) -> str:
    """What kafka-dump-log prints; skips where Java, Maven or the jars are missing."""
    names = ",".join(map(str, files))
    tool = ["java", "-cp", classpath(), "kafka.tools.DumpLogSegments", "--deep-iteration"]
    ran = subprocess.run([*tool, "--files", names], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-6000:]
    assert "Mismatches in" not in ran.stderr, ran.stderr
    return ran.stdout


def our_dump(files: Sequence[Path]) -> str:
    """The same text, from what `kspec.impl.storage` reads."""
    lines = []
    for file in files:
        lines.append(f"Dumping {file}")
        lines += DUMPS[file.suffix](file)
    return "".join(f"{line}\n" for line in lines)


def dump_log(file: Path) -> Iterator[str]:
    yield f"Log starting offset: {int(file.stem)}"
    with Segment(file) as segment:
        for rows in segment.batches():
            for row in rows:
                yield batch_line(row)
                for record in segment.records(row):
                    yield record_line(row, record)


def batch_line(row: Any) -> str:
    attributes, base = int(row["attributes"]), int(row["base_offset"])
    sequence = int(row["base_sequence"])
    horizon = f"[{row['base_timestamp']}]" if attributes & DELETE_HORIZON else ".empty"
    return (
        f"baseOffset: {base} lastOffset: {base + row['last_delta']} count: {row['count']} "
        f"baseSequence: {sequence} lastSequence: {sequence_of(sequence, int(row['last_delta']))} "
        f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']} "
        f"partitionLeaderEpoch: {row['leader_epoch']} "
        f"isTransactional: {lower(attributes & TRANSACTIONAL)} "
        f"isControl: {lower(attributes & CONTROL)} deleteHorizonMs: OptionalLong{horizon} "
        f"position: {row['position']} {kind_of_time(attributes)}: {row['max_timestamp']} "
        f"size: {row['size']} magic: {row['magic']} compresscodec: {NAMES[attributes & CODEC]} "
        f"crc: {row['crc']} isvalid: {lower(row['fault'] == 0)}"
    )


def record_line(row: Any, record: Any) -> str:
    names = ",".join(key.decode() for key, _ in record.headers)
    delta = record.offset - int(row["base_offset"])
    line = (
        f"| offset: {record.offset} {kind_of_time(int(row['attributes']))}: {record.timestamp} "
        f"keySize: {size_of(record.key)} valueSize: {size_of(record.value)} "
        f"sequence: {sequence_of(int(row['base_sequence']), delta)} headerKeys: [{names}]"
    )
    if not row["attributes"] & CONTROL:
        return line
    control = Record(0, record.key, record.value)
    marker, kind = read_marker(control), read_control_type(control)
    if marker:
        outcome = "COMMIT" if marker.is_commit else "ABORT"
        return f"{line} endTxnMarker: {outcome} coordinatorEpoch: {marker.coordinator_epoch}"
    assert kind is not None
    return f"{line} controlType: {kind.name}({kind:d})"


def size_of(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def sequence_of(base: int, delta: int) -> int:
    return -1 if base < 0 else (base + delta) % 2**31


def kind_of_time(attributes: int) -> str:
    return "LogAppendTime" if attributes & APPEND_TIME else "CreateTime"


def lower(flag: object) -> str:
    return str(bool(flag)).lower()


def dump_index(file: Path) -> Iterator[str]:
    found = read_offset_index(file.read_bytes(), int(file.stem))
    if file.stat().st_size and not len(
        found.offsets
    ):  # Kafka prints the first entry although it is not in use
        yield f"offset: {int(file.stem)} position: 0"
    for offset, position in zip(found.offsets, found.others, strict=True):
        yield f"offset: {offset} position: {position}"


def dump_times(file: Path) -> Iterator[str]:
    found = read_time_index(file.read_bytes(), int(file.stem))
    if file.stat().st_size and not len(found.offsets):
        yield f"timestamp: 0 offset: {int(file.stem)}"
    for offset, timestamp in zip(found.offsets, found.others, strict=True):
        yield f"timestamp: {timestamp} offset: {offset}"


def dump_aborted(file: Path) -> Iterator[str]:
    for version, id_, first, last, stable in read_aborted(file.read_bytes()).tolist():
        yield (
            f"version: {version} producerId: {id_} firstOffset: {first} lastOffset: {last} "
            f"lastStableOffset: {stable}"
        )


def dump_snapshot(file: Path) -> Iterator[str]:
    for one in decode(file.read_bytes()):
        line = (
            f"producerId: {one.producer} producerEpoch: {one.epoch} "
            f"coordinatorEpoch: {one.coordinator_epoch} "
            f"currentTxnFirstOffset: {optional(one.transaction_start)} "
            f"lastTimestamp: {one.timestamp} "
        )
        if one.last_offset >= 0:
            first = (one.last_sequence - one.offset_delta) % 2**31
            line += (
                f"firstSequence: {first} lastSequence: {one.last_sequence} "
                f"lastOffset: {one.last_offset} offsetDelta: {one.offset_delta} "
                f"timestamp: {one.timestamp}"
            )
        yield line


def optional(value: int) -> str:
    return "OptionalLong.empty" if value < 0 else f"OptionalLong[{value}]"


DUMPS = {
    ".log": dump_log,
    ".index": dump_index,
    ".timeindex": dump_times,
    ".txnindex": dump_aborted,
    ".snapshot": dump_snapshot,
}


def comparable(dump: str) -> list[str]:
    """The lines of a dump that are compared.

    Kafka prints the content of KRaft's control records, and says where an index has no entry.
    """
    lines = []
    for line in dump.splitlines():
        if line.endswith(" is empty."):
            continue
        before, kraft, _ = line.partition("] KRaft")
        before, snapshot, _ = before.partition("] Snapshot")
        before, control, _ = before.partition("] controlType")
        lines.append(before.rstrip() + ("]" if kraft or snapshot or control else ""))
    return lines


def main() -> None:
    """Record a log directory."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder, "logs")
        logs.mkdir()
        write_logs(logs)
        dump = kafka_dump(dumped_files(logs)).replace(f"{logs}/", "")
        with zipfile.ZipFile(RECORDED, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(logs.rglob("*")):
                if file.is_file() and file.name != ".lock" and file.suffix != ".deleted":
                    archive.write(file, file.relative_to(logs))
            archive.writestr("dump.txt", dump)


if __name__ == "__main__":
    main()
