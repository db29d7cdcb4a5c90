"""The profile `records`: one partition's records, produced, found and fetched.

Each history has a new topic with one partition and one replica. Its log is `spec.log`; what a
fetch may read, which leader epochs are right, and which batch may follow are decided by
`spec.serving`, `spec.leader_epochs` and `spec.producer`. The
responses are determined, but for how many records a fetch returns.

Leader epochs of a history are relative to the one that the partition began with, and times to
when the history began.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from typing import Any, TypeAlias
from uuid import UUID

import attrs
from crc32c import crc32c

from kspec.field.conform.connection import Address
from kspec.field.conform.history import (
    PARTITION,
    TOPIC,
    Ask,
    EpochOfLeader,
    Fetch,
    ListOffsets,
    Produce,
    RecordsRequest,
)
from kspec.impl.wire import API_KEYS, Message, create, request_type
from kspec.spec.leader_epochs import UNDEFINED, EpochEnd, LeaderEpochs
from kspec.spec.log import Log, Record
from kspec.spec.producer.entries import DataBatch, ProducerEntry, sequence_after
from kspec.spec.producer.sequences import Append, sequence_checks
from kspec.spec.serving import Offsets, append_error, epoch_error, isolation_of, readable
from kspec.spec.vocabulary import PartitionError, TopicPartition

MOST_BYTES = 1_000
"""The topic's max.message.bytes."""
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""The times with which ListOffsets asks for the log's end, its start, and the latest record."""
OLDER = -2
"""A leader epoch before the current one. No epoch is -1."""

EMPTY = Log()
"""The log of a new partition."""
NEW_PRODUCER = ProducerEntry(0)
"""A producer that has not written; its id is relative to the history."""
EPOCHS = LeaderEpochs().assign(0, 0)
"""The leader epochs of the partition: it has had one leader."""

# -- responses --------------------------------------------------------------------------------


@attrs.frozen
class ProduceResponse:
    """The response to Produce."""

    error: str = "NONE"
    """NONE, or why the batch was not appended."""
    base_offset: int = -1
    """The offset of its first record."""


@attrs.frozen
class ListOffsetsResponse:
    """The response to ListOffsets."""

    error: str = "NONE"
    """NONE, or why there is no answer."""
    offset: int = -1
    """The offset, -1 if there is none."""
    time: int = -1
    """The time of the record that was found by its time."""
    epoch: int = UNDEFINED
    """The leader epoch of the record, or of the log's end."""


@attrs.frozen
class EpochOfLeaderResponse:
    """The response to OffsetForLeaderEpoch."""

    error: str = "NONE"
    """NONE, or why there is no answer."""
    epoch: int = UNDEFINED
    """The greatest known epoch that is not later than the one that was asked for."""
    end: int = UNDEFINED
    """Where it ends."""


@attrs.frozen
class FetchResponse:
    """The response to Fetch."""

    error: str = "NONE"
    """NONE, or why there are no records."""
    high_watermark: int = -1
    """The high watermark."""
    last_stable: int = -1
    """The last stable offset."""
    records: tuple[tuple[int, int, int, str], ...] = ()
    """The records from the fetch offset on: offset, leader epoch, time and value."""

    def may_be(self, observed: FetchResponse) -> bool:
        """Whether another response has these records, or the first of them.

        How many fit into a response is left open, but at least one does (KIP-74).
        """
        seen = observed.records
        return (
            attrs.evolve(self, records=seen) == observed
            and seen == self.records[: len(seen)]
            and bool(seen) == bool(self.records)
        )


RecordsResponse: TypeAlias = (
    ProduceResponse | ListOffsetsResponse | EpochOfLeaderResponse | FetchResponse
)
"""A response of this profile."""

# -- the partition ----------------------------------------------------------------------------


