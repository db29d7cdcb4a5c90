"""What Spark's tasks do, one after the other in this process: no Spark is needed for that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest

from checkers.engines import as_verdict, run
from checkers.limits import Keep, Limits
from checkers.native import search
from checkers.native.blocks import as_states
from checkers.native.checkpoint import read_manifest
from checkers.native.codes import Coding, as_highs, high_rows
from checkers.verdict import Verdict
from impl.packed.compiled import Words
from spark_check import by_kernel
from spark_check.by_kernel import as_pieces, row
from spark_check.jobs import Job, Model
from spark_check.kinds import KernelRun, RulesRun, nothing_yet
from spark_check.known import BUSY, KEPT, known
from spark_check.table import columns_of, kernel_rows, rules_rows
from spec.core import SpecError, System
from spec.group import GROUP
from spec.replication import REPLICATION
from spec.toys import COUNTER, DIE_HARD, TWO_PHASE_LOCK
from spec.watermarks import WATERMARKS

HERE = 10**9
"""No level is worth a job of Spark."""


def by_tasks(system: System[Any], limits: Limits, folder: Path, first: int = 1) -> Verdict:
    """Explore by tasks, from the first level of so many states on."""
    resume = folder.exists()
    folder.mkdir(exist_ok=True)
    here = search.explore(
        system,
        workers=1,
        keep=Keep(folder, resume),
        hand_over=first,
        max_depth=limits.max_depth,
        keep_going=limits.keep_going,
    )
    if here.stopped != search.HANDED_OVER:
        return as_verdict(system, limits, here, "native", {})
    found = KernelRun(system, limits, None, folder, HERE, None).go_on(here)
    return as_verdict(system, limits, found, "spark", {})


def by_rules(system: System[Any], limits: Limits, folder: Path) -> Verdict:
    """Explore a model without a kernel by tasks."""
    folder.mkdir(exist_ok=True)
    found = RulesRun(system, limits, None, folder, HERE, None).go_on(nothing_yet())
    return as_verdict(system, limits, found, "spark", {})


def told(verdict: Verdict) -> Mapping[str, Any]:
    """What may not depend on the engine."""
    return {
        "verdict": verdict.verdict,
        "stopped by": verdict.stopped_by,
        "levels": list(verdict.levels),
        "generated": verdict.generated,
        "fired": {name: count.fired for name, count in verdict.rules.items()},
        "violations": [(v.name, v.states) for v in verdict.violations],
        "witnesses": {name: len(trace.states) for name, trace in verdict.witnesses.items()},
    }


@pytest.mark.parametrize(
    ("variant", "keep_going"),
    [*((v.name, False) for v in REPLICATION.variants), ("kip-101", True)],
)
def test_tasks_find_what_the_native_engine_finds(
    tmp_path: Path, variant: str, keep_going: bool
) -> None:
    system = REPLICATION.system(variant, {"brokers": 2, "max_epoch": 2})
    limits = Limits(keep_going=keep_going)
    assert told(by_tasks(system, limits, tmp_path / "run")) == told(run("native", system, limits))


@pytest.mark.parametrize("pieces", [0, 1, 4, 6])
def test_high_bits_come_to_an_owner_as_they_were_sent(pieces: int) -> None:
    words = np.random.default_rng(7).integers(1, 1 << 63, (high_rows(pieces), 5))
    highs = as_highs(as_pieces(words, pieces))
    codes = np.arange(5)
    found = as_states(row(0, codes, as_pieces(highs, pieces)), pieces)
    assert [array.tolist() for array in found] == [codes.tolist(), highs.tolist()]


def test_tasks_find_what_the_native_engine_finds_where_states_are_wide(tmp_path: Path) -> None:
    system = GROUP.system(bounds={"crashes": 0, "failovers": 0})
    assert by_kernel.kernel_of(Model.of(system))[1].pieces > 1
    limits = Limits(max_depth=20)
    assert told(by_tasks(system, limits, tmp_path / "run")) == told(run("native", system, limits))


def test_what_some_state_should_show_is_found_in_levels_of_tasks(tmp_path: Path) -> None:
    system = REPLICATION.system(None, {"brokers": 2}).with_sanity()
    kept = [p.name for p in system.properties if type(p).__name__ == "Reachable"]
    assert kept
    system = system.with_properties(kept)
    native = told(run("native", system, Limits()))
    assert told(by_tasks(system, Limits(), tmp_path / "run")) == native


@pytest.mark.parametrize(
    "system",
    [
        COUNTER.system(),
        DIE_HARD.system(),
        TWO_PHASE_LOCK.system(),
        TWO_PHASE_LOCK.system("one-order"),
        WATERMARKS.system(None, {"records": 3}),
        REPLICATION.system("kip-101", {"brokers": 2, "log_size": 1}),
    ],
    ids=lambda system: f"{system.model.name}-{system.variant.name}",
)
def test_models_without_a_kernel_are_explored_by_their_rules(
    tmp_path: Path, system: System[Any]
) -> None:
    wanted = told(run("reference", system, Limits()))
    assert told(by_rules(system, Limits(), tmp_path)) == wanted


def test_either_engine_goes_on_with_what_the_other_began(tmp_path: Path) -> None:
    system = REPLICATION.system(None, {"brokers": 2})
    whole = told(run("native", system, Limits()))
    folder = tmp_path / "run"
    by_tasks(system, Limits(max_depth=6), folder)
    middle = run("native", system, Limits(max_depth=9), 1, keep=Keep(folder, True))
    assert (middle.depth, middle.stopped_by) == (9, "max-depth 9")
    assert told(by_tasks(system, Limits(), folder)) == whole
    assert told(run("native", system, Limits(), 2, keep=Keep(folder, True))) == whole


@pytest.mark.parametrize("harm", ["changed", "short", "missing"])
def test_a_damaged_level_is_named(tmp_path: Path, harm: str) -> None:
    system = REPLICATION.system(None, {"brokers": 2})
    folder = tmp_path / "run"
    by_tasks(system, Limits(max_depth=6), folder)
    part = next(folder.glob("level-00004-*/*.parquet"))
    content = bytearray(part.read_bytes())
    content[40] ^= 1
    if harm == "missing":
        part.unlink()
    else:
        part.write_bytes(content[:-9] if harm == "short" else content)
    with pytest.raises(SpecError, match=r"level-00004-\w+/part-\S+ is (damaged|missing)"):
        by_tasks(system, Limits(), folder)


def test_a_checkpoint_of_another_run_is_named(tmp_path: Path) -> None:
    by_rules(COUNTER.system(), Limits(), tmp_path)
    with pytest.raises(SpecError, match=r"manifest.json is of another run: model is counter there"):
        by_rules(DIE_HARD.system(), Limits(), tmp_path)


# -- what is kept in memory -----------------------------------------------------------------------

CODING = Coding((0, 40), (40, 33), 9)


def some(*numbers: int) -> tuple[Words, Words]:
    """States that differ in these numbers."""
    codes = np.array(numbers, np.int64) * 0x9E3779B97F4A7C1
    return codes, np.zeros((1, len(codes)), np.int64)


@pytest.fixture
def run_name() -> str:
    """The name of a run that nobody else has."""
    return uuid4().hex


def test_what_an_owner_knows_is_there_for_the_next_task_and_grows(run_name: str) -> None:
    with known(run_name, 0, CODING) as memory:
        memory.begin_level(0)
        memory.take_in(*some(*range(100_000)))
        assert memory.last == 100_000
    del KEPT[f"{run_name}-0"]  # as in a process that has not used it
    with known(run_name, 0, CODING) as again:
        assert (again.level, again.last) == (0, 100_000)
        assert again is not memory


def test_an_attempt_that_is_made_again_completes_the_level(run_name: str) -> None:
    with known(run_name, 0, CODING) as memory:
        memory.begin_level(0)
        memory.take_in(*some(1))
        memory.begin_level(1)
        memory.take_in(*some(1, 2, 3))
    with known(run_name, 0, CODING) as again:
        assert again is memory
        again.take_in(*some(1, 3, 4))
        assert sorted(again.codes[: again.last].tolist()) == sorted(some(2, 3, 4)[0].tolist())


@pytest.mark.parametrize("by", ["this process", "another one"])
def test_what_was_left_in_the_middle_is_not_used(run_name: str, by: str) -> None:
    with known(run_name, 0, CODING) as memory:
        memory.begin_level(0)
        memory.take_in(*some(1))
        memory.header[BUSY] = 1  # as if its process had been killed in an insertion
    if by == "another one":
        del KEPT[f"{run_name}-0"]
    with known(run_name, 0, CODING) as fresh:
        assert fresh.level == -1


def test_who_comes_while_another_one_uses_it_goes_without(run_name: str) -> None:
    with known(run_name, 0, CODING) as memory:
        memory.begin_level(0)
        mine = KEPT.pop(f"{run_name}-0")
        with known(run_name, 0, CODING) as other:
            assert other.level == -1
        KEPT[f"{run_name}-0"] = mine
    with known(run_name, 0, CODING) as again:
        assert again is mine


def test_a_record_of_bytes_is_read_as_it_was_written() -> None:
    from spark_check.plain import Codec

    system = WATERMARKS.system(None, {"records": 2, "followers": 2})
    codec = Codec(system)
    states = [after for s in system.initial() for _, _, after in system.steps(s)]
    for state in [*system.initial(), *states]:
        assert codec.decode(codec.encode(state)) == state
        assert Codec(system).encode(state) == codec.encode(state)


@pytest.mark.parametrize("content", [b"", b"i", b"i\xff\xff\xff\xff", b"?", b"NN", b"c\x09\x00"])
def test_bytes_that_are_no_state_are_refused(content: bytes) -> None:
    from spark_check.plain import Codec

    with pytest.raises(SpecError, match="no state"):
        Codec(COUNTER.system()).decode(content)


def test_no_class_but_those_that_states_are_made_of_is_called() -> None:
    from spark_check.plain import class_of

    for name in ("os:system", "subprocess:Popen", "builtins:eval", "nowhere:Thing"):
        with pytest.raises(SpecError, match="no class of its model"):
            class_of(name)


@pytest.mark.parametrize("system", [DIE_HARD.system(), REPLICATION.system(None, {"brokers": 2})])
def test_levels_are_a_table_with_a_column_for_each_field(
    tmp_path: Path, system: System[Any]
) -> None:
    limits = Limits(keep_going=True)
    if system.model is DIE_HARD:
        verdict, read = by_rules(system, limits, tmp_path / "run"), rules_rows
        run_of = RulesRun.what_is_run(system)
    else:
        verdict, read = by_tasks(system, limits, tmp_path / "run"), kernel_rows
        run_of = KernelRun.what_is_run(system)
    manifest = read_manifest(tmp_path / "run", run_of)
    parts = tuple(level.parts for level in manifest.levels)
    job = Job("", Model.of(system), tmp_path / "run", 1, parts, None)
    names = columns_of(system)
    rows: set[tuple[Any, ...]] = set()
    for level in range(len(parts)):
        for count, columns in read(job, level):
            assert len(columns) == len(names)
            assert all(len(column) == count for column in columns)
            rows |= set(zip(*(column.to_pylist() for column in columns), strict=True))
    assert len(rows) == verdict.distinct
