"""What a leader knows of its followers: which are in sync or may join the ISR, what is committed.

The functions are about one partition at one moment; times are in milliseconds. Kafka: `Replica`
and `Partition` (4.0.0).

    >>> from kspec.spec.in_sync import Progress, after_fetch, is_caught_up
    >>> slow = after_fetch(Progress(), offset=3, leader_end=5, now=1_000)
    >>> slow.caught_up, slow.end
    (0, 3)
    >>> later = after_fetch(slow, offset=5, leader_end=9, now=2_000)  # the end of a second ago
    >>> later.caught_up, is_caught_up(later, leader_end=9, now=2_000, max_lag=30_000)
    (1000, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import attrs

UNKNOWN = -1
"""The end offset of a follower that has not fetched yet. Kafka: `UNKNOWN_OFFSET_METADATA`."""


@attrs.frozen
class Progress:
    """A follower as its leader sees it. Kafka: `ReplicaState`."""

    end: int = UNKNOWN
    """The follower's log end offset: the offset of its last fetch."""
    last_fetch: int = 0
    """The time of its last fetch."""
    leader_end: int = 0
    """The leader's log end offset at that time (lastFetchLeaderLogEndOffset)."""
    caught_up: int = 0
    """The last time at which the follower is known to have held the leader's whole log."""


def after_fetch(progress: Progress, offset: int, leader_end: int, now: int) -> Progress:
    """A follower's progress after a fetch from `offset`; the leader's log ends at `leader_end`.

    A fetch from the leader's log end shows that the follower is caught up now; a fetch from where
    the leader's log ended at the previous fetch, that it was caught up then. So a follower counts
    as caught up even if producers always append something before it fetches again.

    Kafka: `Replica.updateFetchStateOrThrow`, called by `Partition.updateFollowerFetchState`. A
    fetch that is answered with a diverging epoch is not counted (`Partition.fetchRecords`).
    """
    if offset >= leader_end:
        caught_up = max(progress.caught_up, now)
    elif offset >= progress.leader_end:
        caught_up = max(progress.caught_up, progress.last_fetch)
    else:
        caught_up = progress.caught_up
    return Progress(offset, now, max(progress.leader_end, leader_end), caught_up)


def after_election(progress: Progress, is_in_isr: bool, leader_end: int, now: int) -> Progress:
    """A follower's progress when its leader is elected again, with no other leader in between.

    A member of the ISR gets the full replica.lag.time.max.ms again; any other follower
    counts as lagging until it fetches. Kafka: `Replica.resetReplicaState`.
    """
    since = now if is_in_isr else 0
    return Progress(progress.end, since, leader_end, since)


def after_first_election(is_in_isr: bool, now: int) -> Progress:
    """A follower's progress when another broker led before: its end offset is not known.

    Kafka: `Replica.resetReplicaState`, where `isNewLeader`.
    """
    return Progress(UNKNOWN, 0, UNKNOWN, now if is_in_isr else 0)


def is_caught_up(progress: Progress, leader_end: int, now: int, max_lag: int) -> bool:
    """Whether a follower holds the leader's whole log, or did within replica.lag.time.max.ms.

    Kafka: `ReplicaState.isCaughtUp`.
    """
    return progress.end == leader_end or now - progress.caught_up <= max_lag


def out_of_sync(
    isr: Iterable[int], followers: Mapping[int, Progress], leader_end: int, now: int, max_lag: int
) -> frozenset[int]:
    """The members that the leader proposes to remove from the ISR; `isr` may name the leader.

    Nothing is proposed while an earlier ISR change is in flight. Kafka:
    `Partition.getOutOfSyncReplicas`, called by `Partition.maybeShrinkIsr`, every half of
    replica.lag.time.max.ms. Simplification: a member that is no longer a replica is left out.
    """
    return frozenset(
        member
        for member in isr
        if member in followers and not is_caught_up(followers[member], leader_end, now, max_lag)
    )


def reaches_isr(progress: Progress, hw: int, epoch_start: int) -> bool:
    """Whether a follower's log reaches far enough to join the ISR: the HW, and the epoch's start.

    A new leader's HW may be lower than its predecessor's, so that reaching it is not enough
    (KAFKA-7128). The follower need not be caught up. Kafka: `Partition.isFollowerInSync`, called
    after each of its fetches; before 2.0.1 the HW alone decided.
    """
    return progress.end >= hw and progress.end >= epoch_start


def may_be_in_isr(
    is_fenced: bool, is_shutting_down: bool, fetched_in: int | None, broker_epoch: int | None
) -> bool:
    """Whether a broker is eligible for the ISR, as far as the leader's metadata says (KRaft).

    `fetched_in` is the broker epoch in its last fetch, None before the first one and -1 if the
    request has none; `broker_epoch` is the one in the metadata, None if it is not registered.
    Kafka: `Partition.isReplicaIsrEligible` (KIP-841, KIP-903).
    """
    if is_fenced or is_shutting_down or fetched_in is None or broker_epoch is None:
        return False
    return fetched_in in (-1, broker_epoch)


def effective_min_isr(min_insync_replicas: int, replicas: int) -> int:
    """The smallest ISR that accepts acks=all: min.insync.replicas, or all replicas if fewer.

    Kafka: `Partition.effectiveMinIsr`, since 3.7. Before, a min.insync.replicas above the
    replication factor refused all writes with acks=all.
    """
    return min(min_insync_replicas, replicas)


def next_hw(
    hw: int,
    leader_end: int,
    followers: Mapping[int, Progress],
    maximal_isr: Iterable[int],
    eligible: Iterable[int],
    now: int,
    max_lag: int,
) -> int:
    """The leader's new high watermark: what all replicas hold that are in the ISR, or may join it.

    `maximal_isr` includes the broker that the leader has proposed to add (KIP-497). A follower
    that is caught up and `eligible` counts before it is in the ISR: otherwise the HW could always
    run ahead of it, and it would never join. The HW never decreases.

    Kafka: `Partition.maybeIncrementLeaderHW`, after each append, each fetch that reports another
    end offset, and each ISR change. Since 3.7 it does nothing while the ISR is smaller than
    `effective_min_isr`.
    """
    members, others = frozenset(maximal_isr), frozenset(eligible)
    reached = leader_end
    for follower, progress in followers.items():
        waits = follower in others and is_caught_up(progress, leader_end, now, max_lag)
        if follower in members or waits:
            reached = min(reached, progress.end)
    return max(hw, reached)
