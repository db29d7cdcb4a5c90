"""Questions to the model: the bounds, the protocol, the answers, and what is kept of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.field.advice import questions
from kspec.field.advice.advice import settings_from
from kspec.field.advice.catalogue import catalogue, releases
from kspec.field.advice.matrix import Cell, cell_text
from kspec.field.advice.matrix import questions as all_questions
from kspec.field.advice.questions import (
    BUDGETS,
    KEPT,
    MOST_BROKERS,
    Durability,
    answer,
    beyond_release,
    durability_of,
    loss_of,
    system_of,
    variant_of,
)
from kspec.field.advice.sources import from_option
from kspec.spec.core import SpecError, evolve
from kspec.spec.durability import (
    survives_crashing,
    survives_losing,
    survives_reading,
    survives_writing,
)

ALONE = Durability("kafka-4.1", -1, 1, 1, unclean=False, flush=False)
"""One replica: the smallest questions."""
SAFE = evolve(ALONE, factor=3, min_insync=2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for answers; compiled code stays where it is."""
    monkeypatch.setattr(
        "kspec.impl.compiled.cache_folder",
        lambda name=None: tmp_path if name == "advice" else None,
    )
    return tmp_path


def protocol(release: str, *options: str) -> str:
    known = catalogue(release)
    return variant_of(settings_from(known, [], [from_option(o, known) for o in options]))


@pytest.mark.parametrize(
    ("release", "options", "variant"),
    [
        ("0.10.2", [], "kafka-0.10"),
        ("1.1", [], "kafka-0.11"),
        ("2.0", [], "kafka-2.0"),
        ("2.6", [], "kafka-2.1"),
        ("2.8", [], "kafka-2.7"),
        ("3.2", ["process.roles=broker"], "kafka-3.9"),
        ("3.2", [], "kafka-2.7"),
        ("3.9", [], "kafka-3.9"),
        ("3.9", ["zookeeper.connect=zk:2181"], "kafka-2.7"),
        ("4.0", [], "kafka-3.9"),
        ("4.0", ["eligible.leader.replicas.version=1"], "kafka-4.1"),
        ("4.1", [], "kafka-4.1"),
        ("4.1", ["eligible.leader.replicas.version=0"], "kafka-3.9"),
    ],
)
def test_a_release_has_a_protocol(release: str, options: list[str], variant: str) -> None:
    assert protocol(release, *options) == variant


@pytest.mark.parametrize(
    ("release", "variant", "since"),
    [
        ("2.8", "kafka-2.7", []),
        ("3.2", "kafka-3.9", ["3.3", "3.5", "3.7"]),
        ("3.4", "kafka-3.9", ["3.5", "3.7"]),
        ("3.7", "kafka-3.9", []),
        ("4.1", "kafka-4.1", []),
    ],
)
def test_what_the_protocol_has_beyond_the_release(
    release: str, variant: str, since: list[str]
) -> None:
    assert [text.rpartition(" ")[2] for text in beyond_release(variant, release)] == since


def test_the_model_has_the_protocol_of_every_release() -> None:
    variants = {variant.name for variant in find_model("partition").variants}
    assert {protocol(release) for release in releases()} <= variants


def test_settings_become_bounds() -> None:
    known = catalogue("4.1")
    options = ["flush.messages=1", "min.insync.replicas=9", "unclean.leader.election.enable=true"]
    s = settings_from(known, [], [from_option(o, known) for o in options])
    decided = durability_of(s, 1)
    assert decided == Durability("kafka-4.1", 1, 3, 3, unclean=True, flush=True)
    bounds = decided.bounds(BUDGETS["one-power-loss"])
    assert (bounds["power_losses"], bounds["crashes"], bounds["acks"]) == (1, 0, 1)
    assert system_of(decided, BUDGETS["two-crashes"]).bounds.crashes == 2


def test_more_replicas_than_the_model_has_are_refused() -> None:
    with pytest.raises(SpecError, match="at most 4 replicas, not 5"):
        system_of(evolve(ALONE, factor=MOST_BROKERS + 1), BUDGETS["one-crash"])


def test_a_loss_can_be_replayed() -> None:
    found = answer(ALONE, BUDGETS["one-power-loss"])
    assert (found.kept, found.available) == (False, False)
    trace = loss_of(ALONE, found)
    assert len(trace.states) == found.states
    assert (trace.property, trace.where) == (KEPT, found.where)
    assert trace.steps[0].rule.startswith("leader_appends")


