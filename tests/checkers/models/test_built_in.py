"""kspec's own models: found by name, with their pictures and their mutation baselines."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.spec.core import Baseline
from kspec.spec.replication import REPLICATION


@pytest.mark.parametrize("name", registered_models())
def test_baselines_name_existing_variants_and_rules(name: str) -> None:
    model = find_model(name)
    for kind in (model.baseline.equivalent, model.baseline.bounds_for):
        for variant, mutants in kind.items():
            rules = {rule.name for rule in model.variant(variant).rules}
            assert {mutant.split()[0] for mutant in mutants} <= rules
    for bounds in model.baseline.bounds:
        model.system(bounds=bounds)


def test_a_baseline_reads_its_file_once_its_mutants_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "mutants.toml"
    baseline = Baseline(mutants=file)
    file.write_text(
        "bounds = [{top = 1}, {}]\n"
        '[bounds_for.up]\n"count loses a guard" = {top = 2}\n'
        '[equivalent.up]\n"Nothing changes." = ["count forgets value", "count forgets top"]\n'
    )
    assert baseline.bounds == [{"top": 1}, {}]
    assert baseline.bounds_for == {"up": {"count loses a guard": {"top": 2}}}
    reason = "Nothing changes."
    assert baseline.equivalent == {
        "up": {"count forgets value": reason, "count forgets top": reason}
    }
    assert attrs.evolve(baseline, bounds_for={}).bounds_for == {}
    assert Baseline().bounds == [{}]
    assert Baseline().equivalent == {}


def test_a_built_in_model_has_its_picture_and_baseline() -> None:
    found = find_model("replication")
    assert found is find_model("replication")
    assert found.picture is not None
    assert found.baseline.invariants
    assert attrs.evolve(found, picture=None, baseline=Baseline()).variants is REPLICATION.variants


def test_a_model_derived_from_a_built_in_one_has_its_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("derived.py").write_text(
        "from attrs import evolve\n"
        "from spec.replication import REPLICATION\n"
        "MINE = evolve(REPLICATION, name='mine')\n"
    )
    assert find_model("derived.py:MINE").picture is find_model("replication").picture


def test_a_variant_inherits_equivalent_mutants_of_the_rules_that_it_shares() -> None:
    parent = REPLICATION.variant("kip-320-first-try")
    child = REPLICATION.variant("kip-320")
    shared, replaced = "controller_elects_leader forgets x", "follower_fetches forgets x"
    baseline = Baseline(equivalent={parent.name: {shared: "why", replaced: "why"}})
    model = attrs.evolve(REPLICATION, baseline=baseline)
    assert equivalent_mutants(model, parent) == {shared: "why", replaced: "why"}
    assert equivalent_mutants(model, child) == {shared: "why"}
