"""Every row of docs/exactly-once.md is a model run: it fails without the ingredient."""

from __future__ import annotations

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from tests.exactly_once import ROWS, Row
from tests.known import explore_learned as explore


def named(row: Row) -> str:
    """A name for the row's test."""
    return f"{row.without}-{row.violates}"


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_each_ingredient_is_needed_and_is_enough(row: Row) -> None:
    model = find_model(row.model)
    without = model.system(row.without, row.bounds).with_properties([row.violates])
    assert [v.states for v in explore(without, Options()).violations] == [row.states]
    repaired = model.system(row.variant, row.bounds).with_properties([row.violates])
    assert explore(repaired, Options()).verdict == "holds"
