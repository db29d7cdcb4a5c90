"""The broker's benchmark measures what it claims to measure."""

from __future__ import annotations

import os

import pytest

from benchmarks.serve import Connection, count_records, measure, processor_time
from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from tests.impl.broker.scene import batch


@pytest.mark.slow
def test_each_rate_is_measured() -> None:
    with EmbeddedBroker(BrokerSettings(initial_rebalance_delay=0)) as broker:
        figures = measure(broker.bootstrap, os.getpid(), 0.01)
        groups = broker.groups()
        Connection(broker.bootstrap).socket.close()
        assert broker.failures() == 0
    assert all(figure.value > 0 for figure in figures)
    assert len(groups) == 100
    assert all(group["offsets"] == {"orders-0": 1} for group in groups.values())


def test_records_are_counted_by_batch() -> None:
    batches = batch([b"a"] * 3) + batch([b"b"] * 4)
    assert count_records(batches) == 7
    assert count_records(batches[:-1]) == 3  # the last one is cut short


def test_the_processor_time_of_a_process_is_known_or_not() -> None:
    assert processor_time(-1) is None
    assert (processor_time(os.getpid()) or 1) > 0
