"""The properties of replication: every broker that may lead next holds all committed records."""

from __future__ import annotations

from kspec.spec.core import Claims, always
from kspec.spec.replication.state import NO_LEADER, Cluster, brokers


def copy_at(offset: int, broker: int) -> str:
    """The name of one broker's copy of an offset, in verdicts and pictures."""
    return f"offset {offset} on broker {broker}"


def offsets(s: Cluster) -> range:
    """Every offset at which a log may hold a record."""
    return range(s.bounds.log_size)


def member_holds_committed_record(
    s: Cluster, leader: int, isr: frozenset[int], member: int, offset: int
) -> Claims:
    """A member of this ISR holds the presumed leader's record, if that counts as committed."""
    if s.presumes_leadership(leader) and member in isr and offset < s.views[leader].hw:
        agrees = s.logs[member].agrees_at(offset, s.logs[leader])
        yield f"{copy_at(offset, member)}, committed by broker {leader}", agrees


@always(leader=brokers, member=brokers, offset=offsets)
def WeakIsr(s: Cluster, leader: int, member: int, offset: int) -> Claims:
    """Every record below a presumed leader's high watermark is in the log of each member of that
    leader's ISR.
    """
    return member_holds_committed_record(s, leader, s.views[leader].isr, member, offset)


@always(leader=brokers, member=brokers, offset=offsets)
def StrongIsr(s: Cluster, leader: int, member: int, offset: int) -> Claims:
    """Every record below a presumed leader's high watermark is in the log of each member of the
    controller's ISR.

    The controller elects only from its own ISR. So no election loses a committed record, and two
    presumed leaders agree on what is committed.
    """
    return member_holds_committed_record(s, leader, s.quorum.isr, member, offset)


@always
def LeaderInIsr(s: Cluster) -> Claims:
    """The controller's leader, if there is one, is in the controller's ISR."""
    leader = s.quorum.leader
    yield f"broker {leader}", leader == NO_LEADER or leader in s.quorum.isr
