"""Producers and transactions as the log has them, against snapshots and the transaction index.

The log is replayed as by a broker that starts: the epoch and the last sequence number of each
producer, its open transaction, and from them the last stable offset. Sequence numbers that are left
out are no problem: a broker forgets a producer after `producer.id.expiration.ms`, and compaction
removes batches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kspec.field.disk.folders import read_beside, read_bytes
from kspec.field.disk.problems import Problems
from kspec.impl.producer_state import Aborted, CorruptSnapshot, Producer, ProducerState, decode
from kspec.impl.producer_state.snapshot import Row
from kspec.impl.storage.indexes import ABORTED_ENTRY, read_aborted
from kspec.impl.storage.scan import CONTROL, TRANSACTIONAL, Rows
from kspec.impl.storage.segment import Segment
from kspec.spec.storage.control_records import read_marker
from kspec.spec.storage.record_batch import Record
from kspec.spec.storage.varint import Malformed

MOST_BYTES = 2**28
"""The largest snapshot or transaction index that is read."""

SNAPSHOT_HEADER, SNAPSHOT_ROW = 10, 46
"""The bytes in front of a snapshot's rows, and those of a row."""

COLUMNS = (
    "position",
    "base_offset",
    "last_delta",
    "attributes",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "max_timestamp",
)


