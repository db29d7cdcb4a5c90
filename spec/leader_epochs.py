"""The leader-epoch cache: which offset each leader epoch began at, as one replica knows it.

Kafka: `LeaderEpochFileCache` (KIP-101, refined by KIP-279 and KIP-320). A follower that comes
under a new leader asks it where an epoch ended, and cuts its own log there, instead of
trusting its high watermark.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

UNDEFINED = -1
"""No epoch, or no offset: what Kafka sends where it knows none."""


class EpochEntry(NamedTuple):
    """One leader epoch and the offset of its first record."""

    epoch: int
    start: int


class EpochEnd(NamedTuple):
    """Where an epoch ended (OffsetForLeaderEpoch response)."""

    epoch: int
    """The epoch that is meant: the one asked for, or the greatest known below it."""
    offset: int
    """The offset after its last record."""


NOWHERE = EpochEnd(UNDEFINED, UNDEFINED)


@attrs.frozen
class LeaderEpochs:
    """The cache: entries in which both epoch and start offset grow."""

    entries: tuple[EpochEntry, ...] = ()
    """Oldest epoch first."""

    def assign(self, epoch: int, start: int) -> LeaderEpochs:
        """Note that `epoch` starts at `start`; what contradicts it gives way.

        Nothing changes if the epoch is the latest one already and starts no later. Otherwise
        entries at the end with this epoch or a newer one, or that start at this offset or
        above, were left by leaders whose records are gone.
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
        """Forget the epochs that start at `offset` or above; the log was cut there."""
        if offset < 0:
            return self
        return LeaderEpochs(tuple(e for e in self.entries if e.start < offset))

    def truncate_from_start(self, offset: int) -> LeaderEpochs:
        """Forget what lies below `offset`; the epoch that spans it now starts there."""
        gone = [e for e in self.entries if e.start <= offset]
        if not gone:
            return self
        spans = EpochEntry(gone[-1].epoch, offset)
        return LeaderEpochs((spans, *self.entries[len(gone) :]))

    def clear(self) -> LeaderEpochs:
        """Forget everything; the log was wiped."""
        return LeaderEpochs()

    @property
    def latest_epoch(self) -> int | None:
        """The newest epoch, or None."""
        return self.entries[-1].epoch if self.entries else None

    def previous_epoch(self, epoch: int) -> int | None:
        """The greatest known epoch below `epoch`, or None."""
        return max((e.epoch for e in self.entries if e.epoch < epoch), default=None)

    def next_epoch(self, epoch: int) -> int | None:
        """The least known epoch above `epoch`, or None."""
        return min((e.epoch for e in self.entries if e.epoch > epoch), default=None)

    def epoch_at(self, offset: int) -> int | None:
        """The epoch under which `offset` was, or would be, written; None before the first."""
        return max((e.epoch for e in self.entries if e.start <= offset), default=None)

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """Where `epoch` ended, seen by a replica whose log ends at `log_end`.

        Kafka: `LeaderEpochFileCache.endOffsetFor`. The latest epoch ends with the log. One
        newer than the latest is unknown: the asker knows more. One older than the first ended
        before the first began. Any other ended where the next known one began, and the answer
        names the greatest epoch not above it, so that the asker sees if its own is missing here.
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
    """What a follower does with a leader's answer."""

    offset: int
    """Cut the log here."""
    done: bool
    """Whether the logs now agree; if not, the follower asks again."""


def truncation_for(
    answer: EpochEnd, epochs: LeaderEpochs, log_end: int, high_watermark: int
) -> Truncation:
    """Where a follower cuts its log, given where the leader says that its latest epoch ended.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState` (KIP-279). A leader that knows
    nothing leaves the follower with its high watermark, as before KIP-101. If leader and
    follower know the same epoch, both have its records up to the smaller end. If not, the
    follower cuts back to an epoch that the leader may know, and asks again.
    """
    if answer.offset == UNDEFINED:
        return Truncation(high_watermark, done=True)
    if answer.epoch == UNDEFINED:  # a leader of before KIP-279: it tells the offset only
        return Truncation(min(answer.offset, log_end), done=True)
    own = epochs.end_of(answer.epoch, log_end)
    if own.offset == UNDEFINED:
        return Truncation(min(answer.offset, log_end), done=True)
    if own.epoch != answer.epoch:
        return Truncation(min(own.offset, log_end), done=False)
    return Truncation(min(own.offset, answer.offset, log_end), done=True)
