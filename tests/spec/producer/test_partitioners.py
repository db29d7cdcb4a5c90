"""The partition of a record; Kafka's own answers are in `test_kafka_cases`."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.core import SpecError
from kspec.spec.java import INT_MAX, INT_MIN
from kspec.spec.producer.adaptive import Load, Queue, next_partition, partition_load, switches
from kspec.spec.producer.partitioners import (
    Topic,
    next_sticky,
    pick,
    round_robin_record,
    sticky_after_new_batch,
)

SIX = Topic(6, (0, 1, 2, 3, 4, 5))


def round_robin_counts(release: tuple[int, ...], topic: Topic = SIX) -> Counter[int]:
    """How many of 120 records go to each partition if each fills a batch."""
    counter, counts = 0, Counter[int]()
    for _ in range(120):
        partition, counter = round_robin_record(topic, counter, release, open_batches=())
        counts[partition] += 1
    return counts


def test_round_robin_skips_every_second_partition_from_2_4_to_3_9_1() -> None:
    even = dict.fromkeys(range(6), 20)
    assert round_robin_counts((2, 3, 1)) == even
    assert round_robin_counts((2, 4, 0)) == {1: 40, 3: 40, 5: 40}
    assert round_robin_counts((3, 9, 1)) == {1: 40, 3: 40, 5: 40}
    assert round_robin_counts((3, 9, 2)) == even
    assert round_robin_counts((4, 0, 0)) == even


def test_an_odd_number_of_partitions_hides_the_skipping() -> None:
    assert round_robin_counts((3, 9, 1), Topic(5, (0, 1, 2, 3, 4))) == dict.fromkeys(range(5), 24)


def test_a_record_that_fits_an_open_batch_is_not_asked_about_again() -> None:
    assert round_robin_record(SIX, 0, (3, 9, 1), open_batches=[0]) == (0, 1)
    assert round_robin_record(SIX, 0, (3, 9, 1), open_batches=[1]) == (1, 2)


@given(
    topic=st.integers(1, 8).flatmap(
        lambda n: st.sets(st.integers(0, n - 1)).map(lambda s: Topic(n, tuple(sorted(s))))
    ),
    number=st.integers(INT_MIN, INT_MAX),
)
def test_a_partition_with_a_leader_is_picked_if_there_is_one(topic: Topic, number: int) -> None:
    chosen = pick(topic, number)
    assert 0 <= chosen < topic.partitions
    assert chosen in topic.available or not topic.available


def test_a_new_batch_changes_the_sticky_partition_only_if_it_is_there() -> None:
    assert sticky_after_new_batch(SIX, 2, 3, [4]) == 2
    assert sticky_after_new_batch(SIX, 2, 2, [2, 8, 4]) == 4
    assert next_sticky(Topic(6, (3,)), 3, []) == 3
    assert next_sticky(Topic(6, ()), 3, [9]) == 3


def test_too_few_random_numbers_are_reported() -> None:
    with pytest.raises(SpecError, match=r"^too few random numbers"):
        next_sticky(SIX, 2, [2, 8])


@pytest.mark.parametrize(
    ("partitions", "available", "message"),
    [
        (0, (), "a topic has at least one partition, not 0"),
        (2, (2,), "partition 2 is not one of 2"),
        (2, (1, 0), "the available partitions ascend"),
        (2, (1, 1), "the available partitions ascend"),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    partitions: int, available: tuple[int, ...], message: str
) -> None:
    with pytest.raises(SpecError, match=f"^{message}$"):
        Topic(partitions, available)


# -- adaptive -----------------------------------------------------------------------------------


def test_a_partition_is_left_once_its_batch_is_full_or_holds_twice_the_size() -> None:
    assert not switches(99, 100, last_batch_is_full=True)
    assert switches(100, 100, last_batch_is_full=True)
    assert not switches(199, 100, last_batch_is_full=False)
    assert switches(200, 100, last_batch_is_full=False)


def test_shorter_queues_are_chosen_more_often() -> None:
    load = partition_load([Queue(0, 0), Queue(1, 3), Queue(2, 1)], partitions=3)
    assert load == Load((0, 1, 2), (4, 5, 8))
    counts = Counter(next_partition(Topic(3, (0, 1, 2)), n, load) for n in range(8000))
    assert counts == {0: 4000, 1: 1000, 2: 3000}


@pytest.mark.parametrize(
    ("queues", "partitions"),
    [
        ([Queue(0, 5)], 1),
        ([Queue(0, 5), Queue(1, 0)], 3),
        ([Queue(0, 2), Queue(1, 2)], 2),
        ([Queue(0, 2, has_leader=False), Queue(1, 2, is_late=True)], 2),
    ],
    ids=["one partition", "one never used", "equal", "none left"],
)
def test_queues_that_give_no_weights(queues: list[Queue], partitions: int) -> None:
    assert partition_load(queues, partitions) is None


def test_partitions_of_late_brokers_are_left_out() -> None:
    late = [Queue(0, 2, is_late=True), Queue(1, 2), Queue(2, 2, has_leader=False)]
    assert partition_load(late, 3) == Load((1,), (1,))
    assert next_partition(Topic(3, (0, 1)), 17, partition_load(late, 3)) == 1


def test_an_empty_queue_after_a_late_broker_counts_as_its_queue() -> None:
    """A fault of Kafka's, up to 4.2: the idle partition gets the least weight."""
    queues = [Queue(0, 9, is_late=True), Queue(1, 0), Queue(2, 1)]
    assert partition_load(queues, 3) == Load((1, 2), (1, 10))
    queues = [Queue(1, 0), Queue(0, 9, is_late=True), Queue(2, 1)]
    assert partition_load(queues, 3) == Load((1, 2), (2, 3))


@pytest.mark.parametrize(
    ("partitions", "cumulative", "message"),
    [
        ((), (), "a load has one weight or more, and as many partitions"),
        ((0,), (1, 2), "a load has one weight or more, and as many partitions"),
        ((0, 1), (1, 1), "the running sums of a load ascend from above 0"),
        ((0, 1), (0, 1), "the running sums of a load ascend from above 0"),
    ],
)
def test_a_load_that_cannot_be_is_refused(
    partitions: tuple[int, ...], cumulative: tuple[int, ...], message: str
) -> None:
    with pytest.raises(SpecError, match=f"^{message}$"):
        Load(partitions, cumulative)
