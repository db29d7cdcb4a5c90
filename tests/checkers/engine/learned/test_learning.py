"""The learned engine agrees with the rules of the shipped models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest

from kspec import examples
from kspec.checkers.engine.learned.book import Impure
from kspec.checkers.engine.learned.checking import BY_LEVEL
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.checkers.engine.run import run
from kspec.checkers.engine.verdict import HOLDS, Verdict
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import (
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
    "partition": {"brokers": 2, "min_insync": 1},
}
"""Bounds in which the reference engine takes a second or so, where the defaults are larger."""


def variants() -> Iterator[tuple[str, str]]:
    """Every variant of every model that kspec brings."""
    for name in registered_models():
        for variant in find_model(name).variants:
            yield name, variant.name


def judged_by_state(system: System[Any]) -> System[Any]:
    """The system with everything that its model states of single states."""
    every = system.with_all_properties()
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


@pytest.mark.slow
@pytest.mark.parametrize(("model", "variant"), [*variants()])
def test_every_variant_agrees_with_the_reference_engine(model: str, variant: str) -> None:
    system = judged_by_state(find_model(model).system(variant, SMALL.get(model)))
    for keep_going in (False, True):
        limits = Options(keep_going=keep_going, max_depth=8, workers=1 + keep_going)
        found = explore_by_learning(system, limits)
        assert told(found) == told(explore(system, limits))


DEPTHS = {
    "log-recovery": 8,
    "offsets-topic": 6,
    "partition": 9,
    "partition-messages": 9,
    "replication": 8,
    "transactions": 10,
}
"""Levels of the default bounds in which every rule is enabled; twelve levels of other models."""


@pytest.mark.slow
@pytest.mark.parametrize(("model", "variant"), [*variants()])
def test_every_variant_passes_check_learning_at_default_bounds(model: str, variant: str) -> None:
    system = judged_by_state(find_model(model).system(variant))
    depth = DEPTHS.get(model, 12)
    options = Options(keep_going=True, max_depth=depth, check_learning=True)
    found = explore_by_learning(system, options)
    assert found.statistics["learned"]["checked"] > 0


@pytest.mark.parametrize(
    ("model", "variant", "bounds", "distinct", "generated", "depth"),
    [
        pytest.param(
            "group", None, {"crashes": 0}, 177_638, 677_422, 96, marks=pytest.mark.slow
        ),
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
def test_large_bounds_have_their_pinned_counts(
    model: str,
    variant: str | None,
    bounds: Mapping[str, int],
    distinct: int,
    generated: int,
    depth: int,
) -> None:
    system = find_model(model).system(variant, bounds)
    found = explore_by_learning(system, Options(keep_going=True, workers=2))
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
    from kspec.checkers.engine.learned.learnable import Learnable
    from kspec.checkers.engine.learned.learning import Learning

    learned = Learnable()
    found = explore_by_learning(system, Options(workers=1), learned=learned)
    assert told(found) == told(explore(system))
    learning: Learning = learned.of(system)
    instances = learning.book.instances
    return sum(i.runs for i in instances if getattr(i.asked, "name", "") == name)


@pytest.mark.parametrize("way", [turn, turn_by_a_display, turn_by_slices])
def test_copied_parts_are_not_read(way: Any) -> None:
    """A rule about one dial is run once for each value of that dial, and each dial."""
    choices_and_ends = 1 + 2 * 3
    assert runs_of(dials_of(way), way.name) <= 5 * 3 + choices_and_ends


def test_a_rule_that_reads_everything_is_slower_but_correct() -> None:
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


def test_a_nondeterministic_rule_is_reported_with_both_answers() -> None:
    system = dials_of(turn, turn_every_third_time)
    with pytest.raises(Impure, match=r"rule turn_every_third_time.* not a function of the state"):
        explore_by_learning(system, Options(workers=1, check_learning=True))


def test_every_run_checks_a_share_of_the_answers() -> None:
    found = explore_by_learning(dials_of(turn), Options(workers=1))
    assert found.depth < found.statistics["learned"]["checked"] < 2 * found.depth
    every = explore_by_learning(dials_of(turn), Options(workers=1, check_learning=True))
    assert every.distinct <= every.statistics["learned"]["checked"] < 2 * every.distinct


def has_turned(dial: Dial) -> bool:
    return type(dial) is Dial and dial.at > 0


@rule(by="hand", dial=dials)
def turn_back(s: Dials, dial: int) -> Step[Dials]:
    """Asks for the class of a record, where a stand-in has another."""
    yield "dial was turned", has_turned(s.dials[dial])
    return evolve(s, dials=replaced(s.dials, dial, Dial()))


def test_a_rule_that_inspects_types_runs_on_the_state_itself() -> None:
    system = dials_of(turn, turn_back)
    found = explore_by_learning(system, Options(workers=1, check_learning=True))
    assert told(found) == told(explore(system))
    assert found.rules["turn_back"].fired > 0
    assert "rule turn_back" in found.statistics["learned"]["plainer"]
    assert "rule turn" not in found.statistics["learned"]["plainer"]


def test_more_properties_than_bits_are_rejected() -> None:
    system = dials_of(turn)
    many: list[Always[Any]] = [Always(f"P{number}", lambda s: True) for number in range(60)]
    with pytest.raises(SpecError, match="59 properties at a time"):
        explore_by_learning(attrs.evolve(system, properties=(*many,)), Options(workers=1))
    most = attrs.evolve(system, properties=(*many[:59],))
    assert explore_by_learning(most, Options(workers=1)).verdict == HOLDS


# -- which engine explores ------------------------------------------------------------------------


def test_small_models_use_the_reference_engine() -> None:
    assert run(dials_of(turn)).engine == "reference"
    assert run(dials_of(turn), Options("native")).engine == "learned"


@attrs.frozen
class Noted:
    """A value with a field that does not tell it apart from others."""

    value: int
    note: str = attrs.field(eq=False, default="")


@attrs.frozen
class Desk:
    """A state with such a value."""

    noted: Noted = Noted(0)
    turns: int = 0
    remark: str = attrs.field(eq=False, default="")


def noting(change: Callable[[Desk], Desk]) -> System[Desk]:
    """A system with one rule."""

    @rule(by="desk")
    def turn(s: Desk) -> Step[Desk]:
        yield limit("a turn is left"), s.turns < 3
        return evolve(change(s), turns=s.turns + 1)

    variant = Variant("v", (turn,), why="")
    model = Model("desk", "", lambda bounds: [Desk()], (), (variant,))
    return model.system()


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda s: evolve(s, noted=evolve(s.noted, note="new")), "Noted differ in note"),
        (lambda s: evolve(s, noted=Noted(0, "new")), "Noted differ in note"),
        (lambda s: evolve(s, noted=attrs.evolve(s.noted, note=f"{s.turns}")), "Noted differ"),
        (lambda s: evolve(s, remark="new"), "Desk differ in remark"),
        (lambda s: Desk(s.noted, s.turns, "new"), "Desk differ in remark"),
    ],
)
def test_equal_values_that_differ_in_a_field_that_is_not_compared_are_refused(
    change: Callable[[Desk], Desk], names: str
) -> None:
    with pytest.raises(SpecError, match=names) as raised:
        explore_by_learning(noting(change))
    assert "\n" not in str(raised.value)


def test_an_uncompared_field_may_be_constant() -> None:
    change = lambda s: evolve(s, noted=Noted(s.noted.value + 1, f"{s.noted.value + 1}"))  # noqa: E731
    assert explore_by_learning(noting(change)).distinct == 4


def test_only_the_first_of_many_thin_levels_are_all_checked() -> None:
    found = explore_by_learning(examples.COUNTER.system(bounds={"top": 100}))
    assert found.depth == 101
    assert BY_LEVEL < found.statistics["learned"]["checked"] < 2 * BY_LEVEL
