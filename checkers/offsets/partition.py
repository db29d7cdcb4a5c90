"""The entries of a partition's segments, with live and dead bytes.

The log is replayed as by a coordinator that loads it. Only the latest record of each live key is
kept, as bytes, and decoded at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np

from checkers.logs.batches import Continuity
from checkers.logs.folders import PartitionFolder, children, is_segment
from checkers.logs.problems import Problem, Problems
from checkers.offsets.cleaner import CleanerStatus, SegmentSummary, cleaner_status
from checkers.offsets.entries import Entry
from impl.storage.codecs import Decompressor
from impl.storage.latest import LATEST, is_plain, latest_in_run
from impl.storage.scan import CONTROL, Rows
from impl.storage.segment import Segment
from spec.core import SpecError
from spec.storage.control_records import read_marker
from spec.storage.coordinator_records import GROUP_RECORDS, read_record
from spec.storage.record_batch import Record
from spec.storage.varint import Malformed

OFFSET_KEYS = (b"\0\0", b"\0\1")
"""How the keys of committed offsets begin; only these records are transactional."""

RUN = 2**18
"""About how many records are replayed at a time."""

COLUMNS = ("position", "size", "attributes", "producer_id", "base_offset", "max_timestamp")


class Latest(NamedTuple):
    """The latest record of a key, not yet decoded."""

    offset: int
    value: bytes
    size: int
    dead: int
    """The bytes of the earlier records of this key, since its last tombstone."""


@attrs.frozen
class OpenTransaction:
    """A transaction without a marker, which holds back the last stable offset and the cleaner."""

    producer_id: int
    """Its producer."""
    first_offset: int
    """Its first offset."""
    since: int
    """When its first batch was written, in milliseconds."""


class Replay:
    """A partition of `__consumer_offsets` as a coordinator knows it after loading.

    Kafka: `OffsetMetadataManager.replay` and `replayEndTransactionMarker`; specified in
    `spec.offsets_topic.replay`.
    """

    def __init__(self) -> None:
        self.latest: dict[bytes, Latest] = {}
        """The latest record of each key that counts."""
        self.pending: dict[int, dict[bytes, Latest]] = {}
        """By producer, the commits of its open transaction."""
        self.open: dict[int, OpenTransaction] = {}
        """The open transactions, by producer."""
        self.tombstones = 0
        """How many tombstones the log has."""

    def append(
        self, key: bytes, value: bytes | None, offset: int, size: int, producer: int
    ) -> None:
        """Replay a record of data; `producer` is -1 outside of transactions."""
        if value is None:
            self.tombstones += 1
            self.delete(key)
            return
        is_pending = producer >= 0 and key[:2] in OFFSET_KEYS
        target = self.pending.setdefault(producer, {}) if is_pending else self.latest
        put(target, key, Latest(offset, value, size, 0))

    def append_run(self, data: Any, found: Rows) -> None:
        """Replay the latest record of each key of a run of batches without transactions."""
        for key, value, offset, size, dead, _, key_size, value_size, is_deleted in found.tolist():
            name = data[key : key + key_size].tobytes()
            if is_deleted:
                self.delete(name)
            if value_size >= 0:
                content = data[value : value + value_size].tobytes()
                put(self.latest, name, Latest(offset, content, size, dead))

    def delete(self, key: bytes) -> None:
        """Replay a tombstone."""
        self.latest.pop(key, None)
        for commits in self.pending.values():
            commits.pop(key, None)

    def begin(self, producer: int, offset: int, time: int) -> None:
        """Note a transactional batch."""
        if producer not in self.open:
            self.open[producer] = OpenTransaction(producer, offset, time)

    def end(self, producer: int, *, is_commit: bool) -> None:
        """Replay the marker of a producer's transaction."""
        self.open.pop(producer, None)
        for key, commit in self.pending.pop(producer, {}).items():
            known = self.latest.get(key)
            if not is_commit:
                if known is not None:
                    self.latest[key] = known._replace(dead=known.dead + commit.dead + commit.size)
            elif known is None:
                self.latest[key] = commit
            else:
                winner, loser = (commit, known) if commit.offset > known.offset else (known, commit)
                dead = commit.dead + known.dead + loser.size
                self.latest[key] = winner._replace(dead=dead)


def put(latest: dict[bytes, Latest], key: bytes, record: Latest) -> None:
    """Replace the latest record of a key."""
    before = latest.get(key)
    dead = 0 if before is None else before.dead + before.size
    latest[key] = record._replace(dead=record.dead + dead) if dead else record


