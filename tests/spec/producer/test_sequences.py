"""The sequence check, release by release."""

from __future__ import annotations

import pytest

from kspec.spec.core import SpecError
from kspec.spec.producer.broker_rules import LATEST, RULES, rules_of
from kspec.spec.producer.entries import (
    LAST_EPOCH,
    LAST_SEQUENCE,
    Batch,
    BatchMetadata,
    DataBatch,
    EndMarker,
    ProducerEntry,
    Verification,
    sequence_after,
    sequence_before,
)
from kspec.spec.producer.sequences import Append, checks, rejection
from kspec.spec.vocabulary import AppendOrigin

PRODUCER = 7
KNOWN = ProducerEntry(PRODUCER, 1, (BatchMetadata(4, 14, 4, 0),), coordinator_epoch=2)
"""A producer whose last batch had the sequence numbers 0 to 4."""
UNKNOWN = ProducerEntry(PRODUCER)
MARKED = ProducerEntry(PRODUCER, 1, coordinator_epoch=2)
"""A producer of whose epoch only a marker is known."""


def batch(epoch: int, first: int, count: int = 1, *, transactional: bool = False) -> DataBatch:
    last = sequence_after(first, count - 1)
    return DataBatch(PRODUCER, epoch, first, last, 20, 19 + count, 9, transactional)


def error(
    entry: ProducerEntry,
    appended: DataBatch | EndMarker,
    version: str = "4.3",
    origin: AppendOrigin = AppendOrigin.CLIENT,
    verification: Verification | None = None,
) -> str | None:
    failed = rejection(Append(entry, origin, verification, rules_of(version)), appended)
    return None if failed is None else failed.error.value


