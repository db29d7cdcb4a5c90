"""The model `partition` has as many states and steps as an independent one in Murphi.

`python -m benchmarks.partition_states` reproduces the numbers with both checkers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.partition_states import PEER
from benchmarks.peers import rumur
from benchmarks.state_counts import Case
from kspec.checkers.models.find import find_model
from tests.known import explore_learned

PARTITION = find_model("partition")
NAMES = [f"{case.variant}-{'-'.join(case.bounds) or 'default'}" for case in PEER.cases]


@pytest.mark.slow
@pytest.mark.parametrize("case", PEER.cases, ids=NAMES)
def test_kspec_finds_these_states(case: Case) -> None:
    system = PARTITION.system(case.variant, dict(case.bounds)).with_properties([])
    verdict = explore_learned(system)
    assert (verdict.distinct, verdict.generated) == (case.distinct, case.generated)


@pytest.mark.slow
@pytest.mark.skipif(not rumur.is_here(), reason=f"needs rumur: {rumur.HOW_TO_GET}")
@pytest.mark.parametrize("case", PEER.cases, ids=NAMES)
def test_rumur_finds_these_states(case: Case, tmp_path: Path) -> None:
    found = PEER.run_rumur(case, 1, tmp_path)
    assert (found.distinct, found.generated) == (case.distinct, case.generated)


def test_the_murphi_model_gets_every_bound() -> None:
    bounds = {bound.name: bound.default for bound in PARTITION.bound_ranges()}
    text = rumur.model({**bounds, "acks": 1, "records": 12}, PEER.murphi)
    assert "\n  acks: 1;\n" in text
    assert "\n  records: 12;\n" in text
    assert rumur.model(bounds, PEER.murphi) == PEER.murphi.read_text("utf-8")


def test_the_page_has_these_counts() -> None:
    page = (Path(__file__).parents[2] / "docs" / "partition.md").read_text("utf-8")
    for case in PEER.cases:
        bounds = " ".join(f"{name}={value}" for name, value in case.bounds.items())
        row = f"| `{case.variant}` | {bounds} | {case.distinct:,} | {case.generated - 1:,} |"
        assert row.replace("|  |", "| |") in page
