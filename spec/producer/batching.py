"""Batching: when a producer sends the first batch of a partition, and why not yet.

    >>> lingers = Accumulator(linger_ms=5)
    >>> first_batch(PartitionQueue(leader=1, batches=1, waited_ms=2), lingers)
    Decision(reason=<Reason.LINGERS: 'LINGERS'>, wait_ms=3)
    >>> first_batch(PartitionQueue(leader=1, batches=2, waited_ms=2), lingers)
    Decision(reason=<Reason.FULL: 'FULL'>, wait_ms=None)

The decision is made per broker: a batch that still lingers is sent along if another partition of
its leader is ready. So linger.ms is an upper bound of the wait, not a wait. Kafka:
`RecordAccumulator.ready` and `drain` (2.4 to 4.1). Simplifications: requests have room for every
batch (`max.request.size`), and the producer id and sequence numbers never hold one back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import attrs


class Reason(StrEnum):
    """Why a batch is sent, or is not."""

    FULL = "FULL"
    """It is full, or another batch is behind it."""
    LINGER_EXPIRED = "LINGER_EXPIRED"
    """It has waited for linger.ms since its creation, or the last attempt."""
    MEMORY_EXHAUSTED = "MEMORY_EXHAUSTED"
    """A thread waits for buffer.memory."""
    CLOSED = "CLOSED"
    """The producer is being closed."""
    FLUSHING = "FLUSHING"
    """A thread waits in `flush`."""
    TRANSACTION_COMPLETING = "TRANSACTION_COMPLETING"
    """The transaction commits or aborts (since 2.8.1: KAFKA-12870)."""

    EMPTY = "EMPTY"
    """There is no batch."""
    NO_LEADER = "NO_LEADER"
    """The partition has no known leader; the producer asks for metadata."""
    MUTED = "MUTED"
    """A batch of the partition is in flight, and max.in.flight.requests.per.connection is 1."""
    BACKS_OFF = "BACKS_OFF"
    """The last attempt failed, and retry.backoff.ms is not over."""
    LINGERS = "LINGERS"
    """More records may come."""


SENDS = (
    Reason.FULL,
    Reason.LINGER_EXPIRED,
    Reason.MEMORY_EXHAUSTED,
    Reason.CLOSED,
    Reason.FLUSHING,
    Reason.TRANSACTION_COMPLETING,
)
"""The reasons to send, in Kafka's order."""


@attrs.frozen
class PartitionQueue:
    """The batches of a partition that wait in the producer."""

    leader: int | None
    """The broker that leads the partition, if the producer knows one."""
    batches: int
    """Their number; all but the last are full."""
    is_full: bool = False
    """Whether the first batch is full. One record larger than batch.size does not fill it."""
    waited_ms: int = 0
    """The time since the first batch was created, or put back after an attempt."""
    backoff_ms: int = 0
    """The wait after its last attempt (`retry_backoff_ms`); 0 if there was none."""
    leader_has_changed: bool = False
    """Whether there is a new leader since its last attempt (3.6.1: KAFKA-15415)."""
    is_muted: bool = False


@attrs.frozen
class Accumulator:
    """The state that all partitions share."""

    linger_ms: int
    is_exhausted: bool = False
    is_closed: bool = False
    is_flushing: bool = False
    is_completing: bool = False


@attrs.frozen
class Decision:
    """Why a batch is sent or not, and how long it waits at most, if time decides."""

    reason: Reason
    wait_ms: int | None = None

    @property
    def sends(self) -> bool:
        """Whether the batch is sent."""
        return self.reason in SENDS


def first_batch(queue: PartitionQueue, accumulator: Accumulator) -> Decision:
    """Whether the first batch of a partition makes its leader ready, and why.

    Kafka: `RecordAccumulator.batchReady`.
    """
    if queue.batches == 0:
        return Decision(Reason.EMPTY)
    if queue.leader is None:
        return Decision(Reason.NO_LEADER)
    if queue.is_muted:
        return Decision(Reason.MUTED)
    if backs_off(queue):
        return Decision(Reason.BACKS_OFF, queue.backoff_ms - queue.waited_ms)
    conditions = (
        queue.is_full or queue.batches > 1,
        queue.waited_ms >= accumulator.linger_ms,
        accumulator.is_exhausted,
        accumulator.is_closed,
        accumulator.is_flushing,
        accumulator.is_completing,
    )
    for reason, holds in zip(SENDS, conditions, strict=True):
        if holds:
            return Decision(reason)
    return Decision(Reason.LINGERS, accumulator.linger_ms - queue.waited_ms)


def backs_off(queue: PartitionQueue) -> bool:
    """Whether the first batch waits after a failed attempt; a new leader ends the wait.

    Nothing else does: neither a full batch nor `flush`. Kafka: `RecordAccumulator.shouldBackoff`.
    """
    return queue.waited_ms < queue.backoff_ms and not queue.leader_has_changed


def retry_backoff_ms(initial: int, most: int, attempts: int, jitter: float) -> int:
    """The wait after this many attempts: doubled for each but the first, up to the maximum.

    `jitter` is a random factor from 0.8 to 1.2. Before 3.7 the wait is retry.backoff.ms after each
    attempt (KIP-580). With a maximum below the initial wait, the wait is the maximum. Kafka:
    `ExponentialBackoff.backoff` [3.9].
    """
    if most <= initial:
        return min(initial, most)
    return min(int(jitter * min(initial * 2 ** (attempts - 1), most)), most)


# -- all partitions -------------------------------------------------------------------------


@attrs.frozen
class Ready:
    """The brokers to which the producer sends, and when it looks again at the latest."""

    leaders: frozenset[int]
    wait_ms: int | None
    """None if no time limit is running."""
    leader_is_unknown: bool
    """Whether a batch has no leader, so that the producer asks for metadata."""


def ready(queues: Sequence[PartitionQueue], accumulator: Accumulator) -> Ready:
    """The leaders that have a batch to send. Once a leader is ready, its others do not count.

    Kafka: `RecordAccumulator.ready`.
    """
    leaders: set[int] = set()
    waits = []
    unknown = False
    for queue in queues:
        decision = first_batch(queue, accumulator)
        if decision.reason is Reason.NO_LEADER:
            unknown = True
        elif queue.leader is None or queue.leader in leaders:
            continue
        elif decision.sends:
            leaders.add(queue.leader)
        elif decision.wait_ms is not None:
            waits.append(decision.wait_ms)
    return Ready(frozenset(leaders), min(waits, default=None), unknown)


def sent(
    queues: Mapping[int, PartitionQueue], accumulator: Accumulator
) -> Mapping[int, frozenset[int]]:
    """The partitions whose first batch goes to each ready leader.

    All of the leader's, ready or not, but for those that are muted or back off. Kafka:
    `RecordAccumulator.drainBatchesForOneNode`.
    """
    leaders = ready([queues[partition] for partition in sorted(queues)], accumulator).leaders
    return {
        leader: frozenset(
            partition
            for partition, queue in queues.items()
            if queue.leader == leader
            and queue.batches > 0
            and not queue.is_muted
            and not backs_off(queue)
        )
        for leader in sorted(leaders)
    }
