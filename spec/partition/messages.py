"""Message by message: the rules with a follower's requests and the responses in flight.

In the model `partition`, a request, its response and the follower's receipt of it are one step.
Here each is a separate step: a request is delayed, arrives, is parked; a response is delayed,
arrives or is dropped; either may be lost. Both forms reach the same states of the cluster, which a
test compares. These rules share nothing with those that they replace.

A follower has one request in flight at a time, as a fetcher thread has. If it moves on to another
leader epoch meanwhile, its request may still arrive, and it sends another one. When its process
ends, so do its connections: no response reaches the next process, but a request that is already in
the leader's queue is handled.
"""

from __future__ import annotations

from collections.abc import Iterator

from kspec.spec.core import Guarded, Step, evolve, present, replaced, rule
from kspec.spec.leader_epochs import EpochEnd, truncation_for
from kspec.spec.log import Log
from kspec.spec.partition.alter_partition import with_proposed_isr
from kspec.spec.partition.failures import broker_crashes, broker_loses_disk, broker_loses_power
from kspec.spec.partition.leader import (
    WithIsr,
    can_write_isr,
    with_advanced_hw,
    with_written_isr,
)
from kspec.spec.partition.state import (
    NO_BROKER,
    NO_EPOCH,
    Broker,
    Cluster,
    Request,
    Response,
    brokers,
    epochs,
    offsets,
)


def requests(s: Cluster) -> list[Request]:
    """Every request that is in flight or parked."""
    return sorted(s.requests)


def responses(s: Cluster) -> list[Response]:
    """Every response in flight."""
    return sorted(s.responses, key=lambda response: response.request)


# -- follower -------------------------------------------------------------------------------------


def sent_by(s: Cluster, follower: int) -> Iterator[Request]:
    """The requests of a follower to which the response has not arrived."""
    yield from (r for r in s.requests if r.follower == follower and not r.is_late)
    yield from (r.request for r in s.responses if r.request.follower == follower)


@rule(by="follower", follower=brokers)
def follower_sends_request(s: Cluster, follower: Broker) -> Step[Cluster]:
    """A follower sends its next request: it asks where its latest epoch ended, or fetches.

    Kafka: `AbstractFetcherThread.doWork`, which truncates first (`maybeTruncate`), and then
    fetches (`maybeFetch`). It may send in a new leader epoch while it still waits in an old one:
    to another leader, or over a new connection to the same one.
    """
    epoch = s.replicas[follower].epoch
    waits = any(request.epoch == epoch for request in sent_by(s, follower))
    return (yield from sent(s, follower, waits))


def sent(s: Cluster, follower: Broker, waits: bool) -> Step[Cluster]:
    """A follower sends a request unless it waits for a response."""
    own = s.replicas[follower]
    yield "broker has a leader", own.leader != NO_BROKER
    yield "leader is another broker", own.leader != follower
    yield "fetcher waits for no response", not waits
    latest = own.epochs.latest_epoch
    request = Request(
        follower=follower,
        leader=own.leader,
        epoch=own.epoch,
        latest=NO_EPOCH if latest is None else latest,
        offset=own.log.end,
        truncates=own.truncates,
    )
    return evolve(s, requests=s.requests | {request})


def received(s: Cluster, follower: int) -> Guarded[Response]:
    """The response that a follower handles: one to a request of its current leader epoch.

    It drops any other. Kafka: `AbstractFetcherThread.processFetchRequest` handles a response only
    if the fetcher is ready, which it is not while a truncation of the new epoch is outstanding;
    `maybeTruncateToEpochEndOffsets` (2.1.0) compares the leader epochs.
    """
    epoch = s.replicas[follower].epoch
    here = (r for r in s.responses if r.request.follower == follower)
    mine = (r for r in here if r.request.epoch == epoch)
    return (yield from present("response in its epoch has arrived", next(mine, None)))


@rule(by="follower", follower=brokers)
def follower_handles_fetch_response(s: Cluster, follower: Broker) -> Step[Cluster]:
    """A follower appends the records of a response, and adopts its high watermark.

    Kafka: `ReplicaFetcherThread.processPartitionData`.
    """
    response = yield from received(s, follower)
    yield "response is without an epoch's end", response.end is None
    own = s.replicas[follower]
    yield "follower fetches from the same offset", own.log.end == response.request.offset
    return with_handled(s, response)


