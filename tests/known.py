"""Explorations that several tests use, each run once."""

from __future__ import annotations

import functools
from typing import Any

import attrs

from checkers.engine.options import Options
from checkers.engine.reference import explore
from checkers.engine.run import run
from checkers.engine.verdict import Verdict
from checkers.models.find import find_model
from spec.core import System
from traces.trace import Trace

REPLICATION = find_model("replication")


def explore_learned(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore by learned rules, whose agreement with the rules `tests/checkers` shows."""
    return run(system, attrs.evolve(options or Options(), engine="learned", workers=1))


@functools.cache
def first_violation(variant: str) -> Verdict:
    """The verdict of a variant of replication at its default bounds, ended by a violation."""
    return explore(REPLICATION.system(variant))


def counterexample(variant: str) -> Trace:
    """The shortest counterexample of that variant."""
    trace = first_violation(variant).violations[0].trace
    assert trace is not None
    return trace
