"""The mutation baseline of `transactions`: its consistency invariants."""

from __future__ import annotations

from pathlib import Path

from kspec.spec.core import Baseline, Claims, always, reachable, reachable_within
from kspec.spec.transactions.log import NO_EPOCH, NO_ID, NO_OFFSET, Log, ProducerState
from kspec.spec.transactions.properties import NAMES
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    PREPARED,
    UNKNOWN,
    Application,
    Phase,
    TxnState,
    ids,
    instances,
    partitions,
)
from kspec.spec.transactions.variants import (
    ALONE,
    FAILOVER,
    LATE_COMMIT,
    LATE_END,
    LATE_MARKER,
    ZOMBIE,
)

# -- consistency invariants -----------------------------------------------------------------------


@always(tid=ids)
def TransactionIsWellFormed(s: Application, tid: int) -> Claims:
    """Only an ongoing or prepared transaction has partitions, and only a prepared one has markers.

    Until its first marker is written, a prepared transaction has all partitions to mark.
    """
    transaction = s.transactions[tid]
    is_ongoing = transaction.state is TxnState.ONGOING
    is_prepared = transaction.state in PREPARED
    yield "coordinator", is_ongoing or is_prepared or not transaction.partitions
    yield "coordinator, of an ongoing transaction", bool(transaction.partitions) or not is_ongoing
    yield "coordinator, of markers", transaction.unmarked <= transaction.partitions
    yield "coordinator, of prepared transactions", is_prepared or not transaction.unmarked
    is_used = transaction.state is not TxnState.EMPTY
    yield "coordinator, of epochs", transaction.epoch != NO_EPOCH or not is_used


@always(instance=instances)
def InstanceIsWellFormed(s: Application, instance: int) -> Claims:
    """An instance has a producer once it is initialized, and a transaction while it is in one."""
    own = s.instances[instance]
    place = f"instance {instance}"
    idle = own.phase in (Phase.STARTED, Phase.IDLE, Phase.ABORTED)
    yield f"{place}, and its transaction", (own.txn == NO_TXN) == idle
    yield f"{place}, and what was begun", own.txn < s.begun
    yield f"{place}, and its position", UNKNOWN <= own.position <= s.bounds.inputs
    yield f"{place}, in a transaction", idle or 0 <= own.position < s.bounds.inputs
    yield f"{place}, and its generation", 0 <= own.generation <= s.generation
    if own.phase is Phase.STARTED:
        known = (own.id, own.epoch, own.position)
        yield f"{place}, before it is initialized", known == (NO_ID, NO_EPOCH, UNKNOWN)


@always(instance=instances)
def EpochIsGiven(s: Application, instance: int) -> Claims:
    """The coordinator has assigned the epoch of each producer."""
    own = s.instances[instance]
    if own.id != NO_ID:
        yield f"instance {instance}", 0 <= own.epoch <= s.transactions[own.id].epoch


@always
def OneInstanceOwnsInput(s: Application) -> Claims:
    """One instance is in the current generation, and generations count the rebalances."""
    owners = [own for own in s.instances if own.generation == s.generation]
    yield "group", len(owners) == 1
    yield "group, by its bounds", 1 <= s.generation <= s.bounds.rebalances + 1


@always(partition=partitions, tid=ids)
def ProducerStateMatchesLog(s: Application, partition: int, tid: int) -> Claims:
    """A partition's state of a producer matches its log, unless it has expired."""
    log = s.logs[partition]
    known = log.producers[tid]
    if known != ProducerState():
        yield f"{NAMES[partition]} log", known == state_in(log, tid)


def state_in(log: Log, tid: int) -> ProducerState:
    """The state of a producer, derived from the log."""
    epoch, first, coordinator_epoch = NO_EPOCH, NO_OFFSET, 0
    for offset, entry in enumerate(log.entries):
        if entry.id == tid:
            epoch = entry.epoch
            if entry.is_marker:
                first, coordinator_epoch = NO_OFFSET, entry.coordinator_epoch
            elif first == NO_OFFSET:
                first = offset
    return ProducerState(epoch, first, coordinator_epoch)


@always(partition=partitions)
def EntriesAreSent(s: Application, partition: int) -> Claims:
    """Records belong to transactions that were begun; markers have an epoch that was assigned."""
    place = f"{NAMES[partition]} log"
    for entry in s.logs[partition].entries:
        if entry.is_marker:
            yield place, 0 <= entry.coordinator_epoch <= s.coordinator_epoch
            yield place, 0 <= entry.epoch <= s.transactions[entry.id].epoch
        else:
            yield place, 0 <= entry.txn < s.begun
            yield place, 0 <= entry.value - partition < s.bounds.inputs


@always(partition=partitions)
def EntriesAreCounted(s: Application, partition: int) -> Claims:
    """A transaction has one record in each partition, and its markers are repeated for a reason.

    The next coordinator repeats a marker, or a repeated one is late.
    """
    place = f"{NAMES[partition]} log"
    entries = s.logs[partition].entries
    sent = [entry.txn for entry in entries if not entry.is_marker]
    yield place, len(sent) == len(set(sent))
    copies = 1 + s.coordinator_epoch + s.late.markers
    yield f"{place}, of markers", len(entries) - len(sent) <= copies * s.begun


@always(instance=instances)
def SentRecordsAreInLog(s: Application, instance: int) -> Claims:
    """A record whose request was answered is in its partition."""
    own = s.instances[instance]
    results = {e.txn for e in s.logs[DATA].entries if not e.is_marker}
    offsets = {e.txn for e in s.logs[OFFSETS].entries if not e.is_marker}
    if own.phase in (Phase.PRODUCED, Phase.OFFSETS_ADDED):
        yield f"instance {instance}, and its result", own.txn in results
    if own.phase is Phase.OFFSETS_SENT and own.id != NO_ID:
        yield f"instance {instance}, and its offset", own.txn in offsets


