"""The leader-epoch cache, searched by bisection, for thousands of epochs."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

UNDEFINED = -1
"""No epoch, or no offset."""


class EpochEnd(NamedTuple):
    """Where an epoch ended, according to a replica's cache."""

    epoch: int
    """The epoch that was requested, or else the greatest known epoch below it."""
    offset: int
    """The offset after its last record."""


NOWHERE = EpochEnd(UNDEFINED, UNDEFINED)


class EpochCache:
    """The start offset of each leader epoch; both increase from entry to entry."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self) -> None:
        self._epochs = array("q")
        self._starts = array("q")

    @property
    def entries(self) -> list[tuple[int, int]]:
        """Each epoch with its first offset, oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest_epoch(self) -> int | None:
        """The latest epoch, or None."""
        return self._epochs[-1] if self._epochs else None

    def assign(self, epoch: int, start: int) -> None:
        """Add an entry, and remove the last entries that contradict it (`assign`)."""
        if epoch < 0 or start < 0:
            raise ValueError(f"epoch {epoch} at offset {start}: neither may be negative")
        if self._epochs and self._epochs[-1] == epoch and self._starts[-1] <= start:
            return
        self._keep(min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start)))
        self._epochs.append(epoch)
        self._starts.append(start)

    def truncate_from_end(self, offset: int) -> None:
        """Remove the epochs that start at `offset` or above, after a truncation."""
        if offset >= 0:
            self._keep(bisect_left(self._starts, offset))

    def truncate_from_start(self, offset: int) -> None:
        """Remove the epochs that end at `offset` or below, after retention."""
        gone = bisect_right(self._starts, offset)
        if gone:
            del self._epochs[: gone - 1]
            del self._starts[: gone - 1]
            self._starts[0] = offset

    def clear(self) -> None:
        """Remove every entry."""
        self._keep(0)

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """Where `epoch` ended in a log that ends at `log_end` (`endOffsetFor`)."""
        known = self._epochs
        if epoch == UNDEFINED or not known or epoch > known[-1]:
            return NOWHERE
        if epoch == known[-1]:
            return EpochEnd(epoch, log_end)
        following = bisect_right(known, epoch)
        return EpochEnd(known[following - 1] if following else epoch, self._starts[following])

    def is_older(self, epoch: int) -> bool:
        """Whether an epoch is older than the first in the cache."""
        return bool(self._epochs) and epoch < self._epochs[0]

    def _keep(self, number: int) -> None:
        del self._epochs[number:]
        del self._starts[number:]
