"""The records of a history: batches as they are sent and read, and what a fetch may return."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.field.conform.connection import Address
from kspec.field.conform.history import Ask, EpochOfLeader, Fetch, ListOffsets, Produce
from kspec.field.conform.records import (
    FLAWS,
    NEW,
    OLDER,
    FetchResponse,
    Partition,
    Place,
    ProduceResponse,
    batch_of,
    handle,
    records_of,
)
from kspec.impl.broker.batches import parse_batch

PLACE = Place(Address("localhost", 9092), "topic", leader_epoch=4, producer_id=9, began=1_000_000)


def played(*requests: Any) -> tuple[Partition, list[Any]]:
    """The partition after requests, and the responses."""
    partition, responses = NEW, []
    for number, request in enumerate(requests, 1):
        partition, response, _ = handle(partition, Ask(number, request, 12), request)
        responses.append(response)
    return partition, responses


def test_a_batch_is_read_as_it_was_written() -> None:
    request = Produce(times=(5, 70, 2), epoch=3, sequence=8)
    data = batch_of(Ask(7, request, 9), request, PLACE)
    stored = parse_batch(data).at(20, 4).data
    assert list(records_of(stored + stored[:-1])) == [
        (20, 4, 1_000_005, "k7"),
        (21, 4, 1_000_070, "k7"),
        (22, 4, 1_000_002, "k7"),
    ]
    batch = parse_batch(data)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 3, 8)


@pytest.mark.parametrize("position", range(16, 80))
def test_a_damaged_batch_is_not_taken_for_a_right_one(position: int) -> None:
    request = Produce(times=(5, 70, 2))
    data = batch_of(Ask(7, request, 9), request, PLACE)
    damaged = data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :]
    assert list(records_of(damaged)) != list(records_of(data))


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_batch_with_a_flaw_is_refused(flaw: str) -> None:
    partition, [response] = played(Produce(flaw=flaw))
    assert (partition, response) == (NEW, ProduceResponse(FLAWS[flaw][1]))


def test_one_of_the_latest_five_batches_is_not_appended_again() -> None:
    batches = [Produce(epoch=0, sequence=number) for number in range(6)]
    partition, responses = played(*batches, batches[1], batches[0])
    assert partition.log.end == 6
    assert [response.base_offset for response in responses] == [0, 1, 2, 3, 4, 5, 1, -1]
    assert responses[-1].error == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_a_fetch_returns_all_records_or_the_first() -> None:
    _, responses = played(Produce(times=(1, 2)), Produce(times=(3,)), Fetch(offset=1))
    fetched = responses[-1]
    assert [record[0] for record in fetched.records] == [1, 2]

    def may_be(*records: tuple[int, int, int, str], hw: int = 3) -> bool:
        allowed: bool = fetched.may_be(FetchResponse("NONE", hw, hw, records))
        return allowed

    first, second = (1, 0, 2, "k1"), (2, 0, 3, "k2")
    assert may_be(first, second)
    assert may_be(first)
    assert not may_be()
    assert not may_be(second)
    assert not may_be(first, hw=2)


def test_offsets_and_epochs_are_found() -> None:
    _, responses = played(
        Produce(times=(5, 9, 7)), ListOffsets(time=6), ListOffsets(time=-3), ListOffsets(time=10),
        ListOffsets(epoch=1), EpochOfLeader(), EpochOfLeader(asked=1), EpochOfLeader(asked=OLDER),
    )  # fmt: skip
    found = [(r.error, r.offset, r.time) for r in responses[1:5]]
    assert found == [
        ("NONE", 1, 9), ("NONE", 1, 9), ("NONE", -1, -1), ("UNKNOWN_LEADER_EPOCH", -1, -1)
    ]  # fmt: skip
    assert [(r.epoch, r.end) for r in responses[5:]] == [(0, 3), (-1, -1), (OLDER, 0)]


@pytest.mark.parametrize("leader_epoch", [0, 1, 5])
def test_leader_epochs_are_relative_to_the_first(leader_epoch: int) -> None:
    place = Place(PLACE.address, "topic", leader_epoch=leader_epoch)
    for epoch in (-1, 0, 1, OLDER):
        assert place.relative(place.epoch(epoch)) == epoch
    assert place.epoch(OLDER) < leader_epoch
