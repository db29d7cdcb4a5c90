"""What some state should show: the native engine asks the specification, state by state."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest

from checkers.engines import Options, run
from checkers.limits import Limits
from spec.core import Reachable
from spec.replication import REPLICATION, sanity

SHOWN = [p.name for p in REPLICATION.sanity if isinstance(p, Reachable)]


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("bounds", [{"brokers": 2}, {"brokers": 3, "max_epoch": 0}], ids=str)
def test_the_way_to_what_is_shown_is_as_short_as_in_the_reference_engine(
    bounds: dict[str, int], symmetry: bool
) -> None:
    system = REPLICATION.system(bounds=bounds).with_properties(SHOWN)
    limits = Limits(keep_going=True)
    expected = run(system, Options("reference", limits=limits))
    found = run(system, Options("native", limits=limits, symmetry=symmetry))
    assert found.engine == "kernel"
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


def test_what_no_state_shows_is_a_violation() -> None:
    never = attrs.evolve(sanity.RecordIsCommitted, name="Never", body=lambda s: False)
    system = attrs.evolve(REPLICATION.system(bounds={"brokers": 2}), properties=(never,))
    verdict = run(system, Options("native"))
    assert (verdict.verdict, verdict.exit_code) == ("violated", 12)
    assert verdict.violations[0].says == "no state within these bounds shows Never"


def test_after_a_limit_nothing_is_said_of_what_was_not_shown() -> None:
    system = REPLICATION.system().with_properties(["RecordIsCommitted"])
    verdict = run(system, Options("native", limits=Limits(max_depth=2)))
    assert (verdict.verdict, verdict.violations) == ("inconclusive", [])