def with_handled(s: Cluster, response: Response) -> Cluster:
    """The cluster after a follower handled a response with records."""
    follower = response.request.follower
    own = s.replicas[follower]
    cache = own.epochs
    for offset, record in enumerate(response.records, own.log.end):
        cache = cache.assign(record.epoch, offset)
    log = Log(own.log.records + response.records)
    s = evolve(s, responses=s.responses - {response})
    return s.with_replica(follower, log=log, epochs=cache, hw=min(response.hw, log.end))


@rule(by="follower", follower=brokers)
def follower_handles_epoch_end(s: Cluster, follower: Broker) -> Step[Cluster]:
    """A follower truncates where its latest epoch ended, and asks again unless that is final.

    Kafka: `AbstractFetcherThread.maybeTruncateToEpochEndOffsets`, `getOffsetTruncationState`.
    """
    response = yield from received(s, follower)
    end = yield from present("response has an epoch's end", response.end)
    own = s.replicas[follower]
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    s = evolve(s, responses=s.responses - {response})
    return s.with_log_cut(follower, cut.offset).with_replica(follower, truncates=not cut.done)


# -- leader ---------------------------------------------------------------------------------------


def accepted(s: Cluster, leader: int, follower: int) -> Guarded[Request]:
    """The request that a leader does not answer with an error: one of its own leader epoch.

    Kafka: `Partition.checkCurrentLeaderEpoch`.
    """
    yield "broker presumes leadership", s.replicas[leader].leadership is not None
    epoch = s.replicas[leader].epoch
    here = (r for r in s.requests if r.leader == leader and r.follower == follower)
    mine = (r for r in here if r.epoch == epoch and not r.is_late)
    return (yield from present("request of its epoch has arrived", next(mine, None)))


def is_in_sync(s: Cluster, request: Request) -> bool:
    """Whether a fetch offset is that of a follower that may join the ISR, and is not in it.

    Kafka: `Partition.isFollowerInSync`; in 2.1.0 `maybeExpandIsr`.
    """
    leader = s.replicas[request.leader]
    state = leader.leadership
    reached = request.offset >= max(leader.hw, leader.epochs.entries[-1].start)
    return state is not None and request.follower not in state.isr and reached


def joins_by_write(s: Cluster, request: Request) -> bool:
    """Whether a fetch expands the ISR: the follower is in sync, and the leader can write the ISR.

    Kafka: `Partition.maybeExpandIsr` (2.1.0).
    """
    return is_in_sync(s, request) and can_write_isr(s, request.leader)


def with_counted(s: Cluster, request: Request, joins: bool, with_isr: WithIsr) -> Cluster:
    """The leader notes the fetch offset, expands the ISR if it may, and advances the HW.

    Kafka: `Partition.updateFollowerFetchState` (`updateReplicaLogReadResult` in 2.1.0).
    """
    state = s.replicas[request.leader].leadership
    assert state is not None, "a leader"
    ends = replaced(state.ends, request.follower, request.offset)
    s = s.with_leadership(request.leader, ends=ends)
    if joins:
        s = with_isr(s, request.leader, state.isr | {request.follower})
    return with_advanced_hw(s, request.leader)


def with_read(s: Cluster, counted: Cluster, request: Request) -> Cluster:
    """The cluster after a leader counted a fetch: it returns its records, or parks the request.

    Log and high watermark of the response are those of `s`, before the fetch was counted.
    """
    leader = s.replicas[request.leader]
    left = counted.requests - {request}
    records = leader.log.records[request.offset :]
    if not records:
        return evolve(counted, requests=left | {evolve(request, is_parked=True)})
    response = Response(request, records, leader.hw)
    return evolve(counted, requests=left, responses=counted.responses | {response})


