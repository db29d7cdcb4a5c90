"""A replica as a follower: what it asks its leader next, and what it does with the answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from impl.partition.epochs import UNDEFINED, EpochEnd
from impl.partition.messages import (
    Answer,
    Diverging,
    Ends,
    EndsQuestion,
    EpochQuestion,
    Fetched,
    FetchRequest,
    Request,
)
from spec.vocabulary import PartitionError

if TYPE_CHECKING:
    from impl.partition.replica import Replica


class Follower:
    """The side of a replica that follows one leader in one epoch.

    Send `next_request()`, hand the answer to `take`, and so on. A request that got lost is
    simply made again.
    """

    __slots__ = ("is_stopped", "isr", "leader", "must_ask", "out_of_range", "replica")

    def __init__(self, replica: Replica, leader: int, isr: Iterable[int]) -> None:
        """A new epoch begins: what needs no answer is cut at once."""
        self.replica = replica
        self.leader = leader
        self.isr = frozenset(isr)
        """The ISR as it was told; a follower does nothing with it."""
        self.is_stopped = False
        """Fenced: there is a newer epoch, and nothing to do until its news come."""
        self.out_of_range = False
        """The leader does not have the offset asked for; where its log is must be found out."""
        generation = replica.generation
        knows_epochs = replica.epochs.latest_epoch is not None
        self.must_ask = generation.asks and knows_epochs
        """Whether it truncates, before it fetches."""
        if not knows_epochs or not (generation.asks or generation.sends_last_epoch):
            replica.truncate_to(replica.hw)

    def next_request(self, at_most: int = 1000) -> Request | None:
        """What to send the leader; None when it was fenced."""
        replica = self.replica
        if self.is_stopped:
            return None
        epoch = replica.leader_epoch if replica.generation.is_fenced else None
        if self.out_of_range:
            return EndsQuestion(epoch)
        latest = replica.epochs.latest_epoch
        if self.must_ask and latest is not None:
            return EpochQuestion(latest, epoch)
        last_epoch = latest if replica.generation.sends_last_epoch else None
        return FetchRequest(replica.broker, replica.log.end, at_most, epoch, last_epoch)

    def take(self, answer: Answer) -> bool:
        """Do what an answer says; False if it came too late, or is an error."""
        if isinstance(answer, Fetched):
            return self._take_records(answer)
        if isinstance(answer, Diverging):
            self._truncate(answer.end)
            return True
        if isinstance(answer, EpochEnd):
            self.must_ask = not self._truncate(answer) and self.must_ask
            return True
        if isinstance(answer, Ends):
            return self._take_ends(answer)
        if answer == PartitionError.FENCED_LEADER_EPOCH:
            self.is_stopped = True
        elif answer == PartitionError.OFFSET_OUT_OF_RANGE:
            self.out_of_range = True
        return False  # what else there is passes: ask again later

    def _take_records(self, answer: Fetched) -> bool:
        replica = self.replica
        if answer.offset != replica.log.end:
            return False
        replica.copy(answer.batches)
        replica.set_hw(answer.hw)  # it may go back: the new leader may know less than the old one
        replica.delete_before(answer.log_start)
        return True

    def _truncate(self, answer: EpochEnd) -> bool:
        """Cut where the leader's answer leads; whether both logs agree now."""
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

    def _take_ends(self, answer: Ends) -> bool:
        """Out of range: go where the leader's log is, if its own is beyond it or before it."""
        replica = self.replica
        self.out_of_range = False
        if answer.end < replica.log.end:
            replica.truncate_to(answer.end)
        elif answer.start > replica.log.end:
            replica.restart_at(answer.start)
        return True
