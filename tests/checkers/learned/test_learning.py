"""What is learned of the shipped models is what their rules say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pytest

from checkers.engines import Options, run
from checkers.explore import explore
from checkers.learned.book import Impure
from checkers.limits import Limits
from checkers.models import BUILT_IN, find_model
from checkers.native.search import How, explore_by_learning
from checkers.verdict import HOLDS, Verdict
from spec.core import (
    Always,
    LeadsTo,
    Model,
    SpecError,
    Step,
    System,
    Variant,
    always,
    appended,
    constant,
    evolve,
    limit,
    replaced,
    rule,
)

SMALL: Mapping[str, Mapping[str, int]] = {
    "replication": {"brokers": 2},
    "group": {"crashes": 0, "failovers": 0},
    "counter": {"top": 40},
    "offsets-topic": {"writes": 2},
}
"""Bounds in which the reference engine takes a second or so, where the defaults are larger."""


def variants() -> Iterator[tuple[str, str]]:
    """Every variant of every model that kspec brings."""
    for name in BUILT_IN:
        for variant in find_model(name).variants:
            yield name, variant.name


def judged_by_state(system: System[Any]) -> System[Any]:
    """The system with everything that its model states of single states."""
    every = system.with_sanity()
    return every.with_properties(p.name for p in every.properties if not isinstance(p, LeadsTo))


def told(verdict: Verdict) -> dict[str, Any]:
    """What two engines must agree in."""
    return {
        "verdict": verdict.verdict,
        "levels": list(verdict.levels),
        "generated": verdict.generated,
        "rules": {n: (c.fired, dict(c.stopped_by)) for n, c in verdict.rules.items()},
        "violations": sorted((v.name, v.states) for v in verdict.violations),
        "witnesses": {name: len(trace.states) for name, trace in verdict.witnesses.items()},
        "edge_of_bounds": verdict.edge_of_bounds,
    }


@pytest.mark.parametrize(("model", "variant"), [*variants()])
def test_every_variant_is_explored_as_by_the_reference_engine(model: str, variant: str) -> None:
    system = judged_by_state(find_model(model).system(variant, SMALL.get(model)))
    for keep_going in (False, True):
        limits = Limits(keep_going=keep_going, max_depth=8)
        found = explore_by_learning(system, limits, How(workers=1 + keep_going))
        assert told(found) == told(explore(system, limits))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "variant"), [*variants()])
def test_every_variant_in_its_default_bounds_and_each_answer_checked(
    model: str, variant: str
) -> None:
    system = judged_by_state(find_model(model).system(variant))
    limits = Limits(keep_going=True, max_states=20_000)
    how = How(check_learning=True)
    found = explore_by_learning(system, attrs.evolve(limits, max_states=None, max_depth=12), how)
    expected = explore(system, attrs.evolve(limits, max_states=None, max_depth=12))
    assert told(found) == told(expected)
    assert found.statistics["learned"]["checked"] > 0


@pytest.mark.parametrize(
    ("model", "variant", "bounds", "distinct", "generated", "depth"),
    [
        ("group", None, {"crashes": 0}, 177_638, 677_422, 96),
        pytest.param(
            "replication", None, {"max_epoch": 2}, 737_794, 1_929_154, 26, marks=pytest.mark.slow
        ),
        pytest.param(
            "offsets-topic", None, {"writes": 4}, 277_656, 1_314_755, 21, marks=pytest.mark.slow
        ),
        pytest.param(
            "group", None, {}, 6_347_878, 26_200_088, 100, marks=pytest.mark.slow
        ),
        pytest.param(
            "group", "cooperative", {"crashes": 0}, 701_889, 2_579_000, 103, marks=pytest.mark.slow
        ),
        pytest.param(
            "delivery", None, {"partitions": 2}, 6_530_792, 35_997_633, 59, marks=pytest.mark.slow
        ),
    ],
)  # fmt: skip
def test_large_bounds_have_the_states_that_are_known(
    model: str,
    variant: str | None,
    bounds: Mapping[str, int],
    distinct: int,
    generated: int,
    depth: int,
) -> None:
    system = find_model(model).system(variant, bounds)
    found = explore_by_learning(system, Limits(keep_going=True), How(workers=2))
    assert (found.distinct, found.generated, found.depth) == (distinct, generated, depth)


# -- what is read, and what is copied -------------------------------------------------------------


@attrs.frozen
class Dial:
    """One of several."""

    at: int = 0
    turned: int = 0


@attrs.frozen
class Dials:
    """A row of dials, and a list of the last turns."""

    dials: tuple[Dial, ...]
    last: tuple[int, ...] = ()
    top: int = constant()


def dials(s: Dials) -> range:
    return range(len(s.dials))


@rule(by="hand", dial=dials)
def turn(s: Dials, dial: int) -> Step[Dials]:
    """Turn one dial; the others are copied."""
    yield limit("dial is below the top"), s.dials[dial].at < s.top
    turned = evolve(s.dials[dial], at=s.dials[dial].at + 1)
    return evolve(s, dials=replaced(s.dials, dial, turned))


@rule(by="hand", dial=dials)
def turn_by_a_display(s: Dials, dial: int) -> Step[Dials]:
    """The same: records in a display are copied, where numbers would be read."""
    yield limit("dial is below the top"), s.dials[dial].at < s.top
    turned = attrs.evolve(s.dials[dial], at=s.dials[dial].at + 1)
    return attrs.evolve(s, dials=(*s.dials[:dial], turned, *s.dials[dial + 1 :]))


@rule(by="hand", dial=dials)
def turn_reading_all(s: Dials, dial: int) -> Step[Dials]:
    """The same, in a way that reads every dial."""
    yield limit("dial is below the top"), s.dials[dial].at < s.top
    at = [one.at for one in s.dials]
    at[dial] += 1
    return evolve(s, dials=tuple(Dial(number) for number in at))


@rule(by="hand", dial=dials)
def turn_by_slices(s: Dials, dial: int) -> Step[Dials]:
    """The same, by slices and +."""
    yield limit("dial is below the top"), s.dials[dial].at < s.top
    turned = attrs.evolve(s.dials[dial], at=s.dials[dial].at + 1)
    return attrs.evolve(s, dials=s.dials[:dial] + (turned,) + s.dials[dial + 1 :])  # noqa: RUF005


@rule(by="hand", dial=dials)
def note(s: Dials, dial: int) -> Step[Dials]:
    """Append to a tuple whose length varies."""
    yield limit("the list is short"), len(s.last) < 2
    return evolve(s, last=appended(s.last, dial))


@always
def DialsAreBelowTheTop(s: Dials) -> bool:
    return all(dial.at <= s.top for dial in s.dials)


def dials_of(*rules: Any, top: int = 4) -> System[Dials]:
    """Three dials with these rules."""
    model = Model(
        name="dials",
        doc="Dials.",
        initial=lambda bounds: [Dials((Dial(),) * 3, top=top)],
        properties=(DialsAreBelowTheTop,),
        variants=(Variant("dials", rules=rules, why="They turn."),),
    )
    return model.system()


def runs_of(system: System[Any], name: str) -> int:
    """How often a rule was run to learn it; the counts are those of the reference engine."""
    from checkers.learned.learning import Learning
    from checkers.native.search import Learnable

    learned = Learnable()
    found = explore_by_learning(system, None, How(workers=1), learned=learned)
    assert told(found) == told(explore(system))
    learning: Learning = learned.of(system)
    instances = learning.book.instances
    return sum(i.runs for i in instances if getattr(i.asked, "name", "") == name)


@pytest.mark.parametrize("way", [turn, turn_by_a_display, turn_by_slices])
def test_what_is_copied_is_not_read(way: Any) -> None:
    """A rule about one dial is run once for each value of that dial, and each dial."""
    choices_and_ends = 1 + 2 * 3
    assert runs_of(dials_of(way), way.name) <= 5 * 3 + choices_and_ends


def test_a_rule_that_reads_everything_is_run_more_often_and_is_right_all_the_same() -> None:
    assert runs_of(dials_of(turn_reading_all), turn_reading_all.name) > 4 * 5 * 5


def test_a_tuple_of_varying_length_is_learned() -> None:
    assert runs_of(dials_of(turn, note, top=2), "note") > 0


# -- rules that are no functions of the state -----------------------------------------------------

calls = itertools.count()


@rule(by="chance", dial=dials)
def turn_every_third_time(s: Dials, dial: int) -> Step[Dials]:
    """Depends on how often it was asked."""
    yield "it is the third time", next(calls) % 3 == 0 and s.dials[dial].at < s.top
    turned = evolve(s.dials[dial], at=s.dials[dial].at + 1)
    return evolve(s, dials=replaced(s.dials, dial, turned))


def test_a_rule_that_is_no_function_of_the_state_is_named_with_both_answers() -> None:
    system = dials_of(turn, turn_every_third_time)
    with pytest.raises(Impure, match=r"rule turn_every_third_time.* not a function of the state"):
        explore_by_learning(system, None, How(workers=1, check_learning=True))


def test_a_share_is_checked_in_every_run() -> None:
    found = explore_by_learning(dials_of(turn), None, How(workers=1))
    assert found.statistics["learned"]["checked"] == found.depth
    every = explore_by_learning(dials_of(turn), None, How(workers=1, check_learning=True))
    assert every.statistics["learned"]["checked"] == every.distinct


def has_turned(dial: Dial) -> bool:
    return type(dial) is Dial and dial.at > 0


@rule(by="hand", dial=dials)
def turn_back(s: Dials, dial: int) -> Step[Dials]:
    """Asks for the class of a record, where a stand-in has another."""
    yield "dial was turned", has_turned(s.dials[dial])
    return evolve(s, dials=replaced(s.dials, dial, Dial()))


def test_a_rule_that_asks_for_types_is_run_on_the_state_itself() -> None:
    system = dials_of(turn, turn_back)
    found = explore_by_learning(system, None, How(workers=1, check_learning=True))
    assert told(found) == told(explore(system))
    assert found.rules["turn_back"].fired > 0
    assert "rule turn_back" in found.statistics["learned"]["plainer"]
    assert "rule turn" not in found.statistics["learned"]["plainer"]


def test_more_properties_than_there_are_bits_are_refused_in_one_line() -> None:
    system = dials_of(turn)
    many = [Always(f"P{number}", lambda s: True) for number in range(60)]
    with pytest.raises(SpecError, match="59 properties at a time"):
        explore_by_learning(attrs.evolve(system, properties=(*many,)), None, How(workers=1))
    most = attrs.evolve(system, properties=(*many[:59],))
    assert explore_by_learning(most, None, How(workers=1)).verdict == HOLDS


# -- which engine explores ------------------------------------------------------------------------


def test_small_models_are_left_to_the_reference_engine_and_others_are_learned() -> None:
    assert run(dials_of(turn)).engine == "reference"
    large = run(dials_of(turn, top=12))
    assert (large.engine, large.verdict, large.distinct) == ("learned", HOLDS, 13**3)
    assert run(dials_of(turn), Options("native")).engine == "learned"
