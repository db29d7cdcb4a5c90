"""The requests of clients to a partition's leader, and its responses."""

from __future__ import annotations

from typing import Any

import pytest

from kspec.spec.core import decide
from kspec.spec.serving.fetch import Fetch, FetchResponse
from kspec.spec.serving.list_offsets import EpochOfLeader, ListOffsets
from kspec.spec.serving.partition import NEW, Partition
from kspec.spec.serving.produce import FLAWS, Produce, ProduceResponse, produce
from kspec.spec.serving.requests import handle
from kspec.spec.vocabulary import TopicPartition


def played(*requests: Any) -> tuple[Partition, list[Any]]:
    """The partition after requests, and the responses."""
    partition, responses = NEW, []
    for number, request in enumerate(requests, 1):
        partition, response = handle(partition, request, number)
        responses.append(response)
    return partition, responses


ERRORS = {
    "none": "INVALID_RECORD",
    "two": "INVALID_RECORD",
    "old format": "INVALID_RECORD",
    "too large": "MESSAGE_TOO_LARGE",
    "checksum": "CORRUPT_MESSAGE",
    "count": "INVALID_RECORD",
    "control": "INVALID_RECORD",
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_batch_with_a_flaw_is_refused(flaw: str) -> None:
    partition, [response] = played(Produce(flaw=flaw))
    assert (partition, response) == (NEW, ProduceResponse(ERRORS[flaw]))


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
        ListOffsets(epoch=1), EpochOfLeader(), EpochOfLeader(asked=1), EpochOfLeader(asked=-2),
    )  # fmt: skip
    found = [(r.error, r.offset, r.time) for r in responses[1:5]]
    assert found == [
        ("NONE", 1, 9), ("NONE", 1, 9), ("NONE", -1, -1), ("UNKNOWN_LEADER_EPOCH", -1, -1)
    ]  # fmt: skip
    assert [(r.epoch, r.end) for r in responses[5:]] == [(0, 3), (-1, -1), (-2, 0)]


def test_checks_of_a_batch_stand_in_kafkas_order() -> None:
    accepted = decide(produce(NEW, Produce(epoch=0, sequence=0)))
    assert [check.guard for check in accepted.checks] == [
        "partition exists",
        "there is one batch of the current format",
        "acks are valid",
        "batch is not too large",
        "checksum is right",
        "number of records is right",
        "batch has no control records",
        "producer epoch is not older",
        "producer is known",
    ]
    refused = decide(produce(NEW, Produce(flaw="checksum", acks=2)))
    assert str(refused.failed) == "acks are valid: INVALID_REQUIRED_ACKS"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Produce(TopicPartition("t", 1)), "UNKNOWN_TOPIC_OR_PARTITION"),
        (Fetch(TopicPartition("t", 1)), "UNKNOWN_TOPIC_OR_PARTITION"),
        (Fetch(TopicPartition("none", 0)), "UNKNOWN_TOPIC_ID"),
        (Fetch(TopicPartition("none", 0), version=12), "UNKNOWN_TOPIC_OR_PARTITION"),
        (Fetch(offset=1), "OFFSET_OUT_OF_RANGE"),
        (Fetch(epoch=1), "UNKNOWN_LEADER_EPOCH"),
        (ListOffsets(epoch=-2), "FENCED_LEADER_EPOCH"),
        (Produce(acks=2), "INVALID_REQUIRED_ACKS"),
    ],
)
def test_a_request_is_refused(request_: Any, error: str) -> None:
    assert [response.error for response in played(request_)[1]] == [error]


def test_an_older_producer_epoch_is_refused() -> None:
    _, responses = played(Produce(epoch=1, sequence=0), Produce(epoch=0, sequence=0))
    assert [response.error for response in responses] == ["NONE", "INVALID_PRODUCER_EPOCH"]
