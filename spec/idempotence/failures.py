"""Failures: connections are lost, and other brokers are elected.

The election chooses how much of the log the new leader has, since nobody can observe this earlier.
The new leader has at least the acknowledged batches, since acks=all and no election is unclean.
"""

from __future__ import annotations

from kspec.spec.core import Guarded, Step, appended, evolve, limit, replaced, rule
from kspec.spec.idempotence.leader import next_request
from kspec.spec.idempotence.producer import with_retry
from kspec.spec.idempotence.state import Answer, Exchange, Phase, Request, Term, offsets, terms


def disconnected(s: Exchange, term: int) -> Guarded[tuple[Exchange, list[int]]]:
    """A connection is lost; the state without its requests, and the batches that were sent on it.

    The leader may still handle the request that it has received. It receives the next one only
    after answering (`SocketServer`), so the others are lost.
    """
    yield limit("a lost connection remains"), s.disconnects < s.bounds.disconnects
    requests = s.connections[term]
    yield "a request is in flight", bool(requests)
    received = next_request(s, term) if term == s.term else None
    late = s.late if received is None else appended(s.late, received)
    lost = [r.record for r in requests if s.batches[r.record].phase is Phase.SENT]
    left = replaced(s.connections, term, ())
    return evolve(s, connections=left, disconnects=s.disconnects + 1, late=late), lost


@rule(by="network", term=terms)
def connection_is_lost(s: Exchange, term: Term) -> Step[Exchange]:
    """A connection is lost, with the responses on it: the producer will send each batch again.

    Kafka: `NetworkClient.processDisconnection`, `Sender.handleProduceResponse` with
    NETWORK_EXCEPTION, or REQUEST_TIMED_OUT after request.timeout.ms. Simplification: requests of
    several lost connections are handled in the order in which these were lost; one that the leader
    refuses holds up those behind it.
    """
    s, lost = yield from disconnected(s, term)
    for record in lost:
        s = with_retry(s, record)
    return s


def elected(s: Exchange, end: int) -> Exchange:
    """Another leader, whose log ends at this offset.

    The deposed leader answers NOT_LEADER_OR_FOLLOWER for what the new one does not have
    (`Partition.checkEnoughReplicasReachOffset`), and late requests are refused.
    """

    def seen(request: Request) -> Request:
        if request.offset < end:
            return request
        return evolve(request, answer=Answer.NOT_LEADER, offset=-1)

    return evolve(
        s,
        term=Term(s.term + 1),
        log=s.log[:end],
        forgotten=min(s.forgotten, end),
        late=(),
        connections=tuple(tuple(map(seen, requests)) for requests in s.connections),
    )


@rule(by="controller", end=offsets)
def controller_elects_leader(s: Exchange, end: int) -> Step[Exchange]:
    """Another replica is elected; it has every acknowledged batch, and any number of later ones.

    Kafka: `ReplicationControlManager`, with acks=all and min.insync.replicas of at least 2.
    """
    yield limit("an election remains"), s.term < s.bounds.elections
    yield "new leader has what was acknowledged", s.committed <= end
    return elected(s, end)


RULES = (connection_is_lost, controller_elects_leader)
