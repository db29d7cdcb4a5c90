"""What replication is for: a committed record stays with whoever may lead next."""

from __future__ import annotations

from spec.core import Claims, always
from spec.replication.state import NO_LEADER, Cluster, brokers


def copy_at(offset: int, broker: int) -> str:
    """What the copy of one offset on one broker is called, in verdicts and pictures."""
    return f"offset {offset} on broker {broker}"


def offsets(s: Cluster) -> range:
    """Every offset that a log may have a record at."""
    return range(s.bounds.log_size)


def committed_record_is_held(
    s: Cluster, leader: int, isr: frozenset[int], member: int, offset: int
) -> Claims:
    """If it is below the leader's HW, a member of the ISR has the leader's record there."""
    if s.presumes_leadership(leader) and member in isr and offset < s.views[leader].hw:
        agrees = s.logs[member].agrees_at(offset, s.logs[leader])
        yield f"{copy_at(offset, member)}, committed by broker {leader}", agrees


@always(leader=brokers, member=brokers, offset=offsets)
def WeakIsr(s: Cluster, leader: int, member: int, offset: int) -> Claims:
    """What a broker that takes itself for the leader counts as committed, its own ISR holds."""
    return committed_record_is_held(s, leader, s.views[leader].isr, member, offset)


@always(leader=brokers, member=brokers, offset=offsets)
def StrongIsr(s: Cluster, leader: int, member: int, offset: int) -> Claims:
    """What a broker that takes itself for the leader counts as committed, the true ISR holds.

    Only members of the true ISR, the controller's, are ever elected. So no election loses a
    committed record, and two that take themselves for the leader agree on what is committed.
    """
    return committed_record_is_held(s, leader, s.quorum.isr, member, offset)


@always
def LeaderInIsr(s: Cluster) -> Claims:
    """The controller's leader, while there is one, is in the controller's ISR."""
    leader = s.quorum.leader
    yield f"broker {leader}", leader == NO_LEADER or leader in s.quorum.isr