@rule(by="leader", leader=brokers, follower=brokers)
def leader_handles_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch arrives: the leader counts it, and returns its records or parks the request.

    The high watermark of the response is that from before the fetch was counted. Kafka:
    `ReplicaManager.fetchMessages`, `readFromLocalLog`, `updateFollowerLogReadResults` (2.1.0).
    """
    request = yield from accepted(s, leader, follower)
    yield "request is a fetch", not request.truncates
    yield "fetch is not parked", not request.is_parked
    yield "fetch offset is within the leader's log", request.offset <= s.replicas[leader].log.end
    counted = with_counted(s, request, joins_by_write(s, request), with_written_isr)
    return with_read(s, counted, request)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_answers_parked_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A parked fetch is answered, because records have arrived or its wait is over.

    It is not counted again. Kafka: `DelayedFetch.tryComplete`, `onComplete`.
    """
    request = yield from accepted(s, leader, follower)
    yield "fetch is parked", request.is_parked
    replica = s.replicas[leader]
    asked = evolve(request, is_parked=False)
    response = Response(asked, replica.log.records[request.offset :], replica.hw)
    return with_response(s, request, response)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_answers_epoch_end(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A leader answers where an epoch ended.

    Kafka: `Partition.lastOffsetForLeaderEpoch`.
    """
    request = yield from accepted(s, leader, follower)
    yield "request asks where an epoch ended", request.truncates
    replica = s.replicas[leader]
    end = replica.epochs.end_of(request.latest, replica.log.end)
    return with_response(s, request, Response(request, end=end))


def with_response(s: Cluster, request: Request, response: Response) -> Cluster:
    """The cluster where the leader has answered a request."""
    return evolve(s, requests=s.requests - {request}, responses=s.responses | {response})


@rule(by="leader", leader=brokers, follower=brokers, offset=offsets)
def leader_counts_late_fetch(
    s: Cluster, leader: Broker, follower: Broker, offset: int
) -> Step[Cluster]:
    """A fetch is counted after the process that sent it has ended; its response has no receiver.

    The follower may have restarted without the records. Kafka: `RequestChannel` keeps the requests
    of a connection that is closed. Since KIP-903 a fetch has a broker epoch, which the leader
    compares: `Replica.updateFetchStateOrThrow`.
    """
    yield "broker presumes leadership", s.replicas[leader].leadership is not None
    epoch = s.replicas[leader].epoch
    late = (r for r in s.requests if r.is_late and r.leader == leader and r.follower == follower)
    mine = (r for r in late if r.epoch == epoch and r.offset == offset and not r.truncates)
    request = yield from present("late fetch of its epoch has arrived", next(mine, None))
    yield "fetch offset is within the leader's log", offset <= s.replicas[leader].log.end
    counted = with_counted(s, request, joins_by_write(s, request), with_written_isr)
    return evolve(counted, requests=counted.requests - {request})


# -- since 2.7: a fetch detects whether the logs diverge ------------------------------------------


def diverging_end(s: Cluster, request: Request) -> EpochEnd | None:
    """Where the sender's log diverged from the leader's when it sent the request, or None.

    Kafka: `Partition.readRecords`, by lastFetchedEpoch (KIP-595).
    """
    leader = s.replicas[request.leader]
    if request.latest == NO_EPOCH:
        return None
    end = leader.epochs.end_of(request.latest, leader.log.end)
    return end if end.epoch < request.latest or end.offset < request.offset else None


@rule(by="leader", leader=brokers, follower=brokers)
def leader_handles_agreeing_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch of a log that agrees arrives: the leader counts it, and answers or parks it.

    Kafka: `Partition.fetchRecords`, `updateFollowerFetchState`; the leader proposes an ISR in
    AlterPartition (KIP-497).
    """
    request = yield from accepted(s, leader, follower)
    yield "fetch is not parked", not request.is_parked
    yield "logs agree", diverging_end(s, request) is None
    state = yield from present("broker presumes leadership", s.replicas[leader].leadership)
    joins = state.pending is None and is_in_sync(s, request)
    return with_read(s, with_counted(s, request, joins, with_proposed_isr), request)


@rule(by="leader", leader=brokers, follower=brokers)
def leader_answers_diverging_fetch(s: Cluster, leader: Broker, follower: Broker) -> Step[Cluster]:
    """A fetch of a diverging log arrives: the leader answers where, and does not count it.

    Kafka: `Partition.readRecords`, which answers with a diverging epoch (KIP-595).
    """
    request = yield from accepted(s, leader, follower)
    end = yield from present("logs diverge", diverging_end(s, request))
    return with_response(s, request, Response(request, end=end))


@rule(by="follower", follower=brokers)
def follower_handles_divergence(s: Cluster, follower: Broker) -> Step[Cluster]:
    """A follower truncates where its log diverges, and does not adopt the high watermark.

    Kafka: `AbstractFetcherThread.truncateOnFetchResponse`; KAFKA-14704.
    """
    response = yield from received(s, follower)
    end = yield from present("response has an epoch's end", response.end)
    own = s.replicas[follower]
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    s = evolve(s, responses=s.responses - {response})
    return s.with_log_cut(follower, cut.offset)


@rule(by="follower", follower=brokers)
def follower_sends_request_to_leader(s: Cluster, follower: Broker) -> Step[Cluster]:
    """A follower sends a request when it does not wait for the same leader.

    Kafka: `AbstractFetcherManager`, which has one fetcher thread for each leader.
    """
    leader = s.replicas[follower].leader
    waits = any(request.leader == leader for request in sent_by(s, follower))
    return (yield from sent(s, follower, waits))


@rule(by="follower", follower=brokers, epoch=epochs)
def follower_handles_late_response(s: Cluster, follower: Broker, epoch: int) -> Step[Cluster]:
    """A follower handles a response to a fetch that it sent in an earlier leader epoch.

    Only the leader and the fetch offset are compared. Kafka:
    `AbstractFetcherThread.processFetchRequest`, before KAFKA-18723.
    """
    own = s.replicas[follower]
    here = (r for r in s.responses if r.request.follower == follower and r.request.epoch == epoch)
    response = yield from present("response has arrived", next(here, None))
    request = response.request
    yield "response is to an earlier epoch", request.epoch < own.epoch
    yield "follower fetches from the same leader", own.leader == request.leader
    yield "follower fetches from the same offset", own.log.end == request.offset
    end = response.end
    if end is None:
        return with_handled(s, response)
    cut = truncation_for(end, own.epochs, own.log.end, own.hw)
    return evolve(s, responses=s.responses - {response}).with_log_cut(follower, cut.offset)


# -- network and failures -------------------------------------------------------------------------


@rule(by="network", request=requests)
def request_is_lost(s: Cluster, request: Request) -> Step[Cluster]:
    """A request is lost, or its leader answers with an error, and the follower fetches again.

    Kafka: `AbstractFetcherThread.handlePartitionsWithErrors`.
    """
    yield "request was sent", request in s.requests
    return evolve(s, requests=s.requests - {request})


@rule(by="network", response=responses)
def response_is_lost(s: Cluster, response: Response) -> Step[Cluster]:
    """A response is lost, or its follower drops it.

    Kafka: `ReplicaFetcherBlockingSend.sendRequest` fails, and the follower fetches again.
    """
    yield "response was sent", response in s.responses
    return evolve(s, responses=s.responses - {response})


def with_connections_closed(s: Cluster, broker: int) -> Cluster:
    """The cluster without the requests of a process that has ended, and the messages to it.

    Its responses may still arrive.
    """
    left = frozenset(r for r in s.requests if broker not in (r.leader, r.follower))
    answered = frozenset(r for r in s.responses if r.request.follower != broker)
    return evolve(s, requests=left, responses=answered)


def with_late_requests(s: Cluster, broker: int) -> Cluster:
    """The cluster in which the requests of a process that has ended are in the leader's queue."""
    sent = (r for r in s.requests if r.follower == broker and not r.is_parked)
    late = frozenset(evolve(r, is_late=True) for r in sent)
    s = with_connections_closed(s, broker)
    return evolve(s, requests=s.requests | late)


@rule(by="machine", broker=brokers)
def broker_crashes_with_connections(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker's process ends without a shutdown, and its connections are closed.

    Kafka: as in `broker_crashes`; `SocketServer`.
    """
    return with_connections_closed((yield from broker_crashes.body(s, broker)), broker)


@rule(by="machine", broker=brokers, flushed=offsets)
def broker_loses_power_and_connections(s: Cluster, broker: Broker, flushed: int) -> Step[Cluster]:
    """A machine loses power, and its connections are closed.

    Kafka: as in `broker_loses_power`; `SocketServer`.
    """
    return with_connections_closed((yield from broker_loses_power.body(s, broker, flushed)), broker)


@rule(by="machine", broker=brokers)
def broker_loses_disk_and_connections(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker stops and loses its log, and its connections are closed.

    Kafka: as in `broker_loses_disk`; `SocketServer`.
    """
    return with_connections_closed((yield from broker_loses_disk.body(s, broker)), broker)


@rule(by="machine", broker=brokers)
def broker_crashes_after_request(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker's process ends; a request that it sent is handled later.

    Kafka: `RequestChannel`, whose queue keeps the requests of a connection that is closed.
    """
    return with_late_requests((yield from broker_crashes.body(s, broker)), broker)


@rule(by="machine", broker=brokers, flushed=offsets)
def broker_loses_power_after_request(s: Cluster, broker: Broker, flushed: int) -> Step[Cluster]:
    """A machine loses power; a request that it sent is handled later.

    Kafka: `RequestChannel`, whose queue keeps the requests of a connection that is closed.
    """
    return with_late_requests((yield from broker_loses_power.body(s, broker, flushed)), broker)


@rule(by="machine", broker=brokers)
def broker_loses_disk_after_request(s: Cluster, broker: Broker) -> Step[Cluster]:
    """A broker stops and loses its log; a request that it sent is handled later.

    Kafka: `RequestChannel`, whose queue keeps the requests of a connection that is closed.
    """
    return with_late_requests((yield from broker_loses_disk.body(s, broker)), broker)
