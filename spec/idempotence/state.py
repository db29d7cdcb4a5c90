"""The state: a producer's batches, the requests in flight, and the leader's log."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, NewType

import attrs

from kspec.spec.core import appended, bound, constant, evolve, replaced, tally

Term = NewType("Term", int)
"""The number of a leader: 0 is the first one, and each election begins another term."""

NO_SEQUENCE = -1
"""The sequence number of a batch that has none. Kafka: `RecordBatch.NO_SEQUENCE`."""
NO_OFFSET = -1
"""The offset of a batch that is not in the log."""


@attrs.frozen
class Bounds:
    """The settings of the producer, and the failures that may happen."""

    records: int = bound(3, 1, 6, "batches that the producer sends, each of one record")
    in_flight: int = bound(
        2,
        1,
        5,
        "max.in.flight.requests.per.connection, and the batches that a broker remembers (5)",
    )
    elections: int = bound(1, 0, 3, "elections of another leader")
    disconnects: int = bound(1, 0, 3, "connections that are lost")
    timeouts: int = bound(1, 0, 6, "batches that reach delivery.timeout.ms")
    expirations: int = bound(0, 0, 2, "times that the brokers forget the producer")
    others: int = bound(0, 0, 1, "1: the log has a record of another producer")


class Phase(StrEnum):
    """The progress of a batch in the producer."""

    QUEUED = "queued"
    """It has not been sent yet."""
    SENT = "sent"
    """Its latest request is in flight."""
    RETRIED = "waiting to be retried"
    """It is back in the queue, and will be sent again."""
    ACKNOWLEDGED = "acknowledged"
    """Its success was reported to the application."""
    FAILED = "failed"
    """Its failure was reported to the application: a response with an error."""
    EXPIRED = "timed out"
    """Its failure was reported to the application: delivery.timeout.ms has passed."""


class Answer(StrEnum):
    """A broker's answer to a Produce request."""

    SUCCESS = "NONE"
    """The batch is written; it may have been written by an earlier request."""
    NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
    """The broker is no longer the leader; the batch may be written nevertheless."""
    OUT_OF_ORDER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    """The sequence number is not the next one."""
    UNKNOWN_PRODUCER = "UNKNOWN_PRODUCER_ID"
    """The broker knows nothing of the producer (1.0 to 2.4)."""


@attrs.frozen(order=True)
class Identity:
    """A producer id with its epoch. Kafka: `ProducerIdAndEpoch`."""

    id: int = 0
    """The producer id."""
    epoch: int = 0
    """The producer epoch."""


@attrs.frozen
class Batch:
    """A batch of one record, in the producer. Kafka: `ProducerBatch`."""

    phase: Phase = Phase.QUEUED
    """Its progress."""
    identity: Identity | None = None
    """The producer id and epoch with which it will be sent again; None before it is first sent."""
    sequence: int = NO_SEQUENCE
    """The sequence number with which it will be sent again."""
    renumbered: bool = False
    """Whether its number has changed since it was last sent (`sequenceHasBeenReset`)."""
    retried: bool = False
    """Whether a request of it has failed (`inRetry`)."""
    offset: int = NO_OFFSET
    """Its offset in the log, as reported to the application."""

    @property
    def is_in_flight(self) -> bool:
        """Whether it has a sequence number and is not done (`inflightBatchesBySequence`)."""
        return self.phase in (Phase.SENT, Phase.RETRIED)

    @property
    def is_done(self) -> bool:
        """Whether its success or failure was reported to the application."""
        return self.phase in (Phase.ACKNOWLEDGED, Phase.FAILED, Phase.EXPIRED)

    @property
    def is_failed(self) -> bool:
        """Whether its failure was reported to the application."""
        return self.phase in (Phase.FAILED, Phase.EXPIRED)


