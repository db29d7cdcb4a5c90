"""Indexes against the batches of their segment.

A look-up takes the greatest entry that is not above the target, and scans from there. So each entry
of the offset index has to point at a batch that no record above its offset precedes, and each entry
of the time index has to have the greatest time up to its offset. A batch need not have an entry.

Up to Kafka 4.0, an append of several batches, such as a follower's, has one entry: the offset of
its last batch with the position of its first. A look-up then begins too early, which is harmless.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kspec.field.disk.folders import read_beside
from kspec.field.disk.problems import Problems
from kspec.impl.storage.indexes import Entries, read_offset_index, read_time_index
from kspec.impl.storage.scan import Fault, Rows

MOST_BYTES = 2**28
"""The largest index that is read: `segment.index.bytes` is 10 MiB by default."""

NOTHING = Entries(np.empty(0, np.int64), np.empty(0, np.int64), 8)


class SegmentIndexes:
    """The two indexes of a segment, compared with its batches as they are read."""

    def __init__(self, segment: Path, base: int, problems: Problems) -> None:
        self.problems = problems
        self.offset_file = segment.with_suffix(".index")
        self.time_file = segment.with_suffix(".timeindex")
        self.offsets = self._read(self.offset_file, base)
        self.times = self._read(self.time_file, base)
        self._end = base
        self._latest = -1
        self._next_offset = self._next_time = 0
        self._is_sure = True
        self._check_order()

    def _read(self, file: Path, base: int) -> Entries:
        parse = read_offset_index if file is self.offset_file else read_time_index
        found = read_beside(file, lambda raw: parse(raw, base), self.problems, MOST_BYTES)
        return NOTHING if found is None else found

    def _check_order(self) -> None:
        """Both columns of the offset index increase; those of the time index may repeat offsets."""
        for file, index, least in (
            (self.offset_file, self.offsets, 1),
            (self.time_file, self.times, 0),
        ):
            wrong = (np.diff(index.offsets) < least) | (np.diff(index.others) < 1)
            for entry in np.flatnonzero(wrong) + 1:
                text = f"the entry for offset {index.offsets[entry]} is out of order"
                self._add(file, entry, text, index.size)

    def check(self, rows: Rows, good: Rows) -> None:
        """Compare the entries that point into these batches, of which some can be read."""
        self._is_sure &= len(good) == len(rows)
        self._check_offsets(rows)
        if len(good):
            self._check_times(good, good["base_offset"] + good["last_delta"] + 1)

    def _check_offsets(self, rows: Rows) -> None:
        index, start = self.offsets, self._next_offset
        limit = int(rows["position"][-1]) + int(rows["size"][-1])
        stop = start + int(np.searchsorted(index.others[start:], limit))
        self._next_offset = stop
        positions, offsets = index.others[start:stop], index.offsets[start:stop]
        at = np.clip(np.searchsorted(rows["position"], positions), 0, len(rows) - 1)
        is_good = (rows["fault"] == Fault.NONE) | (rows["fault"] >= Fault.OFFSETS)
        ends = np.where(is_good, rows["base_offset"] + rows["last_delta"] + 1, self._end)
        before = np.maximum.accumulate(np.concatenate(([self._end], ends)))
        self._end = int(before[-1])
        nowhere = rows["position"][at] != positions
        for entry in np.flatnonzero(nowhere):
            text = f"the entry for offset {offsets[entry]} points at byte {positions[entry]}"
            self._add(self.offset_file, start + entry, text + ", where no batch begins", 8)
        for entry in np.flatnonzero(~nowhere & is_good[at] & (offsets < before[at])):
            text = f"the entry for offset {offsets[entry]} points at byte {positions[entry]}"
            text += f", past its batch: offset {rows['base_offset'][at[entry]]} is there"
            self._add(self.offset_file, start + entry, text, 8)

    def _check_times(self, rows: Rows, ends: Any) -> None:
        index, start = self.times, self._next_time
        latest = np.maximum.accumulate(np.maximum(rows["max_timestamp"], self._latest))
        stop = start + int(np.searchsorted(index.offsets[start:], ends[-1]))
        self._next_time = stop
        times, offsets = index.others[start:stop], index.offsets[start:stop]
        at = np.clip(np.searchsorted(ends, offsets, side="right"), 0, len(rows) - 1)
        self._latest = int(latest[-1])
        if not self._is_sure:
            return
        for entry in np.flatnonzero(latest[at] != times):
            text = f"the entry for offset {offsets[entry]} has time {times[entry]}"
            text += f", but the latest time up to this offset is {latest[at[entry]]}"
            self._add(self.time_file, start + entry, text, 12)

    def finish(self) -> None:
        """Report the entries behind the end of the segment."""
        for entry in range(self._next_offset, len(self.offsets.offsets)):
            position = self.offsets.others[entry]
            text = f"the entry for offset {self.offsets.offsets[entry]} points at byte {position}"
            self._add(self.offset_file, entry, text + ", behind the last batch", 8)
        for entry in range(self._next_time, len(self.times.offsets)):
            text = f"the entry for offset {self.times.offsets[entry]} is beyond the last batch"
            self._add(self.time_file, entry, text, 12)

    def _add(self, file: Path, entry: Any, text: str, size: int) -> None:
        self.problems.add(file, int(entry) * size, text)
