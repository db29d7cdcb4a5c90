"""The properties: atomic transactions, silent zombies, and each input processed exactly once."""

from __future__ import annotations

from kspec.spec.core import Claims, always, leads_to
from kspec.spec.transactions import coordinator, omissions, version_2
from kspec.spec.transactions.log import NO_ID, NO_OFFSET
from kspec.spec.transactions.state import DATA, PREPARED, Application, TxnState, ids, partitions

NAMES = ("results", "offsets")
"""The partitions, as places of properties name them."""

# -- transactions ---------------------------------------------------------------------------------


@always(partition=partitions)
def CommittedTransactionIsWhole(s: Application, partition: int) -> Claims:
    """No record of a transaction whose commit was acknowledged is aborted."""
    log = s.logs[partition]
    for offset, entry in enumerate(log.entries):
        if not entry.is_marker and entry.txn in s.ghosts.committed:
            yield f"{NAMES[partition]} offset {offset}", log.outcome(offset) is not False


@always(partition=partitions)
def OnlyCommittedTransactionsAreVisible(s: Application, partition: int) -> Claims:
    """Every committed record is of a transaction that the application committed."""
    log = s.logs[partition]
    for offset, entry in enumerate(log.entries):
        if not entry.is_marker and entry.id != NO_ID and log.outcome(offset) is True:
            yield f"{NAMES[partition]} offset {offset}", entry.txn in s.ghosts.committed


@always
def FencedProducerWritesNothing(s: Application) -> bool:
    """No record is appended after a producer received a later epoch of its transactional id."""
    return not s.ghosts.fenced_write


@always(partition=partitions, tid=ids)
def OpenTransactionIsCoordinated(s: Application, partition: int, tid: int) -> Claims:
    """The coordinator knows each open transaction of a partition, and will end it.

    Otherwise the transaction hangs: the last stable offset no longer advances.
    """
    if s.logs[partition].producers[tid].first != NO_OFFSET:
        yield f"{NAMES[partition]} log", partition in s.transactions[tid].partitions


@always(partition=partitions)
def LastStableOffsetNeverDecreases(s: Application, partition: int) -> Claims:
    """The last stable offset of a partition never decreases, nor is it beyond the log end."""
    stable = s.logs[partition].stable
    yield f"{NAMES[partition]} log", s.ghosts.stable[partition] <= stable <= s.logs[partition].end


@always(partition=partitions, tid=ids)
def CoordinatorEpochsAscend(s: Application, partition: int, tid: int) -> Claims:
    """No marker of an earlier coordinator follows one of a later coordinator (KAFKA-9144)."""
    markers = [e for e in s.logs[partition].entries if e.is_marker and e.id == tid]
    epochs = [marker.coordinator_epoch for marker in markers]
    yield f"{NAMES[partition]} log", epochs == sorted(epochs)


# -- exactly once ---------------------------------------------------------------------------------


@always
def EachResultReadOnce(s: Application) -> Claims:
    """The reader of the results reads no result of an input twice."""
    for value in sorted(set(s.reader.read)):
        yield f"input {value}, as the reader sees it", s.reader.read.count(value) == 1


@always
def ReaderReadsOnlyCommitted(s: Application) -> Claims:
    """The reader has read the committed results up to its position, in order, and nothing else."""
    committed = s.logs[DATA].committed(0, s.reader.position)
    yield "reader", s.reader.read == tuple(record.value for record in committed)


@always
def NoInputIsSkipped(s: Application) -> Claims:
    """Every input below the group's committed offset has a result that is not aborted."""
    log = s.logs[DATA]
    kept = {
        entry.value
        for offset, entry in enumerate(log.entries)
        if not entry.is_marker and log.outcome(offset) is not False
    }
    for value in range(s.committed_offset):
        yield f"input {value}, below the committed offset", value in kept


PROPERTIES = (
    CommittedTransactionIsWhole,
    OnlyCommittedTransactionsAreVisible,
    FencedProducerWritesNothing,
    OpenTransactionIsCoordinated,
    LastStableOffsetNeverDecreases,
    CoordinatorEpochsAscend,
    EachResultReadOnce,
    ReaderReadsOnlyCommitted,
    NoInputIsSkipped,
)

# -- liveness -------------------------------------------------------------------------------------

FAIR = (
    coordinator.coordinator_times_out,
    coordinator.partition_appends_marker,
    coordinator.coordinator_completes_transaction,
    version_2.partition_appends_later_marker,
    omissions.partition_appends_only_later_marker,
)
"""The coordinator's own steps. No property relies on an application's step or on a failure."""


@leads_to(weakly_fair=FAIR)
def StableOffsetReachesLogEnd(s: Application) -> tuple[bool, bool]:
    """The last stable offset of each partition eventually reaches the log end.

    The coordinator ends each transaction, even if its producer has crashed.
    """
    return True, all(log.stable == log.end for log in s.logs)


@leads_to(weakly_fair=FAIR)
def EndsAreCompleted(s: Application) -> tuple[bool, bool]:
    """The coordinator eventually completes each transaction, so that the next one can begin."""
    states = [transaction.state for transaction in s.transactions]
    ongoing = any(state in PREPARED or state is TxnState.ONGOING for state in states)
    return ongoing, not ongoing


LIVENESS = (StableOffsetReachesLogEnd, EndsAreCompleted)
