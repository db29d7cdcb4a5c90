"""How a high watermark (HW) and a log end offset (LEO) are updated: functions of plain numbers.

A leader keeps its own LEO, and the remote LEO of each follower: the offset of the follower's
last fetch. On every replica the HW is at most the LEO.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kspec.spec.core import evolve, replaced


def leader_hw(hw: int, isr_leos: Iterable[int]) -> int:
    """A leader's new HW: the smallest LEO in its ISR, its own included; it never decreases.

    Kafka: `Partition.maybeIncrementLeaderHW`, after each append and after each fetch of a
    follower. Simplification: Kafka also counts followers that are caught up but not in the ISR
    yet (`spec.in_sync.next_hw`), and since 3.7 waits for min.insync.replicas.
    """
    return max(hw, min(isr_leos))


def follower_hw(hw_of_leader: int, leo: int) -> int:
    """A follower's new HW, after it appended: the leader's, but at most its own LEO.

    Kafka: `ReplicaFetcherThread.processPartitionData`, `UnifiedLog.maybeUpdateHighWatermark`.
    Simplification: Kafka also keeps it at or above the log start offset.
    """
    return min(hw_of_leader, leo)


@attrs.frozen
class Leader:
    """The offsets that a leader keeps."""

    hw: int = 0
    """High watermark: the records below it are committed."""
    leo: int = 0
    """Log end offset."""
    remote: tuple[int, ...] = ()
    """Remote LEO of each follower in the ISR: the offset of its last fetch."""


@attrs.frozen
class Follower:
    """The offsets that a follower keeps."""

    hw: int = 0
    """High watermark, as the leader last reported it."""
    leo: int = 0
    """Log end offset, from which it fetches."""


def after_append(leader: Leader, records: int = 1) -> Leader:
    """The leader after it appended a producer's records.

    Kafka: `Partition.appendRecordsToLeader`.
    """
    leo = leader.leo + records
    return evolve(leader, leo=leo, hw=leader_hw(leader.hw, [leo, *leader.remote]))


def after_fetch(leader: Leader, follower: int, offset: int) -> Leader:
    """The leader after a follower fetched from `offset`: the remote LEO changes, then the HW.

    Kafka: `Partition.updateFollowerFetchState`.
    """
    remote = replaced(leader.remote, follower, offset)
    return evolve(leader, remote=remote, hw=leader_hw(leader.hw, [leader.leo, *remote]))


def after_response(follower: Follower, records: int, hw_of_leader: int) -> Follower:
    """The follower after the leader's response: it appends, then updates its HW.

    Kafka: `ReplicaFetcherThread.processPartitionData`.
    """
    leo = follower.leo + records
    return Follower(hw=follower_hw(hw_of_leader, leo), leo=leo)


def after_truncation(follower: Follower, offset: int) -> Follower:
    """The follower after it truncated its log to `offset`; the HW stays within the log.

    Kafka: `UnifiedLog.truncateTo`. A log that ends before `offset` stays as it is.
    """
    leo = min(offset, follower.leo)
    return Follower(hw=min(follower.hw, leo), leo=leo)