def test_an_answer_is_kept_and_found_again(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = BUDGETS["one-disk-loss"]
    first = answer(ALONE, budget)
    assert len(list(own_cache.iterdir())) == 1
    monkeypatch.setattr(questions, "explore", None)  # not called again
    assert answer(ALONE, budget) == first


@pytest.mark.parametrize("damage", ["", "{", "{}", '{"kept": false}', "[1]"])
def test_a_damaged_file_is_ignored(own_cache: Path, damage: str) -> None:
    budget = BUDGETS["one-disk-loss"]
    first = answer(ALONE, budget)
    (file,) = own_cache.iterdir()
    file.write_text(damage)
    assert answer(ALONE, budget) == first


def test_another_rule_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    system = system_of(ALONE, BUDGETS["one-crash"])
    fewer = attrs.evolve(system, rules=system.rules[1:])
    assert questions.cache_file(system) == questions.cache_file(system)
    assert questions.cache_file(system) != questions.cache_file(fewer)


def test_a_search_that_is_stopped_has_no_verdict(own_cache: Path) -> None:
    found = answer(ALONE, BUDGETS["one-crash"], limits=Options(max_states=3))
    assert (found.kept, found.available) == (None, None)
    assert not list(own_cache.iterdir())


# -- the model and the arithmetic of spec.durability ----------------------------------------------


def assert_as_calculated(cell: Cell) -> None:
    """The model's verdict is that of `spec.durability`."""
    s, budget = cell.settings, cell.budget
    failures = 2 if budget.name == "two-crashes" else 1
    loses_log = budget.name == "one-disk-loss" or (budget.name == "one-power-loss" and not s.flush)
    if loses_log:
        survives: int | None = survives_losing(s.factor, s.acks, s.min_insync)
        if s.unclean:
            crashing = survives_crashing(s.factor, s.acks, s.min_insync, unclean=True)
            survives = min(x for x in (survives, crashing) if x is not None)
    else:
        survives = survives_crashing(s.factor, s.acks, s.min_insync, unclean=s.unclean)
    cut_off_alone = budget.name == "one-cut-off" and s.factor == 1  # the leader is always found
    kept = cut_off_alone or survives is None or survives >= failures
    assert cell.answer.kept == kept, cell
    writes = min(survives_writing(s.factor, s.acks, s.min_insync), survives_reading(s.factor))
    assert cell.answer.available == (writes >= failures), cell


@pytest.mark.parametrize("budget", BUDGETS.values(), ids=lambda budget: budget.name)
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_one_replica_survives_what_is_calculated(acks: int, budget: questions.Budget) -> None:
    settings = evolve(ALONE, acks=acks)
    assert_as_calculated(Cell(settings, budget, answer(settings, budget)))


@pytest.fixture(scope="module")
def matrix() -> list[Cell]:
    return [Cell(s, b, answer(s, b)) for s, b in all_questions("kafka-4.1")]


@pytest.mark.slow
def test_every_cell_of_the_matrix_is_as_calculated(matrix: list[Cell]) -> None:
    assert len(matrix) == 126
    for cell in matrix:
        assert_as_calculated(cell)


RULES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "acks=all": ("one-crash", {"acks": 1, "min_insync": 1}, {"min_insync": 1}),
    "unclean.leader.election.enable=false": ("two-crashes", {"unclean": True}, {}),
    "replication.factor at least 3": ("one-crash", {"factor": 2}, {}),
    "min.insync.replicas above 1": ("one-power-loss", {"min_insync": 1}, {}),
    "replication.factor above min.insync.replicas": ("one-crash", {"min_insync": 3}, {}),
}
"""The rules against loss that concern replication: a budget, a cell without the rule, and its
neighbour with it, each as the difference from the safe settings."""


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_cell_without_a_rule_loses_what_its_neighbour_keeps(
    rule: str, matrix: list[Cell]
) -> None:
    budget, without, with_it = RULES[rule]
    found = {(cell.settings, cell.budget.name): cell.answer for cell in matrix}
    worse = found[evolve(SAFE, **without), budget]
    better = found[evolve(SAFE, **with_it), budget]
    assert better.kept
    assert not worse.kept or (better.available and not worse.available)


LONE = {"factor": 1, "min_insync": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "budget"),
    [
        ({"acks": 1, "min_insync": 1}, {"acks": 1, "min_insync": 2}, "one-crash"),
        ({"acks": 0, "min_insync": 1}, {"acks": 0, "min_insync": 2}, "one-disk-loss"),
        (LONE, {**LONE, "unclean": True}, "two-crashes"),
        ({"factor": 2}, {"factor": 2, "flush": True}, "one-crash"),
        ({"factor": 2}, {"factor": 2, "flush": True}, "one-disk-loss"),
        ({"factor": 2}, {"factor": 2, "flush": True}, "one-cut-off"),
    ],
)  # fmt: skip
def test_combinations_that_are_searched_once_do_not_differ(
    one: dict[str, int], other: dict[str, int], budget: str
) -> None:
    first, second = (answer(evolve(SAFE, **each), BUDGETS[budget]) for each in (one, other))
    assert cell_text(first) == cell_text(second)