@attrs.frozen
class OffsetsPartition:
    """What was found in a partition of `__consumer_offsets`."""

    folder: PartitionFolder
    """The folder."""
    entries: list[Entry]
    """The latest record of each key that counts."""
    pending: list[Entry]
    """The commits of open transactions."""
    open_transactions: list[OpenTransaction]
    """The open transactions, the oldest first."""
    records: int
    """How many records the log has."""
    start: int
    """The base offset of the first segment."""
    end: int
    """The log end offset."""
    bytes: int
    """The bytes of the segments."""
    tombstones: int
    """How many tombstones."""
    unknown: dict[int, int]
    """How many live records of each type that is not known."""
    cleaner: CleanerStatus
    """Whether the cleaner keeps up."""
    problems: list[Problem]
    """What is wrong."""
    more_problems: int
    """How many further problems there are."""

    @property
    def live_bytes(self) -> int:
        """The bytes that a complete compaction would leave."""
        return sum(entry.live_bytes or 0 for entry in (*self.entries, *self.pending))

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end."""
        return min((one.first_offset for one in self.open_transactions), default=self.end)

    def to_json(self) -> dict[str, object]:
        """The partition, for a machine."""
        return {
            "partition": self.folder.name.partition,
            "directory": str(self.folder.path),
            "records": self.records,
            "start": self.start,
            "end": self.end,
            "last_stable_offset": self.last_stable_offset,
            "bytes": self.bytes,
            "live_bytes": self.live_bytes,
            "dead_bytes": self.bytes - self.live_bytes,
            "keys": len(self.entries),
            "tombstones": self.tombstones,
            "unknown_records": {str(kind): count for kind, count in sorted(self.unknown.items())},
            "cleaner": self.cleaner.to_json(),
            "open_transactions": [attrs.asdict(one) for one in self.open_transactions],
            "problems": [problem.to_json() for problem in self.problems],
            "more_problems": self.more_problems,
        }


def read_partition(folder: PartitionFolder, now: int) -> OffsetsPartition:
    """Read the segments of a partition; a damaged batch is reported, and the others are read."""
    problems = Problems()
    files = sorted(p for p in children(folder.path) if is_segment(p) and p.is_file())
    if not files:
        raise SpecError(f"no segment in {folder.path} is a file")
    log, replay, summaries = Continuity(problems, was_cleaned=True), Replay(), []
    decompressor = Decompressor()
    checkpoint = (folder.directory.cleaned or {}).get(folder.name)
    for file in files:
        summary = SegmentSummary(int(file.stem), file.stat().st_size, checkpoint or 0)
        summaries.append(summary)
        try:
            with Segment(file, decompressor) as segment:
                for rows in segment.batches():
                    good = log.check(file, summary.base_offset, segment, rows)
                    summary.note(good)
                    replay_rows(replay, file, segment, good, problems)
                log.check_rest(file, segment)
        except OSError as error:
            raise SpecError(f"cannot read {file}: {error.strerror}") from None
    end = max(log.end, summaries[-1].base_offset)
    unknown: Counter[int] = Counter()
    partition = folder.name.partition
    entries = [
        *decoded(replay.latest, partition, None, folder.path, problems, unknown),
    ]
    pending = [
        entry
        for producer, commits in replay.pending.items()
        for entry in decoded(commits, partition, producer, folder.path, problems, unknown)
    ]
    transactions = sorted(replay.open.values(), key=lambda one: one.first_offset)
    stable = min((one.first_offset for one in transactions), default=end)
    status = cleaner_status(
        summaries, checkpoint, end, stable, now, is_known=folder.directory.cleaned is not None
    )
    return OffsetsPartition(
        folder,
        entries,
        pending,
        transactions,
        log.records,
        summaries[0].base_offset,
        end,
        sum(summary.size for summary in summaries),
        replay.tombstones,
        dict(unknown),
        status,
        list(problems.kept),
        problems.count - len(problems.kept),
    )


def replay_rows(
    replay: Replay, file: Path, segment: Segment, rows: Rows, problems: Problems
) -> None:
    """Replay batches that can be read: in runs as far as possible, else record by record."""
    plain = is_plain(rows)
    places = np.cumsum(rows["count"], dtype=np.int64) // RUN
    ends = np.flatnonzero((np.diff(plain) != 0) | (np.diff(places) != 0)) + 1
    for run in np.split(rows, ends):
        if not len(run):
            continue
        if not is_plain(run)[0] or not replay_run(replay, segment, run):
            replay_batches(replay, file, segment, run, problems)


def replay_run(replay: Replay, segment: Segment, run: Rows) -> bool:
    """Replay a run of batches; whether each record has a key."""
    records = int(run["count"].sum(dtype=np.int64))
    found = np.zeros(records, LATEST)
    slots = np.full(2 << records.bit_length(), -1, np.int64)
    count, tombstones = latest_in_run(segment.data, run, found, slots)
    if count < 0:
        return False
    replay.tombstones += tombstones
    replay.append_run(segment.data, found[:count])
    return True


def replay_batches(
    replay: Replay, file: Path, segment: Segment, rows: Rows, problems: Problems
) -> None:
    """Replay batches that can be read."""
    columns = [rows[name].tolist() for name in COLUMNS]
    for index, values in enumerate(zip(*columns, strict=True)):
        position, size, attributes, producer, base, time = values
        records = segment.records(rows[index])
        if attributes & CONTROL:
            for record in records:
                try:
                    marker = read_marker(Record(0, record.key, record.value))
                except Malformed as error:
                    problems.add(file, position, str(error))
                    continue
                if marker is not None:
                    replay.end(producer, is_commit=marker.is_commit)
            continue
        if producer >= 0 and records:
            replay.begin(producer, base, time)
        weights = [len(record.key or b"") + len(record.value or b"") + 1 for record in records]
        rest, total = size, sum(weights)
        for record, weight in zip(records, weights, strict=True):
            # The batch in proportion, so that all shares together are its size.
            share = rest * weight // total
            rest, total = rest - share, total - weight
            if record.key is None:
                problems.add(file, position, f"the record at offset {record.offset} has no key")
            else:
                replay.append(record.key, record.value, record.offset, share, producer)


def decoded(
    latest: dict[bytes, Latest],
    partition: int,
    producer: int | None,
    folder: Path,
    problems: Problems,
    unknown: Counter[int],
) -> Iterator[Entry]:
    """The records, as a coordinator reads them; it skips types that it does not know."""
    for key, (offset, value, size, dead) in latest.items():
        try:
            record = read_record(GROUP_RECORDS, key, value)
        except Malformed as error:
            problems.add(folder, 0, f"the record at offset {offset} is malformed: {error}")
            continue
        if record is None:
            unknown[int.from_bytes(key[:2], signed=True)] += 1
        else:
            yield Entry(record, partition, offset, size, dead, producer)
