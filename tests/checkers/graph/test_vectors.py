"""Test vectors can be read back, and the rules allow every step of them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kspec.checkers.graph.graph import graph_of
from kspec.checkers.graph.trace_sets import over_every_step
from kspec.checkers.graph.vectors import make_folder, write_here
from kspec.checkers.models.find import find_model
from kspec.spec.core import SpecError
from kspec.traces import itf
from kspec.traces.replay import replay

SYSTEM = find_model("replication").system(
    bounds={"brokers": 2, "log_size": 1, "max_records": 1, "max_epoch": 0}
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the traces over every step of a small model."""
    graph = graph_of(SYSTEM)
    write_here(tmp_path, graph, over_every_step(graph).pieces, itf=True)
    return tmp_path


def test_every_document_replays_and_together_they_take_every_step(
    folder: Path,
) -> None:
    taken = set()
    for path in sorted((folder / "itf").iterdir()):
        trace = replay(SYSTEM, itf.read(path))
        assert itf.to_itf(trace) == json.loads(path.read_text(encoding="utf-8"))
        for before, step, after in zip(trace.states, trace.steps, trace.states[1:], strict=False):
            taken.add((before, step.rule, tuple(step.choices.values()), after))
    allowed = {
        (before, rule.name, choice, after)
        for before, *_ in taken
        for rule, choice, after in SYSTEM.steps(before)
    }
    assert taken == allowed
    assert {after for *_, after in taken} <= {before for before, *_ in taken} | {
        after for *_, after in taken if not list(SYSTEM.steps(after))
    }


def test_the_tables_agree_with_the_documents(folder: Path) -> None:
    states, steps, traces = (
        pq.read_table(folder / f"{name}.parquet").to_pylist()
        for name in ("states", "steps", "traces")
    )
    assert [row["state"] for row in states] == list(range(len(states)))
    assert [row["step"] for row in steps] == list(range(len(steps)))
    for row in traces:
        document = json.loads((folder / "itf" / f"{row['trace']:09}.itf.json").read_text())
        told = [{**json.loads(states[row["initial"]]["variables"]), itf.ACTION: "init"}]
        at = row["initial"]
        for number in row["steps"]:
            step = steps[number]
            assert step["from"] == at
            at = step["to"]
            told.append({**json.loads(states[at]["variables"]), itf.ACTION: step["rule"]})
        found = [
            {name: state[name] for name in state if name not in ("#meta", itf.PICKS)}
            for state in document["states"]
        ]
        assert found == told


def test_a_non_empty_folder_is_refused_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(SpecError, match="not empty: it has mine"):
        make_folder(tmp_path)
    with pytest.raises(SpecError, match="cannot write to"):
        make_folder(tmp_path / "mine" / "inside")
