"""The picture of `transactions`: instances, the coordinator, both partitions, and the reader."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Band, Cell, Lane, Mark, Picture
from kspec.spec.transactions.log import NO_EPOCH, NO_ID, Entry, Log
from kspec.spec.transactions.properties import NAMES
from kspec.spec.transactions.state import (
    DATA,
    NO_TXN,
    OFFSETS,
    UNKNOWN,
    Application,
    Instance,
    Phase,
    Transaction,
)

COORDINATOR, READER = "coordinator", "reader"

WORDS = {
    "instance": "a consumer and a producer of the application, in a consume-transform-produce loop",
    "t0": "the first transaction that the application begins; records of one have one colour",
    "i0 t0 e0": "the result of input 0, sent in transaction t0 with producer epoch 0",
    "→1 t0 e0": "the group's next offset is 1, sent in transaction t0 with producer epoch 0",
    "commit e1": "a marker that commits the records of its producer before it",
    "✓": "committed; ✗: aborted; without a sign, the transaction is open",
    "LSO": "the last stable offset, up to which a read_committed consumer reads",
    "late": "requests in flight that nobody waits for",
}


def picture(s: Application, taken: Taken | None) -> Picture:
    """The instances, the coordinator with its transactional ids, the partitions and the reader."""
    return Picture(
        lanes=[
            *(instance_lane(s, number) for number in range(len(s.instances))),
            coordinator_lane(s),
            *(partition_lane(s, partition) for partition in (DATA, OFFSETS)),
            reader_lane(s),
            *late_lanes(s),
        ],
        arrows=arrows(taken) if taken else [],
        words=WORDS,
        colour="transaction",
    )


def instance_lane(s: Application, number: int) -> Lane:
    """How far an instance is, with its producer."""
    own: Instance = s.instances[number]
    name = f"instance {number}"
    if own.generation == 0:
        return Lane(name, "not started", place=name, band=Band("not started"))
    facts = {}
    if own.id != NO_ID:
        facts["id"] = str(own.id)
    if own.epoch != NO_EPOCH:
        facts["epoch"] = str(own.epoch)
    if own.position != UNKNOWN:
        facts["position"] = str(own.position)
    if own.txn != NO_TXN:
        facts["transaction"] = f"t{own.txn}"
    role = "owns the input" if own.generation == s.generation else "zombie"
    phase = Band(str(own.phase), list(Phase).index(own.phase))
    return Lane(name, role, facts, place=name, band=phase)


def coordinator_lane(s: Application) -> Lane:
    """The state of each transactional id that is in use."""
    facts = {"epoch": str(s.coordinator_epoch)}
    for tid, transaction in enumerate(s.transactions):
        if transaction != Transaction():
            facts[f"id {tid}"] = described(transaction)
    return Lane(COORDINATOR, facts=facts, place=COORDINATOR)


def described(transaction: Transaction) -> str:
    """A transactional id: its state, its epoch, its partitions, and the markers to send."""
    text = f"{transaction.state} e{transaction.epoch}"
    if transaction.partitions:
        text += " of " + "+".join(NAMES[p] for p in sorted(transaction.partitions))
    if transaction.unmarked:
        text += ", to mark " + "+".join(NAMES[p] for p in sorted(transaction.unmarked))
    return text


def partition_lane(s: Application, partition: int) -> Lane:
    """The log of a partition, with its last stable offset."""
    log = s.logs[partition]
    name = NAMES[partition]
    cells = [cell_of(log, offset, name) for offset in range(log.end)]
    facts = {"committed": str(s.committed_offset)} if partition == OFFSETS else {}
    return Lane(name, "", facts, cells, [Mark("LSO", log.stable)], place=f"{name} log")


def cell_of(log: Log, offset: int, name: str) -> Cell:
    """A record or a marker."""
    entry = log.entries[offset]
    place = f"{name} offset {offset}"
    if entry.is_marker:
        return Cell(
            text_of(entry), None, place, f"from coordinator epoch {entry.coordinator_epoch}"
        )
    outcome = log.outcome(offset)
    sign = "" if outcome is None else "✓" if outcome else "✗"
    arrow = "→" if name == NAMES[OFFSETS] else "i"
    return Cell(f"{arrow}{text_of(entry)}", entry.txn, place, f"offset {offset}", sign)


def text_of(entry: Entry) -> str:
    """A short text for a record or a marker."""
    epoch = "" if entry.epoch == NO_EPOCH else f" e{entry.epoch}"
    if entry.is_marker:
        return ("commit" if entry.commits else "abort") + epoch
    return f"{entry.value} t{entry.txn}{epoch}"


def reader_lane(s: Application) -> Lane:
    """What the reader of the results has read."""
    cells = [
        Cell(f"i{value}", place=f"input {value}", title=f"the result of input {value}")
        for value in s.reader.read
    ]
    return Lane(READER, facts={"position": str(s.reader.position)}, cells=cells, place=READER)


def late_lanes(s: Application) -> list[Lane]:
    """The requests in flight that nobody waits for, if there are any."""
    late = s.late
    facts = {}
    if late.produce:
        facts["Produce"] = f"i{text_of(late.produce.record)}"
    if late.commit:
        facts["TxnOffsetCommit"] = f"→{text_of(late.commit.record)}"
    if late.end:
        facts["EndTxn"] = f"{'commit' if late.end.commits else 'abort'} e{late.end.epoch}"
    if late.marker:
        facts["WriteTxnMarkers"] = (
            f"{text_of(late.marker.marker)} to {NAMES[late.marker.partition]}"
        )
    return [Lane("late", facts=facts)] if facts else []


TO_COORDINATOR = {
    "producer_adds_partition": "AddPartitionsToTxn",
    "producer_adds_offsets": "AddOffsetsToTxn",
    "producer_commits": "EndTxn, commit",
    "producer_aborts": "EndTxn, abort",
    "producer_bumps_epoch": "InitProducerId",
    "coordinator_initializes": "InitProducerId",
    "coordinator_fences": "InitProducerId",
    "coordinator_keeps_epoch": "InitProducerId",
}
"""By the beginning of a rule's name: the request of an instance to the coordinator."""


