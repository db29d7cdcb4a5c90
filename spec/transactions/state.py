"""The state: an application that reads inputs, writes results and commits what it has read."""

from __future__ import annotations

from enum import Enum

import attrs

from kspec.spec.core import Guarded, bound, constant, evolve, replaced, tally
from kspec.spec.transactions.log import NO_EPOCH, NO_ID, Entry, Log, ProducerState

DATA, OFFSETS = 0, 1
"""The partitions: the results, and the group's committed offsets (`__consumer_offsets`)."""

UNKNOWN = -1
"""The position of an instance that has not fetched the committed offset."""
NO_TXN = -1
"""The transaction of an instance that has none in progress."""


@attrs.frozen
class Bounds:
    """The limits of an exploration."""

    inputs: int = bound(2, 1, 3, "records to read, each with one result")
    transactions: int = bound(2, 1, 4, "transactions that the application begins")
    rebalances: int = bound(1, 0, 3, "how often the input moves to the other instance")
    failovers: int = bound(1, 0, 2, "failures of the transaction coordinator")
    late_produces: int = bound(1, 0, 1, "1: a Produce may arrive after its producer gave it up")
    late_commits: int = bound(0, 0, 1, "1: a TxnOffsetCommit may arrive after that")
    late_ends: int = bound(0, 0, 1, "1: an EndTxn that was repeated may arrive a second time")
    late_markers: int = bound(0, 0, 2, "markers that are repeated, and may arrive a second time")


class TxnState(Enum):
    """The state of a transaction, as the coordinator writes it to `__transaction_state`.

    Two of Kafka's states are left out because no other actor can observe them: PrepareEpochFence is
    never written, and is left within the step that enters it; Dead is the state of a transactional
    id that expires, after seven days without a transaction.
    """

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"

    def __str__(self) -> str:
        """Kafka's name."""
        return self.value


