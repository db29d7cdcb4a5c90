"""A partition of `__consumer_offsets`, replayed as by a coordinator that loads it.

Batches without transactions are replayed in runs, by compiled code; the others record by record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np

from kspec.field.disk.problems import Problems
from kspec.impl.storage.latest import LATEST, is_plain, latest_in_run
from kspec.impl.storage.scan import CONTROL, TRANSACTIONAL, Rows
from kspec.impl.storage.segment import Segment
from kspec.spec.storage.control_records import read_marker
from kspec.spec.storage.record_batch import Record
from kspec.spec.storage.varint import Malformed

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

    @property
    def live_bytes(self) -> int:
        """The bytes of the latest record of each key, and of the commits of open transactions."""
        live = sum(record.size for record in self.latest.values())
        return live + sum(c.size for commits in self.pending.values() for c in commits.values())

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
        if attributes & TRANSACTIONAL and records:
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
