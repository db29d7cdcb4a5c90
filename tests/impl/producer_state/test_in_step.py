"""`kspec.impl.producer_state` in step with `spec.producer`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.impl.producer_state.histories import HISTORIES, Pair, dense


def live(history: Iterable[Any]) -> Pair:
    pair = Pair()
    for step in history:
        pair.take(step)
    return pair


@pytest.mark.slow
def test_long_histories_agree() -> None:
    assert sum(live(dense(seed)).accepted for seed in range(60)) > 1_000


@pytest.mark.slow
def test_many_long_histories_agree() -> None:
    assert sum(live(dense(seed)).accepted for seed in range(800)) > 12_000


@pytest.mark.slow
@given(HISTORIES)
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
def test_short_histories_agree(history: list[Any]) -> None:
    live(history)


@pytest.mark.slow
@given(HISTORIES)
@settings(max_examples=1_000, suppress_health_check=list(HealthCheck))
def test_many_short_histories_agree(history: list[Any]) -> None:
    live(history)
