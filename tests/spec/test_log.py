"""The log of one replica."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kspec.spec.log import Log, Record


def log_of(*epochs: int, start: int = 0) -> Log:
    log = Log(start=start)
    for record_id, epoch in enumerate(epochs):
        log = log.append(Record(record_id, epoch))
    return log


logs = st.builds(
    lambda epochs, start: log_of(*sorted(epochs), start=start),
    st.lists(st.integers(0, 5), max_size=8),
    st.integers(0, 5),
)


def test_an_empty_log_ends_where_it_starts() -> None:
    assert Log().end == 0
    assert Log(start=7).end == 7
    assert Log().last is None


def test_a_log_holds_the_offsets_from_its_start_up_to_its_end() -> None:
    log = log_of(0, 0, 1, start=4)
    assert [offset for offset in range(10) if log.holds(offset)] == [4, 5, 6]
    assert log.at(6) == Record(2, 1)
    assert log.at(3) is None
    assert log.at(7) is None


def test_append_does_not_modify_the_original_log() -> None:
    log = log_of(0)
    longer = log.append(Record(9, 3))
    assert log.end == 1
    assert longer.last == Record(9, 3)


@given(logs, st.integers(0, 20))
def test_truncation_keeps_exactly_the_records_below_the_offset(log: Log, offset: int) -> None:
    cut = log.truncate_to(offset)
    assert cut.end == min(log.end, max(offset, cut.start))
    assert all(cut.at(o) == log.at(o) for o in range(cut.start, cut.end))
    assert cut.start == min(log.start, offset) or offset >= log.end


def test_truncation_below_the_start_restarts_the_log_at_the_offset() -> None:
    assert log_of(0, 0, start=5).truncate_to(3) == Log(start=3)


def test_truncation_at_or_beyond_the_end_changes_nothing() -> None:
    log = log_of(0, 1)
    assert log.truncate_to(2) is log
    assert log.truncate_to(9) is log


@given(logs, st.integers(-3, 20))
def test_retention_never_moves_the_end_nor_lowers_the_start(log: Log, offset: int) -> None:
    kept = log.delete_before(offset)
    assert kept.end == log.end
    assert log.start <= kept.start <= log.end
    assert kept.start == min(max(offset, log.start), log.end)
    assert all(kept.at(o) == log.at(o) for o in range(kept.start, kept.end))


def test_logs_agree_where_both_hold_the_same_record_of_the_same_epoch() -> None:
    one = Log((Record(0, 0), Record(1, 0)))
    other = Log((Record(0, 0), Record(1, 1), Record(2, 1)))
    assert [one.agrees_at(offset, other) for offset in range(4)] == [True, False, False, False]
