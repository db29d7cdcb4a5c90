"""The benchmark of the producer state appends what it reports, and its table can be read."""

from __future__ import annotations

import sys

import pytest

from benchmarks.producer_state import main, measure


def test_batches_of_many_producers_are_measured() -> None:
    found = measure(producers=50, batches=1_000)
    assert found.appends > 0
    assert found.bytes_each > 100
    assert found.snapshot_bytes == 10 + 46 * 50


def test_the_table_has_a_row_for_each_number_of_producers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["producer_state", "--producers", "2000", "--batches", "3000"]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    rows = [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == ["1", "1,000", "2,000"]
