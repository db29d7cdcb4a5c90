"""The partition that a request asks its leader about, and the checks that most requests share."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import attrs

from kspec.spec.core import Check, Checked, decide
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

    def has_epoch(self, asked_in: int) -> Checked[None]:
        """The leader epoch that a request names, if it names one, is the current one."""
        return epoch_is_current(self.leader_epoch, None if asked_in == UNDEFINED else asked_in)


NEW = Partition()
"""A new partition."""

Handler: TypeAlias = Checked[tuple[Partition, R]]
"""A handler yields its checks, and returns the partition after the request and the response."""


def exists(asked: TopicPartition) -> Check:
    """The partition exists. Kafka: `MetadataCache.contains`."""
    error = PartitionError.UNKNOWN_TOPIC_OR_PARTITION
    return Check("partition exists", asked == PARTITION, error)


def epoch_is_current(leader_epoch: int, asked_in: int | None) -> Checked[None]:
    """The leader epoch that a request names, if it names one, is the replica's.

    Kafka: `Partition.checkCurrentLeaderEpoch` (KIP-320).
    """
    asked_in = leader_epoch if asked_in is None else asked_in
    fenced, unknown = PartitionError.FENCED_LEADER_EPOCH, PartitionError.UNKNOWN_LEADER_EPOCH
    yield Check("leader epoch is not older", asked_in >= leader_epoch, fenced)
    yield Check("leader epoch is not newer", asked_in <= leader_epoch, unknown)


def epoch_error(leader_epoch: int, asked_in: int | None) -> PartitionError | None:
    """The error for a request with another leader epoch than the replica's; None if it fits."""
    error: PartitionError | None = decide(epoch_is_current(leader_epoch, asked_in)).error
    return error