PREPARED = (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)
"""The outcome is written, and the markers are not all written."""
COMPLETE = (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
"""Every marker is written."""


@attrs.frozen
class Transaction:
    """What the coordinator knows of a transactional id. Kafka: `TransactionMetadata`.

    Writes to `__transaction_state` are replicated at once, so a failover loses only `unmarked`.
    """

    state: TxnState = TxnState.EMPTY
    """Its state."""
    epoch: int = NO_EPOCH
    """The producer epoch; requests with another one are fenced."""
    partitions: frozenset[int] = frozenset()
    """The partitions in the transaction."""
    unmarked: frozenset[int] = frozenset()
    """In memory: the partitions to which it has still to write a marker."""


class Phase(Enum):
    """How far an instance is: the steps of a consume-transform-produce loop, in order."""

    STARTED = "started"
    """It was assigned the input, and calls initTransactions next."""
    IDLE = "idle"
    """Its producer is initialized, and no transaction is in progress."""
    POLLED = "polled"
    """It has an input, and has begun a transaction."""
    ADDED = "partition added"
    """AddPartitionsToTxn is answered; up to 3.9."""
    PRODUCED = "produced"
    """Produce is answered."""
    OFFSETS_ADDED = "offsets added"
    """AddOffsetsToTxn is answered; up to 3.9."""
    OFFSETS_SENT = "offsets sent"
    """TxnOffsetCommit is answered."""
    FAILED = "failed"
    """A request was not answered in time, so the transaction can only be aborted."""
    ABORTED = "aborted"
    """That transaction is aborted, and the producer bumps its epoch next; up to 3.9."""

    def __str__(self) -> str:
        """As it reads in a picture."""
        return self.value


@attrs.frozen
class Instance:
    """An instance of the application: its consumer and its producer.

    A crash is an instance that takes no further step. A zombie is one that does, after another
    instance was assigned its input.
    """

    phase: Phase = Phase.STARTED
    """How far it is."""
    generation: int = 0
    """The generation of the group in which it was assigned the input; 0 if never."""
    id: int = NO_ID
    """The transactional id of its producer."""
    epoch: int = NO_EPOCH
    """The epoch of its producer."""
    position: int = UNKNOWN
    """The next input to process, or the one being processed."""
    txn: int = NO_TXN
    """The number of its transaction in progress."""

    @property
    def result(self) -> Entry:
        """The result of the input that it has polled."""
        return Entry(self.id, self.epoch, value=self.position, txn=self.txn)

    @property
    def offset(self) -> Entry:
        """The offset after the input that it has polled."""
        return Entry(self.id, self.epoch, value=self.position + 1, txn=self.txn)


@attrs.frozen
class Produce:
    """A Produce request that its producer has given up."""

    id: int
    """The transactional id."""
    sequence: int
    """How many records the partition should have from this epoch."""
    record: Entry
    """The record."""


@attrs.frozen
class OffsetCommit:
    """A TxnOffsetCommit request that its producer has given up."""

    id: int
    """The transactional id."""
    generation: int
    """The generation of the group; it is compared since KIP-447."""
    record: Entry
    """The offset."""


@attrs.frozen
class EndTxn:
    """An EndTxn request that was answered, and may arrive again."""

    id: int
    """The transactional id."""
    epoch: int
    """The producer epoch."""
    commits: bool
    """Whether it commits."""


@attrs.frozen
class WriteMarker:
    """A WriteTxnMarkers request to one partition, which was repeated."""

    partition: int
    """The partition."""
    marker: Entry
    """The marker."""


@attrs.frozen
class Late:
    """The requests in flight that nobody waits for: at most one of each kind."""

    produce: Produce | None = None
    """A Produce."""
    commit: OffsetCommit | None = None
    """A TxnOffsetCommit."""
    end: EndTxn | None = None
    """An EndTxn."""
    marker: WriteMarker | None = None
    """A WriteTxnMarkers."""
    markers: int = tally()
    """How many markers were repeated."""


@attrs.frozen
class Reader:
    """A consumer of the results."""

    position: int = 0
    """The next offset of the results to read."""
    read: tuple[int, ...] = ()
    """The inputs whose results it has read, in order."""


@attrs.frozen
class Ghosts:
    """What only properties read."""

    committed: frozenset[int] = frozenset()
    """The transactions whose commit was acknowledged to the application."""
    stable: tuple[int, ...] = (0, 0)
    """The highest last stable offset of each partition so far."""
    fenced_write: bool = False
    """Whether a record was appended after a later epoch was given to a producer."""


@attrs.frozen
class Application:
    """One group that reads one input partition, and one partition of results."""

    generation: int
    """The generation of the group; the instance in it is assigned the input."""
    instances: tuple[Instance, ...]
    """The instances of the application."""
    transactions: tuple[Transaction, ...]
    """What the coordinator knows of each transactional id."""
    coordinator_epoch: int
    """The leader epoch of the partition of `__transaction_state`, which each marker carries."""
    logs: tuple[Log, ...]
    """The partitions DATA and OFFSETS."""
    late: Late
    """Requests in flight that nobody waits for."""
    reader: Reader
    """A consumer of the results."""
    ghosts: Ghosts
    """What only properties read."""
    begun: int = tally()
    """How many transactions were begun."""
    bounds: Bounds = constant()
    """How much of the system is explored."""

    # -- queries ----------------------------------------------------------------------------------

    def transaction(self, instance: int) -> Transaction:
        """What the coordinator knows of the transactional id of an instance."""
        return self.transactions[self.instances[instance].id]

    @property
    def committed_offset(self) -> int:
        """The group's committed offset: the latest in the log that is committed.

        Kafka: `OffsetMetadataManager.replayEndTransactionMarker` compares the offsets of records.
        """
        committed = self.logs[OFFSETS].committed()
        return committed[-1].value if committed else 0

    # -- updates ----------------------------------------------------------------------------------

    def with_instance(self, instance: int, **changes: object) -> Application:
        """One instance changes."""
        changed = evolve(self.instances[instance], **changes)
        return evolve(self, instances=replaced(self.instances, instance, changed))

    def with_transaction(self, tid: int, **changes: object) -> Application:
        """The coordinator's knowledge of one transactional id changes."""
        changed = evolve(self.transactions[tid], **changes)
        return evolve(self, transactions=replaced(self.transactions, tid, changed))

    def with_log(self, partition: int, log: Log) -> Application:
        """One partition has another log."""
        stable = max(self.ghosts.stable[partition], log.stable)
        ghosts = evolve(self.ghosts, stable=replaced(self.ghosts.stable, partition, stable))
        return evolve(self, logs=replaced(self.logs, partition, log), ghosts=ghosts)

    def with_record(self, partition: int, record: Entry) -> Application:
        """A record is appended to a partition."""
        fenced = any(i.id == record.id != NO_ID and i.epoch > record.epoch for i in self.instances)
        s = self.with_log(partition, self.logs[partition].with_record(record))
        return evolve(s, ghosts=evolve(s.ghosts, fenced_write=s.ghosts.fenced_write or fenced))

    def with_marker(self, partition: int, marker: Entry) -> Application:
        """A marker is appended to a partition."""
        return self.with_log(partition, self.logs[partition].with_marker(marker))

    def with_late(self, **changes: object) -> Application:
        """A request is in flight, or has arrived."""
        return evolve(self, late=evolve(self.late, **changes))


def initial(bounds: Bounds) -> list[Application]:
    """Instance 0 is assigned the input, and nothing is written."""
    log = Log(producers=(ProducerState(), ProducerState()))
    return [
        Application(
            generation=1,
            instances=(Instance(generation=1), Instance()),
            transactions=(Transaction(), Transaction()),
            coordinator_epoch=0,
            logs=(log, log),
            late=Late(),
            reader=Reader(),
            ghosts=Ghosts(),
            bounds=bounds,
        )
    ]


# -- guards ---------------------------------------------------------------------------------------


def at(guard: str, s: Application, instance: int, *phases: Phase) -> Guarded[Instance]:
    """The guard that an instance is at one of these steps of its loop, and the instance."""
    own = s.instances[instance]
    yield guard, own.generation > 0 and own.phase in phases
    return own


def is_current(s: Application, tid: int, epoch: int) -> Guarded[Transaction]:
    """The guards of a request to the coordinator: the epoch is current, and no end is in progress.

    Otherwise the response is PRODUCER_FENCED, or CONCURRENT_TRANSACTIONS until the markers are
    written. Kafka: `TransactionCoordinator.handleAddPartitionsToTransaction`.
    """
    transaction = s.transactions[tid]
    yield "producer epoch is the coordinator's", epoch == transaction.epoch
    yield "no end of a transaction is in progress", transaction.state not in PREPARED
    return transaction


# -- choices --------------------------------------------------------------------------------------


def instances(s: Application) -> range:
    """The instances of the application."""
    return range(len(s.instances))


def ids(s: Application) -> range:
    """The transactional ids."""
    return range(len(s.transactions))


def partitions(s: Application) -> range:
    """The partitions."""
    return range(len(s.logs))
