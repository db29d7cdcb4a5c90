"""Brokers to compare: the embedded one, and a search against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from kspec.field.conform.broker import Broker
from kspec.field.conform.play import REAL, Clock
from kspec.field.conform.search import Search, Searched
from kspec.field.conform.security import Security
from kspec.impl.background import Address
from kspec.impl.broker import BrokerSettings, EmbeddedBroker

NUMBERS = count()
"""Each search has names of its own."""

SearchIt = Callable[..., Searched]


SETTINGS = BrokerSettings(initial_rebalance_delay=0, max_size=4, min_session_timeout=100)


@pytest.fixture(scope="session")
def embedded() -> Iterator[str]:
    """The address of an embedded broker without an initial delay."""
    with EmbeddedBroker(SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture
def timeless() -> Iterator[tuple[str, Clock]]:
    """The address of an embedded broker, and its clock, which moves only when a history pauses."""
    with EmbeddedBroker(SETTINGS, virtual_clock=True) as broker:
        passed = 0

        def sleep(seconds: float) -> None:
            nonlocal passed
            milliseconds = round(seconds * 1000)
            passed += milliseconds
            broker.advance(milliseconds)

        def now() -> float:
            broker.advance(0)  # a delay of no length ends as well
            return passed / 999.999  # a little fast: rounding makes no timer expire too early

        yield broker.bootstrap, Clock(now, sleep)


@pytest.fixture
def search_it() -> Iterator[SearchIt]:
    """Search for differences of the broker at an address."""
    open_searches: list[Search] = []

    def search(
        address: str,
        histories: int,
        *,
        seed: int = 1,
        profiles: tuple[str, ...] = (),
        most: int = 10,
        clock: Clock = REAL,
        workers: int = 2,
    ) -> Searched:
        prefix = f"test-{next(NUMBERS)}"
        broker = Broker(Address.parse(address), Security(), prefix)
        broker.create_topic()
        found = Search(broker, broker.settings({}), seed, 40, workers, lambda text: None, clock)
        open_searches.append(found)
        return found.run(profiles or ("group", "offsets"), histories, most)

    yield search
    for each in open_searches:
        each.close()
        each.broker.close()
