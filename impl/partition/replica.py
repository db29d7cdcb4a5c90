"""A replica of one partition on one broker, as a leader or as a follower."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kspec.impl.partition.epochs import NOWHERE, EpochCache, EpochEnd
from kspec.impl.partition.follower import Follower
from kspec.impl.partition.generations import KIP_595, Generation
from kspec.impl.partition.leader import Leader, Settings
from kspec.impl.partition.log import Batch, Log
from kspec.impl.partition.messages import (
    EpochEndRequest,
    LogOffsets,
    LogOffsetsRequest,
    Request,
    Response,
)
from kspec.spec.vocabulary import PartitionError


@attrs.define(eq=False)
class Replica:
    """A log, its leader-epoch cache and high watermark, and the replica's role."""

    broker: int
    """The broker's id."""
    settings: Settings = attrs.field(factory=Settings)
    """The settings of a leader."""
    generation: Generation = KIP_595
    """How it truncates as a follower of a new leader."""
    log: Log = attrs.field(factory=Log)
    """Its records."""
    epochs: EpochCache = attrs.field(factory=EpochCache)
    """Its leader-epoch cache."""
    hw: int = 0
    """High watermark."""
    leader_epoch: int = -1
    """The newest leader epoch that it knows."""
    partition_epoch: int = -1
    """The newest version of leader and ISR that it knows (with ZooKeeper: zkVersion)."""
    role: Leader | Follower | None = None
    """Leader, follower, or neither before the first request."""

    # -- roles ----------------------------------------------------------------------------------

    def become_leader(
        self,
        epoch: int,
        partition_epoch: int,
        isr: Iterable[int],
        replicas: Iterable[int],
        now: int = 0,
    ) -> bool:
        """Accept a request that names this replica leader; whether a leader epoch began."""
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
        """Accept a request that names another leader; whether this replica restarts its fetcher.

        If so, it begins with truncation. Under an unchanged leader, only 2.1 and later restart the
        fetcher in each leader epoch; before, it continued (`Partition.makeFollower`).
        """
        if not self._is_news(epoch, partition_epoch):
            return False
        advance = epoch - self.leader_epoch
        self.leader_epoch, self.partition_epoch = epoch, partition_epoch
        role = self.role
        if isinstance(role, Follower) and (
            advance == 0 or (role.leader == leader and advance <= self.generation.passes_over)
        ):
            role.isr = frozenset(isr)
            return False
        self.role = Follower(self, leader, isr)
        return True

    def _is_news(self, epoch: int, partition_epoch: int) -> bool:
        return epoch >= self.leader_epoch and partition_epoch >= self.partition_epoch

    # -- producers' requests ---------------------------------------------------------------------

    def append(self, ids: Iterable[int], acks: int = 1, now: int = 0) -> int | PartitionError:
        """Append a producer's records; the offset of the first, or an error.

        A Produce request carries no leader epoch, so a deposed leader still appends.
        """
        if acks not in (-1, 0, 1):
            return PartitionError.INVALID_REQUIRED_ACKS
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        return self.role.append(ids, acks, now)

    def is_acked(self, end: int) -> bool | PartitionError:
        """Whether an acks=-1 request that ends at this offset is complete, or its error."""
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        return self.role.is_acked(end)

    # -- followers' requests ----------------------------------------------------------------------

    def answer(self, request: Request, now: int = 0) -> Response:
        """Respond to a follower: check the leader epoch first, then whether this replica leads."""
        asked_in = request.leader_epoch
        if asked_in is not None and asked_in < self.leader_epoch:
            return PartitionError.FENCED_LEADER_EPOCH
        if asked_in is not None and asked_in > self.leader_epoch:
            return PartitionError.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.role, Leader):
            return PartitionError.NOT_LEADER_OR_FOLLOWER
        if isinstance(request, EpochEndRequest):
            return self.end_of_epoch(request.epoch)
        if isinstance(request, LogOffsetsRequest):
            return LogOffsets(self.log.start, self.log.end)
        return self.role.answer_fetch(request, now)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where an epoch ended in this replica's log."""
        if self.epochs.is_older(epoch) and not self.generation.ends_older_epochs:
            return NOWHERE
        return self.epochs.end_of(epoch, self.log.end)

    # -- the log ----------------------------------------------------------------------------------

    def write(self, ids: Iterable[int]) -> int:
        """Append records in the current epoch; the offset of the first."""
        base = self.log.append(ids, self.leader_epoch)
        if self.log.end > base:
            self.epochs.assign(self.leader_epoch, base)
        return base

    def copy(self, batches: Iterable[Batch]) -> None:
        """Append a leader's records, with their epochs."""
        for batch in batches:
            self.epochs.assign(batch.epoch, self.log.append(batch.ids, batch.epoch))

    def truncate_to(self, offset: int) -> None:
        """Truncate the log, the leader-epoch cache and the high watermark."""
        if offset < self.log.start:
            self.epochs.clear()
        self.log.truncate_to(offset)
        self.epochs.truncate_from_end(self.log.end)
        self.hw = min(self.hw, self.log.end)

    def restart_at(self, offset: int) -> None:
        """Delete the whole log, and restart at this offset."""
        self.log = Log(offset)
        self.epochs.clear()
        self.hw = offset

    def delete_before(self, offset: int) -> None:
        """Delete the records below an offset, which is at most the high watermark."""
        if offset > self.hw:
            raise ValueError(f"offset {offset} is beyond the high watermark {self.hw}")
        if offset > self.log.start:
            self.log.delete_before(offset)
            self.epochs.truncate_from_start(offset)

    def set_hw(self, hw: int) -> None:
        """Set the high watermark, within the log."""
        self.hw = min(max(hw, self.log.start), self.log.end)