class Producers:
    """The producers of a partition, across segments."""

    def __init__(self, problems: Problems, snapshots: dict[int, Path]) -> None:
        self.problems = problems
        self.state = ProducerState(verifies=False)
        self._snapshots = sorted(snapshots.items(), reverse=True)
        """The snapshots that are still ahead, by offset."""
        self._markers: dict[int, int] = {}
        """The byte of each abort marker of the segment that is being read, by its offset."""
        self._first: int | None = None

    def last_stable_offset(self, end: int) -> int:
        """The first offset of the oldest open transaction, or the end of the log."""
        return min(self.open_transactions().values(), default=end)

    def open_transactions(self) -> dict[int, int]:
        """The first offset of each producer's open transaction."""
        producers = self.state.producers.items()
        return {id_: producer.start for id_, producer in producers if producer.start >= 0}

    def check(self, file: Path, segment: Segment, rows: Rows) -> None:
        """Replay batches that can be read."""
        if self._first is None and len(rows):
            self._first = int(rows["base_offset"][0])
        with_producer = rows[rows["producer_id"] >= 0]
        columns = [with_producer[name].tolist() for name in COLUMNS]
        for index, values in enumerate(zip(*columns, strict=True)):
            position, base, delta, attributes, id_, epoch, sequence, time = values
            while self._snapshots and self._snapshots[-1][0] <= base:
                self._check_snapshot(*self._snapshots.pop())
            producer = self.state.producers.get(id_)
            if producer is not None and epoch < producer.epoch:
                text = f"producer {id_} writes in epoch {epoch} after epoch {producer.epoch}"
                self.problems.add(file, position, text)
            elif attributes & CONTROL:
                self._end_transaction(file, segment, with_producer[index])
            else:
                if producer is not None and epoch == producer.epoch:
                    self._check_sequence(file, position, id_, producer, sequence)
                last_sequence = (sequence + delta) % 2**31
                is_transactional = bool(attributes & TRANSACTIONAL)
                self.state.append(
                    id_,
                    epoch,
                    sequence,
                    last_sequence,
                    base,
                    base + delta,
                    time,
                    is_transactional=is_transactional,
                )

    def _check_sequence(
        self, file: Path, position: int, id_: int, producer: Producer, sequence: int
    ) -> None:
        if not producer.batches:
            return
        last = producer.batches[-1]
        if (last.last_sequence - sequence) % 2**31 < 2**30:
            text = f"producer {id_} repeats sequence number {sequence} of epoch {producer.epoch}: "
            text += f"{last.last_sequence} was at offset {last.last_offset}"
            self.problems.add(file, position, text)

    def _end_transaction(self, file: Path, segment: Segment, row: Any) -> None:
        position, offset = int(row["position"]), int(row["base_offset"])
        try:
            markers = [read_marker(Record(0, r.key, r.value)) for r in segment.records(row)]
        except Malformed as error:
            self.problems.add(file, position, str(error))
            return
        if len(markers) > 1:
            self.problems.add(file, position, f"a control batch has {len(markers)} records")
        for marker in filter(None, markers):
            self.state.append_marker(
                int(row["producer_id"]),
                int(row["producer_epoch"]),
                marker.coordinator_epoch,
                offset,
                int(row["max_timestamp"]),
                is_abort=not marker.is_commit,
            )
            if not marker.is_commit:
                self._markers[offset] = position

    # -- transaction index ------------------------------------------------------------------------

    def finish_segment(self, file: Path, *, is_whole: bool) -> None:
        """Compare the aborted transactions of a segment with its index.

        `is_whole`: every batch was read, and the cleaner has removed none.
        """
        index_file = file.with_suffix(".txnindex")
        aborted, markers = list(self.state.aborted.entries), self._markers
        self.state.aborted.truncate(0)
        self._markers = {}
        indexed: dict[tuple[int, int], tuple[int, Aborted]] = {}
        if index_file.is_file():
            entries = read_beside(index_file, read_aborted, self.problems, MOST_BYTES)
            if entries is None:
                return
            for number, (_, *entry) in enumerate(entries.tolist()):
                found = Aborted(*entry)
                position = number * ABORTED_ENTRY.itemsize
                indexed[found.producer, found.last_offset] = position, found
        if not is_whole:
            return
        for one in aborted:
            position, entry = indexed.pop((one.producer, one.last_offset), (0, None))
            text = f"the transaction of producer {one.producer}, aborted at {one.last_offset}, "
            if entry is None:
                text += "is not in the transaction index"
                self.problems.add(file, markers.get(one.last_offset, 0), text)
            elif not self._are_the_same(entry.first_offset, one.first_offset):
                text += f"begins at {one.first_offset} in the log, not at {entry.first_offset}"
                self.problems.add(index_file, position, text)
            elif not self._are_the_same(entry.last_stable_offset, one.last_stable_offset):
                text += f"leaves {one.last_stable_offset} as the last stable offset, "
                self.problems.add(index_file, position, f"{text}not {entry.last_stable_offset}")
        for position, entry in indexed.values():
            if entry.first_offset >= (self._first or 0):
                text = f"no transaction of producer {entry.producer} from {entry.first_offset}"
                text += f" is aborted at {entry.last_offset}"
                self.problems.add(index_file, position, text)

    def _are_the_same(self, stored: int, replayed: int) -> bool:
        """Whether two offsets are the same; what began before the log cannot be replayed."""
        return stored == replayed or 0 <= stored < (self._first or 0)

    # -- snapshots --------------------------------------------------------------------------------

    def finish(self, end: int, *, is_whole: bool) -> None:
        """Compare the snapshots at the end of the log, and report those behind it."""
        while self._snapshots:
            offset, file = self._snapshots.pop()
            if offset <= end:
                self._check_snapshot(offset, file)
            elif is_whole:
                self.problems.add(
                    file, 0, f"the snapshot is for offset {offset}, beyond the end {end}"
                )

    def _check_snapshot(self, offset: int, file: Path) -> None:
        try:
            rows = decode(read_bytes(file, MOST_BYTES))
        except (CorruptSnapshot, Malformed) as error:
            self.problems.add(file, 0, f"the snapshot is damaged: {error}")
            return
        for number, row in enumerate(rows):
            if text := self._difference(row):
                text = f"producer {row.producer} {text} in the snapshot of offset {offset}"
                self.problems.add(file, SNAPSHOT_HEADER + SNAPSHOT_ROW * number, text)

    def _difference(self, row: Row) -> str | None:
        """In what a snapshot differs from the log."""
        producer = self.state.producers.get(row.producer)
        if producer is None:
            return None  # its records were deleted or compacted
        if row.epoch != producer.epoch:
            return f"has epoch {producer.epoch} in the log, but {row.epoch}"
        if producer.batches:
            last = producer.batches[-1]
            if row.last_offset != last.last_offset:
                return f"wrote last at offset {last.last_offset}, but at {row.last_offset}"
            if row.last_sequence != last.last_sequence:
                return f"has sequence number {last.last_sequence}, but {row.last_sequence}"
        if not self._are_the_same(row.transaction_start, producer.start):
            start = row.transaction_start
            return f"has its open transaction at {producer.start} in the log, but at {start}"
        return None
