"""Where a group that was stopped begins again, given both retentions.

Two things expire while a group has no members: its committed offsets, by
`offsets.retention.minutes` (KIP-211), and the records that it has not read, by the topic's
retention. Where either is gone, `auto.offset.reset` decides.

Kafka: `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`, `FetchCollector`,
`AutoOffsetResetStrategy` (4.0). `spec.consumer.fetching` has the states in between.
Simplification: the log was not truncated, so that validating the commit's epoch changes nothing.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import ceil

import attrs

from kspec.spec.consumer.errors import NoOffsetForPartition, OffsetOutOfRange
from kspec.spec.consumer.fetching import Policy
from kspec.spec.consumer.lag import kept_records
from kspec.spec.consumer.reset import Effect, PartitionOffsets, effect
from kspec.spec.storage.retention import FOREVER, RetentionSettings


@attrs.frozen
class ByDuration:
    """`auto.offset.reset=by_duration:P…` (4.0, KIP-1106): the first record of that age or less."""

    milliseconds: int
    """The greatest age of that record."""


class Because(StrEnum):
    """Why a group begins where it does."""

    COMMITTED = "committed"
    """Its committed offset is within the log."""
    OUT_OF_RANGE = "out of range"
    """The log has no record at its committed offset: OFFSET_OUT_OF_RANGE, then the policy."""
    NOTHING_COMMITTED = "nothing committed"
    """It has no committed offset, for example because it expired: the policy."""


@attrs.frozen
class Beginning:
    """Where a group begins in one partition."""

    offset: int | None
    """The first offset that it reads; None if the consumer ends with an exception (`none`)."""
    because: Because
    """Why it begins there."""
    raises: str | None = None
    """The exception of Java's consumer, if it ends with one."""


def begin(p: PartitionOffsets, policy: Policy | ByDuration, recent: int | None = None) -> Beginning:
    """Where a group begins now. `recent` is the first record within the policy's duration.

    Where no record is that recent, Kafka's consumer asks again until one arrives, so it begins at
    the end of the log; until then it has no position (`OffsetFetcherUtils.handleListOffsetResponse`
    leaves out the answer without offset). A position equal to the end is in range.
    """
    if p.committed is not None and p.committed == p.clamped(p.committed):
        return Beginning(p.committed, Because.COMMITTED)
    because = Because.NOTHING_COMMITTED if p.committed is None else Because.OUT_OF_RANGE
    if isinstance(policy, ByDuration):
        return Beginning(p.end if recent is None else p.clamped(recent), because)
    if policy is Policy.NONE:
        error = NoOffsetForPartition if p.committed is None else OffsetOutOfRange
        return Beginning(None, because, f"{error.__name__}Exception")
    return Beginning(p.start if policy is Policy.EARLIEST else p.end, because)


@attrs.frozen
class Outlook:
    """One partition of a group that is stopped now, and what is known of its future."""

    now: PartitionOffsets
    """Its offsets now."""
    produced: Fraction
    """The records that arrive in each millisecond, before and after now. Where none arrives, the
    ages of the records are unknown, and they count as written now."""
    retention: RetentionSettings
    """The topic's retention."""
    expires_in: int | None
    """The milliseconds until the commit expires (`spec.offsets_topic.expiry.expires_at`); None if
    it does not, because the group has members again."""
    record_bytes: Fraction | None = None
    """The mean size of a record on disk, which `retention.bytes` needs."""

    def kept(self, milliseconds: int) -> int | None:
        """The latest records that retention surely keeps until then; None for all of them."""
        if self.produced == 0 and milliseconds <= self.retention.retention_ms:
            by_size = attrs.evolve(self.retention, retention_ms=FOREVER)
            kept = kept_records(by_size, self.produced, self.record_bytes)
        else:
            kept = kept_records(self.retention, self.produced, self.record_bytes)
        return None if kept is None else int(kept)

    def after(self, milliseconds: int) -> PartitionOffsets:
        """The offsets then, if everything that may be deleted by then is deleted.

        Kafka deletes later: offsets within `offsets.retention.check.interval.ms` (10 minutes), and
        records by whole segments.
        """
        end = self.now.end + int(self.produced * milliseconds)
        kept = self.kept(milliseconds)
        start = self.now.start if kept is None else max(self.now.start, end - kept)
        expired = self.expires_in is not None and self.expires_in <= milliseconds
        return PartitionOffsets(start, end, None if expired else self.now.committed)

    def overtaken_in(self) -> int | None:
        """The first millisecond at which an unread record may be deleted; None if there is none."""
        read_until = self.now.start if self.now.committed is None else self.now.committed
        if self.after(0).start > read_until:
            return 0
        if self.produced == 0:
            last = self.retention.retention_ms
            idle = last >= 0 and self.after(last + 1).start > read_until
            return last + 1 if idle else None
        kept = self.kept(0)
        if kept is None:
            return None
        return ceil((kept + 1 - (self.now.end - read_until)) / self.produced)

    def in_range_in(self) -> int | None:
        """The first millisecond at which the log has reached a commit above its end.

        From then on the group begins there, and skips what was written below.
        """
        ahead = (self.now.committed or 0) - self.now.end
        return ceil(ahead / self.produced) if ahead > 0 and self.produced else None

    def changes(self) -> set[int]:
        """The milliseconds at which the answer may change, with 0."""
        times = (0, self.expires_in, self.overtaken_in(), self.in_range_in())
        return {time for time in times if time is not None}

    def begins_after(self, milliseconds: int, policy: Policy | ByDuration) -> Beginning:
        """Where the group begins, if it starts that many milliseconds from now."""
        then = self.after(milliseconds)
        recent = None
        if isinstance(policy, ByDuration):
            newer = int(self.produced * policy.milliseconds)
            recent = then.end - newer if newer else None
        return begin(then, policy, recent)

    def effect_after(self, milliseconds: int, beginning: Beginning) -> Effect | None:
        """What the group then skips and repeats of the log; None if it does not begin."""
        if beginning.offset is None:
            return None
        then = attrs.evolve(self.after(milliseconds), committed=self.now.committed)
        return effect(then, beginning.offset)

    def deleted_after(self, milliseconds: int) -> int:
        """The offsets that are then deleted, and that the group never read."""
        read_until = self.now.start if self.now.committed is None else self.now.committed
        return max(0, self.after(milliseconds).start - read_until)
