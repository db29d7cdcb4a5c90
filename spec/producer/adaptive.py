"""The built-in partitioner of 3.3 and later: the partition of records without a key (KIP-794).

Records stick to a partition until about `batch.size` bytes have gone there, so every partition
gets as many bytes as any other. `next_sticky`, which changes at each new batch, gave slow brokers
more: their batches fill while they wait (KAFKA-10888). With
`partitioner.adaptive.partitioning.enable`, a partition with a shorter queue is even chosen more
often, in proportion.

    >>> from kspec.spec.producer.partitioners import Topic
    >>> queues = [Queue(0, batches=0), Queue(1, batches=3), Queue(2, batches=1)]
    >>> load = partition_load(queues, partitions=3)
    >>> load.cumulative
    (4, 5, 8)
    >>> [next_partition(Topic(3, (0, 1, 2)), random, load) for random in range(8)]
    [0, 0, 0, 0, 1, 2, 2, 2]

Kafka: `BuiltInPartitioner` and `RecordAccumulator.partitionReady` (3.3 to 4.1).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

import attrs

from kspec.spec.core import SpecError
from kspec.spec.producer.partitioners import Topic, pick, to_positive

# -- when the partition changes ---------------------------------------------------------------


def switches(produced: int, batch_size: int, *, last_batch_is_full: bool) -> bool:
    """Whether the next record without a key goes to another partition.

    `produced` counts the bytes since the partition was chosen. The switch waits until the last
    batch of its queue is full, so that linger.ms is not spent on fractions of batches, but only up
    to twice the size, since records with keys may keep a batch unfilled (KAFKA-14156). Kafka:
    `BuiltInPartitioner.updatePartitionInfo`.
    """
    return (produced >= batch_size and last_batch_is_full) or produced >= 2 * batch_size


# -- which partition is next ------------------------------------------------------------------


@attrs.frozen
class Queue:
    """The batches that wait for one partition."""

    partition: int
    batches: int
    """Their number."""
    has_leader: bool = True
    is_late: bool = False
    """Whether batches for its broker have been ready for longer than
    `partitioner.availability.timeout.ms` without the broker being able to take any.
    """


@attrs.frozen
class Load:
    """The weights of partitions, as running sums: a random number below the last selects one."""

    partitions: tuple[int, ...]
    cumulative: tuple[int, ...]

    def __attrs_post_init__(self) -> None:
        """Each partition has a positive weight."""
        sums = (0, *self.cumulative)
        if not self.cumulative or len(self.partitions) != len(self.cumulative):
            raise SpecError("a load has one weight or more, and as many partitions")
        if any(after <= before for before, after in pairwise(sums)):
            raise SpecError("the running sums of a load ascend from above 0")


def partition_load(queues: Sequence[Queue], partitions: int) -> Load | None:
    """The weights of a topic's partitions by their queues; None if all partitions are equal.

    The producer has a queue for each partition that it has sent to. As long as one of the topic's
    partitions has none, all are equal, as they are if all queues have the same length. Partitions
    without a leader, and those of late brokers, are left out, but one with an empty queue is kept:
    nothing shows that its broker is late. Kafka: `RecordAccumulator.partitionReady`.
    """
    if len(queues) < max(partitions, 2):
        return None
    places = counted(queues)
    if not places:
        return None
    sizes = [size for _, size in places]
    if len(places) == len(queues) and len(set(sizes)) == 1:
        return None
    weights = [max(sizes) + 1 - size for size in sizes]
    return Load(tuple(partition for partition, _ in places), tuple(accumulate(weights)))


def counted(queues: Sequence[Queue]) -> list[tuple[int, int]]:
    """The partitions to choose from, each with the length of its queue.

    An empty queue after one that was left out counts as long as that one: Kafka reuses its place
    in an array, and writes the length only if there is a batch. So the fastest partition may get
    the least weight. Kafka: `RecordAccumulator.partitionReady`, which skips an empty queue.
    """
    places: list[tuple[int, int]] = []
    left_over = 0
    for queue in queues:
        if not queue.has_leader:
            continue
        if queue.batches == 0:
            places.append((queue.partition, left_over))
            left_over = 0
        elif queue.is_late:
            left_over = queue.batches
        else:
            places.append((queue.partition, queue.batches))
            left_over = 0
    return places


def next_partition(topic: Topic, random: int, load: Load | None = None) -> int:
    """The partition for the next records without a key; it may be the same as before.

    Without weights, any partition that has a leader. Kafka: `BuiltInPartitioner.nextPartition`.
    """
    if load is None:
        return pick(topic, random)
    number = to_positive(random) % load.cumulative[-1]
    return load.partitions[bisect_right(load.cumulative, number)]
