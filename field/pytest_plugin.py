"""kspec's fixtures, which pytest finds by their entry point.

- `kspec_broker`, `kspec_broker_session`: a broker in memory.
- `kspec_recording`: recorders, whose traces are checked when the test ends.

What a fixture needs is imported by the first test that asks for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kspec.field.recorded.fixture import Recordings
    from kspec.impl.broker.embedded import EmbeddedBroker

RECORDINGS = pytest.StashKey["Recordings"]()
"""Where the recordings of a test are kept."""


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
    from kspec.impl.broker.embedded import EmbeddedBroker
    from kspec.impl.broker.settings import BrokerSettings

    values = {"group.initial.rebalance.delay.ms": 0, **(settings or {})}
    named = BrokerSettings.named({name: str(v).lower() for name, v in values.items()})
    with EmbeddedBroker(named, virtual_clock=virtual_clock) as broker:
        yield broker
        assert broker.failures() == 0, "kspec's broker failed: see the log of kspec.broker"


@pytest.fixture
def kspec_recording(request: pytest.FixtureRequest, tmp_path: Path) -> Recordings:
    """Recorders for this test; the test fails if the specification does not allow a trace."""
    from kspec.field.recorded.fixture import Recordings

    recordings = Recordings(tmp_path)
    request.node.stash[RECORDINGS] = recordings
    return recordings


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check the traces of a test that passes; of one that fails, add the diagnosis."""
    recordings = item.stash.get(RECORDINGS, None)
    try:
        result = yield
    except BaseException:
        if recordings is not None and (text := recordings.diagnosis()):
            item.add_report_section("call", "kspec", text)
        raise
    if recordings is not None:
        recordings.check()
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers",
        "kspec_broker(settings={}, virtual_clock=False): how the fixture kspec_broker starts",
    )
