"""The oracle of high watermarks: `spec.watermarks.updates`."""

from __future__ import annotations

from typing import Any

import kspec.spec.watermarks.updates as updates
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, oracle_of
from kspec.spec.core import SpecError
from kspec.spec.watermarks.updates import Follower, Leader


def leader_hw(hw: int, isr_leos: tuple[int, ...]) -> int:
    """A leader's high watermark, given the log end offsets in its ISR, its own included.

    Kafka: `Partition.maybeIncrementLeaderHW`.
    """
    if not isr_leos:
        raise SpecError("params.isrLeos: the leader is in the ISR")
    return updates.leader_hw(hw, isr_leos)


def follower_hw(hw_of_leader: int, leo: int) -> int:
    """A follower's high watermark after it appended.

    Kafka: `UnifiedLog.maybeUpdateHighWatermark`.
    """
    return updates.follower_hw(hw_of_leader, leo)


def after_append(leader: Leader, records: int) -> Leader:
    """The leader after it appended a producer's records.

    Kafka: `Partition.appendRecordsToLeader`.
    """
    return updates.after_append(leader, records)


def after_fetch(leader: Leader, follower: int, offset: int) -> Leader:
    """The leader after a follower, by its place in `remote`, fetched from an offset.

    Kafka: `Partition.updateFollowerFetchState`.
    """
    if not 0 <= follower < len(leader.remote):
        raise SpecError(f"params.follower: the leader has {len(leader.remote)} followers")
    return updates.after_fetch(leader, follower, offset)


def after_response(follower: Follower, records: int, hw_of_leader: int) -> Follower:
    """The follower after the leader's response to its fetch.

    Kafka: `ReplicaFetcherThread.processPartitionData`.
    """
    return updates.after_response(follower, records, hw_of_leader)


def after_truncation(follower: Follower, offset: int) -> Follower:
    """The follower after it truncated its log. Kafka: `UnifiedLog.truncateTo`."""
    return updates.after_truncation(follower, offset)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        leader_hw,
        follower_hw,
        after_append,
        after_fetch,
        after_response,
        after_truncation,
    )


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: offsets close to each other."""
    leo = draw.below(9)
    hw, other = draw.below(leo + 1), draw.below(12)
    remote = [draw.between(hw, leo) for _ in range(draw.below(4))]
    leader = {"hw": hw, "leo": leo, "remote": remote}
    follower = {"hw": hw, "leo": leo}
    match draw.below(6):
        case 0:
            return "leaderHw", {"hw": hw, "isrLeos": [leo, *remote]}
        case 1:
            return "followerHw", {"hwOfLeader": other, "leo": leo}
        case 2:
            return "afterAppend", {"leader": leader, "records": draw.below(4)}
        case 3 if remote:
            place = draw.below(len(remote))
            offset = draw.between(remote[place], leo)
            return "afterFetch", {"leader": leader, "follower": place, "offset": offset}
        case 4:
            records = draw.below(4)
            return "afterResponse", {
                "follower": follower,
                "records": records,
                "hwOfLeader": draw.between(hw, leo + records),
            }
        case _:
            return "afterTruncation", {"follower": follower, "offset": other}
