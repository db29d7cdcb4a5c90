"""Spark tasks: expand states, drop known ones, look back. They ask learned rules.

In rows, `codes` are states as bytes (`plain`) and `highs` are their lengths, as in the levels of
the checkpoint. Each process learns for itself (`learned`); its answers do not depend on what it has
learned.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from time import process_time as clock
from typing import Any

import attrs
import numpy as np
import pyarrow as pa

from kspec.checkers.engine.learned.backend import MARKS
from kspec.checkers.engine.learned.levels import bytes_in
from kspec.checkers.engine.learned.walk import FAILED_BIT
from kspec.checkers.engine.packed.blocks import (
    ROWS_TOGETHER,
    SCHEMA,
    assert_whole,
    read_rows,
    write_rows,
)
from kspec.checkers.engine.packed.checkpoint import Part
from kspec.checkers.engine.packed.codes import SHARDS, shards_of
from kspec.checkers.engine.search import FAILED
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.checkers.models.named import Named
from kspec.impl.compiled import Words
from kspec.spark_check.jobs import (
    SENT,
    WRITTEN,
    Job,
    Sought,
    keep_what_is_loaded,
    note_row,
    this_partition,
)
from kspec.spark_check.learned import LearnedModel

TOGETHER = 4096
"""The most states in a row."""
BYTES_TOGETHER = 1 << 28
"""Rows with more bytes than these are sent at once: Arrow counts those of a column in 31 bits."""


@cache
def learned_of(model: Named) -> LearnedModel:
    """What is learned of the model, created once per process."""
    learned = LearnedModel(model.system())
    keep_what_is_loaded()
    return learned


def pack(model: Named, state: Any) -> tuple[int, ...]:
    """The bytes of a state."""
    return tuple(learned_of(model).codec.encode_state(state))


def write_initial(model: Named, folder: Path, name: str) -> tuple[Part, ...]:
    """Write the initial states as a level, which may be empty."""
    learned = learned_of(model)
    states = [learned.codec.encode_state(state) for state in learned.system.initial()]
    (folder / name).mkdir()
    table = pa.Table.from_batches(by_shard(states, SCHEMA), SCHEMA)
    return (write_rows(folder, f"{name}/part-00000-here.parquet", table, len(states)),)


# -- rows -----------------------------------------------------------------------------------------


def shard_of(state: bytes) -> int:
    """The shard of a state."""
    return zlib.crc32(state) % SHARDS


def in_rows(
    groups: Iterable[tuple[int, Sequence[bytes]]], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """States as rows: those of an owner or shard together, up to a limit."""
    columns: list[list[Any]] = [[] for _ in schema]
    size = 0
    for number, states in groups:
        for begin in range(0, len(states), TOGETHER):
            some = states[begin : begin + TOGETHER]
            lengths = np.array([len(state) for state in some], "<u4").tobytes()
            row = number, b"".join(some), lengths, None
            for column, value in zip(columns, row, strict=False):
                column.append(value)
            size += len(row[1])
            if len(columns[0]) == ROWS_TOGETHER or size > BYTES_TOGETHER:
                yield batch_of(columns, schema)
                columns, size = [[] for _ in schema], 0
    if columns[0]:
        yield batch_of(columns, schema)


def batch_of(columns: Sequence[list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows from their columns."""
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def by_shard(states: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """States as rows of one shard each, in the order of shards."""
    shards: dict[int, list[bytes]] = {}
    for state in states:
        shards.setdefault(shard_of(state), []).append(state)
    yield from in_rows(((shard, sorted(some)) for shard, some in sorted(shards.items())), schema)


def states_in(rows: pa.RecordBatch) -> Iterator[bytes]:
    """The states of some rows."""
    content, lengths = bytes_in(rows)
    at = 0
    for length in lengths.tolist():
        yield bytes(content[at : at + length])
        at += length


def read_level(job: Job, level: int, shards: range) -> Iterator[bytes]:
    """The states of some shards of a level; SpecError names a damaged file."""
    for part in job.levels[level]:
        assert_whole(job.folder, part)
        for rows in read_rows(job.folder / part.name, shards):
            yield from states_in(rows)


# -- a level --------------------------------------------------------------------------------------

KNOWN: dict[tuple[str, int], tuple[int, set[bytes], list[bytes]]] = {}
"""By run and owner: a level, the states of all levels up to it, and those found for the next."""


def expand(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of an owner's states of the last level, by their owners."""
    for _ in batches:
        pass
    begun = clock()
    owner = this_partition()
    learned = learned_of(job.model)
    ready = clock()
    states = frontier(job, owner)
    read = clock()

    def successors() -> tuple[list[bytes], int]:
        learned.asking.take_counts()
        rows = learned.rows_of(states)
        found, mask = learned.successors_of(rows)
        return learned.bytes_of(found), mask

    found, mask = learned.answer(successors)
    counted = learned.asking.take_counts()
    if not mask >> FAILED_BIT & 1:
        learned.answer(lambda: learned.check(learned.rows_of(states[:: job.one_in] + states[-1:])))
    expanded = clock()
    boxes: list[list[bytes]] = [[] for _ in range(job.owners)]
    for state in found:
        boxes[shard_of(state) * job.owners // SHARDS].append(state)
    yield from in_rows(enumerate(boxes), SENT)
    seconds = {
        "prepare": ready - begun,
        "read": read - ready,
        "expand": expanded - read,
        "send": clock() - expanded,
    }
    note = {
        "shown": [name for name, bit in MARKS.items() if mask >> bit & 1],
        "counts": attrs.asdict(counted),
        "sent": len(found),
        "seconds": seconds,
    }
    yield note_row(SENT, note, owner)


def frontier(job: Job, owner: int) -> list[bytes]:
    """An owner's states of the last level, from memory or from their files."""
    level, _, found = KNOWN.get((job.run, owner), (-1, set(), []))
    if level == job.last - 1 and job.counts and len(found) == job.counts[owner]:
        return found
    return list(read_level(job, job.last, shards_of(owner, job.owners)))


def drop_known(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The states sent to an owner that it did not know."""
    begun = clock()
    owner = this_partition()
    for other in [key for key in KNOWN if key[0] != job.run]:
        del KNOWN[other]
    level, known, found = KNOWN.get((job.run, owner), (-1, set(), []))
    if level > job.last:
        level, known = -1, set()
    for before in range(level + 1, job.last + 1):
        if before == job.last:
            known.update(frontier(job, owner))
        else:
            known.update(read_level(job, before, shards_of(owner, job.owners)))
    ready = clock()
    new: dict[bytes, None] = {}
    for batch in batches:
        for note in batch.column("note").drop_null():
            yield note_row(WRITTEN, json.loads(note.as_py()))
        for state in states_in(batch):
            if state not in known:
                new[state] = None
    found = list(new)
    KNOWN[job.run, owner] = job.last, known, found
    taken = clock()
    shown = marked(job, found)
    asked = clock()
    rows = 0
    for batch in by_shard(found, WRITTEN):
        rows += len(batch)
        yield batch
    size = (len(known) + len(found)) * (100 + max(map(len, found), default=0))
    seconds = {
        "catch up": ready - begun,
        "take in": taken - ready,
        "mark": asked - taken,
        "hand on": clock() - asked,
    }
    summary = {"owner": owner, "states": len(found), "rows": rows, "bytes": size}
    yield note_row(WRITTEN, {**summary, "marks": shown, "seconds": seconds})


def marks(job: Job, level: int, owner: int) -> list[str]:
    """The job's marks among an owner's states of a level."""
    return marked(job, list(read_level(job, level, shards_of(owner, job.owners))))


def marked(job: Job, states: Sequence[bytes]) -> list[str]:
    """The job's marks among some states."""
    if not job.marks:
        return []
    learned = learned_of(job.model)
    masks = learned.answer(lambda: learned.masks_of(learned.rows_of(states)))
    mask = int(np.bitwise_or.reduce(masks, initial=0))
    bits = learned.learning.bits
    names = [name for name in job.marks if mask >> bits[name] & 1]
    return names + [FAILED] * (mask >> FAILED_BIT & 1)


# -- looking back ---------------------------------------------------------------------------------


def least(sought: Sought, job: Job, level: int, owner: int) -> tuple[int, ...] | None:
    """The state with the least bytes among an owner's states of a level that are sought."""
    learned = learned_of(job.model)
    states = list(read_level(job, level, shards_of(owner, job.owners)))

    def look(places_in: Callable[[Words], Iterator[Words]]) -> Callable[[], list[bytes]]:
        def found() -> list[bytes]:
            return [states[n] for some in places_in(learned.rows_of(states)) for n in some.tolist()]

        return found

    def leading(rows: Words) -> Iterator[Words]:
        goal = learned.rows_of([bytes(sought.leads_to)])[0]
        for answer in learned.expand(rows):
            after = learned.tables.rows_of(answer.successors)
            wanted = np.pad(goal, (0, after.shape[1] - len(goal)))  # elements found since
            yield answer.origins[(after == wanted).all(axis=1)]

    def marked_by_expanding(rows: Words) -> Iterator[Words]:
        for answer in learned.expand(rows):
            yield answer.places[answer.masks >> MARKS[sought.mark] & 1 == 1]

    def marked_at_once(rows: Words) -> Iterator[Words]:
        bit = MARKS.get(sought.mark) or learned.learning.bits[sought.mark]
        yield np.flatnonzero(learned.masks_of(rows) >> bit & 1)

    ways = [marked_at_once, marked_by_expanding] if sought.mark == FAILED else [marked_at_once]
    if sought.leads_to or sought.mark == DEADLOCK:
        ways = [leading if sought.leads_to else marked_by_expanding]
    found: list[bytes] = []
    for way in ways:
        found = found or learned.answer(look(way))
    learned.asking.take_counts()
    return tuple(min(found)) if found else None
