"""The oracle of the sequence check: `spec.producer.sequences`, with Kafka's names.

A request has what the partition keeps of a producer (`entry`), and a batch or a marker; the answer
has the error, or the entry afterwards.
"""

from __future__ import annotations

from typing import Any

import attrs

import kspec.spec.producer.entries as entries
from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, in_request, oracle_of
from kspec.spec.core import SpecError
from kspec.spec.producer.broker_rules import RULES, rules_of
from kspec.spec.producer.entries import (
    LAST_EPOCH,
    LAST_SEQUENCE,
    Batch,
    BatchMetadata,
    DataBatch,
    EndMarker,
    ProducerEntry,
    Verification,
)
from kspec.spec.producer.sequences import Append, follows, rejection
from kspec.spec.vocabulary import AppendOrigin, ProducerError


@attrs.frozen
class Verdict:
    """Whether a partition accepts a batch or a marker."""

    entry: ProducerEntry
    """What it keeps of the producer afterwards."""
    error: ProducerError | None = None
    """Why it is rejected, or null."""
    guard: str | None = None
    """The condition that does not hold, in words, or null."""
    base_offset: int | None = None
    """The offset that answers the request: of a repetition, that of the first batch."""
    is_duplicate: bool = False
    """Whether it repeats a batch that is remembered; it is not appended again."""


def append_data_batch(
    entry: ProducerEntry,
    batch: DataBatch,
    release: str,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    verification: Verification | None = None,
) -> Verdict:
    """What a partition does with a producer's batch; `verification` is that of KIP-890.

    Kafka: `ProducerStateEntry.findDuplicateBatch`, `ProducerAppendInfo.appendDataBatch`.
    """
    if origin is AppendOrigin.CLIENT:
        duplicate = entry.duplicate_of(batch)
        if duplicate is not None:
            return Verdict(entry, base_offset=duplicate.first_offset, is_duplicate=True)
    return verdict(Append(entry, origin, verification, rules_of(release)), batch)


def append_end_txn_marker(
    entry: ProducerEntry,
    marker: EndMarker,
    release: str,
    origin: AppendOrigin = AppendOrigin.COORDINATOR,
) -> Verdict:
    """What a partition does with a marker. Kafka: `ProducerAppendInfo.appendEndTxnMarker`."""
    if rules_of(release).since == "0.11.0.0":
        raise SpecError("params.release: markers are described from 1.0.2 on")
    return verdict(Append(entry, origin, rules=rules_of(release)), marker)


def verdict(append: Append, batch: Batch) -> Verdict:
    """Whether an append is accepted."""
    if batch.producer != append.current.producer:
        raise SpecError("params: the batch is of another producer than the entry")
    failed = rejection(append, batch)
    if failed is not None:
        return Verdict(append.current, failed.error, failed.guard)
    after = append.current.after(append.after(batch).updated, append.rules)
    return Verdict(after, base_offset=batch.first_offset)


def in_sequence(last_seq: int, next_seq: int) -> bool:
    """Whether a sequence number is the next one. Kafka: `ProducerAppendInfo.inSequence`."""
    return follows(last_seq, next_seq)


def increment_sequence(sequence: int, increment: int) -> int:
    """A later sequence number. Kafka: `DefaultRecordBatch.incrementSequence`."""
    return entries.sequence_after(*within(sequence, increment))


def decrement_sequence(sequence: int, decrement: int) -> int:
    """An earlier sequence number. Kafka: `DefaultRecordBatch.decrementSequence`."""
    return entries.sequence_before(*within(sequence, decrement))


def within(sequence: int, by: int) -> tuple[int, int]:
    """A sequence number and a distance, which Kafka expects to be in range."""
    if not (0 <= sequence <= LAST_SEQUENCE and 0 <= by <= LAST_SEQUENCE):
        raise SpecError("params: sequence numbers are from 0 to 2147483647")
    return sequence, by


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        append_data_batch,
        append_end_txn_marker,
        in_sequence,
        increment_sequence,
        decrement_sequence,
    )


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: batches near the next one, also where numbers wrap around."""
    kind, release = draw.below(8), draw.choose(RULES[1:]).since
    if kind == 7:
        sequence, by = draw.choose((0, 3, LAST_SEQUENCE - 1, LAST_SEQUENCE)), draw.below(6)
        if draw.chance(0.5):
            name = draw.choose(("increment", "decrement"))
            return f"{name}Sequence", {"sequence": sequence, name: by}
        following = draw.choose((entries.sequence_after(sequence, 1), by))
        return "inSequence", {"lastSeq": sequence, "nextSeq": following}
    entry, following = drawn_entry(draw)
    epoch = max(entry.epoch, 0)
    epoch = min(max(epoch + draw.choose((0, 0, 0, 1, -1)), 0), LAST_EPOCH)
    given: dict[str, Any] = {"entry": in_request(entry), "release": release}
    if kind > 4:
        origin = draw.choose(("COORDINATOR", "COORDINATOR", "REPLICATION"))
        marker = EndMarker(7, epoch, draw.below(3), draw.chance(0.5), 40, 9, draw.below(3))
        return "appendEndTxnMarker", {**given, "origin": origin, "marker": in_request(marker)}
    count = draw.between(1, 3)
    first = draw.choose((following, following, following, 0, entries.sequence_after(following, 1)))
    if entry.batches and draw.chance(0.2):
        known = draw.choose(entry.batches)
        count, first = known.offset_delta + 1, known.first_sequence
    last = entries.sequence_after(first, count - 1)
    batch = in_request(DataBatch(7, epoch, first, last, 40, 39 + count, 9, draw.chance(0.4)))
    origins = ("CLIENT",) * 5 + ("COORDINATOR", "REPLICATION")
    asked = {**given, "batch": batch, "origin": draw.choose(origins)}
    if draw.chance(0.3) and release in ("3.6.0", "4.0.0", "4.1.0", "4.2.0", "4.3.0"):
        asked["verification"] = {
            "guard": 1,
            "lowestSequence": draw.choose((first, 0, LAST_SEQUENCE)),
            "epoch": epoch,
            "supportsEpochBump": draw.chance(0.5),
        }
    return "appendDataBatch", asked


def drawn_entry(draw: Draw) -> tuple[ProducerEntry, int]:
    """What is kept of a producer, and its next sequence number."""
    following, offset, batches = draw.choose((0, 0, 5, LAST_SEQUENCE - 3)), 10, []
    for _ in range(draw.below(6)):
        delta = draw.below(3)
        following, offset = entries.sequence_after(following, delta), offset + delta
        batches.append(BatchMetadata(following, offset, delta, 3))
        following, offset = entries.sequence_after(following, 1), offset + 1
    is_known = bool(batches) or draw.chance(0.3)
    entry = ProducerEntry(
        7,
        draw.below(3) if is_known else -1,
        tuple(batches),
        draw.between(-1, 2),
        3 if is_known else -1,
        10 if batches and draw.chance(0.4) else None,
    )
    return entry, following if batches else 0
