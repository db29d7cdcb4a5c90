"""The leader-epoch cache of a replica: the offset at which each leader epoch began.

A follower of a new leader asks it where an epoch ended, and truncates its log there, not at its
high watermark. Kafka: `LeaderEpochFileCache` (KIP-101, KIP-279, KIP-320).
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

UNDEFINED = -1
"""No epoch, or no offset. Kafka: `UNDEFINED_EPOCH`, `UNDEFINED_EPOCH_OFFSET`."""


class EpochEntry(NamedTuple):
    """A leader epoch, and where it began."""

    epoch: int
    """The leader epoch."""
    start: int
    """The offset of its first record, or the log end offset when it began."""


class EpochEnd(NamedTuple):
    """Where an epoch ended (OffsetForLeaderEpoch response)."""

    epoch: int
    """The epoch that was requested, or else the greatest known epoch below it."""
    offset: int
    """The offset after the last record of this epoch."""


NOWHERE = EpochEnd(UNDEFINED, UNDEFINED)
"""The response of a replica that does not know the epoch."""


@attrs.frozen
class LeaderEpochs:
    """The cache: entries with increasing epochs and increasing start offsets."""

    entries: tuple[EpochEntry, ...] = ()
    """Oldest epoch first."""

    def assign(self, epoch: int, start: int) -> LeaderEpochs:
        """The cache with an entry for `epoch`, without the entries that contradict it.

        Kafka: `LeaderEpochFileCache.assign`. Nothing changes if the epoch is the latest one and
        does not start later. Otherwise the last entries with this epoch or a newer one, or with
        this start offset or a greater one, are removed: their records no longer exist.
        """
        if epoch < 0 or start < 0:
            raise ValueError(f"epoch {epoch} at offset {start}: neither may be negative")
        latest = self.entries[-1] if self.entries else None
        if latest and latest.epoch == epoch and latest.start <= start:
            return self
        kept = list(self.entries)
        while kept and (kept[-1].epoch >= epoch or kept[-1].start >= start):
            kept.pop()
        return LeaderEpochs((*kept, EpochEntry(epoch, start)))

    def truncate_from_end(self, offset: int) -> LeaderEpochs:
        """The cache without the epochs that start at `offset` or above, after a truncation.

        Kafka: `LeaderEpochFileCache.truncateFromEndAsyncFlush`.
        """
        if offset < 0:
            return self
        return LeaderEpochs(tuple(e for e in self.entries if e.start < offset))

    def truncate_from_start(self, offset: int) -> LeaderEpochs:
        """The cache without the epochs that end at `offset` or below, after retention.

        Kafka: `LeaderEpochFileCache.truncateFromStartAsyncFlush`. The epoch of the record at
        `offset` now starts there.
        """
        gone = [e for e in self.entries if e.start <= offset]
        if not gone:
            return self
        spans = EpochEntry(gone[-1].epoch, offset)
        return LeaderEpochs((spans, *self.entries[len(gone) :]))

    def clear(self) -> LeaderEpochs:
        """The empty cache, after the whole log was deleted.

        Kafka: `LeaderEpochFileCache.clearAndFlush`.
        """
        return LeaderEpochs()

    @property
    def latest_epoch(self) -> int | None:
        """The latest epoch, or None."""
        return self.entries[-1].epoch if self.entries else None

    def previous_epoch(self, epoch: int) -> int | None:
        """The greatest known epoch below `epoch`, or None."""
        return max((e.epoch for e in self.entries if e.epoch < epoch), default=None)

    def next_epoch(self, epoch: int) -> int | None:
        """The least known epoch above `epoch`, or None."""
        return min((e.epoch for e in self.entries if e.epoch > epoch), default=None)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch of the record at `offset`, or of the next one; None before the first epoch.

        Kafka: `LeaderEpochFileCache.epochForOffset`.
        """
        return max((e.epoch for e in self.entries if e.start <= offset), default=None)

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """Where `epoch` ended, according to a replica whose log ends at `log_end`.

        Kafka: `LeaderEpochFileCache.endOffsetFor`. The latest epoch ends at the log end. An epoch
        newer than the latest is unknown. An epoch older than the first ended where the first one
        began. Any other ended where the next known epoch began; the response names the greatest
        known epoch that is not newer, so that the follower detects that its own is missing here.
        """
        latest = self.latest_epoch
        if epoch == UNDEFINED or latest is None or epoch > latest:
            return NOWHERE
        if epoch == latest:
            return EpochEnd(epoch, log_end)
        following = next(e for e in self.entries if e.epoch > epoch)
        known = [e.epoch for e in self.entries if e.epoch <= epoch]
        return EpochEnd(known[-1] if known else epoch, following.start)


class Truncation(NamedTuple):
    """What a follower does after a leader's response."""

    offset: int
    """The offset to truncate to."""
    done: bool
    """Whether truncation is complete; if not, the follower asks again."""


def truncation_for(
    answer: EpochEnd, epochs: LeaderEpochs, log_end: int, high_watermark: int
) -> Truncation:
    """Where a follower truncates its log, given the leader's response about its latest epoch.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState` (KIP-279). If the leader does not know
    the epoch, the follower truncates to its high watermark, as before KIP-101. If both know the
    epoch of the response, both have its records up to the smaller end. If not, the follower
    truncates to the end of an earlier epoch, and asks again.
    """
    if answer.offset == UNDEFINED:
        return Truncation(high_watermark, done=True)
    if answer.epoch == UNDEFINED:  # a leader before KIP-279 sends the offset only
        return Truncation(min(answer.offset, log_end), done=True)
    own = epochs.end_of(answer.epoch, log_end)
    if own.offset == UNDEFINED:
        return Truncation(min(answer.offset, log_end), done=True)
    if own.epoch != answer.epoch:
        return Truncation(min(own.offset, log_end), done=False)
    return Truncation(min(own.offset, answer.offset, log_end), done=True)
