"""The records of a history: batches as they are sent and read."""

from __future__ import annotations

import pytest

from kspec.field.conform.history import OLDER, Ask
from kspec.field.conform.records import Place, batch_of, records_of
from kspec.impl.background import Address
from kspec.impl.broker.batches import parse_batch
from kspec.spec.serving.produce import Produce

PLACE = Place(Address("localhost", 9092), "topic", leader_epoch=4, producer_id=9, began=1_000_000)


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


@pytest.mark.parametrize("leader_epoch", [0, 1, 5])
def test_leader_epochs_are_relative_to_the_first(leader_epoch: int) -> None:
    place = Place(PLACE.address, "topic", leader_epoch=leader_epoch)
    for epoch in (-1, 0, 1, OLDER):
        assert place.relative(place.epoch(epoch)) == epoch
    assert place.epoch(OLDER) < leader_epoch
