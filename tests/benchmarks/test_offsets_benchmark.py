"""The benchmark of `kspec offsets` reads all that it wrote."""

from __future__ import annotations

import pytest

from benchmarks.offsets import COMMITS, measure


@pytest.mark.slow
def test_the_partition_is_read() -> None:
    figure = measure(1, groups=3)
    assert figure.live_keys == 3 * COMMITS
    assert figure.records > 1000
    assert figure.gigabytes_per_second > 0
