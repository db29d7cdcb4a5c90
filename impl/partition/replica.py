"""A replica of one partition on one broker, in whichever role it is."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from impl.partition.epochs import EpochCache, EpochEnd
from impl.partition.follower import Follower
from impl.partition.generations import KIP_595, Generation
from impl.partition.leader import Leader, Settings
from impl.partition.log import Batch, Log
from impl.partition.messages import Answer, Ends, EndsQuestion, EpochQuestion, Request
from spec.vocabulary import PartitionError


@attrs.define(eq=False)
class Replica:
    """Log, leader-epoch cache, high watermark; and what it does as leader or as follower."""

    broker: int
    """The id of the broker that it is on."""
    settings: Settings = attrs.field(factory=Settings)
    generation: Generation = KIP_595
    """How it truncates under a new leader."""
    log: Log = attrs.field(factory=Log)
    epochs: EpochCache = attrs.field(factory=EpochCache)
    hw: int = 0
    """High watermark."""
    leader_epoch: int = -1
    """The newest leader epoch that it heard of."""
    partition_epoch: int = -1
    """The newest version of leader and ISR that it heard of (in ZooKeeper's time: zkVersion)."""
    role: Leader | Follower | None = None

    # -- roles ----------------------------------------------------------------------------------

    def become_leader(
        self,
        epoch: int,
        partition_epoch: int,
        isr: Iterable[int],
        replicas: Iterable[int],
        now: int = 0,
    ) -> bool:
        """Take the word that this replica leads; whether that began a new epoch."""
        if not self._is_news(epoch, partition_epoch):
            return False
        led = self.role if isinstance(self.role, Leader) else None
        is_new = epoch > self.leader_epoch
        self.leader_epoch, self.partition_epoch = epoch, partition_epoch
        if led is not None and not is_new:
            led.assign(replicas)
            led.isr_is(isr, partition_epoch, now)
            return False
        self.role = Leader(self, isr, replicas, now, before=led)
        if self.settings.epoch_begins_at_once:
            self.epochs.assign(epoch, self.log.end)
        self.role.advance_hw(now)
        return is_new

    def become_follower(
        self, epoch: int, partition_epoch: int, leader: int, isr: Iterable[int]
    ) -> bool:
        """Take the word that another one leads; whether that began a new epoch.

        A new epoch begins with truncation, even under the same leader.
        """
        if not self._is_news(epoch, partition_epoch):
            return False
        is_new = epoch > self.leader_epoch
        self.leader_epoch, self.partition_epoch = epoch, partition_epoch
        if is_new or not isinstance(self.role, Follower):
            self.role = Follower(self, leader, isr)
        else:
            self.role.isr = frozenset(isr)
        return is_new

    def _is_news(self, epoch: int, partition_epoch: int) -> bool:
        return epoch >= self.leader_epoch and partition_epoch >= self.partition_epoch

    # -- what producers ask ---------------------------------------------------------------------

    def append(self, ids: Iterable[int], acks: int = 1, now: int = 0) -> int | PartitionError:
        """Write what a producer sent; the offset of the first record, or why not.

        It carries no leader epoch: who was deposed and does not know it writes.
        """
        if acks not in (-1, 0, 1):
            return PartitionError.INVALID_REQUIRED_ACKS
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        return self.role.append(ids, acks, now)

    def is_acked(self, end: int) -> bool | PartitionError:
        """Whether acks=-1 is due for records that end at this offset; or the error that is."""
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        return self.role.is_acked(end)

    # -- what others ask ------------------------------------------------------------------------

    def answer(self, request: Request, now: int = 0) -> Answer:
        """Answer a follower: first the epoch is compared, then whether this replica leads."""
        asked_in = request.leader_epoch
        if asked_in is not None and asked_in < self.leader_epoch:
            return PartitionError.FENCED_LEADER_EPOCH
        if asked_in is not None and asked_in > self.leader_epoch:
            return PartitionError.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        if isinstance(request, EpochQuestion):
            return self.end_of_epoch(request.epoch)
        if isinstance(request, EndsQuestion):
            return Ends(self.log.start, self.log.end)
        return self.role.answer_fetch(request, now)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where an epoch ended, as this replica knows it."""
        return self.epochs.end_of(epoch, self.log.end)

    # -- the log ----------------------------------------------------------------------------------

    def write(self, ids: Iterable[int]) -> int:
        """Append records of the present epoch; the offset of the first."""
        base = self.log.append(ids, self.leader_epoch)
        if self.log.end > base:
            self.epochs.assign(self.leader_epoch, base)
        return base

    def copy(self, batches: Iterable[Batch]) -> None:
        """Append what a leader wrote, under the epochs that it was written under."""
        for batch in batches:
            self.epochs.assign(batch.epoch, self.log.append(batch.ids, batch.epoch))

    def truncate_to(self, offset: int) -> None:
        """Cut the log, and all that speaks of what is gone."""
        if offset < self.log.start:
            self.epochs.clear()
        self.log.truncate_to(offset)
        self.epochs.truncate_from_end(self.log.end)
        self.hw = min(self.hw, self.log.end)

    def restart_at(self, offset: int) -> None:
        """Forget everything, and begin at the start of the leader's log."""
        self.log = Log(offset)
        self.epochs.clear()
        self.hw = offset

    def delete_before(self, offset: int) -> None:
        """Let go of the oldest records: committed ones only."""
        if offset > self.hw:
            raise ValueError(f"offset {offset} is beyond the high watermark {self.hw}")
        if offset > self.log.start:
            self.log.delete_before(offset)
            self.epochs.truncate_from_start(offset)

    def set_hw(self, hw: int) -> None:
        """Move the high watermark, within the log: as a follower does, and what loads it."""
        self.hw = min(max(hw, self.log.start), self.log.end)
