"""The messages of the profile `records`: one partition's records, produced, found and fetched.

Each history has a new topic with one partition and one replica; `spec.serving` says how its leader
responds. The responses are determined, but for how many records a fetch returns.

Leader epochs of a history are relative to the one that the partition began with, and times to
when the history began.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import attrs

from kspec.field.conform.history import APIS, OLDER, Ask
from kspec.impl.background import Address
from kspec.impl.wire import API_KEYS, Message, create, request_type
from kspec.spec.leader_epochs import UNDEFINED
from kspec.spec.serving.fetch import Fetch, FetchResponse, value_of
from kspec.spec.serving.list_offsets import (
    EpochOfLeader,
    EpochOfLeaderResponse,
    ListOffsets,
    ListOffsetsResponse,
)
from kspec.spec.serving.partition import PARTITION
from kspec.spec.serving.produce import Produce, ProduceResponse
from kspec.spec.serving.requests import RESPONSES, Response
from kspec.spec.storage.batches import NO_PRODUCER
from kspec.spec.storage.checksum import crc32c
from kspec.spec.storage.record_batch import (
    COVERED_FROM,
    HEADER,
    NO_SEQUENCE,
    Record,
    RecordBatch,
    read_batch,
    size_of_batch,
    write_batch,
)
from kspec.spec.storage.varint import Malformed
from kspec.spec.vocabulary import TopicPartition

MOST_BYTES = 1_000
"""The topic's max.message.bytes."""
# -- messages ---------------------------------------------------------------------------------

UNKNOWN_ID = UUID(int=0xABCDEF)
"""The id of no topic."""


@attrs.frozen
class Place:
    """Where a history is played: a group's coordinator, or the leader of a partition."""

    address: Address
    """The broker."""
    topic: str
    """The name of the topic."""
    topic_id: UUID | None = None
    """Its id."""
    leader_epoch: int = 0
    """The leader epoch with which it began."""
    producer_id: int = -1
    """The id of the history's idempotent producer."""
    began: int = 0
    """When the history began, in milliseconds since 1970."""

    def epoch(self, relative: int) -> int:
        """The actual leader epoch."""
        if relative == UNDEFINED:
            return UNDEFINED
        epoch = self.leader_epoch + relative
        return epoch if epoch != UNDEFINED else OLDER

    def relative(self, epoch: int) -> int:
        """The leader epoch of a history."""
        if epoch == UNDEFINED:
            return UNDEFINED
        return epoch - self.leader_epoch if epoch >= self.leader_epoch else OLDER


def to_message(ask: Ask, place: Place) -> Message:
    """The message of a request."""
    request: Any = ask.request
    asked: TopicPartition = request.partition
    is_known = asked.topic == PARTITION.topic
    name = place.topic if is_known else f"{place.topic}-{asked.topic}"
    topic: dict[str, Any] = {"name": name, "topic": name}
    topic["topic_id"] = place.topic_id if is_known else UNKNOWN_ID
    partition: dict[str, Any] = {
        "partition": asked.partition,
        "partition_index": asked.partition,
        "index": asked.partition,
        "current_leader_epoch": place.epoch(getattr(request, "epoch", UNDEFINED)),
    }
    values: dict[str, Any] = {"replica_id": -1}
    match request:
        case Produce():
            values |= {"acks": request.acks, "timeout": 10_000}
            partition["records"] = batch_of(ask, request, place)
        case ListOffsets():
            time = request.time
            partition["timestamp"] = time if time < 0 else place.began + time
        case EpochOfLeader():
            partition["leader_epoch"] = place.epoch(request.asked)
        case Fetch():
            partition |= {
                "fetch_offset": request.offset,
                "partition_max_bytes": request.max_bytes,
                "last_fetched_epoch": UNDEFINED,
                "log_start_offset": -1,
            }
            values |= {"max_wait": 0, "min_bytes": 1, "max_bytes": 2**20, "session_epoch": -1}
    values["isolation_level"] = int(getattr(request, "read_committed", False))
    topic |= {"partitions": [partition], "partition_data": [partition]}
    kind = request_type(API_KEYS[APIS[type(request)]], ask.version)
    return create(kind, topics=[topic], topic_data=[topic], **values)


