"""The choice of an engine."""

from __future__ import annotations

import signal
from typing import Any

import attrs
import pytest

from kspec import examples
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.spec.core import Always, Model, SpecError, System, Variant, always, limit, rule
from kspec.spec.replication import REPLICATION


@attrs.frozen
class Pair:
    """Two numbers."""

    left: int = 0
    right: int = 0


@rule(by="nobody", left=lambda s: [False, True])
def step(s: Pair, left: bool) -> Any:
    """Count one of them."""
    yield limit("the numbers are small"), max(s.left, s.right) < 100
    return attrs.evolve(s, left=s.left + left, right=s.right + (not left))


@rule(by="nobody")
def fail(s: Pair) -> Any:
    """Raise an exception, some steps away."""
    yield "far enough", s.left == 5
    raise ValueError("too far")


@always
def LeftIsLow(s: Pair) -> bool:
    """Violated before `fail` is reached."""
    return s.left < 3


def pairs(*rules: Any, properties: tuple[Always[Pair], ...] = ()) -> System[Pair]:
    """A model of ten thousand states."""
    return Model(
        name="pairs",
        doc="",
        initial=lambda bounds: [Pair()],
        properties=properties,
        variants=(Variant("pairs", rules, why=""),),
    ).system()


@pytest.mark.parametrize(
    ("system", "options", "engine"),
    [
        (REPLICATION.system(bounds={"brokers": 2}), Options("native"), "learned"),
        (REPLICATION.system(bounds={"brokers": 2}), Options("kernel"), "learned"),
        (REPLICATION.system(bounds={"brokers": 2}), Options("learned"), "learned"),
        (examples.DIE_HARD.system(), Options(), "reference"),
        (examples.DIE_HARD.system(), Options("native"), "learned"),
        (pairs(step), Options(max_states=50), "reference"),
        (pairs(step), Options(max_depth=5), "reference"),
        (examples.COUNTER.system(bounds={"top": 5_000}), Options(), "reference"),
        (examples.CORRIDOR.system(), Options(), "reference"),
    ],
    ids=lambda what: getattr(what, "engine", "") or "",
)
def test_an_engine_is_chosen(system: System[Any], options: Options, engine: str) -> None:
    assert run(system, options).engine == engine


def test_choosing_an_engine_stops_at_a_violation() -> None:
    verdict = run(pairs(step, fail, properties=(LeftIsLow,)))
    assert [(v.name, v.states) for v in verdict.violations] == [("LeftIsLow", 4)]


def test_ctrl_c_works_while_an_engine_is_chosen() -> None:
    pressed: list[bool] = []

    def initial(bounds: Any) -> list[Pair]:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return [Pair()]

    verdict = run(attrs.evolve(pairs(step).model, initial=initial).system())
    assert pressed
    assert (verdict.verdict, verdict.stopped_by) == ("inconclusive", "interrupted")


def test_unsupported_options_are_rejected(tmp_path: Any) -> None:
    system = REPLICATION.system(bounds={"brokers": 2})
    with pytest.raises(SpecError, match="the reference engine does not support checkpoints"):
        run(system, Options("reference", checkpoint=tmp_path))
    assert not list(tmp_path.iterdir())
