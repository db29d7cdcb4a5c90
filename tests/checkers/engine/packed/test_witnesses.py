"""Reachability properties: learned rules find witnesses."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.models.find import find_model
from kspec.spec.core import Reachable
from kspec.spec.replication.baseline import RecordIsCommitted

REPLICATION = find_model("replication")

SHOWN = [p.name for p in REPLICATION.baseline.invariants if isinstance(p, Reachable)]


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("bounds", [{"brokers": 2}, {"brokers": 3, "max_epoch": 0}], ids=str)
def test_witnesses_are_as_short_as_in_the_reference_engine(
    bounds: dict[str, int], symmetry: bool
) -> None:
    system = REPLICATION.system(bounds=bounds).with_properties(SHOWN)
    limits = Options(keep_going=True)
    expected = run(system, attrs.evolve(limits, engine="reference"))
    found = run(system, attrs.evolve(limits, engine="learned", symmetry=symmetry))
    assert found.engine == "learned"
    lengths = {name: len(trace.states) for name, trace in expected.witnesses.items()}
    assert {name: len(trace.states) for name, trace in found.witnesses.items()} == lengths
    assert [v.says for v in found.violations] == [v.says for v in expected.violations]
    for prop in system.properties:
        if prop.name in found.witnesses:
            trace = found.witnesses[prop.name]
            assert prop.body(trace.states[-1])
            assert trace.states[0] in system.initial()
            for before, after in pairwise(trace.states):
                assert after in [s for _, _, s in system.steps(before)]


def test_a_missing_witness_is_a_violation() -> None:
    never = attrs.evolve(RecordIsCommitted, name="Never", body=lambda s: False)
    system = attrs.evolve(REPLICATION.system(bounds={"brokers": 2}), properties=(never,))
    verdict = run(system, Options("learned"))
    assert (verdict.verdict, verdict.exit_code) == ("violated", 12)
    assert verdict.violations[0].says == "no state within these bounds shows Never"


@pytest.mark.slow
def test_a_limited_run_reports_no_missing_witness() -> None:
    system = REPLICATION.system().with_properties(["RecordIsCommitted"])
    verdict = run(system, Options("learned", max_depth=2))
    assert (verdict.verdict, verdict.violations) == ("inconclusive", [])
