"""The tasks of Spark, run one after the other in this process, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.engine.learned import levels
from kspec.checkers.engine.learned.checking import Checking
from kspec.checkers.engine.learned.divided import Unfit
from kspec.checkers.engine.learned.plain import Codec, class_of
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.checkpoint import read_manifest
from kspec.checkers.engine.run import run
from kspec.checkers.engine.search import RuleFailed, Search
from kspec.checkers.engine.verdict import Verdict
from kspec.checkers.models.find import find_model, registered_models
from kspec.examples import COUNTER, DIE_HARD, TWO_PHASE_LOCK
from kspec.spark_check.explore import assert_can, backend_for
from kspec.spark_check.jobs import Job, named
from kspec.spark_check.learned import LearnedModel
from kspec.spark_check.table import columns_of, rows_of_file
from kspec.spec.core import SpecError, System
from tests.checkers.engine.learned import odd_models
from tests.checkers.engine.packed.dials import DIALS

REPLICATION = find_model("replication")
GROUP = find_model("group")
WATERMARKS = find_model("watermarks")

HERE = 10**9
"""No level is worth a job."""


def by_tasks(system: System[Any], limits: Options, folder: Path) -> Verdict:
    """Explore by tasks."""
    options = attrs.evolve(limits, checkpoint=folder, resume=folder.exists())
    with backend_for(system, options, HERE) as backend:
        return Search(system, backend, options).run()


def told(verdict: Verdict) -> Mapping[str, Any]:
    """The results that must not depend on the engine."""
    return {
        "verdict": verdict.verdict,
        "stopped by": verdict.stopped_by,
        "levels": list(verdict.levels),
        "generated": verdict.generated,
        "edge of bounds": verdict.edge_of_bounds,
        "fired": {name: count.fired for name, count in verdict.rules.items()},
        "violations": [(v.name, v.states) for v in verdict.violations],
        "witnesses": {name: len(trace.states) for name, trace in verdict.witnesses.items()},
    }


def explored(engine: str, system: System[Any], limits: Options | None = None) -> Mapping[str, Any]:
    """The results of another engine."""
    return told(run(system, attrs.evolve(limits or Options(), engine=engine)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "keep_going"),
    [*((v.name, False) for v in REPLICATION.variants), ("kip-101", True)],
)
def test_tasks_agree_with_learned_rules(tmp_path: Path, variant: str, keep_going: bool) -> None:
    system = REPLICATION.system(variant, {"brokers": 2, "max_epoch": 2})
    limits = Options(keep_going=keep_going)
    found = by_tasks(system, limits, tmp_path / "run")
    assert told(found) == explored("learned", system, limits)
    assert found.engine == "spark"


@pytest.mark.slow
def test_witnesses_are_found_in_levels_made_by_tasks(tmp_path: Path) -> None:
    system = REPLICATION.system(None, {"brokers": 2}).with_all_properties()
    kept = [p.name for p in system.properties if type(p).__name__ == "Reachable"]
    assert kept
    system = system.with_properties(kept)
    native = explored("reference", system)
    begun = by_tasks(system, Options(max_depth=7), tmp_path / "run")
    assert begun.verdict == "inconclusive"
    assert told(by_tasks(system, Options(), tmp_path / "run")) == native
    assert told(by_tasks(system, Options(), tmp_path / "run")) == native


@pytest.mark.parametrize("keep_going", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "system",
    [
        COUNTER.system(),
        DIE_HARD.system(),
        TWO_PHASE_LOCK.system(),
        TWO_PHASE_LOCK.system("one-order"),
        WATERMARKS.system(None, {"records": 3}),
        REPLICATION.system("kip-101", {"brokers": 2, "log_size": 1}),
        *(
            DIALS.system(bounds=bounds)
            for bounds in ({}, {"alarm": 6}, {"stuck": 4}, {"stuck": 4, "alarm": 4})
        ),
        odd_models.SHELF.system(),
        odd_models.SWITCH.system(),
        odd_models.PAIR.system(),
    ],
    ids=lambda system: f"{system.model.name}-{system.variant.name}",
)
def test_tasks_agree_with_the_reference_engine(
    tmp_path: Path, system: System[Any], keep_going: bool
) -> None:
    limits = Options(keep_going=keep_going)
    wanted = explored("reference", system, limits)
    assert told(by_tasks(system, limits, tmp_path / "run")) == wanted
    assert told(by_tasks(system, limits, tmp_path / "run")) == wanted  # from what is kept


@pytest.mark.slow
def test_the_group_is_explored_by_tasks(tmp_path: Path) -> None:
    system = GROUP.system(bounds={"crashes": 0, "failovers": 0})
    limits = Options(max_depth=20)
    found = by_tasks(system, limits, tmp_path / "run")
    assert told(found) == explored("learned", system, limits)
    begun = by_tasks(system, Options(max_depth=9), tmp_path / "again")
    assert begun.depth == 9
    assert told(by_tasks(system, limits, tmp_path / "again")) == told(found)


def test_an_exception_in_a_rule_is_reported_with_a_trace(tmp_path: Path) -> None:
    system = odd_models.BROKEN.system()
    with pytest.raises(RuleFailed, match="rule fall raised ZeroDivisionError") as failed:
        by_tasks(system, Options(), tmp_path / "run")
    with pytest.raises(RuleFailed) as expected:
        explored("reference", system)
    assert failed.value.trace == expected.value.trace


@pytest.mark.parametrize("check_learning", [False, True])
def test_a_share_of_learned_answers_is_checked(
    check_learning: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[Any] = []
    monkeypatch.setattr(Checking, "compare_steps", lambda self, *steps: compared.append(steps))
    options = Options(check_learning=check_learning)
    found = by_tasks(odd_models.SHELF.system(), options, tmp_path / "run")
    least = found.distinct if check_learning else found.depth
    assert least <= len(compared) <= least + 2 * found.depth  # and the states with the last values


@pytest.mark.slow
def test_either_engine_resumes_a_run_of_the_other(tmp_path: Path) -> None:
    for system in (
        odd_models.SHELF.system(),
        WATERMARKS.system(None, {"records": 2}),
        REPLICATION.system(None, {"brokers": 2}),
    ):
        folder = tmp_path / system.model.name
        whole = told(explore_by_learning(system))
        by_tasks(system, Options(max_depth=2), folder)
        resumed = Options(checkpoint=folder, resume=True)
        explore_by_learning(system, attrs.evolve(resumed, max_depth=4))
        assert told(by_tasks(system, Options(), folder)) == whole
        assert told(explore_by_learning(system, resumed)) == whole


def test_mutants_and_leads_to_properties_are_rejected() -> None:
    system = COUNTER.system()
    assert_can(system)
    with pytest.raises(SpecError, match="cannot explore mutants"):
        assert_can(attrs.evolve(system, rules=(system.rules[0], system.rules[0])))


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["changed", "short", "missing"])
def test_a_damaged_level_is_named(tmp_path: Path, harm: str) -> None:
    system = REPLICATION.system(None, {"brokers": 2})
    folder = tmp_path / "run"
    by_tasks(system, Options(max_depth=6), folder)
    part = next(folder.glob("level-00004-*/*.parquet"))
    content = bytearray(part.read_bytes())
    content[40] ^= 1
    if harm == "missing":
        part.unlink()
    else:
        part.write_bytes(content[:-9] if harm == "short" else content)
    with pytest.raises(SpecError, match=r"level-00004-\w+/part-\S+ is (damaged|missing)"):
        by_tasks(system, Options(), folder)


def test_the_checkpoint_of_another_run_is_rejected(tmp_path: Path) -> None:
    by_tasks(COUNTER.system(), Options(), tmp_path)
    with pytest.raises(SpecError, match=r"belongs to another run: model is counter there"):
        by_tasks(DIE_HARD.system(), Options(), tmp_path)


# -- states as bytes ------------------------------------------------------------------------------


def test_a_record_of_bytes_round_trips() -> None:
    system = WATERMARKS.system(None, {"records": 2, "followers": 2})
    codec = Codec(system)
    states = [after for s in system.initial() for _, _, after in system.steps(s)]
    for state in [*system.initial(), *states]:
        content = codec.encode_state(state)
        assert codec.decode_state(content) == state
        assert Codec(system).encode_state(state) == content


@pytest.mark.parametrize(
    "system",
    [
        WATERMARKS.system(None, {"records": 2, "followers": 2}),
        TWO_PHASE_LOCK.system(),
        odd_models.SHELF.system(),
        odd_models.SWITCH.system(),
    ],
    ids=lambda system: system.model.name,
)
def test_bytes_do_not_depend_on_components(system: System[Any]) -> None:
    fine, coarse = LearnedModel(system), LearnedModel(system)
    for field in {c.field for c in coarse.book.components}:
        coarse.learnable.lay_out_anew(Unfit(field))
    coarse.begin()
    reached = list(system.initial())
    for state in reached[:50]:
        reached += [after for _, _, after in system.steps(state) if after not in reached]
    states = [fine.codec.encode_state(state) for state in reached]
    for model in (fine, coarse):

        def there_and_back(model: LearnedModel = model) -> list[bytes]:
            return model.bytes_of(model.rows_of(states))

        assert model.answer(there_and_back) == states


@pytest.mark.parametrize("content", [b"", b"i", b"i\xff\xff\xff\xff", b"?", b"NN", b"c\x09\x00"])
def test_invalid_bytes_are_rejected(content: bytes) -> None:
    with pytest.raises(SpecError, match="not a state"):
        Codec(COUNTER.system()).decode(content)


def test_decoding_calls_only_classes_of_states() -> None:
    for name in ("os:system", "subprocess:Popen", "builtins:eval", "nowhere:Thing"):
        with pytest.raises(SpecError, match="not a class of its model"):
            class_of(name)


@pytest.mark.slow
@pytest.mark.parametrize("system", [DIE_HARD.system(), REPLICATION.system(None, {"brokers": 2})])
def test_levels_are_a_table_with_a_column_for_each_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: System[Any]
) -> None:
    limits = Options(keep_going=True)
    verdict = by_tasks(system, limits, tmp_path / "run")
    manifest = read_manifest(tmp_path / "run", levels.run_of(system))
    parts = tuple(level.parts for level in manifest.levels)
    job = Job("", named(system), tmp_path / "run", 1, parts, None)
    names = columns_of(system)
    rows: set[tuple[Any, ...]] = set()
    for level in range(len(parts)):
        monkeypatch.setattr("kspec.spark_check.table.this_partition", lambda level=level: level)
        for batch in rows_of_file(job, range(len(parts)), iter(())):
            assert batch.schema.names == ["level", *names]
            assert set(batch.column("level").to_pylist()) == {level}
            rows |= {tuple(row.values()) for row in batch.to_pylist()}
    assert len(rows) == verdict.distinct


@pytest.mark.parametrize("name", registered_models())
def test_another_process_finds_every_model_of_kspec(name: str) -> None:
    system = find_model(name).system()
    assert named(system).system().model is system.model
