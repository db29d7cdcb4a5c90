"""`auto`: whichever engine ends first, the verdict is the same, and no process remains.

No test depends on timing: where the winner matters, the test decides which one it is.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs
import pytest

from kspec import examples
from kspec.checkers.engine import race, reference
from kspec.checkers.engine.forked import await_killed
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options, Progress
from kspec.checkers.engine.race import (
    Decide,
    Decision,
    Standing,
    comparable,
    decide,
    explore_by_auto,
    one_after_the_other,
)
from kspec.checkers.engine.reference import Reference, explore
from kspec.checkers.engine.search import RuleFailed, Search
from kspec.checkers.engine.verdict import Verdict
from kspec.spec.core import (
    Model,
    SpecError,
    System,
    Variant,
    always,
    leads_to,
    limit,
    reachable,
    rule,
)
from kspec.spec.delivery import DELIVERY
from kspec.spec.replication import REPLICATION
from tests.checkers.engine.learned.random_models import random_model

TWO = Options(workers=2)
OWN = ("engine", "seconds", "bytes_per_state", "statistics")
"""What each engine says for itself."""


@pytest.fixture(autouse=True)
def nothing_remains() -> Iterator[None]:
    """Each test leaves no process, and no pipe."""
    before = len([*Path("/dev/fd").iterdir()])
    yield
    await_killed()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert len([*Path("/dev/fd").iterdir()]) <= before


@pytest.fixture
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The race begins after a few states."""
    monkeypatch.setattr(race, "SMALL", 5)
    monkeypatch.setattr(race, "THIN", 0)
    monkeypatch.setattr(race, "ALONE", 0)
    monkeypatch.setattr(race, "LOOKED", 0)


def always_says(decision: Decision) -> Decide:
    """A decision that does not depend on the standing."""
    return lambda standing: decision


