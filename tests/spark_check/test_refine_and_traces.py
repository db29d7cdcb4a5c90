"""`kspec refine` and `kspec traces` at the prompt, and with equal results on Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kspec.checkers.cli.main import run
from kspec.checkers.lockstep import Compared
from kspec.checkers.lockstep.refine import Spread, Work, one_by_one
from tests.checkers.lockstep.test_refine import a_step_is_taken, an_effect_is_lost, planted

ROOT = Path(__file__).parents[2]
SMALL = ("replication", "--set", "brokers=2", "--set", "log_size=1", "--set", "max_records=1")

Ran = tuple[int, str, str]


@pytest.fixture
def at_prompt(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Run a command in an empty folder: its exit code, what it says, what it complains of."""
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str) -> Ran:
        code = run(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_it


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("replicatoin",), 151, "did you mean replication"),
        (("counter", "--to-states", "--over-steps"), 2, "choose one of"),
        (("counter", "--itf"), 2, "--itf requires --out"),
        (("counter", "--to-states", "--longest", "3"), 2, "--longest requires --over-steps"),
        (("die-hard", "--all-up-to", "60"), 151, "and --limit is 1,000,000"),
        ((*SMALL, "--max-states", "10"), 151, "more than 10 states"),
        (("counter", "--out", "hdfs://host/there"), 151, "only Spark can write there"),
        (("counter", "--out", "/dev/null/there"), 151, "cannot write to"),
        (("counter", "--out", ".", "--master", "nowhere"), 151, "nowhere is not a master"),
    ],
)
def test_invalid_options_of_traces_are_rejected_in_one_line(
    at_prompt: Callable[..., Ran], arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended, out, err = at_prompt("traces", *arguments)
    assert (ended, out) == (code, "")
    assert says in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["traces", "refine"])
def test_a_missing_pyspark_is_reported_with_the_package_to_install(
    at_prompt: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    out = ("--out", "there") if command == "traces" else ()
    code, _, err = at_prompt(command, *SMALL, *out, "--master", "local[1]")
    assert code == 151
    assert err == "kspec: Spark needs pyspark: pip install -e '.[spark]' in a clone of kspec\n"
    assert not Path("there").exists()


@pytest.mark.slow
def test_traces_are_counted_and_written(at_prompt: Callable[..., Ran], tmp_path: Path) -> None:
    _, out, _ = at_prompt("traces", *SMALL, "--json")
    code, _, _ = at_prompt("traces", *SMALL, "--out", "vectors", "--itf")
    assert code == 0
    about = json.loads((tmp_path / "vectors" / "about.json").read_text())
    counted = json.loads(out)
    assert about == {name: counted[name] for name in about}
    assert len(list((tmp_path / "vectors" / "itf").iterdir())) == about["traces"]
    code, _, err = at_prompt("traces", *SMALL, "--out", "vectors")
    assert (code, err) == (151, "kspec: vectors is not empty: it has about.json\n")


def test_a_difference_is_drawn_and_written_and_ends_with_12(
    at_prompt: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, an_effect_is_lost)
    code, out, _ = at_prompt("refine", *SMALL, "--workers", "1", "--out-itf", "differs.itf.json")
    assert code == 12
    assert "by the specification" in out
    document = json.loads((tmp_path / "differs.itf.json").read_text())
    assert len(document["states"]) == 2
    assert f"   2  {document['states'][-1]['mbt::actionTaken']}" in out


def test_a_forbidden_step_is_named_with_the_guard_that_blocks_it(
    at_prompt: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, a_step_is_taken)
    code, out, _ = at_prompt("refine", *SMALL, "--workers", "1")
    assert code == 12
    assert "learned rules take this step, and the specification forbids it: not '" in out
    assert "learned rules differ from the rules, first in level 1." in out


@pytest.mark.slow
def test_an_interrupted_comparison_reports_the_compared_levels(
    at_prompt: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupted_in_level_3(*where: object) -> Iterator[Spread]:
        levels = count(1)

        def spread(work: Work, blocks: Sequence[Sequence[Any]]) -> Iterator[Compared]:
            if next(levels) == 3:
                raise KeyboardInterrupt
            return one_by_one(work, blocks)

        yield spread

    monkeypatch.setattr("kspec.checkers.cli.refine.spread_over", interrupted_in_level_3)
    code, out, err = at_prompt("refine", *SMALL)
    assert (code, err) == (4, "")
    assert "Inconclusive, interrupted in level 3. Nothing differs so far." in out
    code, out, _ = at_prompt("refine", *SMALL, "--json")
    record = json.loads(out)
    assert (code, record["stopped_by"], record["levels"][2:]) == (4, "interrupted", [0])
    assert record["states"] == sum(record["levels"][:2])


def test_no_difference_ends_with_0(at_prompt: Callable[..., Ran]) -> None:
    code, out, _ = at_prompt("refine", *SMALL, "--workers", "1", "--json")
    assert code == 0
    assert json.loads(out)["differences"] == []


# -- on Spark -------------------------------------------------------------------------------------


def on_spark(script: str, *arguments: str, folder: Path) -> Any:
    """Run a script with Spark on two cores here, and read what it says."""
    line = [sys.executable, str(ROOT / "spark_check" / script), *arguments, "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*line, "--master", "local[2]"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.other_software
def test_spark_writes_the_same_traces(at_prompt: Callable[..., Ran], tmp_path: Path) -> None:
    for sort in (["--all-up-to", "9"], ["--to-states"], ["--over-steps"], ["--by-rules"]):
        here, there = (f"{where}{sort[0]}" for where in ("here", "there"))
        at_prompt("traces", *SMALL, *sort, "--out", here, "--itf")
        on_spark("traces.py", *SMALL, *sort, "--out", there, "--itf", folder=tmp_path)
        for table in ("states", "steps", "traces"):
            rows = [
                sorted(
                    pq.read_table(tmp_path / folder / f"{table}.parquet").to_pylist(),
                    key=lambda row: row[table[:-1]],
                )
                for folder in (here, there)
            ]
            assert rows[0] == rows[1], f"{table} of {sort}"
        documents = sorted(path.read_text() for path in (tmp_path / here / "itf").iterdir())
        lines = [
            line
            for path in (tmp_path / there / "itf").glob("part-*")
            for line in path.read_text().splitlines()
        ]
        assert sorted(lines) == documents


@pytest.mark.slow
@pytest.mark.other_software
def test_a_planted_fault_is_found_on_spark(
    at_prompt: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, a_step_is_taken)
    monkeypatch.setattr("kspec.checkers.lockstep.refine.WORTH", 0)
    code, out, _ = at_prompt("refine", *SMALL, "--json", "--master", "local[2]")
    assert code == 12
    _, here, _ = at_prompt("refine", *SMALL, "--json", "--workers", "2")
    assert json.loads(out)["differences"] == json.loads(here)["differences"]


@pytest.mark.slow
@pytest.mark.other_software
def test_learned_rules_differ_nowhere_in_the_default_bounds(tmp_path: Path) -> None:
    found = on_spark("refine.py", "replication", folder=tmp_path)
    assert found["differences"] == []
    assert found["states"] == 39_619
    assert found["steps"] == 102_219
