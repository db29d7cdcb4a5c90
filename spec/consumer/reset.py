"""Where `kafka-consumer-groups --reset-offsets` moves a group, for one partition.

Kafka: `ConsumerGroupCommand`. The group must have no members; without `--execute` it only says
what it would do.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from spec.consumer.errors import GroupIsActive, NothingCommitted
from spec.messages import GroupState


@attrs.frozen
class Partition:
    """What is to be known of a partition for a reset."""

    start: int
    """Where the log begins."""
    end: int
    """The high watermark, which is where consumers end."""
    committed: int | None = None
    times: Sequence[int] = ()
    """The timestamps of the records from `start` on."""

    def clamped(self, offset: int) -> int:
        """The offset, or the nearest that the log has."""
        return min(max(offset, self.start), self.end)


def may_reset(state: GroupState) -> None:
    """Only a group without members is reset."""
    if state not in (GroupState.EMPTY, GroupState.DEAD):
        raise GroupIsActive(f"assignments can only be reset if the group is inactive, not {state}")


def to_earliest(p: Partition) -> int:
    """The beginning of the log."""
    return p.start


def to_latest(p: Partition) -> int:
    """The end of the log: only what is written from now on."""
    return p.end


def to_current(p: Partition) -> int:
    """What is committed, wherever that is; without it, the end."""
    return p.end if p.committed is None else p.committed


def to_offset(p: Partition, offset: int) -> int:
    """An offset by its number, if the log has it; else the nearest."""
    return p.clamped(offset)


def shift_by(p: Partition, by: int) -> int:
    """So far from what is committed, forwards or back, within the log."""
    if p.committed is None:
        raise NothingCommitted("cannot shift the offset of a partition with nothing committed")
    return p.clamped(p.committed + by)


def to_datetime(p: Partition, time: int) -> int:
    """The first record of this time or later; without one, the end."""
    later = (offset for offset, written in enumerate(p.times, p.start) if written >= time)
    return p.clamped(next(later, p.end))


def by_duration(p: Partition, now: int, duration: int) -> int:
    """The first record that is no older than this."""
    return to_datetime(p, now - duration)
