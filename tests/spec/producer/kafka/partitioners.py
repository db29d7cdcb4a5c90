"""Calls of Kafka's partitioners, with Java's random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kspec.field.oracle.draws import Draw
from kspec.spec.java import int32
from kspec.spec.placement import key_partition
from kspec.spec.producer.partitioners import (
    Topic,
    next_sticky,
    round_robin,
    round_robin_record,
    sticky_after_new_batch,
)
from kspec.spec.producer.releases import parse_release
from tests.spec.producer.kafka.kinds import Kind


def java_randoms(seed: int) -> Iterator[int]:
    """The results of `ThreadLocalRandom.nextInt()` after its seed was set."""
    for mixed in java_states(seed):
        yield int32(mixed >> 32)


def java_longs(seed: int) -> Iterator[int]:
    """The results of `nextLong()`, without a sign."""
    for mixed in java_states(seed):
        yield mixed ^ mixed >> 33


def java_states(seed: int) -> Iterator[int]:
    """The states of the generator, mixed: what `mix32` and `mix64` have in common."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        mixed = (seed ^ seed >> 33) * 0xFF51AFD7ED558CCD % 2**64
        yield (mixed ^ mixed >> 33) * 0xC4CEB9FE1A85EC53 % 2**64


# -- calls ----------------------------------------------------------------------------------------


def some_partitions(draw: Draw, partitions: int) -> str:
    """Some of the partitions; sometimes none or all."""
    wanted = draw.choose((0, 1, 2, draw.below(partitions + 1), partitions))
    return ",".join(map(str, sorted(draw.some(range(partitions), wanted))))


def draw_calls(draw: Draw, *, keys: bool, batches: bool) -> str:
    """A seed, a topic, and records, with changes of the available partitions between them."""
    seed = draw.between(-(2**62), 2**62)
    partitions = draw.choose((1, 2, 3, 4, 6, draw.between(1, 40)))
    words = [f"{seed} {partitions} a{some_partitions(draw, partitions)}"]
    for _ in range(draw.between(1, 20)):
        if draw.chance(0.15):
            words.append(f"a{some_partitions(draw, partitions)}")
        elif batches and draw.chance(0.4):
            words.append(f"b{draw.below(partitions)}")
        elif not batches and not keys and draw.chance(0.7):
            words.append(f"r{some_partitions(draw, partitions)}")
        elif keys and draw.chance(0.5):
            words.append("k" + bytes(draw.below(256) for _ in range(draw.below(12))).hex())
        else:
            words.append("n")
    return " ".join(words)


def read_calls(call: str) -> tuple[Iterator[int], int, Sequence[str]]:
    """The random numbers, the number of partitions, and the steps."""
    seed, partitions, *steps = call.split(" ")
    return java_randoms(int(seed)), int(partitions), steps


def topic_of(partitions: int, step: str) -> Topic:
    """The topic after a change of the available partitions."""
    return Topic(partitions, tuple(int(each) for each in step[1:].split(",") if each))


# -- answers --------------------------------------------------------------------------------------


def answer_default_before_sticky(call: str) -> str:
    """The partition of each key, and round robin from a random number."""
    randoms, partitions, steps = read_calls(call)
    topic = Topic(partitions, ())
    counter: int | None = None
    chosen = []
    for step in steps:
        if step[0] == "a":
            topic = topic_of(partitions, step)
        elif step[0] == "k":
            chosen.append(key_partition(bytes.fromhex(step[1:]), partitions))
        else:
            counter = next(randoms) if counter is None else counter
            chosen.append(round_robin(topic, counter))
            counter += 1
    return " ".join(map(str, chosen))


def answer_round_robin(version: str, call: str) -> str:
    """Round robin from 0, with new batches."""
    _, partitions, steps = read_calls(call)
    topic = Topic(partitions, ())
    counter = 0
    chosen = []
    for step in steps:
        if step[0] == "a":
            topic = topic_of(partitions, step)
        elif step[0] == "r":
            is_open = topic_of(partitions, step).available
            partition, counter = round_robin_record(topic, counter, parse_release(version), is_open)
            chosen.append(partition)
        else:
            chosen.append(round_robin(topic, counter))
            counter += 1
    return " ".join(map(str, chosen))


def answer_sticky(call: str, *, keys: bool) -> str:
    """The sticky partitions; with `keys`, that of the key if there is one."""
    randoms, partitions, steps = read_calls(call)
    topic = Topic(partitions, ())
    current: int | None = None
    chosen = []
    for step in steps:
        if step[0] == "a":
            topic = topic_of(partitions, step)
        elif step[0] == "b":
            current = sticky_after_new_batch(topic, current, int(step[1:]), randoms)
        elif keys and step[0] == "k":
            chosen.append(key_partition(bytes.fromhex(step[1:]), partitions))
        else:
            current = next_sticky(topic, None, randoms) if current is None else current
            chosen.append(current)
    return " ".join(map(str, chosen))


PARTITIONERS = (
    Kind(
        name="default-before-2.4",
        program="Partitioners.java",
        versions=("2.3.1",),
        draw=lambda draw, version: draw_calls(draw, keys=True, batches=False),
        answer=lambda version, call: answer_default_before_sticky(call),
    ),
    Kind(
        name="default-sticky",
        program="Partitioners.java",
        versions=("2.4.1", "3.2.3"),
        draw=lambda draw, version: draw_calls(draw, keys=True, batches=True),
        answer=lambda version, call: answer_sticky(call, keys=True),
    ),
    Kind(
        name="uniform-sticky",
        program="Partitioners.java",
        versions=("2.4.1", "3.9.1"),
        draw=lambda draw, version: draw_calls(draw, keys=True, batches=True),
        answer=lambda version, call: answer_sticky(call, keys=False),
    ),
    Kind(
        name="round-robin",
        program="Partitioners.java",
        versions=("2.4.1", "3.9.1", "3.9.2", "4.1.0"),
        draw=lambda draw, version: draw_calls(draw, keys=False, batches=False),
        answer=answer_round_robin,
    ),
)
"""The classes that implement `Partitioner`."""
