"""Replicas in the states in which tests begin, reached by ordinary calls."""

from __future__ import annotations

from collections.abc import Iterable

from kspec.impl.partition import Follower, Leader, Replica, Settings
from kspec.impl.partition.generations import KIP_595, Generation
from kspec.impl.partition.messages import FetchRequest, Response


def lead(replica: Replica, epoch: int, isr: Iterable[int] = (0, 1), now: int = 0) -> Leader:
    """The replica leads; the partition is on brokers 0 and 1, and on those of the ISR."""
    isr = frozenset(isr)
    replica.become_leader(epoch, epoch * 10, isr, {0, 1} | isr, now)
    assert isinstance(replica.role, Leader)
    return replica.role


def follow(replica: Replica, epoch: int, leader: int = 0) -> Follower:
    """The replica follows."""
    replica.become_follower(epoch, epoch * 10, leader, {0, 1})
    assert isinstance(replica.role, Follower)
    return replica.role


def with_epochs(
    *lengths: tuple[int, int],
    broker: int = 0,
    settings: Settings | None = None,
    generation: Generation = KIP_595,
) -> Replica:
    """A replica that led alone, and appended and committed these numbers of records by epoch."""
    replica = Replica(broker, settings or Settings(), generation)
    for epoch, records in lengths:
        lead(replica, epoch, {broker}).append(range(replica.log.end, replica.log.end + records))
    replica.hw = replica.log.end
    return replica


def fetch(leader: Replica, follower: int, offset: int, now: int = 0) -> Response:
    """A follower in the leader's epoch fetches everything from an offset on."""
    return leader.answer(FetchRequest(follower, offset, 1000, leader.leader_epoch), now)
