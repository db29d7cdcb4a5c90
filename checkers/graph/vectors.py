"""Traces as test vectors: tables in Parquet, and documents in ITF.

Three tables, so that a state or step which many traces share is written once: `states` (a number,
the level, the variables as ITF), `steps` (a number, from which state to which, the rule and
its choices) and `traces` (a number, the state in which it begins, its steps). Each can be made
piece by piece, in any order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kspec.checkers.engine.packed.checkpoint import naming
from kspec.checkers.graph.graph import Graph
from kspec.checkers.graph.trace_sets import Piece, Rows
from kspec.spec.core import SpecError
from kspec.traces.itf import ACTION, PICKS, Encoded, encoded_step, in_one_document, variables

STATES = pa.schema([("state", pa.int64()), ("level", pa.int32()), ("variables", pa.string())])
STEPS = pa.schema(
    [
        ("step", pa.int64()),
        ("from", pa.int64()),
        ("to", pa.int64()),
        ("rule", pa.string()),
        ("choices", pa.string()),
    ]
)
TRACES = pa.schema(
    [("trace", pa.int64()), ("initial", pa.int64()), ("steps", pa.list_(pa.int64()))]
)
TOGETHER = 4096
"""Rows of states or steps that are made at a time."""


# -- rows ------------------------------------------------------------------------------------------


def state_rows(graph: Graph[Any], first: int, behind: int) -> pa.Table:
    """The states of a range."""
    states = range(first, behind)
    texts = [as_text(variables(graph.state(state))) for state in states]
    return pa.table([list(states), graph.levels[first:behind], texts], schema=STATES)


def step_rows(graph: Graph[Any], first: int, behind: int) -> pa.Table:
    """The steps out of the states of a range."""
    begin, end = int(graph.begins[first]), int(graph.begins[behind])
    rules, choices = [], []
    for step in range(begin, end):
        taken = encoded_step(graph.taken(step))
        rules.append(taken[ACTION])
        choices.append(as_text(taken[PICKS]))
    numbers = pa.array(range(begin, end), pa.int64())
    columns = [numbers, graph.origins[begin:end], graph.to[begin:end], rules, choices]
    return pa.table(columns, schema=STEPS)


def trace_rows(rows: Rows) -> pa.Table:
    """Some traces."""
    numbers = range(rows.first, rows.first + len(rows.lengths))
    offsets = pa.array([0, *rows.lengths.cumsum().tolist()], pa.int32())
    steps = pa.ListArray.from_arrays(offsets, pa.array(rows.steps, pa.int64()))
    return pa.table([pa.array(numbers, pa.int64()), rows.initial, steps], schema=TRACES)


def documents(graph: Graph[Any], rows: Rows) -> Iterator[tuple[int, str]]:
    """Some traces as ITF, each with its number; what they share is encoded once."""

    @lru_cache(1 << 14)
    def state(number: int) -> Encoded:
        return variables(graph.state(number))

    @lru_cache(1 << 14)
    def step(number: int) -> Encoded:
        return encoded_step(graph.taken(number))

    for number, initial, steps in rows:
        encoded = [(state(initial), encoded_step(None))]
        encoded += [(state(int(graph.to[s])), step(s)) for s in steps]
        yield number, as_text(in_one_document(graph.system, encoded))


def as_text(value: object) -> str:
    """JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- files -----------------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Create the folder, or check that it is empty, before the work begins."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise SpecError(f"cannot write to {folder}: {error.strerror}") from None
    if there:
        raise SpecError(f"{folder} is not empty: it has {there[0]}")


def write_about(folder: Path, about: dict[str, Any]) -> None:
    """Write what the vectors describe. It is written last: its presence means that all is there."""
    write_text(folder / "about.json", json.dumps(about, indent=1) + "\n")


def write_here(
    folder: Path,
    graph: Graph[Any],
    pieces: Iterable[Piece],
    *,
    itf: bool,
    on_piece: Callable[[], None] = lambda: None,
) -> None:
    """Write all tables, a file each; with `itf` also a document for each trace."""
    size = len(graph.keys)
    ranges = [(n, min(n + TOGETHER, size)) for n in range(0, size, TOGETHER)]
    write_table(folder / "states.parquet", STATES, (state_rows(graph, *r) for r in ranges))
    write_table(folder / "steps.parquet", STEPS, (step_rows(graph, *r) for r in ranges))
    if itf:
        (folder / "itf").mkdir()

    def tables() -> Iterator[pa.Table]:
        for piece in pieces:
            rows = piece.rows(graph)
            if itf:
                for number, text in documents(graph, rows):
                    write_text(folder / "itf" / f"{number:09}.itf.json", text)
            yield trace_rows(rows)
            on_piece()

    write_table(folder / "traces.parquet", TRACES, tables())


def write_table(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write a table as one file."""
    with naming(path), pq.ParquetWriter(path, schema) as file:
        for table in tables:
            file.write_table(table)


def write_text(path: Path, text: str) -> None:
    """Write a file."""
    with naming(path):
        path.write_text(text, encoding="utf-8")
