"""A cleaner that does not keep up is recognized by the checkpoint and the segments."""

from __future__ import annotations

from pathlib import Path

import pytest

from kspec.field.offsets.report import OffsetsReport, report_offsets
from tests.field.offsets.logs import DAY, T0, batch, offset, write_partition

HOUR = 3_600_000
SEGMENTS = [[batch(offset("g", 0, n), time=T0 + n * HOUR)] for n in range(4)]
"""Four segments of one batch each, written hour by hour."""


def report_of(root: Path, checkpoint: str | None, now: int = T0 + DAY) -> OffsetsReport:
    folder = write_partition(root, 0, *SEGMENTS)
    if checkpoint is not None:
        (root / "cleaner-offset-checkpoint").write_text(checkpoint)
    return report_offsets([folder], now, 7 * DAY, 1)


def test_a_cleaner_that_never_ran_is_a_problem(tmp_path: Path) -> None:
    report = report_of(tmp_path, "0\n0\n")
    status = report.partitions[0].cleaner
    assert (status.dirty_ratio, status.oldest_dirty) == (1.0, T0)
    assert status.due_since == T0 + HOUR  # when the second segment was begun
    (problem,) = report.problems
    assert "due for cleaning for 23 h, and 100% of it is dirty" in problem.problem


@pytest.mark.parametrize(
    ("checkpoint", "ratio", "is_due"), [(1, 0.6667, True), (2, 0.3333, False), (3, 0.0, False)]
)
def test_more_than_half_of_the_bytes_must_be_dirty(
    tmp_path: Path, checkpoint: int, ratio: float, is_due: bool
) -> None:
    report = report_of(tmp_path, f"0\n1\n__consumer_offsets 0 {checkpoint}\n")
    status = report.partitions[0].cleaner
    assert (status.checkpoint, status.dirty_ratio) == (checkpoint, ratio)
    assert status.oldest_dirty == T0 + checkpoint * HOUR
    assert (status.due_since is not None, bool(report.problems)) == (is_due, is_due)


def test_a_log_that_has_just_become_due_is_no_problem(tmp_path: Path) -> None:
    report = report_of(tmp_path, "0\n0\n", now=T0 + 2 * HOUR)
    assert report.partitions[0].cleaner.due_since == T0 + HOUR
    assert report.problems == []


def test_without_a_checkpoint_nothing_is_said_of_the_cleaner(tmp_path: Path) -> None:
    report = report_of(tmp_path, None)
    status = report.partitions[0].cleaner
    assert (status.is_known, status.due_since, status.oldest_dirty) == (False, None, None)
    assert report.problems == []


def test_an_open_transaction_holds_the_cleaner(tmp_path: Path) -> None:
    segments = [[batch(offset("h", 0, 1), time=T0, producer=3)], *SEGMENTS]
    folder = write_partition(tmp_path, 0, *segments)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    report = report_offsets([folder], T0 + DAY, 7 * DAY, 1)
    status = report.partitions[0].cleaner
    assert (status.due_since, status.is_held_by_transaction) == (None, True)
    (problem,) = report.problems
    assert "holds back the last stable offset, and cleaning that is due" in problem.problem
