"""The fixtures `kspec_broker` and `kspec_broker_session`; pytest finds them by their entry point.

The broker is imported by the first test that asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from impl.broker.embedded import EmbeddedBroker


@pytest.fixture
def kspec_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """An empty broker for this test.

    A marker changes it: `@pytest.mark.kspec_broker(virtual_clock=True, settings={…})`, where the
    settings have Kafka's names. A group that was empty does not wait for more members by default.
    """
    marker = request.node.get_closest_marker("kspec_broker")
    yield from _run(**(marker.kwargs if marker else {}))


@pytest.fixture(scope="session")
def kspec_broker_session() -> Iterator[EmbeddedBroker]:
    """A broker that all tests of the session share."""
    yield from _run()


def _run(
    settings: dict[str, object] | None = None, *, virtual_clock: bool = False
) -> Iterator[EmbeddedBroker]:
    from impl.broker.embedded import EmbeddedBroker
    from impl.broker.settings import BrokerSettings

    values = {"group.initial.rebalance.delay.ms": 0, **(settings or {})}
    named = BrokerSettings.named({name: str(v).lower() for name, v in values.items()})
    with EmbeddedBroker(named, virtual_clock=virtual_clock) as broker:
        yield broker
        assert broker.failures() == 0, "kspec's broker failed: see the log of kspec.broker"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "kspec_broker(settings={}, virtual_clock=False): how the fixture kspec_broker starts",
    )
