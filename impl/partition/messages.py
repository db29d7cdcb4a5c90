"""The requests and responses between replicas, as far as replication needs them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from kspec.impl.partition.epochs import EpochEnd
from kspec.impl.partition.log import Batch
from kspec.spec.vocabulary import PartitionError


class EpochEndRequest(NamedTuple):
    """Where does an epoch end in the leader's log? Kafka: OffsetForLeaderEpoch."""

    epoch: int
    """The epoch that the request is about."""
    leader_epoch: int | None
    """The follower's leader epoch; None before KIP-320."""


class LogOffsetsRequest(NamedTuple):
    """Where does the leader's log begin and end? Kafka: ListOffsets, for both."""

    leader_epoch: int | None
    """The follower's leader epoch; None before KIP-320."""


class FetchRequest(NamedTuple):
    """A fetch from the end of the follower's log. Kafka: Fetch."""

    replica: int
    """The follower's broker id."""
    offset: int
    """The fetch offset: the follower's log end offset."""
    at_most: int
    """The largest number of records to return."""
    leader_epoch: int | None = None
    """The follower's leader epoch (currentLeaderEpoch); None before KIP-320."""
    last_epoch: int | None = None
    """The latest epoch in the follower's log (lastFetchedEpoch); None before 2.7."""


class LogOffsets(NamedTuple):
    """Where the leader's log begins and ends."""

    start: int
    """The leader's log start offset."""
    end: int
    """The leader's log end offset."""


class FetchResponse(NamedTuple):
    """Records, with the leader's high watermark and log start offset."""

    offset: int
    """The fetch offset of the request."""
    hw: int
    """The leader's high watermark."""
    log_start: int
    """The leader's log start offset."""
    batches: list[Batch]
    """The records from the fetch offset on."""


class DivergingEpoch(NamedTuple):
    """The follower's log diverges: its latest epoch ended earlier here, or is not known."""

    end: EpochEnd
    """Where the latest epoch that both may know ended; the follower truncates there."""


Request: TypeAlias = EpochEndRequest | LogOffsetsRequest | FetchRequest
Response: TypeAlias = EpochEnd | LogOffsets | FetchResponse | DivergingEpoch | PartitionError
