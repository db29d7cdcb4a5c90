"""Brokers to compare: the embedded one, and a search against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from checkers.conformance.broker import Broker
from checkers.conformance.connection import Address
from checkers.conformance.search import Search, Searched
from checkers.conformance.security import Security
from impl.broker import BrokerSettings, EmbeddedBroker

NUMBERS = count()
"""Each search has names of its own."""

SearchIt = Callable[..., Searched]


@pytest.fixture(scope="session")
def embedded() -> Iterator[str]:
    """The address of an embedded broker without an initial delay."""
    settings = BrokerSettings(initial_rebalance_delay=0, max_group_size=4, min_session_timeout=100)
    with EmbeddedBroker(settings) as broker:
        yield broker.bootstrap


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
    ) -> Searched:
        prefix = f"test-{next(NUMBERS)}"
        broker = Broker(Address.parse(address), Security(), prefix)
        broker.create_topic()
        found = Search(broker, broker.settings({}), seed, 40, 2, lambda text: None)
        open_searches.append(found)
        return found.run(profiles or ("group", "offsets"), histories, most)

    yield search
    for each in open_searches:
        each.close()
        each.broker.close()
