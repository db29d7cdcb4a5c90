"""What replication is for: a committed record stays with whoever may lead next."""

from __future__ import annotations

from collections.abc import Iterable

from spec.core import Claims, always
from spec.replication.state import NO_LEADER, Cluster, brokers


def copy_at(offset: int, broker: int) -> str:
    """What the copy of one offset on one broker is called, in verdicts and pictures."""
    return f"offset {offset} on broker {broker}"


def committed_records_are_held(s: Cluster, leader: int, members: Iterable[int]) -> Claims:
    """Every member holds the leader's record at every offset below the leader's HW."""
    for member in sorted(members):
        for offset in range(s.views[leader].hw):
            agrees = s.logs[member].agrees_at(offset, s.logs[leader])
            yield f"{copy_at(offset, member)}, committed by broker {leader}", agrees


@always
def WeakIsr(s: Cluster) -> Claims:
    """What a broker that takes itself for the leader counts as committed, its own ISR holds."""
    for leader in brokers(s):
        if s.presumes_leadership(leader):
            yield from committed_records_are_held(s, leader, s.views[leader].isr)


@always
def StrongIsr(s: Cluster) -> Claims:
    """What a broker that takes itself for the leader counts as committed, the true ISR holds.

    Only members of the true ISR, the controller's, are ever elected. So no election loses a
    committed record, and two that take themselves for the leader agree on what is committed.
    """
    for leader in brokers(s):
        if s.presumes_leadership(leader):
            yield from committed_records_are_held(s, leader, s.quorum.isr)


@always
def LeaderInIsr(s: Cluster) -> Claims:
    """The controller's leader, while there is one, is in the controller's ISR."""
    leader = s.quorum.leader
    yield f"broker {leader}", leader == NO_LEADER or leader in s.quorum.isr
