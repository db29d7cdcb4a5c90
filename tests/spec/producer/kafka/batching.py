"""Calls of `BuiltInPartitioner` and `RecordAccumulator`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kspec.field.oracle.draws import Draw
from kspec.spec.java import partition_hash
from kspec.spec.producer.adaptive import Load, Queue, next_partition, partition_load, switches
from kspec.spec.producer.batching import Accumulator, PartitionQueue, ready, retry_backoff_ms, sent
from kspec.spec.producer.releases import Release, parse_release
from kspec.spec.vocabulary import TopicPartition
from tests.spec.producer.kafka.kinds import Kind
from tests.spec.producer.kafka.partitioners import (
    java_longs,
    java_randoms,
    some_partitions,
    topic_of,
)

# -- the built-in partitioner ---------------------------------------------------------------------


def draw_built_in(draw: Draw, version: str) -> str:
    """Appends, with changes of the available partitions and of the queues between them."""
    seed = draw.between(-(2**62), 2**62)
    partitions = draw.choose((1, 2, 3, 4, 6, draw.between(1, 40)))
    size = draw.choose((1, 10, 100))
    words = [f"{seed} {partitions} {size} a{some_partitions(draw, partitions)}"]
    for _ in range(draw.between(1, 20)):
        if draw.chance(0.1):
            words.append(f"a{some_partitions(draw, partitions)}")
        elif draw.chance(0.2):
            longest = draw.choose((1, 3, 10))
            lengths = ",".join(str(draw.below(longest + 1)) for _ in range(partitions))
            ids = ",".join(map(str, draw.some(range(partitions), partitions)))
            counted = draw.choose((0, partitions, draw.below(partitions + 1)))
            words.append(f"l{lengths}/{ids}/{counted}")
        else:
            words.append(f"u{draw.between(0, 3 * size)}{draw.choose('+-')}")
    return " ".join(words)


def answer_built_in(version: str, call: str) -> str:
    """The sticky partition after each step."""
    seed, partitions, size, first, *steps = call.split(" ")
    randoms = java_randoms(int(seed))
    topic = topic_of(int(partitions), first)
    load: Load | None = None
    current, produced = None, 0
    chosen = []
    for step in steps:
        if step[0] == "a":
            topic = topic_of(int(partitions), step)
        elif step[0] == "l":
            load = load_of(step[1:])
        if current is None:
            current = next_partition(topic, next(randoms), load)
        if step[0] == "u":
            produced += int(step[1:-1])
            if switches(produced, int(size), last_batch_is_full=step[-1] == "+"):
                current, produced = next_partition(topic, next(randoms), load), 0
        chosen.append(current)
    return " ".join(map(str, chosen))


def load_of(text: str) -> Load | None:
    """The weights of these lengths of queues, of which only the first count: others are late."""
    lengths, partitions, counted = text.split("/")
    queues = [
        Queue(int(partition), int(length), has_leader=number < int(counted))
        for number, (length, partition) in enumerate(
            zip(lengths.split(","), partitions.split(","), strict=True)
        )
    ]
    return partition_load(queues, len(queues))


# -- the accumulator ------------------------------------------------------------------------------


def draw_batches(draw: Draw, version: str) -> str:
    """Batches of some partitions on some brokers, in some condition of the producer."""
    linger = draw.choose((0, 5, 100))
    backoff = draw.choose((0, 1, 50, 100))
    most = draw.choose((backoff, 300, 1000))
    flags = "".join(flag for flag in "xcft" if draw.chance(0.06)) or "-"
    brokers = draw.between(1, 4)
    latencies = ",".join(str(draw.choose((0, 0, 10, 50))) for _ in range(brokers))
    words = [f"{linger} {backoff} {most} {draw.choose((0, 0, 20))} {flags} {latencies}"]
    complete = draw.chance(0.6)
    for _ in range(draw.between(1, 8)):
        leader = "-" if draw.chance(0.15) else str(draw.below(brokers))
        batches = draw.choose((0, 1, 1, 1, 2, 4))
        known = complete or draw.chance(0.8)
        waited = draw.choose((0, 1, 4, 5, 6, 49, 50, 99, 100, 101, 199, 200, 500))
        attempts = draw.choose((0, 0, 1, 2, 5))
        words.append(
            f"{leader}/{batches if known else '-'}/{draw.choose('+---')}/{waited}/{attempts}/"
            f"{draw.choose('+---')}/{draw.choose('m-----')}"
        )
    return " ".join(words)


def answer_batches(version: str, call: str) -> str:
    """The ready brokers, what they are sent, and the weights of partitions."""
    release = parse_release(version)
    linger, backoff, most, timeout, flags, latencies, *partitions = call.split(" ")
    accumulator = Accumulator(
        linger_ms=int(linger),
        is_exhausted="x" in flags,
        is_closed="c" in flags,
        is_flushing="f" in flags,
        is_completing="t" in flags and release >= (2, 8, 1),
    )
    late = [int(ms) > int(timeout) > 0 for ms in latencies.split(",")]
    queues: dict[int, PartitionQueue] = {}
    lengths: dict[int, Queue] = {}
    for partition, text in enumerate(partitions):
        queue = queue_of(text, int(backoff), int(most), release)
        if queue is not None:
            queues[partition] = queue
            lengths[partition] = Queue(
                partition,
                queue.batches,
                has_leader=queue.leader is not None,
                is_late=queue.leader is not None and late[queue.leader],
            )
    in_order = map_order(queues, release)
    found = ready([queues[each] for each in in_order], accumulator)
    unknown, wait = str(found.leader_is_unknown).lower(), found.wait_ms
    weights = partition_load([lengths[each] for each in in_order], len(partitions))
    load = "?" if release < (3, 3) else load_text(weights)
    drained = ";".join(
        f"{leader}:{','.join(map(str, sorted(chosen)))}"
        for leader, chosen in sent(queues, accumulator).items()
    )
    return (
        f"ready={','.join(map(str, sorted(found.leaders)))} wait={'-' if wait is None else wait} "
        f"unknown={unknown} sent={'?' if 't' in flags else drained} load={load}"
    )


def map_order(partitions: Iterable[int], release: Release) -> Sequence[int]:
    """Partitions in the order in which the accumulator looks at them, that of a `CopyOnWriteMap`.

    It is a `HashMap` that is copied into a new one, just large enough, before each insertion. Its
    keys are topics with partitions, and since 3.3 the partitions' numbers.
    """
    found = sorted(partitions)
    capacity = 1
    while capacity < int((len(found) - 1) / 0.75 + 1):
        capacity *= 2
    if len(found) > 0.75 * capacity:
        capacity *= 2

    def bucket(partition: int) -> int:
        h = partition if release >= (3, 3) else partition_hash(TopicPartition("t", partition))
        return (h % 2**32 ^ h % 2**32 >> 16) % capacity

    return sorted(found, key=bucket)


def queue_of(text: str, backoff: int, most: int, release: Release) -> PartitionQueue | None:
    """The batches of a partition; None if it never had any."""
    leader, batches, full, waited, attempts, changed, muted = text.split("/")
    if batches == "-":
        return None
    backs_off_for = 0
    if int(attempts) > 0:
        most = most if release >= (3, 7) else backoff
        backs_off_for = retry_backoff_ms(backoff, most, int(attempts), jitter=1.0)
    return PartitionQueue(
        leader=None if leader == "-" else int(leader),
        batches=int(batches),
        is_full=full == "+",
        waited_ms=int(waited),
        backoff_ms=backs_off_for,
        leader_has_changed=changed == "+" and release >= (3, 7),
        is_muted=muted == "m",
    )


def load_text(load: Load | None) -> str:
    """The weights as the Java program prints them."""
    if load is None:
        return "-"
    pairs = zip(load.partitions, load.cumulative, strict=True)
    return ",".join(f"{partition}:{weight}" for partition, weight in pairs)


# -- the backoff ----------------------------------------------------------------------------------


def draw_backoff(draw: Draw, version: str) -> str:
    """The seed of the jitter, the first and the longest wait, and the number of attempts."""
    seed = draw.between(-(2**62), 2**62)
    initial = draw.choose((0, 1, 50, 100, 1000, draw.between(1, 5000)))
    most = draw.choose((0, 100, 1000, 100_000, initial, draw.between(0, 10_000)))
    return f"{seed} {initial} {most} {draw.between(1, 30)}"


def answer_backoff(version: str, call: str) -> str:
    """The wait, with the jitter that Java draws."""
    seed, initial, most, attempts = map(int, call.split(" "))
    unit = (next(java_longs(seed)) >> 11) * 2.0**-53
    return str(retry_backoff_ms(initial, most, attempts, jitter=unit * (1.2 - 0.8) + 0.8))


BATCHING = (
    Kind(
        name="built-in",
        program="BuiltIn.java",
        versions=("3.3.2", "3.9.1", "4.1.0"),
        draw=draw_built_in,
        answer=answer_built_in,
    ),
    Kind(
        name="batches",
        program="Accumulator.java",
        versions=("2.4.1", "2.8.2", "3.3.2", "3.9.1", "4.1.0"),
        draw=draw_batches,
        answer=answer_batches,
    ),
    Kind(
        name="backoff",
        program="Backoff.java",
        versions=("3.9.1", "4.1.0"),
        draw=draw_backoff,
        answer=answer_backoff,
    ),
)
"""The built-in partitioner, and when a batch is sent."""