@attrs.frozen
class Partition:
    """A partition, and what its leader knows of the history's idempotent producer."""

    log: Log = EMPTY
    """The log. The id of a record is the number of the request that produced it."""
    times: tuple[int, ...] = ()
    """The time of each record."""
    producer: ProducerEntry = NEW_PRODUCER
    """What it knows of the producer."""

    @property
    def offsets(self) -> Offsets:
        """The offsets that decide what may be read: every record is committed at once."""
        return Offsets(self.log.start, self.log.end, hw=self.log.end)


NEW = Partition()
"""A new partition."""

Handling: TypeAlias = Generator[tuple[str, bool, str], None, tuple[Partition, RecordsResponse]]
"""Guards, whether each holds, and the error if it fails; in the end, the effect."""


def handle(
    partition: Partition, ask: Ask, request: RecordsRequest
) -> tuple[Partition, RecordsResponse, tuple[tuple[str, bool], ...]]:
    """The partition after a request, the response, and the guards that were evaluated."""
    handler = handler_of(partition, ask, request)
    checks = []
    try:
        while True:
            guard, holds, error = next(handler)
            checks.append((guard, holds))
            if not holds:
                return partition, RESPONSES[type(request)](error), tuple(checks)
    except StopIteration as end:
        after, response = end.value
        return after, response, tuple(checks)


RESPONSES: dict[type, Any] = {
    Produce: ProduceResponse,
    ListOffsets: ListOffsetsResponse,
    EpochOfLeader: EpochOfLeaderResponse,
    Fetch: FetchResponse,
}
"""The response to each kind of request."""


def handler_of(partition: Partition, ask: Ask, request: RecordsRequest) -> Handling:
    """The handler of a request."""
    match request:
        case Produce():
            return produce(partition, ask, request)
        case ListOffsets():
            return list_offsets(partition, request)
        case EpochOfLeader():
            return end_of_epoch(partition, request)
        case Fetch():
            return fetch(partition, ask, request)


def exists(asked: TopicPartition) -> tuple[str, bool, str]:
    """The guard that the partition exists."""
    return "partition exists", asked == PARTITION, "UNKNOWN_TOPIC_OR_PARTITION"


def epoch_is_current(epoch: int) -> Iterator[tuple[str, bool, str]]:
    """The guards of the leader epoch that a request names. Kafka: KIP-320."""
    error = epoch_error(0, None if epoch == UNDEFINED else epoch)
    fenced, unknown = PartitionError.FENCED_LEADER_EPOCH, PartitionError.UNKNOWN_LEADER_EPOCH
    yield "leader epoch is not older", error is not fenced, fenced
    yield "leader epoch is not newer", error is not unknown, unknown


FLAWS = {
    "none": ("there is one batch of the current format", "INVALID_RECORD"),
    "two": ("there is one batch of the current format", "INVALID_RECORD"),
    "old format": ("there is one batch of the current format", "INVALID_RECORD"),
    "too large": ("batch is not too large", "MESSAGE_TOO_LARGE"),
    "checksum": ("checksum is right", "CORRUPT_MESSAGE"),
    "count": ("number of records is right", "INVALID_RECORD"),
    "control": ("batch has no control records", "INVALID_RECORD"),
}
"""What may be wrong with a batch: the guard that fails, and the error."""


