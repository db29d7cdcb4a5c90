"""What a broker answers to Fetch and Produce requests, and when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.leader_epochs import NOWHERE, EpochEnd
from kspec.spec.serving import (
    Fetch,
    FetchIsolation,
    Offsets,
    access_error,
    append_error,
    completes_parked_fetch,
    fetch_error,
    is_acknowledged,
    is_answered_at_once,
    isolation_of,
    needs_leader,
    readable,
    waits_for_replicas,
)
from kspec.spec.vocabulary import PartitionError as Error

LOG_END, HW, LSO = FetchIsolation
LOG = Offsets(start=2, end=9, hw=7, first_unstable=4)

# -- what a fetch may return ----------------------------------------------------------------------


def test_the_isolation_of_a_request() -> None:
    assert [isolation_of(True, False), isolation_of(True, True)] == [LOG_END, LOG_END]
    assert [isolation_of(False, False), isolation_of(False, True)] == [HW, LSO]


@pytest.mark.parametrize(
    ("offset", "isolation", "end"),
    [(2, LOG_END, 9), (2, HW, 7), (2, LSO, 4), (9, LOG_END, 9), (8, HW, 8), (5, LSO, 5)],
)
def test_a_fetch_returns_the_records_below_its_limit(
    offset: int, isolation: FetchIsolation, end: int
) -> None:
    assert readable(LOG, offset, isolation) == range(offset, end)


@pytest.mark.parametrize("isolation", FetchIsolation)
def test_the_range_of_an_offset_is_the_log_also_for_a_consumer(isolation: FetchIsolation) -> None:
    in_range = [o for o in range(12) if not isinstance(readable(LOG, o, isolation), Error)]
    assert in_range == list(range(2, 10))


def test_the_last_stable_offset_is_at_most_the_high_watermark() -> None:
    assert Offsets(0, 9, 7).last_stable == 7
    assert Offsets(0, 9, 7, first_unstable=8).last_stable == 7
    assert Offsets(0, 9, 7, first_unstable=3).last_stable == 3


OFFSETS = st.tuples(*[st.integers(0, 6)] * 4).map(
    lambda o: Offsets(*(lambda s: (s[0], s[3], s[2], o[0] if o[0] >= s[1] else None))(sorted(o)))
)


@given(OFFSETS, st.integers(0, 7))
def test_a_stricter_isolation_never_returns_more(log: Offsets, offset: int) -> None:
    found = [readable(log, offset, isolation) for isolation in (LOG_END, HW, LSO)]
    if all(isinstance(part, range) for part in found):
        lengths = [len(part) for part in found]
        assert lengths == sorted(lengths, reverse=True)
    else:
        assert set(found) == {Error.OFFSET_OUT_OF_RANGE}


@pytest.mark.parametrize(
    ("leads", "asked_in", "needs", "error"),
    [
        (True, 5, True, None),
        (True, None, True, None),
        (True, 4, True, Error.FENCED_LEADER_EPOCH),
        (True, 6, True, Error.UNKNOWN_LEADER_EPOCH),
        (False, 5, True, Error.NOT_LEADER_OR_FOLLOWER),
        (False, 4, True, Error.FENCED_LEADER_EPOCH),  # the epoch is checked first
        (False, 5, False, None),  # a consumer that fetches from a follower
    ],
)
def test_who_answers(leads: bool, asked_in: int | None, needs: bool, error: Error | None) -> None:
    assert access_error(leads, 5, asked_in, needs) == error


def test_only_consumers_that_name_their_rack_may_read_from_followers() -> None:
    assert needs_leader(is_from_follower=True, names_its_rack=True)
    assert needs_leader(is_from_follower=False, names_its_rack=False)
    assert not needs_leader(is_from_follower=False, names_its_rack=True)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "end", "answer"),
    [
        (5, None, None, None),
        (5, 3, EpochEnd(3, 9), None),
        (5, 3, EpochEnd(3, 5), None),
        (5, 3, EpochEnd(3, 4), EpochEnd(3, 4)),  # the epoch ended earlier here
        (5, 3, EpochEnd(2, 8), EpochEnd(2, 8)),  # it is not known here
        (5, 3, NOWHERE, Error.OFFSET_OUT_OF_RANGE),
        (1, 3, EpochEnd(2, 1), Error.OFFSET_OUT_OF_RANGE),  # below the log start
        (10, None, None, Error.OFFSET_OUT_OF_RANGE),
    ],
)
def test_a_fetch_is_answered_with_an_error_or_the_diverging_epoch(
    offset: int, last_epoch: int | None, end: EpochEnd | None, answer: Error | EpochEnd | None
) -> None:
    fetch = Fetch(offset, LOG_END, last_epoch=last_epoch)
    assert fetch_error(fetch, LOG, end) == answer


# -- when -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("min_bytes", "max_wait", "found", "error", "at_once"),
    [
        (1, 500, 0, False, False),
        (1, 500, 1, False, True),
        (9, 500, 8, False, False),
        (9, 0, 0, False, True),
        (9, 500, 0, True, True),
        (0, 500, 0, False, True),
    ],
)
def test_when_a_fetch_is_answered_at_once(
    min_bytes: int, max_wait: int, found: int, error: bool, at_once: bool
) -> None:
    fetch = Fetch(3, HW, min_bytes=min_bytes, max_wait=max_wait)
    assert is_answered_at_once(fetch, found, error) is at_once


def test_a_new_high_watermark_answers_a_consumer_and_no_follower() -> None:
    """The follower learns it when a record arrives, or after replica.fetch.wait.max.ms."""
    before, after = Offsets(0, 5, 4), Offsets(0, 5, 5)
    follower, consumer = Fetch(5, LOG_END), Fetch(4, HW)
    assert not completes_parked_fetch(follower, before, 0)
    assert not completes_parked_fetch(follower, after, 0)
    assert not completes_parked_fetch(consumer, before, 0)
    assert completes_parked_fetch(consumer, after, 100)


def test_a_new_record_answers_a_follower_and_no_consumer() -> None:
    appended = Offsets(0, 6, 5)
    assert completes_parked_fetch(Fetch(5, LOG_END), appended, 100)
    assert not completes_parked_fetch(Fetch(5, HW), appended, 0)


def test_a_parked_fetch_beyond_its_limit_is_answered_without_records() -> None:
    assert completes_parked_fetch(Fetch(5, LOG_END), Offsets(0, 3, 3), 0)  # truncated
    assert completes_parked_fetch(Fetch(5, HW), Offsets(0, 6, 4), 0)  # ahead of the HW


@pytest.mark.parametrize(
    ("end", "completes"),
    [(EpochEnd(3, 5), False), (EpochEnd(3, 4), True), (EpochEnd(2, 5), True), (NOWHERE, True)],
)
def test_a_parked_fetch_is_answered_once_the_logs_diverge(end: EpochEnd, completes: bool) -> None:
    fetch = Fetch(5, LOG_END, last_epoch=3)
    assert completes_parked_fetch(fetch, Offsets(0, 5, 5), 0, last_epoch_end=end) is completes


def test_a_parked_fetch_is_answered_under_another_leader_and_from_an_older_segment() -> None:
    log = Offsets(0, 5, 5)
    assert completes_parked_fetch(Fetch(5, LOG_END), log, 0, Error.FENCED_LEADER_EPOCH)
    assert completes_parked_fetch(Fetch(4, LOG_END, min_bytes=9), log, 1, is_in_older_segment=True)
    # A segment that has just rolled does not matter at the end of the log.
    assert not completes_parked_fetch(Fetch(5, LOG_END), log, 0, is_in_older_segment=True)


# -- producers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leads", "acks", "isr", "error"),
    [
        (True, -1, 2, None),
        (True, -1, 1, Error.NOT_ENOUGH_REPLICAS),
        (True, 1, 1, None),
        (True, 0, 1, None),
        (False, 1, 2, Error.NOT_LEADER_OR_FOLLOWER),
        (True, 2, 2, Error.INVALID_REQUIRED_ACKS),
        (False, 2, 2, Error.INVALID_REQUIRED_ACKS),
    ],
)
def test_which_records_are_appended(leads: bool, acks: int, isr: int, error: Error | None) -> None:
    assert append_error(leads, acks, isr, effective_min_isr=2) == error


@pytest.mark.parametrize(
    ("leads", "hw", "isr", "answer"),
    [
        (True, 4, 2, False),
        (True, 5, 2, True),
        (True, 6, 3, True),
        (True, 5, 1, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        (True, 4, 1, False),  # the size of the ISR is checked only then
        (False, 5, 2, Error.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_when_records_are_acknowledged(
    leads: bool, hw: int, isr: int, answer: bool | Error
) -> None:
    assert is_acknowledged(leads, 5, hw, isr, effective_min_isr=2) == answer


def test_only_acks_all_waits_for_replicas() -> None:
    assert [waits_for_replicas(acks, True) for acks in (-1, 0, 1)] == [True, False, False]
    assert not waits_for_replicas(-1, was_appended=False)
