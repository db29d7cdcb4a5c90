"""A replica as a follower: its next request, and how it handles the response."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kspec.impl.partition.epochs import UNDEFINED, EpochEnd
from kspec.impl.partition.messages import (
    DivergingEpoch,
    EpochEndRequest,
    FetchRequest,
    FetchResponse,
    LogOffsets,
    LogOffsetsRequest,
    Request,
    Response,
)
from kspec.spec.vocabulary import PartitionError

if TYPE_CHECKING:
    from kspec.impl.partition.replica import Replica


class Follower:
    """The role of a replica that follows one leader in one leader epoch.

    Send `next_request()`, pass the response to `take`, and repeat. If a request is lost, call
    `next_request()` again.
    """

    __slots__ = ("is_stopped", "isr", "leader", "must_ask", "out_of_range", "replica")

    def __init__(self, replica: Replica, leader: int, isr: Iterable[int]) -> None:
        """Begin a leader epoch; truncate at once where this needs no response of the leader."""
        self.replica = replica
        self.leader = leader
        self.isr = frozenset(isr)
        """The ISR of its request; a follower does not use it."""
        self.is_stopped = False
        """Whether it was fenced: it waits for the request of a newer epoch."""
        self.out_of_range = False
        """Whether the leader lacks the fetch offset; the next request asks for its offsets."""
        generation = replica.generation
        knows_epochs = replica.epochs.latest_epoch is not None
        self.must_ask = generation.asks and knows_epochs
        """Whether it must send OffsetForLeaderEpoch before it fetches."""
        if not knows_epochs or not (generation.asks or generation.sends_last_epoch):
            replica.truncate_to(replica.hw)

    def next_request(self, at_most: int = 1000) -> Request | None:
        """The next request to the leader, or None if it was fenced."""
        replica = self.replica
        if self.is_stopped:
            return None
        epoch = replica.leader_epoch if replica.generation.is_fenced else None
        if self.out_of_range:
            return LogOffsetsRequest(epoch)
        latest = replica.epochs.latest_epoch
        if self.must_ask and latest is not None:
            return EpochEndRequest(latest, epoch)
        last_epoch = latest if replica.generation.sends_last_epoch else None
        return FetchRequest(replica.broker, replica.log.end, at_most, epoch, last_epoch)

    def take(self, answer: Response) -> bool:
        """Handle a response; False if it is outdated or an error."""
        if isinstance(answer, FetchResponse):
            return self._take_records(answer)
        if isinstance(answer, DivergingEpoch):
            self._truncate(answer.end)
            return True
        if isinstance(answer, EpochEnd):
            self.must_ask = not self._truncate(answer) and self.must_ask
            return True
        if isinstance(answer, LogOffsets):
            return self._take_ends(answer)
        if answer == PartitionError.FENCED_LEADER_EPOCH:
            self.is_stopped = True
        elif answer == PartitionError.OFFSET_OUT_OF_RANGE:
            self.out_of_range = True
        return False  # other errors are temporary: ask again later

    def _take_records(self, answer: FetchResponse) -> bool:
        replica = self.replica
        if answer.offset != replica.log.end:
            return False
        replica.copy(answer.batches)
        replica.set_hw(
            answer.hw
        )  # may decrease: a new leader's may be lower than its predecessor's
        replica.delete_before(answer.log_start)
        return True

    def _truncate(self, answer: EpochEnd) -> bool:
        """Truncate as the leader's response says; whether both logs agree now (KIP-279)."""
        replica = self.replica
        end = replica.log.end
        if answer.offset == UNDEFINED:
            replica.truncate_to(replica.hw)
            return True
        if not replica.generation.hears_epoch or answer.epoch == UNDEFINED:
            replica.truncate_to(min(answer.offset, end))
            return True
        own = replica.end_of_epoch(answer.epoch)
        if own.offset == UNDEFINED:
            replica.truncate_to(min(answer.offset, end))
            return True
        if own.epoch != answer.epoch:
            replica.truncate_to(min(own.offset, end))
            return False
        replica.truncate_to(min(own.offset, answer.offset, end))
        return True

    def _take_ends(self, answer: LogOffsets) -> bool:
        """Move into the leader's range: truncate if beyond its end, restart if before its start."""
        replica = self.replica
        self.out_of_range = False
        if answer.end < replica.log.end:
            replica.truncate_to(answer.end)
        elif answer.start > replica.log.end:
            replica.restart_at(answer.start)
        return True
