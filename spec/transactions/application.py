"""The application: its group, its consumers, and the consumer of its results."""

from __future__ import annotations

from kspec.spec.core import Step, appended, evolve, limit, replaced, rule
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    UNKNOWN,
    Application,
    Instance,
    Phase,
    Reader,
    at,
    instances,
)

# -- group ----------------------------------------------------------------------------------------


@rule(by="group", instance=instances)
def group_assigns_input(s: Application, instance: int) -> Step[Application]:
    """The group removes the owner of the input, and assigns it to an instance that starts.

    If that is another instance, the previous owner is not informed: it has crashed, or is a zombie.
    If it is the same, it has restarted. Kafka: `GroupMetadataManager`, a rebalance after a session
    timeout or after max.poll.interval.ms.
    """
    yield limit("a rebalance remains"), s.generation <= s.bounds.rebalances
    started = Instance(generation=s.generation + 1)
    return evolve(
        s, generation=started.generation, instances=replaced(s.instances, instance, started)
    )


# -- consumer -------------------------------------------------------------------------------------


@rule(by="consumer", instance=instances)
def consumer_fetches_stable_offset(s: Application, instance: int) -> Step[Application]:
    """A consumer that was assigned the input, or that aborted, fetches the committed offset.

    It waits while a transaction with an offset is open (UNSTABLE_OFFSET_COMMIT, KIP-447). Kafka:
    `OffsetMetadataManager.fetchOffsets`, `hasPendingTransactionalOffsets`.
    """
    own = yield from at("producer has no transaction", s, instance, Phase.IDLE)
    yield "position is unknown", own.position == UNKNOWN
    yield "no transactional offset is pending", s.logs[OFFSETS].stable == s.logs[OFFSETS].end
    return s.with_instance(instance, position=s.committed_offset)


@rule(by="consumer", instance=instances)
def consumer_polls(s: Application, instance: int) -> Step[Application]:
    """A consumer polls the next input, and its producer begins a transaction.

    Kafka: `KafkaConsumer.poll`, `KafkaProducer.beginTransaction`, which sends no request.
    """
    own = yield from at("producer has no transaction", s, instance, Phase.IDLE)
    yield "position is known", own.position != UNKNOWN
    yield "an input remains", own.position < s.bounds.inputs
    yield limit("a transaction remains"), s.begun < s.bounds.transactions
    polled = s.with_instance(instance, phase=Phase.POLLED, txn=s.begun)
    return evolve(polled, begun=s.begun + 1)


def with_committed(s: Application, instance: int, epoch: int) -> Application:
    """The response to EndTxn reaches the application, which has committed."""
    own = s.instances[instance]
    ghosts = evolve(s.ghosts, committed=s.ghosts.committed | {own.txn})
    moved = s.with_instance(
        instance, phase=Phase.IDLE, txn=NO_TXN, epoch=epoch, position=own.position + 1
    )
    return evolve(moved, ghosts=ghosts)


# -- reader ---------------------------------------------------------------------------------------


@rule(by="reader")
def reader_reads_committed(s: Application) -> Step[Application]:
    """A `read_committed` consumer reads the results up to the last stable offset.

    It skips records of aborted transactions. Kafka: `UnifiedLog.read` with
    `FetchIsolation.TXN_COMMITTED`, and `CompletedFetch.nextFetchedRecord`.
    """
    log, position = s.logs[DATA], s.reader.position
    yield "the last stable offset is ahead", position < log.stable
    read = (record.value for record in log.committed(position, log.stable))
    return evolve(s, reader=Reader(log.stable, appended(s.reader.read, *read)))


RULES = (
    group_assigns_input,
    consumer_fetches_stable_offset,
    consumer_polls,
    reader_reads_committed,
)
