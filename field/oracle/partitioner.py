"""The oracle of partitioners: `spec.producer`, under the names of Kafka's methods.

Random numbers are parameters: any `int`, as `ThreadLocalRandom.nextInt()` gives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import kspec.spec.producer.adaptive as adaptive
import kspec.spec.producer.partitioners as partitioners
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.placement import partition_for_key
from kspec.field.oracle.questions import Oracle, in_request, oracle_of, question
from kspec.spec.java import INT_MAX, INT_MIN
from kspec.spec.producer.adaptive import Load, Queue
from kspec.spec.producer.partitioners import Topic
from kspec.spec.producer.releases import parse_release


def round_robin(topic: Topic, counter: int) -> int:
    """The partition by round robin. Kafka: `RoundRobinPartitioner.partition`."""
    return partitioners.round_robin(topic, counter)


def round_robin_record(
    topic: Topic, counter: int, release: str, open_batches: Sequence[int]
) -> tuple[int, ...]:
    """The partition of a record by `RoundRobinPartitioner`, and the counter after it.

    `openBatches` are the partitions that have a batch with room for the record. Kafka:
    `KafkaProducer.doSend`.
    """
    return partitioners.round_robin_record(topic, counter, parse_release(release), open_batches)


def next_sticky(topic: Topic, current: int | None, randoms: Sequence[int]) -> int:
    """The next sticky partition from 2.4 to 3.2. Kafka: `StickyPartitionCache.nextPartition`."""
    return partitioners.next_sticky(topic, current, randoms)


def on_new_batch(topic: Topic, current: int | None, previous: int, randoms: Sequence[int]) -> int:
    """The sticky partition after a record needed a new batch. Kafka: `Partitioner.onNewBatch`."""
    return partitioners.sticky_after_new_batch(topic, current, previous, randoms)


def switches(produced_bytes: int, batch_size: int, last_batch_is_full: bool) -> bool:
    """Whether the next record without a key goes to another partition, since 3.3.

    Kafka: `BuiltInPartitioner.updatePartitionInfo`.
    """
    return adaptive.switches(produced_bytes, batch_size, last_batch_is_full=last_batch_is_full)


def partition_load_stats(queues: Sequence[Queue], num_partitions: int) -> Load | None:
    """The weights that the queues of a topic give; null if all partitions are equal.

    Kafka: `RecordAccumulator.partitionReady`, `BuiltInPartitioner.updatePartitionLoadStats`.
    """
    return adaptive.partition_load(queues, num_partitions)


def next_partition(topic: Topic, random: int, load: Load | None = None) -> int:
    """The partition for the next records without a key, since 3.3.

    Kafka: `BuiltInPartitioner.nextPartition`.
    """
    return adaptive.next_partition(topic, random, load)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        partition_for_key,
        round_robin,
        round_robin_record,
        next_sticky,
        on_new_batch,
        switches,
        partition_load_stats,
        next_partition,
    )


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: topics with all, some or no leaders, numbers of either sign."""
    partitions = draw.choose((1, 2, 3, 6, 10))
    wanted = draw.choose((0, 1, draw.below(partitions + 1), partitions, partitions))
    topic = {
        "partitions": partitions,
        "available": sorted(draw.some(range(partitions), wanted)),
    }
    number = draw.choose((draw.below(100), draw.between(INT_MIN, INT_MAX), INT_MIN, INT_MAX))
    current = None if draw.chance(0.2) else draw.below(partitions)
    randoms = [draw.between(INT_MIN, INT_MAX) for _ in range(20)] + [*range(partitions)]
    match draw.below(8):
        case 0:
            data = bytes(draw.below(256) for _ in range(draw.below(20)))
            key = question(partition_for_key).params.encode({"key": data, "num_partitions": 1})
            return "partitionForKey", {**key, "numPartitions": partitions}
        case 1:
            return "roundRobin", {"topic": topic, "counter": number}
        case 2:
            asked = {"topic": topic, "counter": number}
            asked["release"] = draw.choose(("2.3.1", "2.4.0", "3.9.1", "3.9.2", "4.1.0"))
            asked["openBatches"] = draw.some(range(partitions), draw.below(partitions + 1))
            return "roundRobinRecord", asked
        case 3:
            return "nextSticky", {"topic": topic, "current": current, "randoms": randoms}
        case 4:
            asked = {"topic": topic, "current": current, "randoms": randoms}
            return "onNewBatch", {**asked, "previous": draw.below(partitions)}
        case 5:
            produced = draw.choose((0, 99, 100, 101, 199, 200, 201, draw.below(300)))
            full = draw.chance(0.5)
            return "switches", {
                "producedBytes": produced,
                "batchSize": 100,
                "lastBatchIsFull": full,
            }
        case 6:
            return "partitionLoadStats", {"queues": queues(draw), "numPartitions": partitions}
        case _:
            load = None if draw.chance(0.3) else some_load(draw)
            return "nextPartition", {"topic": topic, "random": number, "load": load}


def queues(draw: Draw) -> list[dict[str, Any]]:
    """The queues of some partitions."""
    waiting = (0, 1, 1, 2, 5)
    return [
        in_request(Queue(number, draw.choose(waiting), not draw.chance(0.1), draw.chance(0.1)))
        for number in range(draw.between(1, 8))
    ]


def some_load(draw: Draw) -> dict[str, Any]:
    """Weights of partitions."""
    weights = [draw.between(1, 6) for _ in range(draw.between(1, 6))]
    sums = [sum(weights[: place + 1]) for place in range(len(weights))]
    return {"partitions": [*range(len(weights))], "cumulative": sums}
