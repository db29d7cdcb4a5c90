"""The partition that a request asks its leader about, and the checks that most requests share."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import attrs

from kspec.spec.core import Check, Checked
from kspec.spec.leader_epochs import UNDEFINED, LeaderEpochs
from kspec.spec.log import Log
from kspec.spec.producer.entries import ProducerEntry
from kspec.spec.vocabulary import PartitionError, TopicPartition

R = TypeVar("R")

PARTITION = TopicPartition("t", 0)
"""The partition."""

EMPTY = Log()
"""The log of a new partition."""
NEW_PRODUCER = ProducerEntry(0)
"""A producer that has not written."""
ONE_LEADER = LeaderEpochs().assign(0, 0)
"""The leader epochs of a partition that has had one leader."""


@attrs.frozen
class Partition:
    """A partition with one replica, as its leader knows it: every record is committed at once."""

    log: Log = EMPTY
    """The log. The id of a record is the number of the request that produced it."""
    times: tuple[int, ...] = ()
    """The time of each record."""
    producer: ProducerEntry = NEW_PRODUCER
    """What it knows of the only idempotent producer."""
    epochs: LeaderEpochs = ONE_LEADER
    """The leader epochs."""

    @property
    def leader_epoch(self) -> int:
        """The current leader epoch."""
        return self.epochs.entries[-1].epoch


NEW = Partition()
"""A new partition."""

Handler: TypeAlias = Checked[tuple[Partition, R]]
"""A handler yields its checks, and returns the partition after the request and the response."""


def exists(asked: TopicPartition) -> Check:
    """The partition exists. Kafka: `MetadataCache.contains`."""
    error = PartitionError.UNKNOWN_TOPIC_OR_PARTITION
    return Check("partition exists", asked == PARTITION, error)


def epoch_is_current(partition: Partition, epoch: int) -> Checked[None]:
    """The leader epoch that a request names, if any, is the current one.

    Kafka: `Partition.checkCurrentLeaderEpoch` (KIP-320).
    """
    error = epoch_error(partition.leader_epoch, None if epoch == UNDEFINED else epoch)
    fenced, unknown = PartitionError.FENCED_LEADER_EPOCH, PartitionError.UNKNOWN_LEADER_EPOCH
    yield Check("leader epoch is not older", error is not fenced, fenced)
    yield Check("leader epoch is not newer", error is not unknown, unknown)


def epoch_error(leader_epoch: int, asked_in: int | None) -> PartitionError | None:
    """The error for a request with another leader epoch than the replica's; None if it fits.

    A request without an epoch (`asked_in` None) always fits. Kafka:
    `Partition.checkCurrentLeaderEpoch` (KIP-320).
    """
    if asked_in is None or asked_in == leader_epoch:
        return None
    if asked_in < leader_epoch:
        return PartitionError.FENCED_LEADER_EPOCH
    return PartitionError.UNKNOWN_LEADER_EPOCH