@pytest.mark.parametrize(
    ("epoch", "first", "expected"),
    [
        (1, 5, None),
        (1, 6, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (1, 4, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (1, 0, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (2, 0, None),
        (2, 5, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (0, 5, "INVALID_PRODUCER_EPOCH"),
    ],
)
def test_a_batch_has_to_follow_the_last_one(epoch: int, first: int, expected: str | None) -> None:
    for rules in RULES:
        assert error(KNOWN, batch(epoch, first), rules.since) == expected


def test_sequence_numbers_wrap_around() -> None:
    entry = ProducerEntry(PRODUCER, 1, (BatchMetadata(LAST_SEQUENCE, 14, 0, 0),))
    assert error(entry, batch(1, 0)) is None
    assert error(entry, batch(1, 1)) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert sequence_after(LAST_SEQUENCE - 1, 3) == 1
    assert sequence_before(1, 3) == LAST_SEQUENCE - 1


@pytest.mark.parametrize(
    ("version", "unknown", "marked"),
    [
        ("0.11.0.3", "OUT_OF_ORDER_SEQUENCE_NUMBER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("1.1.1", "UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("2.0.1", "UNKNOWN_PRODUCER_ID", "UNKNOWN_PRODUCER_ID"),
        ("2.4.1", "UNKNOWN_PRODUCER_ID", "UNKNOWN_PRODUCER_ID"),
        ("2.5.0", None, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        ("4.3.0", None, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    ],
)
def test_an_unknown_producer_may_begin_anywhere_since_kip_360(
    version: str, unknown: str | None, marked: str
) -> None:
    assert error(UNKNOWN, batch(1, 5), version) == unknown
    assert error(MARKED, batch(1, 5), version) == marked
    assert error(UNKNOWN, batch(1, 0), version) is None
    assert error(MARKED, batch(1, 0), version) is None


def test_the_last_five_batches_are_recognised() -> None:
    entry = UNKNOWN
    for number in range(7):
        added = Append(entry).after(batch(0, 2 * number, 2)).updated
        entry = entry.after(added)
    assert entry.duplicate_of(batch(0, 2, 2)) is None
    found = entry.duplicate_of(batch(0, 4, 2))
    assert found is not None
    assert found.first_offset == 20
    assert entry.duplicate_of(batch(0, 4, 1)) is None
    assert entry.duplicate_of(batch(1, 4, 2)) is None


def test_before_2_1_1_the_offset_of_a_batch_is_wrong_where_numbers_wrap_around() -> None:
    wrapping = batch(0, LAST_SEQUENCE, 3)
    for version, offset in ("2.1.0", 20 + 2**31), ("2.1.1", 20):
        updated = Append(UNKNOWN, rules=rules_of(version)).after(wrapping).updated
        assert updated.batches[0].first_offset == offset


def test_an_open_transaction_takes_transactional_batches_only() -> None:
    entry = ProducerEntry(PRODUCER, 1, (BatchMetadata(4, 14, 4, 0),), transaction_start=10)
    assert error(entry, batch(1, 5)) == "INVALID_TXN_STATE"
    assert error(entry, batch(1, 5, transactional=True)) is None


def test_a_replica_takes_what_its_leader_took() -> None:
    for wrong in batch(0, 9), EndMarker(PRODUCER, 0, 0, True, 20):
        assert error(KNOWN, wrong, origin=AppendOrigin.REPLICATION) is None
    older = EndMarker(PRODUCER, 0, 2, True, 20)
    assert error(KNOWN, older, "2.4.0", AppendOrigin.REPLICATION) == "INVALID_PRODUCER_EPOCH"


def test_a_coordinators_batch_has_no_sequence_numbers() -> None:
    assert error(KNOWN, batch(1, -1), origin=AppendOrigin.COORDINATOR) is None
    assert error(KNOWN, batch(0, -1), origin=AppendOrigin.COORDINATOR) == "INVALID_PRODUCER_EPOCH"


def test_a_followers_batches_in_one_append_come_to_the_same_as_one_by_one() -> None:
    first, begun = batch(1, 5), batch(1, 6, 2, transactional=True)
    batches: list[Batch] = [first, begun, marker(2), batch(2, 0)]
    together, single = Append(KNOWN, AppendOrigin.REPLICATION), KNOWN
    for each in batches:
        together = together.after(each)
        single = single.after(Append(single, AppendOrigin.REPLICATION).after(each).updated)
    assert KNOWN.after(together.updated) == single
    assert [each.first_offset for each in together.started] == [20]
    assert len(together.completed) == 1


# -- verification ---------------------------------------------------------------------------------


def test_a_batch_does_not_overtake_one_that_awaits_verification() -> None:
    verification = Verification(1, lowest_sequence=0, epoch=1)
    late = batch(1, 2, transactional=True)
    assert error(UNKNOWN, late, verification=verification) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert error(UNKNOWN, batch(1, 0, transactional=True), verification=verification) is None


def test_since_4_1_an_unknown_producer_that_bumps_epochs_begins_with_0() -> None:
    verification = Verification(1, lowest_sequence=5, epoch=1, bumps_epochs=True)
    first = batch(1, 5, transactional=True)
    assert error(UNKNOWN, first, "4.0", verification=verification) is None
    wrong = error(UNKNOWN, first, "4.1", verification=verification)
    assert wrong == "OUT_OF_ORDER_SEQUENCE_NUMBER"


# -- markers --------------------------------------------------------------------------------------


def marker(epoch: int, coordinator_epoch: int = 2, version: int = 0) -> EndMarker:
    return EndMarker(PRODUCER, epoch, coordinator_epoch, False, 20, 9, version)


def test_markers_are_fenced_by_both_epochs() -> None:
    by = AppendOrigin.COORDINATOR
    assert error(KNOWN, marker(1), origin=by) is None
    assert error(KNOWN, marker(0), origin=by) == "INVALID_PRODUCER_EPOCH"
    assert error(KNOWN, marker(1, 1), origin=by) == "TRANSACTION_COORDINATOR_FENCED"


def test_since_4_2_a_marker_of_version_2_needs_a_newer_epoch() -> None:
    by = AppendOrigin.COORDINATOR
    entry = ProducerEntry(PRODUCER, 1, coordinator_epoch=2, transaction_start=10)
    assert error(entry, marker(1, version=2), "4.1", by) is None
    assert error(entry, marker(1, version=2), "4.2", by) == "INVALID_PRODUCER_EPOCH"
    assert error(entry, marker(2, version=2), "4.2", by) is None
    assert error(KNOWN, marker(1, version=2), "4.2", by) is None  # a repetition
    last = ProducerEntry(PRODUCER, LAST_EPOCH, coordinator_epoch=2, transaction_start=10)
    assert error(last, marker(LAST_EPOCH, version=2), "4.2", by) == "INVALID_PRODUCER_EPOCH"
    assert error(last, marker(LAST_EPOCH, version=2), "4.3", by) is None


def test_a_marker_without_a_transaction_completes_one_before_2_8() -> None:
    for version, completed in ("2.7.2", 1), ("2.8.0", 0):
        assert len(Append(KNOWN, rules=rules_of(version)).after(marker(1)).completed) == completed


# -- releases -------------------------------------------------------------------------------------


def test_every_release_has_the_rules_of_the_last_change() -> None:
    assert rules_of("2.4").since == "2.4.1"
    assert rules_of("3.5.2").since == "2.8.0"
    assert rules_of("9.9") is LATEST
    assert len({rules.since for rules in RULES}) == len(RULES)
    for version in "0.10.2.2", "new":
        with pytest.raises(SpecError):
            rules_of(version)


def test_guards_are_named() -> None:
    names = [check.guard for check in checks(Append(KNOWN), batch(1, 5))]
    assert names == [
        "producer epoch is not older",
        "sequence number follows the last one",
        "batch of an open transaction is transactional",
    ]
