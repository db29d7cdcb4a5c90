"""Where `kafka-consumer-groups --reset-offsets` moves a group, for one partition.

Kafka: `ConsumerGroupCommand.ConsumerGroupService.prepareOffsetsToReset`. The group must have no
members; without `--execute` the command only prints the new offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kspec.spec.consumer.errors import GroupIsActive, NothingCommitted
from kspec.spec.messages import GroupState


@attrs.frozen
class PartitionOffsets:
    """The offsets and timestamps of a partition that a reset depends on."""

    start: int
    """The log start offset."""
    end: int
    """The high watermark, up to which consumers read."""
    committed: int | None = None
    """The group's committed offset, if it has one."""
    times: Sequence[int] = ()
    """The timestamps of the records from `start` on."""

    def clamped(self, offset: int) -> int:
        """The offset, or the nearest that the log has. Kafka: `checkOffsetsRange`."""
        return min(max(offset, self.start), self.end)


def check_reset(state: GroupState) -> None:
    """Refuse to reset a group that has members. Kafka: `ConsumerGroupService.resetOffsets`."""
    if state not in (GroupState.EMPTY, GroupState.DEAD):
        raise GroupIsActive(f"assignments can only be reset if the group is inactive, not {state}")


def to_earliest(p: PartitionOffsets) -> int:
    """`--to-earliest`: the log start offset."""
    return p.start


def to_latest(p: PartitionOffsets) -> int:
    """`--to-latest`: the end of the log, so that only new records are read."""
    return p.end


def to_current(p: PartitionOffsets) -> int:
    """`--to-current`: the committed offset, even outside the log; without one, the end."""
    return p.end if p.committed is None else p.committed


def to_offset(p: PartitionOffsets, offset: int) -> int:
    """`--to-offset`: this offset, or the nearest that the log has."""
    return p.clamped(offset)


def shift_by(p: PartitionOffsets, by: int) -> int:
    """`--shift-by`: the committed offset plus `by`, within the log."""
    if p.committed is None:
        raise NothingCommitted("cannot shift the offset of a partition with nothing committed")
    return p.clamped(p.committed + by)


def to_datetime(p: PartitionOffsets, time: int) -> int:
    """`--to-datetime`: the first record at this time or later; without one, the end."""
    later = (offset for offset, written in enumerate(p.times, p.start) if written >= time)
    return p.clamped(to_found(p, next(later, None)))


def to_found(p: PartitionOffsets, found: int | None) -> int:
    """The offset that ListOffsets finds for a timestamp; the end, where it finds none.

    Kafka: `getLogTimestampOffsets`, which warns that the partition "is empty" (since 3.0).
    """
    return p.end if found is None else found


def by_duration(p: PartitionOffsets, now: int, duration: int) -> int:
    """`--by-duration`: the first record that is no older than this duration."""
    return to_datetime(p, now - duration)


# -- what a reset costs ---------------------------------------------------------------------------


@attrs.frozen
class Effect:
    """What a group reads less and what it reads twice, in offsets, after it moves."""

    skipped: int
    """Offsets of the log that it has not read, and that it passes over."""
    repeated: int
    """Offsets of the log that it has read, and reads again."""


def effect(p: PartitionOffsets, new: int) -> Effect:
    """The effect of moving a group from its committed offset to a new one.

    A group without a committed offset counts as having read nothing. What retention has already
    deleted is neither skipped nor repeated.
    """
    read_until = min(max(p.start if p.committed is None else p.committed, p.start), p.end)
    new = p.clamped(new)
    return Effect(max(0, new - read_until), max(0, read_until - new))