def to_response(ask: Ask, message: Message, place: Place) -> Response:
    """The response of a message; of an error, the other fields mean nothing."""
    request = ask.request
    kind = RESPONSES[type(request)]
    if getattr(message, "error_code", None) is not None and message.error_code.value:
        return kind(message.error_code.name.upper())  # type: ignore[no-any-return]
    topics = message.responses if hasattr(message, "responses") else message.topics
    topic = topics[0]
    found = (
        topic.partition_responses if hasattr(topic, "partition_responses") else topic.partitions
    )[0]
    if found.error_code.value:
        return kind(found.error_code.name.upper())  # type: ignore[no-any-return]
    match request:
        case Produce():
            return ProduceResponse("NONE", found.base_offset)
        case ListOffsets():
            epoch = place.relative(getattr(found, "leader_epoch", UNDEFINED))
            time = found.timestamp if found.timestamp < 0 else found.timestamp - place.began
            return ListOffsetsResponse("NONE", found.offset, time, epoch)
        case EpochOfLeader():
            return EpochOfLeaderResponse(
                "NONE", place.relative(found.leader_epoch), found.end_offset
            )
        case Fetch():
            records = tuple(
                (offset, place.relative(epoch), time - place.began, value)
                for offset, epoch, time, value in records_of(found.records or b"")
                if offset >= request.offset
            )
            return FetchResponse("NONE", found.high_watermark, found.last_stable_offset, records)
        case _:
            raise AssertionError("these are the requests of this profile")


# -- record batches ---------------------------------------------------------------------------

MAGIC, CHECKSUM, COUNT = 16, slice(17, 21), slice(57, 61)
"""Where a batch has its format, its checksum, and its number of records."""


def batch_of(ask: Ask, request: Produce, place: Place) -> bytes:
    """The batch of a request, with its flaw."""
    if request.flaw == "none":
        return b""
    value = value_of(ask.number).encode()
    if request.flaw == "too large":
        value = value.ljust(MOST_BYTES, b"x")
    first, latest, size = request.times[0], max(request.times), len(request.times)
    data = bytearray(
        write_batch(
            RecordBatch(
                base_offset=0,
                last_offset_delta=size - 1,
                records=tuple(
                    Record(index, value=value, timestamp_delta=time - first)
                    for index, time in enumerate(request.times)
                ),
                is_control=request.flaw == "control",
                base_timestamp=place.began + first,
                max_timestamp=place.began + latest,
                producer_id=place.producer_id if request.epoch >= 0 else NO_PRODUCER,
                producer_epoch=max(request.epoch, -1),
                base_sequence=request.sequence if request.epoch >= 0 else NO_SEQUENCE,
            )
        )
    )
    match request.flaw:
        case "old format":
            data[MAGIC] = 1
        case "checksum":
            data[CHECKSUM.stop - 1] ^= 1
        case "count":
            data[COUNT] = (size + 1).to_bytes(4)
            data[CHECKSUM] = crc32c(bytes(data[COVERED_FROM:])).to_bytes(4)
    return bytes(data) * (2 if request.flaw == "two" else 1)


def records_of(data: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Offset, leader epoch, time and value of each record; what cannot be read is one record.

    Kafka cuts a response off after so many bytes, so that its last batch may be incomplete.
    """
    while len(data) >= HEADER.size and (size := size_of_batch(data)) <= len(data):
        try:
            batch = read_batch(data[:size])
        except Malformed:
            batch = None
        if batch is None or batch.codec or batch.is_control:
            base, _, epoch = HEADER.unpack_from(data)[:3]
            yield base, epoch, -1, "a batch that cannot be read"
            return
        for record in batch.records:
            value = (record.value or b"").decode("latin-1")
            yield batch.offset(record), batch.leader_epoch, batch.timestamp(record), value
        data = data[size:]