@always
def CommitsAreOfThisApplication(s: Application) -> Claims:
    """Only begun transactions are committed, and the reader's position is in the log."""
    yield "ghosts", all(0 <= txn < s.begun for txn in s.ghosts.committed)
    yield "reader", 0 <= s.reader.position <= s.logs[DATA].end
    yield "coordinator", 0 <= s.coordinator_epoch <= s.bounds.failovers


@always(partition=partitions)
def StableOffsetIsNoted(s: Application, partition: int) -> Claims:
    """The ghost of the last stable offset is up to date."""
    yield f"{NAMES[partition]} log", s.ghosts.stable[partition] >= s.logs[partition].stable


# -- reachability ---------------------------------------------------------------------------------


@reachable_within(lambda bounds: bounds.transactions >= bounds.inputs)
def EveryInputIsProcessed(s: Application) -> bool:
    """The reader can read a result of each input, once its offset is committed."""
    every = tuple(range(s.bounds.inputs))
    return s.reader.read == every and s.committed_offset == s.bounds.inputs


@reachable
def TransactionIsCommitted(s: Application) -> bool:
    """A transaction can be committed, with all its markers written."""
    return s.transactions[0].state is TxnState.COMPLETE_COMMIT


@reachable
def TransactionIsAborted(s: Application) -> bool:
    """A transaction can be aborted, with all its markers written."""
    return s.transactions[0].state is TxnState.COMPLETE_ABORT


@reachable_within(lambda bounds: bounds.rebalances > 0)
def SecondInstanceCommits(s: Application) -> bool:
    """After a rebalance, the other instance can commit."""
    return bool(s.ghosts.committed) and s.instances[1].position > 0


@reachable_within(lambda bounds: bounds.failovers > 0)
def MarkerIsRepeatedByNextCoordinator(s: Application) -> bool:
    """A coordinator can fail between two markers, and its successor can repeat the first."""
    markers = [entry for entry in s.logs[DATA].entries if entry.is_marker]
    return len({m.coordinator_epoch for m in markers if m.epoch == 1 and m.commits}) > 1


@reachable_within(lambda bounds: bounds.late_markers > 0)
def LateMarkerIsAppended(s: Application) -> bool:
    """A late marker can be appended after the one that it repeats."""
    markers = [entry for entry in s.logs[DATA].entries if entry.is_marker]
    return s.coordinator_epoch == 0 and len(markers) > len(set(markers))


@reachable_within(lambda bounds: bounds.transactions > 1)
def AbortedInputIsProcessedAgain(s: Application) -> bool:
    """An instance can process an input again that it has aborted."""
    log = s.logs[DATA]
    outcomes = [log.outcome(at) for at in range(log.end) if not log.entries[at].is_marker]
    return s.generation == 1 and outcomes == [False, True]


@reachable_within(lambda bounds: bounds.late_produces > 0)
def LateProduceJoinsItsTransaction(s: Application) -> bool:
    """A late Produce can arrive before the abort of its transaction."""
    failed = {own.txn for own in s.instances if own.phase is Phase.FAILED}
    return any(not e.is_marker and e.txn in failed for e in s.logs[DATA].entries)


@reachable_within(lambda bounds: bounds.late_commits > 0)
def LateOffsetJoinsItsTransaction(s: Application) -> bool:
    """A late TxnOffsetCommit can arrive before the abort of its transaction."""
    failed = {own.txn for own in s.instances if own.phase is Phase.FAILED}
    return any(not e.is_marker and e.txn in failed for e in s.logs[OFFSETS].entries)


@reachable_within(lambda bounds: bounds.transactions > 1)
def TransactionFollowsAnother(s: Application) -> bool:
    """A producer can begin a transaction once the previous one is complete."""
    own = s.instances[0]
    return own.txn > 0 and own.phase is Phase.OFFSETS_SENT and s.generation == 1


@reachable_within(lambda bounds: bounds.transactions > 1)
def TransactionIsPreparedWhileNextBegins(s: Application) -> bool:
    """A producer can poll its next input while the markers of the last one are being written."""
    own = s.instances[0]
    waits = own.id != NO_ID and s.transactions[own.id].state in PREPARED
    return own.phase is Phase.POLLED and waits and s.generation == 1


BASELINE = Baseline(
    invariants=(
        TransactionIsWellFormed,
        InstanceIsWellFormed,
        EpochIsGiven,
        OneInstanceOwnsInput,
        ProducerStateMatchesLog,
        EntriesAreSent,
        EntriesAreCounted,
        SentRecordsAreInLog,
        CommitsAreOfThisApplication,
        StableOffsetIsNoted,
        EveryInputIsProcessed,
        TransactionIsCommitted,
        TransactionIsAborted,
        SecondInstanceCommits,
        MarkerIsRepeatedByNextCoordinator,
        LateMarkerIsAppended,
        AbortedInputIsProcessedAgain,
        LateProduceJoinsItsTransaction,
        LateOffsetJoinsItsTransaction,
        TransactionFollowsAnother,
        TransactionIsPreparedWhileNextBegins,
    ),
    bounds=(
        ALONE,
        LATE_COMMIT,
        LATE_END,
        LATE_MARKER,
        {"transactions": 1},
        ZOMBIE,
        FAILOVER,
    ),
    mutants=Path(__file__).with_name("mutants.toml"),
)
