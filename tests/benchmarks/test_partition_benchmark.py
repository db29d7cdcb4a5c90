"""The replica's benchmark writes and fetches what it reports, and its table can be read."""

from __future__ import annotations

import sys

import pytest

from benchmarks.partition import main, measure


def test_a_whole_log_in_many_epochs_is_measured() -> None:
    appends, fetches, size = measure(records=2_000, epochs=20, batch=10)
    assert appends > 0
    assert fetches > 0
    assert 8 <= size < 40  # the id, and a share of the epochs


@pytest.mark.slow
def test_the_table_has_a_row_for_each_size_of_batch_and_number_of_epochs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["partition", "--records", "6000"])
    main()
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[2:]]
    assert rows == [["1", "1"], ["1", "100"], ["5,000", "1"], ["5,000", "100"]]