def produce(partition: Partition, ask: Ask, request: Produce) -> Handling:
    """Append a batch. Kafka: `ReplicaManager.appendRecords`, `UnifiedLog.append`.

    An idempotent producer's batch has to follow its last one (`spec.producer.sequences`); one of
    its last five batches is not appended again.
    """
    yield exists(request.partition)
    for guard, error in dict.fromkeys(FLAWS.values()):
        if guard == "batch is not too large":  # acks are looked at between request and log
            refused = append_error(True, request.acks, 1, 1)
            yield "acks are valid", refused is None, refused or ""
        flaw = FLAWS.get(request.flaw)
        yield guard, flaw is None or flaw[0] != guard, error
    log, size = partition.log, len(request.times)
    producer = partition.producer
    if request.epoch >= 0:
        last = sequence_after(request.sequence, size - 1)
        batch = DataBatch(0, request.epoch, request.sequence, last, log.end, log.end + size - 1)
        is_current = request.epoch >= producer.epoch
        yield "producer epoch is not older", is_current, "INVALID_PRODUCER_EPOCH"
        duplicate = producer.duplicate_of(batch)
        if duplicate is not None:
            return partition, ProduceResponse(base_offset=duplicate.first_offset)
        yield from sequence_checks(Append(producer), batch)
        producer = producer.after(Append(producer).after(batch).updated)
    after = log
    for _ in range(size):
        after = after.append(Record(ask.number, 0))
    appended = Partition(after, (*partition.times, *request.times), producer)
    return appended, ProduceResponse(base_offset=log.end)


def list_offsets(partition: Partition, request: ListOffsets) -> Handling:
    """Find an offset. Kafka: `Partition.fetchOffsetForTimestamp`, `UnifiedLog`.

    By time, it is that of the first record that is as late.
    """
    yield exists(request.partition)
    yield from epoch_is_current(request.epoch)
    log = partition.log
    if request.time in (LATEST, EARLIEST):
        offset = log.end if request.time == LATEST else log.start
        epoch = EPOCHS.epoch_at(offset)
        return partition, ListOffsetsResponse(offset=offset, epoch=epoch or 0)
    wanted = request.time
    if wanted == MAX_TIMESTAMP:
        wanted = max(partition.times, default=0)
    for offset, time in enumerate(partition.times, log.start):
        if time >= wanted:
            return partition, ListOffsetsResponse(offset=offset, time=time, epoch=0)
    return partition, ListOffsetsResponse()


def end_of_epoch(partition: Partition, request: EpochOfLeader) -> Handling:
    """Where a leader epoch ended. Kafka: `Partition.lastOffsetForLeaderEpoch`."""
    yield exists(request.partition)
    yield from epoch_is_current(request.epoch)
    end: EpochEnd = EPOCHS.end_of(request.asked, partition.log.end)
    return partition, EpochOfLeaderResponse(epoch=end.epoch, end=end.offset)


def fetch(partition: Partition, ask: Ask, request: Fetch) -> Handling:
    """Fetch as a consumer. Kafka: `ReplicaManager.readFromLog`, `UnifiedLog.read`.

    From version 13 on, topics are named by their ids. A leader epoch below 0 is none here
    (`FetchRequest.optionalEpoch`), so that a new partition fences no fetch.
    """
    _, here, error = exists(request.partition)
    by_id = ask.version >= FIRST_BY_ID and request.partition.topic != TOPIC
    yield "partition exists", here, "UNKNOWN_TOPIC_ID" if by_id else error
    yield from epoch_is_current(request.epoch)
    offsets = partition.offsets
    found = readable(offsets, request.offset, isolation_of(False, request.read_committed))
    yield "offset is within the log", isinstance(found, range), PartitionError.OFFSET_OUT_OF_RANGE
    assert isinstance(found, range), "the guard holds"
    records = []
    for offset in found:
        record = partition.log.at(offset)
        assert record is not None, "what may be read is in the log"
        time = partition.times[offset - partition.log.start]
        records.append((offset, record.epoch, time, value_of(record.id)))
    return partition, FetchResponse("NONE", offsets.hw, offsets.last_stable, tuple(records))


def value_of(number: int) -> str:
    """The value of each record that this request produces."""
    return f"k{number}"


# -- messages ---------------------------------------------------------------------------------

FIRST_BY_ID = 13
"""The first version of Fetch that names topics by their ids (KIP-516)."""
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
    is_known = asked.topic == TOPIC
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
    kind = request_type(API_KEYS[RECORDS_APIS[type(request)]], ask.version)
    return create(kind, topics=[topic], topic_data=[topic], **values)


