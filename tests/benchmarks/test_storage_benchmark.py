"""The storage benchmark reads what it writes, and measures each shape."""

from __future__ import annotations

from benchmarks.storage import SHAPES, measure


def test_each_shape_is_measured() -> None:
    figures = measure(0.1, None)
    assert [figure.shape for figure in figures[::2]] == list(SHAPES)
    assert all(figure.gigabytes_per_second > 0 for figure in figures)
    assert {figure.what for figure in figures} == {"kspec.impl.storage", "kspec log"}
