"""Faults that are planted between client and broker are found and shrunk."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from kspec.field.conform.search import Searched
from tests.field.conform.conftest import SearchIt
from tests.field.conform.faults import FAULTS, RECORDS_FAULTS
from tests.field.conform.proxy import Fault, proxied


@pytest.mark.slow
def test_without_a_fault_nothing_differs(embedded: str, search_it: SearchIt) -> None:
    with proxied(embedded, None) as address:
        for _ in range(3):  # a busy machine may answer a history late
            searched = search_it(address, histories=4)
            assert searched.found == ()
            if searched.unsteady == 0:
                break
    assert searched.steps == 160


def assert_found(fault: Fault, search: Callable[[], Searched]) -> None:
    """The fault is found and shrunk in one of three searches.

    A broker's choices, such as who leads next, are chance: some histories show a fault in some
    plays only.
    """
    lengths: list[int] = []
    for _ in range(3):
        for found in search().found:
            print(f"| {fault.name} | {found.after} | {len(found.steps)} |")
            lengths.append(len(found.steps))
        if lengths and min(lengths) <= 12:
            return
    pytest.fail(f"{fault.name}: the shortest histories have {lengths} steps")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_shrunk(fault: Fault, embedded: str, search_it: SearchIt) -> None:
    with proxied(embedded, fault) as address:
        assert_found(fault, partial(search_it, address, histories=40, most=1))


@pytest.mark.slow
@pytest.mark.parametrize("fault", RECORDS_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_records_is_found_and_shrunk(
    fault: Fault, embedded: str, search_it: SearchIt
) -> None:
    with proxied(embedded, fault) as address:
        search = partial(search_it, address, histories=20, most=1, profiles=("records",))
        assert_found(fault, search)