@attrs.frozen
class Request:
    """A Produce request with one batch, and its response."""

    record: int
    """The number of the batch: 0 is the one that the application sent first."""
    identity: Identity | None
    """The producer id and epoch in it; None without idempotence."""
    sequence: int
    """The sequence number in it."""
    answer: Answer | None = None
    """The response; None while no broker has handled the request."""
    offset: int = NO_OFFSET
    """The offset in the response, if the batch is written."""

    @property
    def epoch(self) -> int:
        """The producer epoch in it."""
        assert self.identity is not None, "an idempotent producer"
        return self.identity.epoch


@attrs.frozen
class Entry:
    """A batch in the log."""

    record: int
    """The number of the batch."""
    identity: Identity | None
    """The producer id and epoch with which it was sent."""
    sequence: int
    """The sequence number with which it was sent."""


@attrs.frozen
class Producer:
    """The producer's own state. Kafka: `TransactionManager`, `TxnPartitionEntry`."""

    identity: Identity = attrs.field(factory=Identity)
    """Its producer id and epoch."""
    next_sequence: int = 0
    """The sequence number of the next batch that is sent for the first time."""
    last_acknowledged: int = NO_SEQUENCE
    """The highest sequence number that was acknowledged (`lastAckedSequence`)."""
    unresolved: int | None = None
    """The sequence number after a batch that timed out although a request may have written it.

    While there is one, no batch is sent for the first time (`partitionsWithUnresolvedSequences`).
    """
    needs_bump: bool = False
    """Whether it will bump its epoch before it sends again (`epochBumpRequired`)."""
    leader: Term = Term(0)
    """The term of the leader to which it sends."""


@attrs.frozen(cache_hash=True)
class Exchange:
    """A producer, the leaders of one partition, and what is in flight between them."""

    batches: tuple[Batch, ...]
    """The batches, in the order in which the application sends them."""
    producer: Producer
    """The rest of the producer."""
    connections: Annotated[tuple[tuple[Request, ...], ...], Term]
    """By leader: the requests in flight, in the order in which they were sent."""
    late: tuple[Request, ...] = ()
    """Requests that the leader has received, but whose connection is lost."""
    log: tuple[Entry, ...] = ()
    """This producer's part of the leader's log."""
    committed: int = 0
    """The offset below which an acknowledgement shows that every replica has the log."""
    forgotten: int = 0
    """The offset below which no broker remembers the producer's batches."""
    term: Term = Term(0)
    """The leader's term, and the number of elections so far."""
    disconnects: int = tally()
    """The number of connections that were lost so far."""
    timeouts: int = tally()
    """The number of batches that timed out so far."""
    expirations: int = tally()
    """The number of times that the brokers forgot the producer so far."""
    bounds: Bounds = constant()
    """The bounds of this run."""

    # -- updates ----------------------------------------------------------------------------------

    def with_batch(self, record: int, batch: Batch) -> Exchange:
        """The state with another batch of this number."""
        return evolve(self, batches=replaced(self.batches, record, batch))

    def with_producer(self, **changes: Any) -> Exchange:
        """The state with some fields of the producer changed."""
        return evolve(self, producer=evolve(self.producer, **changes))

    def with_request(self, term: int, request: Request) -> Exchange:
        """The state with one more request in flight to this leader."""
        requests = appended(self.connections[term], request)
        return evolve(self, connections=replaced(self.connections, term, requests))


def initial(bounds: Bounds) -> list[Exchange]:
    """Every batch waits to be sent, and the log has no record of the producer."""
    return [
        Exchange(
            batches=(Batch(),) * bounds.records,
            producer=Producer(),
            connections=((),) * (bounds.elections + 1),
            bounds=bounds,
        )
    ]


# -- choices --------------------------------------------------------------------------------------


def terms(s: Exchange) -> Iterator[Term]:
    """The terms of all leaders."""
    return (Term(term) for term in range(s.bounds.elections + 1))


def offsets(s: Exchange) -> range:
    """Every offset of the log, and its end."""
    return range(len(s.log) + 1)


def either(_: Exchange) -> tuple[bool, bool]:
    """False and true."""
    return False, True
