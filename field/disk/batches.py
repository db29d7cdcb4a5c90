"""What one batch has to do with the batches before it: offsets, leader epochs, faults."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from kspec.field.disk.problems import Problems
from kspec.impl.storage.codecs import Decompressor
from kspec.impl.storage.scan import DELETE_HORIZON, Fault, Rows
from kspec.impl.storage.segment import Segment
from kspec.spec.core import SpecError
from kspec.traces.page.html import asset

WORDS = tomllib.loads(asset(__package__, "faults.toml"))
"""What is wrong with a batch, by the name of its fault."""

MOST_HOLES = 1000
"""How many holes of a log are kept."""
MOST_EPOCHS = 100_000
"""How many leader epochs a log may have; damaged ones could fill the memory."""


@attrs.frozen
class EpochStart:
    """Where a leader epoch begins in the log."""

    epoch: int
    """The epoch."""
    offset: int
    """The base offset of its first batch."""
    after: int
    """The end of the batch before."""
    file: Path
    """The segment."""
    position: int
    """The byte of the batch."""


class Continuity:
    """The log as far as it was read, across segments."""

    def __init__(self, problems: Problems, *, was_cleaned: bool | None) -> None:
        self.problems = problems
        self.was_cleaned = was_cleaned
        """Whether the cleaner knows this partition; None if that is not known."""
        self.batches = self.records = 0
        self.first: int | None = None
        """The base offset of the first batch."""
        self.end = -1
        """The offset after the last batch."""
        self.epochs: list[EpochStart] = []
        """The leader epochs, in the order in which they begin."""
        self.holes: list[tuple[int, int]] = []
        """Ranges of offsets, each up to its second number, that no batch has."""
        self._was_rewritten = False
        """Whether a batch shows that the cleaner rewrote it."""
        self._is_sure = True
        """Whether the batch before was read."""

    @property
    def may_be_compacted(self) -> bool:
        """Whether the cleaner may have removed records."""
        if self.was_cleaned is None:
            return self._was_rewritten or bool(self.holes)
        return self.was_cleaned or self._was_rewritten

    def read(self, file: Path, decompressor: Decompressor) -> Iterator[tuple[Segment, Rows, Rows]]:
        """The next segment, with its batches in runs: all of a run, and those that can be read."""
        try:
            with Segment(file, decompressor) as segment:
                for rows in segment.batches():
                    yield segment, rows, self._check(file, int(file.stem), segment, rows)
                self._check_rest(file, segment)
        except OSError as error:
            raise SpecError(f"cannot read {file}: {error.strerror}") from None

    def _check(self, file: Path, base: int, segment: Segment, rows: Rows) -> Rows:
        """Check batches that follow those before; returns those that can be read."""
        self.batches += len(rows)
        for row in rows[rows["fault"] != Fault.NONE]:
            fault = Fault(row["fault"])
            reason = segment.reasons.get(int(row["position"]))
            text = WORDS[fault.name] + (f": {reason}" if reason else "")
            self.problems.add(file, row["position"], text)
        good: Rows = rows[(rows["fault"] == Fault.NONE) | (rows["fault"] >= Fault.OFFSETS)]
        if len(good) == 0:
            self._is_sure = False
            return good
        self.records += int(good["count"].sum())
        fewer = (good["magic"] == 2) & (good["count"] != good["last_delta"].astype(np.int64) + 1)
        self._was_rewritten |= bool((fewer | (good["attributes"] & DELETE_HORIZON != 0)).any())
        ends = good["base_offset"] + good["last_delta"] + 1
        if self.first is None:
            self.first = self.end = int(good["base_offset"][0])
        before = np.concatenate(([self.end], ends[:-1]))
        self._check_offsets(file, base, good, before)
        adjacent = np.concatenate(([self._is_sure], np.diff(good["position"]) == good["size"][:-1]))
        self._note_holes(file, good, before, adjacent)
        self._check_epochs(file, good, before)
        self.end = max(self.end, int(ends.max()))
        self._is_sure = bool(rows[-1]["fault"] == Fault.NONE)
        return good

    def _check_offsets(self, file: Path, base: int, good: Rows, before: Any) -> None:
        for index in np.flatnonzero(good["base_offset"] < before):
            row = good[index]
            text = f"the batch begins at offset {row['base_offset']}, below {before[index]}, "
            self.problems.add(file, row["position"], text + "the end of the batch before it")
        below = (good["base_offset"] < base) | (good["base_offset"] - base >= 2**31)
        for row in good[below]:
            text = f"offset {row['base_offset']} is not in a segment that begins at {base}"
            self.problems.add(file, row["position"], text)

    def _note_holes(self, file: Path, good: Rows, before: Any, adjacent: Any) -> None:
        for index in np.flatnonzero((good["base_offset"] > before) & adjacent):
            row, start = good[index], int(before[index])
            if len(self.holes) < MOST_HOLES:
                self.holes.append((start, int(row["base_offset"])))
            if self.was_cleaned is False:
                text = f"the records from offset {start} to {row['base_offset'] - 1} are missing"
                self.problems.add(file, row["position"], text + ", and the log was never compacted")

    def _check_epochs(self, file: Path, good: Rows, before: Any) -> None:
        known = self.epochs[-1].epoch if self.epochs else -1
        epochs = good["leader_epoch"].astype(np.int64)
        highest = np.maximum.accumulate(np.concatenate(([known], epochs)))
        for index in np.flatnonzero((epochs >= 0) & (epochs < highest[:-1])):
            text = f"leader epoch {epochs[index]} follows leader epoch {highest[index]}"
            self.problems.add(file, good[index]["position"], text)
        for index in np.flatnonzero(epochs > highest[:-1]):
            row = good[index]
            if len(self.epochs) == MOST_EPOCHS:
                text = f"more than {MOST_EPOCHS} leader epochs; the others are not compared"
                self.problems.add(file, row["position"], text)
                return
            self.epochs.append(
                EpochStart(
                    int(epochs[index]),
                    int(row["base_offset"]),
                    int(before[index]),
                    file,
                    int(row["position"]),
                )
            )

    def _check_rest(self, file: Path, segment: Segment) -> None:
        """Report what follows the last whole batch of a segment."""
        if not segment.ended_by:
            return
        self._is_sure = False
        rest = len(segment.data) - segment.end
        if not segment.data[segment.end :].any():
            text = f"the remaining {rest} bytes of the file are zeros"
        elif segment.ended_by is Fault.LENGTH:
            text = f"a batch has an impossible length; {rest} bytes remain"
        else:
            text = f"the file ends within a batch, after {rest} bytes of it"
        self.problems.add(file, segment.end, text)
