"""How far a group is behind in one partition, and when retention deletes what it has not read.

Kafka: `ConsumerGroupCommand.ConsumerGroupService.getLag` for the lag, and the consumer's metrics
`records-lag` and `records-lead` (`SubscriptionState.partitionLag`, `partitionLead`), which count
from its position. All of them count offsets: compaction and transaction markers leave offsets
without a record.
"""

from __future__ import annotations

from fractions import Fraction

import attrs

from kspec.spec.storage.retention import RetentionSettings


def lag(committed: int, end: int) -> int:
    """The offsets that the group has not read.

    Negative where the commit is above the end of the log, after a truncation by an unclean
    election or in a topic that was re-created.
    """
    return end - committed


def lead(committed: int, start: int) -> int:
    """The offsets between the log start and the commit; negative where unread ones are deleted."""
    return committed - start


def deleted_unread(committed: int, start: int) -> int:
    """The offsets that were deleted before the group read them."""
    return max(0, start - committed)


@attrs.frozen
class Flow:
    """The rates of a partition, in records per millisecond, taken as constant."""

    produced: Fraction
    """The rate at which producers append records."""
    consumed: Fraction
    """The rate at which the group commits them."""


def flow_between(
    earlier: tuple[int, int], later: tuple[int, int], milliseconds: int
) -> Flow | None:
    """The rates between two observations, each a commit and an end; None if an offset fell.

    A commit falls after a reset, an end after a truncation: neither is a rate.
    """
    consumed, produced = later[0] - earlier[0], later[1] - earlier[1]
    if consumed < 0 or produced < 0:
        return None
    return Flow(Fraction(produced, milliseconds), Fraction(consumed, milliseconds))


def kept_records(
    settings: RetentionSettings, produced: Fraction, record_bytes: Fraction | None = None
) -> Fraction | None:
    """The least number of latest records that retention keeps; None if it keeps all of them.

    Retention by time keeps what arrived within `retention.ms`, retention by size what fits into
    `retention.bytes`. Kafka deletes whole segments, never the active one, and every five minutes,
    so that a log has more (`spec.storage.retention.expired`).

    Simplification: timestamps are the times of arrival. `retention.bytes` needs the mean size of a
    record on disk.
    """
    if not settings.delete:
        return None
    kept = []
    if settings.retention_ms >= 0:
        kept.append(settings.retention_ms * produced)
    if settings.retention_bytes >= 0:
        assert record_bytes, "the mean size of a record"
        kept.append(settings.retention_bytes / record_bytes)
    return min(kept, default=None)


def overtaken_in(behind: int, kept: Fraction | None, flow: Flow) -> Fraction | None:
    """The milliseconds for which retention deletes no unread record; None if it never does.

    The lag grows by what is produced and not consumed; records are at risk once it exceeds what
    retention keeps. With a lag of nothing that does not grow, no record is at risk.
    """
    growth = flow.produced - flow.consumed
    if kept is None or (behind <= kept and growth <= 0):
        return None
    if behind >= kept:
        return Fraction(0)
    return (kept - behind) / growth
