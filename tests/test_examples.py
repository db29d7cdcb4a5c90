"""The examples: counts that other model checkers confirm, and variants that must fail."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.examples import PAXOS, RAFT, SNAPSHOT
from kspec.spec.core import Model

COUNTS = [
    (PAXOS, {}, 3_921),
    (RAFT, {"entries": 0}, 199),
    (RAFT, {}, 5_479),
    (SNAPSHOT, {}, 329),
    (SNAPSHOT, {"coins": 3, "capacity": 3}, 15_311),
]
"""Distinct states on which Stateright and TLC agree (`benchmarks.messages`)."""

LARGE = [
    (PAXOS, {"ballots": 3}, 185_369),
    (PAXOS, {"acceptors": 5}, 701_505),
    (RAFT, {"elections": 2, "entries": 0, "restarts": 1}, 68_906),
    (RAFT, {"entries": 2, "losses": 1}, 163_900),
    (RAFT, {"losses": 1, "restarts": 1}, 40_550),
    (SNAPSHOT, {"nodes": 3}, 415_630),
]


@pytest.mark.parametrize(
    ("model", "bounds", "states"),
    [*COUNTS, *(pytest.param(*case, marks=pytest.mark.slow) for case in LARGE)],
)
def test_examples_have_their_pinned_counts(
    model: Model[object], bounds: Mapping[str, int], states: int
) -> None:
    found = run(model.system(bounds=bounds), Options("learned"))
    assert (found.verdict, found.distinct) == ("holds", states)


@pytest.mark.parametrize(
    ("model", "variant"),
    [
        (PAXOS, "any-value"),
        (SNAPSHOT, "overtaking"),
        (RAFT, "forgotten-votes"),
        pytest.param(RAFT, "any-log", marks=pytest.mark.slow),
    ],
)
def test_a_faulty_variant_has_its_shortest_counterexample(
    model: Model[object], variant: str
) -> None:
    for name, expected in model.variant(variant).violates.items():
        system = model.system(variant, expected.bounds).with_properties([name])
        (violation,) = run(system, Options("learned")).violations
        assert (violation.name, violation.states) == (name, expected.states)
