"""Producers and transactions as the log has them, against snapshots and the transaction index.

What a broker rebuilds when it loads the log: the epoch and the last sequence number of each
producer, its open transaction, and from them the last stable offset. Sequence numbers that are left
out are no problem: a broker forgets a producer after `producer.id.expiration.ms`, and compaction
removes batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from checkers.logs.folders import read_bytes
from checkers.logs.problems import Problems
from impl.storage.indexes import (
    ABORTED_ENTRY,
    DamagedFile,
    ProducerEntry,
    read_aborted,
    read_snapshot,
)
from impl.storage.scan import CONTROL, TRANSACTIONAL, Rows
from impl.storage.segment import Segment
from spec.storage.control_records import read_marker
from spec.storage.record_batch import Record
from spec.storage.varint import Malformed

MOST_BYTES = 2**30
"""The largest snapshot or transaction index that is read."""

COLUMNS = (
    "position",
    "base_offset",
    "last_delta",
    "attributes",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)


@attrs.define
class Producer:
    """A producer, as far as the log was read."""

    epoch: int
    """Its epoch."""
    last_sequence: int = -1
    """The sequence number of its last record in this epoch."""
    last_offset: int = -1
    """The offset of that record."""
    transaction_start: int = -1
    """The first offset of its open transaction, or -1."""


@attrs.frozen
class Aborted:
    """A transaction that an abort marker ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the marker."""
    position: int
    """The byte of the marker's batch."""


