"""What replicas say to each other, as far as replication needs it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from impl.partition.epochs import EpochEnd
from impl.partition.log import Batch
from spec.vocabulary import PartitionError


class EpochQuestion(NamedTuple):
    """Asks where an epoch ended, by the leader's log (OffsetForLeaderEpoch)."""

    epoch: int
    leader_epoch: int | None
    """The epoch that the asker follows in; None in a request of before KIP-320."""


class EndsQuestion(NamedTuple):
    """Asks where the leader's log begins and ends (ListOffsets, for both)."""

    leader_epoch: int | None


class FetchRequest(NamedTuple):
    """Records, please, from the end of my log on."""

    replica: int
    offset: int
    at_most: int
    """How many records."""
    leader_epoch: int | None = None
    """The epoch that the asker follows in (currentLeaderEpoch); None before KIP-320."""
    last_epoch: int | None = None
    """The latest epoch that the asker knows (lastFetchedEpoch); None before 2.7."""


class Ends(NamedTuple):
    """Where the leader's log begins and ends."""

    start: int
    end: int


class Fetched(NamedTuple):
    """Records, and how far the leader has committed and deleted."""

    offset: int
    """What was asked for."""
    hw: int
    log_start: int
    batches: list[Batch]


class Diverging(NamedTuple):
    """The asker's latest epoch ended earlier here, or is not known: cut, and ask again."""

    end: EpochEnd


Request: TypeAlias = EpochQuestion | EndsQuestion | FetchRequest
Answer: TypeAlias = EpochEnd | Ends | Fetched | Diverging | PartitionError
