"""Partitioners: the partition that a producer chooses for a record, as classes of each release.

| class | releases | a record with a key | a record without a key |
|---|---|---|---|
| `DefaultPartitioner` | to 2.3 | hash of the key | `round_robin`, from a random start |
| `DefaultPartitioner` | 2.4 to 3.2 | hash of the key | `next_sticky` (KIP-480) |
| none: built in | from 3.3 | hash of the key | `spec.producer.adaptive` (KIP-794) |
| `RoundRobinPartitioner` | from 2.4 | `round_robin`, from 0 | the same |
| `UniformStickyPartitioner` | 2.4 to 3.9 | `next_sticky` | the same |

The hash is `spec.placement.key_partition`. Random numbers are inputs: the results of
`ThreadLocalRandom.nextInt()`, any `int`. Simplification: one topic, one thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from kspec.spec.core import SpecError
from kspec.spec.producer.releases import Release


@attrs.frozen
class Topic:
    """A topic in the producer's metadata."""

    partitions: int
    """Their number."""
    available: tuple[int, ...]
    """The partitions with a leader, in ascending order. Kafka: `availablePartitionsForTopic`."""

    def __attrs_post_init__(self) -> None:
        """Partitions count from 0."""
        if self.partitions < 1:
            raise SpecError(f"a topic has at least one partition, not {self.partitions}")
        for partition in self.available:
            if not 0 <= partition < self.partitions:
                raise SpecError(f"partition {partition} is not one of {self.partitions}")
        if list(self.available) != sorted(set(self.available)):
            raise SpecError("the available partitions ascend")


def to_positive(n: int) -> int:
    """The `int` without its sign bit: neither the absolute value nor the remainder.

    Kafka: `Utils.toPositive`.
    """
    return n & 0x7FFFFFFF


def pick(topic: Topic, number: int) -> int:
    """The partition that a number selects: one with a leader if there is any.

    Otherwise any partition: the record then waits for a leader in the accumulator.
    """
    if topic.available:
        return topic.available[to_positive(number) % len(topic.available)]
    return to_positive(number) % topic.partitions


# -- round robin ------------------------------------------------------------------------------


def round_robin(topic: Topic, counter: int) -> int:
    """The partition of the next record: the counter modulo the available partitions.

    Each call increments the counter, which wraps as an `int`. So partitions are skipped or
    repeated when the number of available ones changes. Kafka: `DefaultPartitioner.partition` [2.3]
    without a key, whose counter starts at a random number, and `RoundRobinPartitioner.partition`
    [2.4], whose counter starts at 0 (KIP-369).
    """
    return pick(topic, counter)


def round_robin_record(
    topic: Topic, counter: int, release: Release, open_batches: Collection[int]
) -> tuple[int, int]:
    """The partition of a record by `RoundRobinPartitioner`, and the counter after it.

    `open_batches` are the partitions that have a batch with room for the record. From 2.4 to
    3.9.1, the producer asks again if the partition has none, and the first partition gets nothing.
    With one record in each batch and an even number of partitions, every second partition stays
    empty (KAFKA-9965). 3.9.2 repeats the first answer (KAFKA-17632), and 4.0 does not ask again.
    Kafka: `KafkaProducer.doSend`, `RoundRobinPartitioner.onNewBatch` [3.9.2].
    """
    chosen = round_robin(topic, counter)
    asks_again = (2, 4) <= release < (3, 9, 2) and chosen not in open_batches
    if asks_again:
        return round_robin(topic, counter + 1), counter + 2
    return chosen, counter + 1


# -- sticky (KIP-480) -------------------------------------------------------------------------


def next_sticky(topic: Topic, current: int | None, randoms: Iterable[int]) -> int:
    """The next sticky partition: a random available one that is not the current one.

    It draws until the number gives another partition. With a single available partition there is
    no choice, and without any, any partition will do, even the current one. Kafka:
    `StickyPartitionCache.nextPartition` [2.4].
    """
    if len(topic.available) == 1:
        return topic.available[0]
    for random in randoms:
        chosen = pick(topic, random)
        if not topic.available or chosen != current:
            return chosen
    raise SpecError("too few random numbers to choose another partition")


def sticky_after_new_batch(
    topic: Topic, current: int | None, previous: int, randoms: Iterable[int]
) -> int:
    """The sticky partition after a record needed a new batch in partition `previous`.

    It changes if it was that partition: a batch of a record with a key, or with an explicit
    partition, changes it as well if it is there. Kafka: `onNewBatch`.
    """
    if current is None or current == previous:
        return next_sticky(topic, current, randoms)
    return current