class Producers:
    """The producers of a partition, across segments."""

    def __init__(self, problems: Problems, snapshots: dict[int, Path]) -> None:
        self.problems = problems
        self.known: dict[int, Producer] = {}
        self._snapshots = sorted(snapshots.items(), reverse=True)
        """The snapshots that are still ahead, by offset."""
        self._aborted: list[Aborted] = []
        """The aborted transactions of the segment that is being read."""
        self._first: int | None = None

    def last_stable_offset(self, end: int) -> int:
        """The first offset of the oldest open transaction, or the end of the log."""
        return min((start for start in self.open_transactions().values()), default=end)

    def open_transactions(self) -> dict[int, int]:
        """The first offset of each producer's open transaction."""
        return {
            id_: producer.transaction_start
            for id_, producer in self.known.items()
            if producer.transaction_start >= 0
        }

    def check(self, file: Path, segment: Segment, rows: Rows) -> None:
        """Replay batches that can be read."""
        if self._first is None and len(rows):
            self._first = int(rows["base_offset"][0])
        with_producer = rows[rows["producer_id"] >= 0]
        columns = [with_producer[name].tolist() for name in COLUMNS]
        for index, values in enumerate(zip(*columns, strict=True)):
            position, base, delta, attributes, id_, epoch, sequence = values
            while self._snapshots and self._snapshots[-1][0] <= base:
                self._check_snapshot(*self._snapshots.pop())
            producer = self.known.get(id_)
            if producer is None:
                producer = self.known[id_] = Producer(epoch)
            elif epoch < producer.epoch:
                text = f"producer {id_} writes in epoch {epoch} after epoch {producer.epoch}"
                self.problems.add(file, position, text)
                continue
            elif epoch > producer.epoch:
                producer.epoch, producer.last_sequence, producer.last_offset = epoch, -1, -1
            if attributes & CONTROL:
                self._end_transaction(file, segment, with_producer[index], id_, producer)
                continue
            behind = (producer.last_sequence - sequence) % 2**31
            if producer.last_sequence >= 0 and sequence >= 0 and behind < 2**30:
                text = f"producer {id_} repeats sequence number {sequence} of epoch {epoch}: "
                text += f"{producer.last_sequence} was at offset {producer.last_offset}"
                self.problems.add(file, position, text)
            if sequence >= 0:
                producer.last_sequence = (sequence + delta) % 2**31
                producer.last_offset = base + delta
            if attributes & TRANSACTIONAL and producer.transaction_start < 0:
                producer.transaction_start = base

    def _end_transaction(
        self, file: Path, segment: Segment, row: Any, id_: int, producer: Producer
    ) -> None:
        position = int(row["position"])
        records = segment.records(row)
        try:
            markers = [read_marker(Record(0, record.key, record.value)) for record in records]
        except Malformed as error:
            self.problems.add(file, position, str(error))
            return
        if len(markers) > 1:
            self.problems.add(file, position, f"a control batch has {len(markers)} records")
        for marker in markers:
            if marker is None:
                continue
            start, producer.transaction_start = producer.transaction_start, -1
            if start >= 0 and not marker.is_commit:
                self._aborted.append(Aborted(id_, start, int(row["base_offset"]), position))

    # -- transaction index ------------------------------------------------------------------------

    def finish_segment(self, file: Path, *, is_whole: bool) -> None:
        """Compare the aborted transactions of a segment with its index.

        `is_whole`: every batch was read, and the cleaner has removed none.
        """
        index_file = file.with_suffix(".txnindex")
        aborted, self._aborted = self._aborted, []
        entries: Any = ()
        if index_file.is_file():
            try:
                entries = read_aborted(read_bytes(index_file, MOST_BYTES)).tolist()
            except Malformed as error:
                self.problems.add(index_file, 0, str(error))
                return
            except DamagedFile as error:
                self.problems.add(index_file, error.position, str(error))
                return
        if not is_whole:
            return
        indexed = {
            (id_, last): (first, ABORTED_ENTRY.itemsize * number)
            for number, (_, id_, first, last, _) in enumerate(entries)
        }
        for one in aborted:
            first, position = indexed.pop((one.producer_id, one.last_offset), (-1, 0))
            text = f"the transaction of producer {one.producer_id}, aborted at {one.last_offset}, "
            if first < 0:
                self.problems.add(file, one.position, f"{text}is not in the transaction index")
            elif first != one.first_offset and first >= (self._first or 0):
                text += f"begins at {one.first_offset} in the log, not at {first}"
                self.problems.add(index_file, position, text)
        for (id_, last), (first, position) in indexed.items():
            if first >= (self._first or 0):
                text = f"no transaction of producer {id_} from {first} is aborted at {last}"
                self.problems.add(index_file, position, text)

    # -- snapshots --------------------------------------------------------------------------------

    def finish(self, end: int, *, is_whole: bool) -> None:
        """Compare the snapshots at the end of the log, and report those behind it."""
        while self._snapshots:
            offset, file = self._snapshots.pop()
            if offset <= end:
                self._check_snapshot(offset, file)
            elif is_whole:
                self.problems.add(file, 0, f"the snapshot is of offset {offset}, the end is {end}")

    def _check_snapshot(self, offset: int, file: Path) -> None:
        try:
            entries = read_snapshot(read_bytes(file, MOST_BYTES))
        except Malformed as error:
            self.problems.add(file, 0, str(error))
            return
        except DamagedFile as error:
            self.problems.add(file, error.position, str(error))
            return
        for number, entry in enumerate(entries):
            text = self._difference(entry)
            if text:
                text = f"producer {entry.producer_id} {text} in the snapshot of offset {offset}"
                self.problems.add(file, 10 + 46 * number, text)

    def _difference(self, entry: ProducerEntry) -> str | None:
        """In what a snapshot differs from the log."""
        producer = self.known.get(entry.producer_id)
        if producer is None:
            return None  # its records were deleted or compacted
        if entry.epoch != producer.epoch:
            return f"has epoch {producer.epoch} in the log, and {entry.epoch}"
        if producer.last_offset >= 0 and entry.last_offset != producer.last_offset:
            return f"wrote last at offset {producer.last_offset}, and at {entry.last_offset}"
        if producer.last_sequence >= 0 and entry.last_sequence != producer.last_sequence:
            return f"has sequence number {producer.last_sequence}, and {entry.last_sequence}"
        if entry.transaction_start != producer.transaction_start and (
            entry.transaction_start >= (self._first or 0) or entry.transaction_start < 0
        ):
            return (
                f"has its open transaction at {producer.transaction_start} in the log, and at "
                f"{entry.transaction_start}"
            )
        return None
