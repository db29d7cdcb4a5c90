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


# -- the options of the command -------------------------------------------------------------------


def to_earliest(partition: PartitionOffsets) -> int:
    """The log start offset."""
    return partition.start


def to_latest(partition: PartitionOffsets) -> int:
    """The end of the log.

    Only new records are read.
    """
    return partition.end


def to_current(partition: PartitionOffsets) -> int:
    """The committed offset; without one, the end of the log.

    It may be outside the log.
    """
    return partition.end if partition.committed is None else partition.committed


def to_offset(partition: PartitionOffsets, offset: int) -> int:
    """The offset given, or the nearest that the log has."""
    return partition.clamped(offset)


def shift_by(partition: PartitionOffsets, by: int) -> int:
    """The committed offset plus `by`, or the nearest that the log has."""
    if partition.committed is None:
        raise NothingCommitted("cannot shift the offset of a partition with nothing committed")
    return partition.clamped(partition.committed + by)


def to_datetime(partition: PartitionOffsets, time: int) -> int:
    """The first record at this time or later; without one, the end of the log."""
    written = enumerate(partition.times, partition.start)
    found = next((offset for offset, at in written if at >= time), None)
    return partition.clamped(to_found(partition, found))


def to_found(partition: PartitionOffsets, found: int | None) -> int:
    """The offset that ListOffsets finds for a timestamp; the end, where it finds none.

    Kafka: `getLogTimestampOffsets`, which warns that the partition "is empty" (since 3.0).
    """
    return partition.end if found is None else found


def by_duration(partition: PartitionOffsets, now: int, duration: int) -> int:
    """The first record that is no older than this duration."""
    return to_datetime(partition, now - duration)


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