def arrows(taken: Taken) -> list[Arrow]:
    """The messages of this step."""
    results, offsets = NAMES[DATA], NAMES[OFFSETS]
    if "partition" in taken.choices and "appends" in taken.rule:
        return [Arrow(COORDINATOR, NAMES[taken.choices["partition"]], "WriteTxnMarkers")]
    if taken.rule.startswith("reader_"):
        return [Arrow(results, READER, "Fetch")]
    if taken.rule.startswith("late_") and taken.before is not None:
        return late_arrows(taken)
    if "instance" not in taken.choices:
        return []
    instance = f"instance {taken.choices['instance']}"
    for begins, request in TO_COORDINATOR.items():
        if taken.rule.startswith(begins):
            return [Arrow(instance, COORDINATOR, request)]
    if taken.rule.startswith("producer_produces"):
        return [Arrow(instance, results, "Produce")]
    if taken.rule.startswith("producer_sends_offsets"):
        return [Arrow(instance, offsets, "TxnOffsetCommit")]
    if taken.rule.startswith("consumer_commits"):
        return [Arrow(instance, offsets, "OffsetCommit")]
    if taken.rule.startswith("consumer_fetches"):
        return [Arrow(offsets, instance, "committed offset")]
    return []


def late_arrows(taken: Taken) -> list[Arrow]:
    """The late request that arrives in this step."""
    late = taken.before.late
    if "marker" in taken.rule and late.marker:
        return [Arrow("late", NAMES[late.marker.partition], "WriteTxnMarkers")]
    if "end_txn" in taken.rule:
        return [Arrow("late", COORDINATOR, "EndTxn")]
    if "offset_commit" in taken.rule:
        return [Arrow("late", NAMES[OFFSETS], "TxnOffsetCommit")]
    return [Arrow("late", NAMES[DATA], "Produce")]