def said(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says, except what each engine says for itself."""
    asked = attrs.asdict(verdict, recurse=False, filter=lambda field, _: field.name not in OWN)
    blocked = {name: [*count.stopped_by.items()] for name, count in verdict.rules.items()}
    return {**asked, "in order": blocked}


def answer(system: System[Any], decision: Decision, options: Options = TWO) -> Any:
    """The verdict of a race, or its error with the behaviour that leads to it."""
    try:
        return said(explore_by_auto(system, options, always_says(decision)))
    except RuleFailed as error:
        return str(error), error.trace
    except SpecError as error:
        return str(error)


def assert_same(system: System[Any], options: Options = TWO) -> Any:
    """The answer, which is the same whichever engine wins."""
    by_learning = answer(system, Decision.PAUSE, options)
    by_rules = answer(system, Decision.RULES, options)
    assert by_learning == by_rules
    return by_rules


# -- both winners ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    "first", [24, *(pytest.param(first, marks=pytest.mark.slow) for first in range(100, 190, 10))]
)
def test_both_engines_give_the_same_verdict(first: int) -> None:
    for seed in range(first, first + (4 if first == 24 else 10)):
        system = random_model(seed).system()
        for keep_going in (False, True):
            assert_same(system, Options(workers=2, max_depth=8, keep_going=keep_going))


@pytest.mark.usefixtures("_few")
def test_the_counterexample_is_that_of_learned_rules() -> None:
    system = REPLICATION.system("kip-101", {"brokers": 2})
    learned = comparable(explore_by_learning(system), TWO, "")
    for decision in (Decision.PAUSE, Decision.RULES):
        assert answer(system, decision) == said(learned)


@pytest.mark.usefixtures("_few")
def test_a_limit_on_states_ends_a_level() -> None:
    found = assert_same(
        REPLICATION.system(bounds={"brokers": 2}), Options(workers=2, max_states=100)
    )
    assert found["stopped_by"] == "max-states 100"
    assert found["distinct"] == sum(found["levels"]) > 100 > sum(found["levels"][:-1])


@attrs.frozen
class Grid:
    """Two numbers."""

    left: int = 0
    right: int = 0


@rule(by="nobody", left=lambda s: [False, True], size=lambda s: [1, 2])
def step(s: Grid, left: bool, size: int) -> Any:
    """Add to one of them."""
    yield limit("the numbers are small"), max(s.left, s.right) < 9
    return attrs.evolve(s, left=s.left + size * left, right=s.right + size * (not left))


@rule(by="nobody")
def fail(s: Grid) -> Any:
    """Raise an exception, some steps away."""
    yield "far enough", s.left + s.right > 6
    raise ValueError(f"too far: {s.left}")


@reachable
def Shown(s: Grid) -> bool:
    """Raises an exception in a state of the level in which another one shows it."""
    if (s.left, s.right) == (2, 2):
        raise ValueError("not here")
    return s.left == 3


@always
def Low(s: Grid) -> bool:
    """Violated by several states of one level."""
    return s.left * s.right < 6


@rule(by="nobody")
def turn(s: Grid) -> Any:
    """Go back, so that there are loops."""
    yield "far enough", s.left == 4
    return attrs.evolve(s, left=3)


@leads_to()
def Ends(s: Grid) -> tuple[bool, bool]:
    """Violated by a loop."""
    return s.left == 3 and s.right == 2, s.right == 9


def grid(*rules: Any, properties: tuple[Any, ...] = ()) -> System[Grid]:
    """A model of some hundred states."""
    variant = Variant("grid", rules, why="")
    model = Model(
        name="grid", doc="", initial=lambda b: [Grid()], properties=properties, variants=(variant,)
    )
    return model.system()


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize(
    "system",
    [
        grid(step, properties=(Low, Ends)),
        grid(step, turn, properties=(Ends,)),
        grid(step, fail),
        grid(step, fail, properties=(Low,)),
        grid(step, properties=(Shown,)),
    ],
    ids=["invariant", "loop", "exception", "violation before an exception", "raising property"],
)
@pytest.mark.parametrize("keep_going", [False, True])
def test_both_engines_report_the_same(system: System[Any], keep_going: bool) -> None:
    assert_same(system, Options(workers=2, keep_going=keep_going))


@pytest.mark.parametrize("few", [2, 3, 4, 6, 9, 13])
def test_when_the_race_begins_does_not_matter(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "THIN", 0)
    monkeypatch.setattr(race, "ALONE", 0)
    for system in (grid(step, fail, properties=(Low,)), grid(step, properties=(Shown,))):
        monkeypatch.setattr(race, "SMALL", 1)
        first = answer(system, Decision.RULES)
        monkeypatch.setattr(race, "SMALL", few)
        assert answer(system, Decision.RULES) == first


def test_an_early_violation_of_a_large_model_is_that_of_the_reference_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not explored once more to find out how large it is."""
    system = grid(step, properties=(Low,))
    monkeypatch.setattr(race, "SMALL", 20)
    monkeypatch.setattr(race, "is_large", None)
    assert explore(system, Options(keep_going=True)).distinct > 20
    assert explore_by_auto(system, TWO).violations == explore(system).violations


def test_a_small_model_has_the_verdict_of_the_reference_engine() -> None:
    for system in (examples.DIE_HARD.system(), grid(step, properties=(Low,))):
        verdict = explore_by_auto(system, TWO)
        assert (verdict.engine, verdict.statistics) == ("reference", {})
        assert said(verdict) == said(explore(system))


# -- the decision ---------------------------------------------------------------------------------


BEHIND = Standing(
    here=20_000, here_rate=5_000, paused=0, there=9_000, there_rate=3_000, there_seconds=4,
    is_too_large=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "decision"),
    [
        ({}, Decision.RULES),
        ({"there_seconds": 1}, Decision.BOTH),
        ({"there_rate": 6_000}, Decision.BOTH),
        ({"there": 21_000}, Decision.BOTH),
        ({"there": 200_000}, Decision.PAUSE),
        ({"there": 200_000, "paused": 1}, Decision.BOTH),
        ({"there": 250_000, "paused": 1}, Decision.PAUSE),
        ({"there": 250_000, "paused": 1.1}, Decision.BOTH),
        ({"is_too_large": True, "there": 19_000}, Decision.RULES),
        ({"is_too_large": True, "there": 21_000}, Decision.LEARNED),
    ],
)
def test_the_one_that_leads_goes_on(changed: dict[str, Any], decision: Decision) -> None:
    assert decide(attrs.evolve(BEHIND, **changed)) is decision


