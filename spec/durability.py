"""How many failures a partition survives: for writing, for reading, and for keeping records.

Arithmetic on settings, as Kafka's brokers apply them. For writing and reading, all replicas are in
sync before the first failure, and a broker that failed does not come back. For keeping records,
followers may lag, and a broker may come back at any time. The model `partition` agrees in every
combination of the matrix (`kspec.field.advice.matrix`), as a test checks.
"""

from __future__ import annotations

from kspec.spec.in_sync import effective_min_isr

ALL = -1
"""acks=all: a write waits for every in-sync replica."""


def survives_writing(factor: int, acks: int, min_isr: int) -> int:
    """How many brokers may fail while producers can still write.

    A leader is needed and, with acks=all, min.insync.replicas in-sync replicas. Kafka:
    `Partition.appendRecordsToLeader`, which answers NOT_ENOUGH_REPLICAS.
    """
    needed = effective_min_isr(min_isr, factor) if acks == ALL else 1
    return factor - needed


def survives_reading(factor: int) -> int:
    """How many brokers may fail while consumers can still read what is committed.

    Any in-sync replica can lead. Kafka: `PartitionChangeBuilder.electLeader`; before KRaft,
    `PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection`.
    """
    return factor - 1


def copies(factor: int, acks: int, min_isr: int) -> int:
    """How many replicas certainly hold a record when it is acknowledged.

    With acks=0 the producer considers a record written once it is sent; with acks=1, once the
    leader has it. Kafka: `ReplicaManager.appendRecords` and
    `Partition.checkEnoughReplicasReachOffset`.
    """
    return effective_min_isr(min_isr, factor) if acks == ALL else max(acks, 0)


def survives_crashing(factor: int, acks: int, min_isr: int, *, unclean: bool) -> int | None:
    """How many brokers may crash, with their logs intact, without losing an acknowledged record.

    None: any number, since only a replica that holds every acknowledged record can be elected.
    This holds since 2.1; before, truncation may lose such records (KIP-101, KIP-279, KIP-320).
    """
    held_by = copies(factor, acks, min_isr)
    if held_by == factor:
        return None
    if acks != ALL:
        return 0  # a follower that lacks the record is in the ISR
    return held_by - 1 if unclean else None


def survives_losing(factor: int, acks: int, min_isr: int) -> int:
    """How many brokers may lose all or the end of their log without losing an acknowledged record.

    This needs eligible leader replicas (KIP-966, the default since 4.1). Without them, the last
    member of the ISR is elected although its log is gone, and the result is 0 if followers may lag.
    """
    return max(0, copies(factor, acks, min_isr) - 1)
