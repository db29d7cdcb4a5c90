"""Explorations that several tests look at, each done once."""

from __future__ import annotations

import functools

from checkers.explore import explore
from checkers.verdict import Verdict
from spec.replication import REPLICATION
from traces.trace import Trace


@functools.cache
def first_violation(variant: str) -> Verdict:
    """The verdict of a variant of replication at its default bounds, ended by a violation."""
    return explore(REPLICATION.system(variant))


def counterexample(variant: str) -> Trace:
    """The shortest counterexample of that variant."""
    trace = first_violation(variant).violations[0].trace
    assert trace is not None
    return trace
