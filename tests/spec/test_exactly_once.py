"""Every row of docs/exactly-once.md is a model run: it fails without the ingredient."""

from __future__ import annotations

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from tests.exactly_once import ROWS, Row
from tests.known import explore_learned as explore

ONE_OF_EACH = {(row.model, row.part): row for row in ROWS}.values()
"""One row of each table."""


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row.without}-{row.violates}",
            marks=[] if row in ONE_OF_EACH else pytest.mark.slow,
        )
        for row in ROWS
    ],
)
def test_each_ingredient_is_needed_and_is_enough(row: Row) -> None:
    model = find_model(row.model)
    without = model.system(row.without, row.bounds).with_properties([row.violates])
    assert [v.states for v in explore(without, Options()).violations] == [row.states]
    repaired = model.system(row.variant, row.bounds).with_properties([row.violates])
    assert explore(repaired, Options()).verdict == "holds"