RECORDS_APIS: dict[type, str] = {
    Produce: "produce",
    ListOffsets: "list_offsets",
    EpochOfLeader: "offset_for_leader_epoch",
    Fetch: "fetch",
}
"""The API of each kind of request."""


def to_response(ask: Ask, message: Message, place: Place) -> RecordsResponse:
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


def comparable(ask: Ask, response: RecordsResponse) -> RecordsResponse:
    """The response without what its version cannot express."""
    if isinstance(response, ListOffsetsResponse) and ask.version < 4:
        return attrs.evolve(response, epoch=UNDEFINED)
    return response


# -- record batches ---------------------------------------------------------------------------

HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, format, checksum, attributes, last offset delta, base and
latest time, producer id and epoch, base sequence number, and number of records."""
COVERED = 21
"""Where the bytes that the checksum covers begin."""


def batch_of(ask: Ask, request: Produce, place: Place) -> bytes:
    """The batch of a request, with its flaw. Kafka: `DefaultRecordBatch`, `DefaultRecord`."""
    if request.flaw == "none":
        return b""
    times = [place.began + time for time in request.times]
    value = value_of(ask.number).encode()
    if request.flaw == "too large":
        value = value.ljust(MOST_BYTES, b"x")
    records = b""
    for index, time in enumerate(times):
        body = b"\0" + varint(time - times[0]) + varint(index) + varint(-1)
        body += varint(len(value)) + value + varint(0)
        records += varint(len(body)) + body
    size = len(times)
    producer = (-1, -1, -1)
    if request.epoch >= 0:
        producer = place.producer_id, request.epoch, request.sequence
    count = size + (request.flaw == "count")
    attributes = 0x20 if request.flaw == "control" else 0
    length = HEADER.size - 12 + len(records)
    magic = 1 if request.flaw == "old format" else 2
    parts = [0, length, -1, magic, 0, attributes, size - 1, times[0], max(times), *producer, count]
    covered = (HEADER.pack(*parts) + records)[COVERED:]
    parts[4] = crc32c(covered) ^ (request.flaw == "checksum")
    batch = HEADER.pack(*parts) + records
    return batch * 2 if request.flaw == "two" else batch


def records_of(data: bytes) -> Iterator[tuple[int, int, int, str]]:
    """Offset, leader epoch, time and value of each record; what cannot be read is one record.

    Kafka cuts a response off after so many bytes, so that its last batch may be incomplete.
    """
    while len(data) >= HEADER.size:
        base, length, epoch, magic, checksum, attributes, _, base_time = HEADER.unpack_from(data)[
            :8
        ]
        count, end = HEADER.unpack_from(data)[12], 12 + length
        if end > len(data):
            return
        if magic != 2 or attributes & 0x27 or crc32c(data[COVERED:end]) != checksum:
            yield base, epoch, -1, "a batch that cannot be read"
            return
        position = HEADER.size
        for _ in range(count):
            try:
                size, position = read_varint(data, position)
                time, at = read_varint(data, position + 1)
                offset, at = read_varint(data, at)
                _, at = read_varint(data, at)  # there are no keys
                size_of_value, at = read_varint(data, at)
            except IndexError:
                yield base, epoch, -1, "a record that cannot be read"
                return
            value = data[at : at + max(0, size_of_value)].decode("latin-1")
            yield base + offset, epoch, base_time + time, value
            position += size
        data = data[end:]


def varint(value: int) -> bytes:
    """A signed integer in zigzag encoding."""
    left, encoded = (value << 1) ^ (value >> 63), b""
    while left > 0x7F:
        encoded += bytes([left & 0x7F | 0x80])
        left >>= 7
    return encoded + bytes([left])


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """A signed integer in zigzag encoding, and where it ends; IndexError if it is not complete."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return (value >> 1) ^ -(value & 1), position
