"""Faults that are planted between client and broker are found and shrunk."""

from __future__ import annotations

import pytest

from tests.checkers.conformance.conftest import SearchIt
from tests.checkers.conformance.faults import FAULTS, RECORDS_FAULTS
from tests.checkers.conformance.proxy import Fault, proxied


def test_without_a_fault_nothing_differs(embedded: str, search_it: SearchIt) -> None:
    with proxied(embedded, None) as address:
        searched = search_it(address, histories=4)
    assert searched.found == ()
    assert searched.steps == 160


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_shrunk(fault: Fault, embedded: str, search_it: SearchIt) -> None:
    with proxied(embedded, fault) as address:
        searched = search_it(address, histories=40, most=1)
    found = searched.found[0]
    print(f"| {fault.name} | {found.after} | {len(found.steps)} |")
    assert len(found.steps) <= 12


@pytest.mark.slow
@pytest.mark.parametrize("fault", RECORDS_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_of_records_is_found_and_shrunk(
    fault: Fault, embedded: str, search_it: SearchIt
) -> None:
    with proxied(embedded, fault) as address:
        searched = search_it(address, histories=20, most=1, profiles=("records",))
    found = searched.found[0]
    print(f"| {fault.name} | {found.after} | {len(found.steps)} |")
    assert len(found.steps) <= 12
