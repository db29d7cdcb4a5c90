"""The picture of `idempotence`: the producer's batches, what is in flight, and the log."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Cell, Lane, Mark, Picture
from kspec.spec.idempotence.state import Answer, Batch, Exchange, Identity, Phase, Request

PRODUCER, LEADER, NETWORK = "producer", "leader", "network"

WORDS = {
    "producer": "its batches in the order in which the application sends them",
    "r0 e1#2": "record 0, with producer epoch 1 and sequence number 2; p1: producer id 1",
    "epoch": "the producer epoch, and its id if it has changed",
    "next": "the sequence number of the next batch that is sent for the first time",
    "acknowledged": "the highest sequence number that was acknowledged",
    "sends to": "the leader that the producer knows from the metadata",
    "unresolved": "no new batch is sent until the sequence before this one is resolved",
    "bump": "the producer bumps its epoch before it sends again",
    "leader": "its log; records of other producers are left out",
    "committed": "the producer has an acknowledgement of what is before this offset",
    "forgotten": "the brokers do not remember the producer's batches before this offset",
    "in flight": "requests, and the responses on their way, in their order",
    "late": "received by the leader before the connection was lost; nobody gets the response",
    "✓": "acknowledged",
    "✗": "the application was told that it failed",
    "↻": "waits to be sent again",
}

SIGNS = {
    Phase.QUEUED: "",
    Phase.SENT: "→",
    Phase.RETRIED: "↻",
    Phase.ACKNOWLEDGED: "✓",
    Phase.FAILED: "✗",
    Phase.EXPIRED: "✗",
}


def picture(s: Exchange, taken: Taken | None) -> Picture:
    """The producer above, what is in flight, and the log of the current leader below."""
    flights = [connection_lane(s, term) for term in range(s.term + 1)]
    return Picture(
        lanes=[producer_lane(s), *flights, leader_lane(s)],
        arrows=arrows(s, taken) if taken else [],
        words=WORDS,
        colour="record",
    )


def numbered(record: int, identity: Identity | None, sequence: int) -> str:
    """A short text for a batch with its number."""
    if identity is None:
        return f"r{record}"
    producer = f"p{identity.id} " if identity.id else ""
    return f"r{record} {producer}e{identity.epoch}#{sequence}"


# -- lanes ----------------------------------------------------------------------------------------


def producer_lane(s: Exchange) -> Lane:
    """The batches, and what the producer keeps of the partition."""
    producer = s.producer
    identity = f"{producer.identity.epoch}"
    if producer.identity.id:
        identity += f" of id {producer.identity.id}"
    facts = {
        "epoch": identity,
        "next": str(producer.next_sequence),
        "acknowledged": str(producer.last_acknowledged) if producer.last_acknowledged >= 0 else "–",
        "sends to": connection(producer.leader),
    }
    if producer.unresolved is not None:
        facts["unresolved"] = str(producer.unresolved)
    if producer.needs_bump:
        facts["bump"] = "due"
    cells = [batch_cell(record, batch) for record, batch in enumerate(s.batches)]
    return Lane(PRODUCER, facts=facts, cells=cells, place="producer")


def batch_cell(record: int, batch: Batch) -> Cell:
    """A batch of the producer."""
    text = numbered(record, batch.identity if batch.is_in_flight else None, batch.sequence)
    title = f"record {record}: {batch.phase}"
    return Cell(text, record, f"record {record}", title, SIGNS[batch.phase])


def connection(term: int) -> str:
    """The name of a leader."""
    return f"leader {term}"


def connection_lane(s: Exchange, term: int) -> Lane:
    """The requests in flight to a leader, and those whose connection is lost."""
    is_current = term == s.term
    late = s.late if is_current else ()
    cells = [request_cell(request) for request in s.connections[term]]
    cells += [request_cell(request, late=True) for request in late]
    role = "" if is_current else "deposed"
    return Lane(f"to {connection(term)}", role, cells=cells, place=connection(term))


def request_cell(request: Request, late: bool = False) -> Cell:
    """A request in flight, or its response."""
    text = numbered(request.record, request.identity, request.sequence)
    if late:
        return Cell(f"{text} late", request.record, title="late request")
    if request.answer is None:
        return Cell(text, request.record, title="request")
    short = "ok" if request.answer is Answer.SUCCESS else request.answer.name.lower()
    return Cell(f"{text}: {short.replace('_', ' ')}", request.record, title=request.answer)


def leader_lane(s: Exchange) -> Lane:
    """The log of the current leader."""
    cells = [
        Cell(
            numbered(entry.record, entry.identity, entry.sequence),
            entry.record,
            f"offset {offset}",
            f"offset {offset}: record {entry.record}",
        )
        for offset, entry in enumerate(s.log)
    ]
    marks = [Mark("committed", s.committed)]
    if s.expirations:
        marks.append(Mark("forgotten", s.forgotten))
    return Lane(f"log of {connection(s.term)}", cells=cells, marks=marks, place="log")


# -- arrows ---------------------------------------------------------------------------------------


def arrows(s: Exchange, taken: Taken) -> list[Arrow]:
    """The message of this step: a request that is handled, or a response that arrives."""
    before = taken.before
    if before is None or s.disconnects > before.disconnects:
        return []
    log = f"log of {connection(s.term)}"
    if len(s.log) > len(before.log):
        entry = s.log[-1]
        text = numbered(entry.record, entry.identity, entry.sequence)
        return [Arrow(f"to {connection(s.term)}", log, text)]
    for term in range(s.term + 1):
        name = f"to {connection(term)}"
        now, then = s.connections[term], before.connections[term]
        if len(now) == len(then) + 1:
            return [Arrow(PRODUCER, name, f"r{now[-1].record}")]
        if len(now) == len(then) - 1:
            return [Arrow(name, PRODUCER, str(then[0].answer))]
    return []