@pytest.mark.usefixtures("_few")
def test_a_process_that_has_given_up_waits_for_the_other() -> None:
    system = REPLICATION.system(bounds={"brokers": 2})
    assert answer(system, Decision.LEARNED) == answer(system, Decision.RULES)


@rule(by="nobody", left=lambda s: [False, True])
def go_on_forever(s: Grid, left: bool) -> Any:
    """Count without a limit."""
    return attrs.evolve(s, left=s.left + left, right=s.right + (not left))


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("engine", ["learned", "reference"])
def test_ctrl_c_reports_what_the_one_that_leads_has_found(engine: str) -> None:
    def interrupt(standing: Standing) -> Decision:
        if engine == "learned" and standing.there <= standing.here:
            return Decision.PAUSE
        signal.raise_signal(signal.SIGINT)
        return Decision.PAUSE

    verdict = explore_by_auto(grid(go_on_forever), TWO, interrupt)
    assert (verdict.engine, verdict.stopped_by) == (engine, "interrupted")
    assert verdict.distinct == sum(verdict.levels) >= 5


@pytest.mark.usefixtures("_few")
def test_a_signal_to_all_processes_loses_nothing() -> None:
    """As `timeout` sends it: learned rules go on until their parent ends them."""

    def stop_all(standing: Standing) -> Decision:
        if standing.there > standing.here:
            for child in (
                Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            ):
                os.kill(int(child), signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
        return Decision.PAUSE

    verdict = explore_by_auto(grid(go_on_forever), TWO, stop_all)
    assert (verdict.engine, verdict.stopped_by) == ("learned", "interrupted")


@pytest.mark.usefixtures("_few")
def test_progress_is_that_of_the_one_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.engine.search.PROGRESS_INTERVAL", 0)
    seen: list[Progress] = []

    def wait(standing: Standing) -> Decision:
        return Decision.PAUSE if len(seen) < 30 or standing.there == 0 else Decision.LEARNED

    options = Options(workers=2, on_progress=seen.append)
    explore_by_auto(REPLICATION.system(bounds={"brokers": 2}), options, wait)
    assert max(progress.distinct for progress in seen) > 500


@pytest.mark.usefixtures("_few")
@pytest.mark.parametrize("decision", [Decision.PAUSE, Decision.LEARNED, Decision.BOTH])
def test_learned_rules_that_waited_for_a_processor_go_on(
    decision: Decision, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it can tell, the process itself never had one."""
    monkeypatch.setattr(race, "HEAD_START", 0.2)
    monkeypatch.setattr("time.process_time", lambda: 0.0)
    system = REPLICATION.system(bounds={"brokers": 2})
    verdict = explore_by_auto(system, TWO, always_says(decision))
    assert verdict.verdict == "holds"


@pytest.mark.usefixtures("_few")
def test_the_rules_go_on_where_learned_rules_cannot() -> None:
    properties = tuple(
        attrs.evolve(Low, name=f"Low{number}", body=lambda s: s.left < 99) for number in range(70)
    )
    system = grid(step, properties=properties)
    verdict = explore_by_auto(system, TWO, always_says(Decision.PAUSE))
    assert (verdict.engine, verdict.verdict) == ("reference", "holds")
    assert "properties at a time" in verdict.statistics["auto"]
    assert said(one_after_the_other(system, TWO, rate=0)) == said(verdict)


@pytest.mark.usefixtures("_few")
def test_the_rules_go_on_where_learned_rules_need_too_much_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def out_of_memory(system: System[Any], options: Options) -> Verdict:
        return Verdict(system, "learned", "inconclusive", options.limit("max_memory"))

    monkeypatch.setattr("kspec.checkers.engine.learned.search.explore_by_learning", out_of_memory)
    verdict = explore_by_auto(grid(step), TWO, always_says(Decision.PAUSE))
    assert (verdict.engine, verdict.verdict, verdict.complete) == ("reference", "holds", True)
    assert "max-memory" in verdict.statistics["auto"]


@pytest.mark.parametrize(("rate", "engine"), [(0, "learned"), (1e12, "reference")])
def test_one_core_tries_learned_rules_first(
    rate: float, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "FAIR", 0)
    monkeypatch.setattr("kspec.checkers.engine.search.PROGRESS_INTERVAL", 0)
    system = grid(step, properties=(Low,))
    verdict = one_after_the_other(system, Options(workers=1), rate)
    assert verdict.engine == engine
    assert said(verdict) == said(race.alone(system, Options(workers=1), ""))


@pytest.mark.usefixtures("_few")
def test_one_core_has_no_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "Learned", None)
    system = REPLICATION.system(bounds={"brokers": 2})
    assert explore_by_auto(system, Options(workers=1)).engine == "learned"


@pytest.mark.usefixtures("_few")
def test_a_short_run_has_the_verdict_of_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    system = grid(step, properties=(Low,))
    by_rules = answer(system, Decision.RULES)
    monkeypatch.setattr(race, "ALONE", float("inf"))
    monkeypatch.setattr(race, "Learned", None)
    verdict = explore_by_auto(system, TWO)
    assert said(verdict) == by_rules
    assert verdict.statistics["auto"] == "the run ended before learned rules began"


# -- the reference engine in several processes ----------------------------------------------------


def ended(system: System[Any], workers: int, options: Options) -> Any:
    """Everything that a run of the reference engine finds."""
    backend = Reference(system, workers=workers)
    backend.finds_all = True
    with patch.object(reference, "SHARED", 1):
        try:
            verdict = said(Search(system, backend, options).run()) | {"workers": 0}
        except SpecError as error:
            return str(error)
    steps = sorted(zip(backend.again_from, backend.again_to, strict=True))
    marked = {mark: sorted(numbers) for mark, numbers in backend.marked.items()}
    return verdict, backend.states, backend.parents, steps, backend.begins, marked


def test_slow_rules_do_not_keep_the_search_from_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "UNWATCHED", 0)
    seen: list[int] = []
    backend = Reference(grid(step))
    backend.watch = lambda: seen.append(backend.distinct)
    size = backend.begin()
    while size:
        backend.expand(lambda queue: None)
        size = backend.next_level()
    assert len(seen) == backend.distinct


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, *range(200, 215, 3)])
def test_several_processes_find_what_one_does(first: int) -> None:
    for seed in range(first, first + 3):
        system = random_model(seed).system()
        for options in (Options(max_states=400), Options(max_states=400, keep_going=True)):
            assert ended(system, 3, options) == ended(system, 1, options)


def test_several_processes_explore_a_large_level() -> None:
    system = DELIVERY.system()
    many, one = (
        explore(system, Options(workers=2, max_states=9_000)),
        explore(system, Options(max_states=9_000)),
    )
    assert said(many) == said(one) | {"workers": 2}
    assert (many.workers, one.workers) == (2, 1)


@pytest.mark.slow
def test_the_work_of_a_process_that_dies_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    system = grid(step, turn, properties=(Low,))
    one = ended(system, 1, Options(keep_going=True))
    steps_from = Reference.steps_from

    def die(self: Reference, block: range) -> Any:
        if block.start > 20:
            raise MemoryError
        return steps_from(self, block)

    monkeypatch.setattr(Reference, "steps_from", die)
    assert ended(system, 2, Options(keep_going=True)) == one


def test_a_run_in_several_processes_is_interrupted() -> None:
    pressed: list[bool] = []

    def look(progress: Progress) -> None:
        if progress.distinct > 2_000 and not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    verdict = explore(grid(go_on_forever), Options(workers=2, on_progress=look))
    assert verdict.stopped_by == "interrupted"
