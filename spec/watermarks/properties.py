"""The properties of the model: no replica counts a record as committed that the ISR lacks."""

from __future__ import annotations

from kspec.spec.core import Claims, always, reachable
from kspec.spec.watermarks.state import Partition


@always
def HighWatermarkWithinLog(s: Partition) -> Claims:
    """Every replica's HW is at most its LEO."""
    yield "leader", s.leader.hw <= s.leader.leo
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.hw <= f.leo


@always
def IsrHoldsCommittedRecords(s: Partition) -> Claims:
    """Every member of the ISR holds the records below the leader's HW."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", s.leader.hw <= f.leo


@always
def RemoteLeoWithinFollowerLog(s: Partition) -> Claims:
    """The leader's remote LEO of a follower is at most the follower's LEO."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", s.leader.remote[i] <= f.leo


@always
def FollowerLogWithinLeaderLog(s: Partition) -> Claims:
    """A follower's LEO is at most the leader's."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.leo <= s.leader.leo


@always
def FollowerHighWatermarkWithinLeaders(s: Partition) -> Claims:
    """A follower's HW is at most the leader's."""
    for i, f in enumerate(s.followers):
        yield f"follower {i}", f.hw <= s.leader.hw


@reachable
def EveryReplicaLearnsHighWatermark(s: Partition) -> bool:
    """All records are committed, and every replica knows it."""
    hws = [s.leader.hw, *(f.hw for f in s.followers)]
    return all(hw == s.bounds.records for hw in hws)


PROPERTIES = (
    HighWatermarkWithinLog,
    IsrHoldsCommittedRecords,
    RemoteLeoWithinFollowerLog,
    FollowerLogWithinLeaderLog,
    FollowerHighWatermarkWithinLeaders,
    EveryReplicaLearnsHighWatermark,
)
