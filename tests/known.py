"""Explorations that several tests use, each run once."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import attrs

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model
from kspec.impl.compiled import CACHE
from kspec.spec.core import System
from kspec.traces.trace import Trace

REPLICATION = find_model("replication")


def cache_without_learned_rules(home: Path) -> dict[str, str]:
    """The environment of a process that has learned nothing: its compiled code is ours."""
    folder = home / "kspec"
    folder.mkdir(mode=0o700, exist_ok=True)
    if CACHE is not None:
        (folder / CACHE.name).symlink_to(CACHE)
    return {"XDG_CACHE_HOME": str(home)}


def explore_learned(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore by learned rules, whose agreement with the rules `tests/checkers` shows."""
    return run(system, attrs.evolve(options or Options(), engine="learned", workers=1))


@functools.cache
def first_violation(variant: str) -> Verdict:
    """The verdict of a variant of replication at its default bounds, ended by a violation."""
    return run(REPLICATION.system(variant), Options("learned"))


def counterexample(variant: str) -> Trace:
    """The shortest counterexample of that variant."""
    trace = first_violation(variant).violations[0].trace
    assert trace is not None
    return trace


KIP_101_LOSS = (
    "controller_elects_leader broker=1",
    "broker_becomes_leader request={epoch 0, leader 1, isr {0, 1, 2}}",
    "leader_shrinks_isr leader=1 follower=2",
    "controller_elects_leader broker=0",
    "broker_becomes_follower_and_truncates follower=0 request={epoch 0, leader 1, isr {0, 1, 2}}",
    "leader_appends leader=1",
    "follower_fetches leader=1 follower=0",
    "leader_advances_hw leader=1",
    "broker_becomes_leader request={epoch 1, leader 0, isr {0, 1}}",
    "broker_becomes_follower_and_truncates follower=2 request={epoch 1, leader 0, isr {0, 1}}",
    "leader_expands_isr leader=0 follower=2",
)
"""The steps of a shortest behaviour in which `replication` loses a record under `kip-101`."""
