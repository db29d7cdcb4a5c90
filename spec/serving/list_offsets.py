"""What a leader answers to ListOffsets and OffsetForLeaderEpoch."""

from __future__ import annotations

import attrs

from kspec.spec.leader_epochs import UNDEFINED
from kspec.spec.serving.partition import PARTITION, Handler, Partition, exists
from kspec.spec.vocabulary import TopicPartition

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
"""The times with which ListOffsets asks for the log's end, its start, and the latest record."""


@attrs.frozen
class ListOffsets:
    """A consumer asks for an offset."""

    partition: TopicPartition = PARTITION
    """The partition."""
    time: int = LATEST
    """The time; -1 for the log's end, -2 for its start, -3 for the record with the latest time."""
    epoch: int = UNDEFINED
    """The leader epoch that the consumer knows, or -1."""
    read_committed: bool = False
    """The isolation level."""


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


def list_offsets(partition: Partition, request: ListOffsets) -> Handler[ListOffsetsResponse]:
    """Find an offset: by time, that of the first record that is as late.

    Kafka: `Partition.fetchOffsetForTimestamp`, `UnifiedLog`. Simplification: no remote storage.
    """
    yield exists(request.partition)
    yield from partition.has_epoch(request.epoch)
    log = partition.log
    if request.time in (LATEST, EARLIEST):
        offset = log.end if request.time == LATEST else log.start
        epoch = partition.epochs.epoch_at(offset)
        return partition, ListOffsetsResponse(offset=offset, epoch=epoch or 0)
    wanted = request.time
    if wanted == MAX_TIMESTAMP:
        wanted = max(partition.times, default=0)
    for offset, time in enumerate(partition.times, log.start):
        if time >= wanted:
            epoch = log.records[offset - log.start].epoch
            return partition, ListOffsetsResponse(offset=offset, time=time, epoch=epoch)
    return partition, ListOffsetsResponse()


@attrs.frozen
class EpochOfLeader:
    """A consumer asks where a leader epoch ended (OffsetForLeaderEpoch)."""

    partition: TopicPartition = PARTITION
    """The partition."""
    asked: int = 0
    """The leader epoch that it asks about."""
    epoch: int = UNDEFINED
    """The leader epoch that it knows, or -1."""


@attrs.frozen
class EpochOfLeaderResponse:
    """The response to OffsetForLeaderEpoch."""

    error: str = "NONE"
    """NONE, or why there is no answer."""
    epoch: int = UNDEFINED
    """The greatest known epoch that is not later than the one that was asked for."""
    end: int = UNDEFINED
    """Where it ends."""


def end_of_epoch(partition: Partition, request: EpochOfLeader) -> Handler[EpochOfLeaderResponse]:
    """Where a leader epoch ended. Kafka: `Partition.lastOffsetForLeaderEpoch`."""
    yield exists(request.partition)
    yield from partition.has_epoch(request.epoch)
    end = partition.epochs.end_of(request.asked, partition.log.end)
    return partition, EpochOfLeaderResponse(epoch=end.epoch, end=end.offset)
