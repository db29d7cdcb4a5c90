"""The embedded broker answers as the specification of the coordinator does."""

from __future__ import annotations

import json

import pytest

from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from tests.cli.conftest import Kspec, kspec

__all__ = ["kspec"]


@pytest.mark.parametrize(
    ("coordinator", "histories"),
    [
        ("java", 5),  # many are in tests/field/conform/test_search.py
        pytest.param("scala", 300, marks=pytest.mark.slow),
    ],
)
def test_no_history_shows_a_difference(kspec: Kspec, coordinator: str, histories: int) -> None:
    settings = BrokerSettings(
        initial_rebalance_delay=0,
        min_session_timeout=100,
        max_size=4,
        auto_create_topics=False,
        java_coordinator=coordinator == "java",
    )
    with EmbeddedBroker(settings) as broker:
        ran = kspec(
            "conform", "broker", broker.bootstrap, "--histories", str(histories),
            "--coordinator", coordinator, "--json",
        )  # fmt: skip
        report = json.loads(ran.out)
        assert (ran.code, report["differences"]) == (0, [])
        assert report["histories"] == histories
        assert broker.failures() == 0


@pytest.mark.slow
def test_the_wrong_coordinator_shows_differences(kspec: Kspec) -> None:
    settings = BrokerSettings(
        initial_rebalance_delay=0, min_session_timeout=100, max_size=4,
        auto_create_topics=False, java_coordinator=False,
    )  # fmt: skip
    with EmbeddedBroker(settings) as broker:
        ran = kspec("conform", "broker", broker.bootstrap, "--histories", "5", "--json")
    assert ran.code == 3
    assert json.loads(ran.out)["differences"]
