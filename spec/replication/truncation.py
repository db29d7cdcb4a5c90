"""Where a new follower truncates its log: one answer for each generation of the protocol.

`spec.leader_epochs` has the exchange of requests and responses by which Kafka finds these
offsets; tests hold the two together.
"""

from __future__ import annotations

from kspec.spec.replication.state import Cluster


def own_high_watermark(s: Cluster, leader: int, follower: int) -> int:
    """Before KIP-101: at the follower's high watermark, which may be one fetch old.

    Kafka: `ReplicaManager.makeFollowers` (0.10.2).
    """
    return s.views[follower].hw


def end_of_last_epoch(s: Cluster, leader: int, follower: int) -> int:
    """KIP-101: where the epoch of the follower's last record ends in the leader's log.

    Kafka: `LeaderEpochFileCache.endOffsetFor` and `ReplicaFetcherThread.maybeTruncate` (0.11.0).
    The response is an offset without the epoch that it belongs to. Where the leader knows no
    later epoch, the high watermark decides as before. Simplification: in Kafka it decides also
    where the epoch is older than the leader's first one.
    """
    last, theirs = s.logs[follower].last, s.logs[leader]
    if last is None:
        return 0
    if theirs.last is not None and theirs.last.epoch == last.epoch:
        return theirs.end
    later = (o for o, record in enumerate(theirs.records) if record.epoch > last.epoch)
    return next(later, s.views[follower].hw)


def end_of_agreement(s: Cluster, leader: int, follower: int) -> int:
    """KIP-279: the offset after the last one at which both logs hold the same record.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState`. The response names its epoch, and
    the follower asks again until both know the epoch (`spec.leader_epochs.truncation_for`).
    Simplification: the follower finds the offset in one step.
    """
    own, theirs = s.logs[follower], s.logs[leader]
    agreed = (o + 1 for o in reversed(range(own.end)) if own.agrees_at(o, theirs))
    return next(agreed, 0)
