"""What Spark's workers do where a model has no kernel: they ask learned rules, about bytes.

The same rows are exchanged as with a kernel, but `codes` are states as bytes (`plain`), and
`highs` are their lengths. So are the levels in the checkpoint. Each process learns for itself
(`asking`); what it answers does not depend on that.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from time import process_time as clock
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.learned.checking import ONE_IN
from checkers.native.blocks import ROWS_TOGETHER, SCHEMA, assert_whole, write_rows
from checkers.native.checkpoint import Part
from checkers.native.codes import SHARDS
from checkers.native.expander import DEADLOCK_BIT, FAILED_BIT
from checkers.native.worker import shards_of
from checkers.search import FAILED
from checkers.verdict import DEADLOCK
from impl.packed.compiled import Words
from spark_check.asking import Asking
from spark_check.jobs import (
    SENT,
    WRITTEN,
    Job,
    Model,
    Sought,
    keep_what_is_loaded,
    note_row,
    this_partition,
)
from spec.core import System

LAYOUT = "states as bytes, 2"
TOGETHER = 4096
"""How many states are sent or written as a row, at most."""
BITS = {DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}


@cache
def asking_of(model: Model) -> Asking:
    """What is learned of the model, once for each process."""
    asking = Asking(model.system())
    keep_what_is_loaded()
    return asking


def run_of(system: System[Any]) -> dict[str, Any]:
    """What two runs must agree in: the text of the rules, and how states are written, too."""
    modules = {rule.body.__module__ for rule in system.rules}
    texts = [inspect.getsource(sys.modules[name]) for name in sorted(modules)]
    return {
        "model": system.model.name,
        "variant": system.variant.name,
        "bounds": attrs.asdict(system.bounds),
        "properties": sorted(p.name for p in system.properties),
        "rules": hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16],
        "layout": LAYOUT,
    }


def pack(model: Model, state: Any) -> tuple[int, ...]:
    """The bytes of a state."""
    return tuple(asking_of(model).codec.encode_state(state))


def write_initial(model: Model, folder: Path, name: str) -> tuple[Part, ...]:
    """Write the initial states as a level; there may be none."""
    asking = asking_of(model)
    states = [asking.codec.encode_state(state) for state in asking.system.initial()]
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
    """States as rows: those of an owner or a shard together, but not too many."""
    columns: list[list[Any]] = [[] for _ in schema]
    for number, states in groups:
        for begin in range(0, len(states), TOGETHER):
            some = states[begin : begin + TOGETHER]
            lengths = np.array([len(state) for state in some], "<u4").tobytes()
            row = number, b"".join(some), lengths, None
            for column, value in zip(columns, row, strict=False):
                column.append(value)
            if len(columns[0]) == ROWS_TOGETHER:
                yield batch_of(columns, schema)
                columns = [[] for _ in schema]
    if columns[0]:
        yield batch_of(columns, schema)


def batch_of(columns: Sequence[list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows, given their columns."""
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
    for codes, highs in zip(rows.column("codes"), rows.column("highs"), strict=True):
        content, at = codes.as_py(), 0
        for length in np.frombuffer(highs.as_py(), "<u4").tolist():
            yield content[at : at + length]
            at += length


def read_level(job: Job, level: int, shards: range) -> Iterator[bytes]:
    """The states of some shards of a level; SpecError names a file that is damaged."""
    for part in job.levels[level]:
        assert_whole(job.folder, part)
        with pq.ParquetFile(job.folder / part.name) as file:
            for rows in file.iter_batches():
                at = rows.column("shard").to_numpy()
                yield from states_in(
                    rows.filter(pa.array((at >= shards.start) & (at < shards.stop)))
                )


# -- a level --------------------------------------------------------------------------------------

KNOWN: dict[tuple[str, int], tuple[int, set[bytes], list[bytes]]] = {}
"""By run and owner: the states of all levels up to one, and what was found for the next."""


def expand(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of an owner's states of the last level, to whom they belong."""
    for _ in batches:
        pass
    begun = clock()
    owner = this_partition()
    asking = asking_of(job.model)
    ready = clock()
    states = frontier(job, owner)
    read = clock()

    def successors() -> tuple[list[bytes], int]:
        asking.take_counts()
        rows = asking.rows_of(states)
        found, mask = asking.successors_of(rows)
        return asking.bytes_of(found), mask

    found, mask = asking.answer(successors)
    counted = asking.take_counts()
    if not mask >> FAILED_BIT & 1:
        asking.answer(lambda: asking.check(asking.rows_of(states[::ONE_IN])))
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
        "shown": [name for name, bit in BITS.items() if mask >> bit & 1],
        "fired": counted.fired,
        "edge_of_bounds": counted.edge_of_bounds,
        "sent": len(found),
        "seconds": seconds,
    }
    yield note_row(SENT, note, owner)


def frontier(job: Job, owner: int) -> list[bytes]:
    """An owner's states of the last level: as they are kept here, or from their files."""
    level, _, found = KNOWN.get((job.run, owner), (-1, set(), []))
    if level == job.last - 1 and job.counts and len(found) == job.counts[owner]:
        return found
    return list(read_level(job, job.last, shards_of(owner, job.owners)))


def drop_known(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of the states sent to an owner, those that it has not known."""
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
    says = {"owner": owner, "states": len(found), "rows": rows, "bytes": size}
    yield note_row(WRITTEN, {**says, "marks": shown, "seconds": seconds})


def marks(job: Job, level: int, owner: int) -> list[str]:
    """Which of the job's marks an owner's states of a level have."""
    return marked(job, list(read_level(job, level, shards_of(owner, job.owners))))


def marked(job: Job, states: Sequence[bytes]) -> list[str]:
    """Which of the job's marks some states have."""
    if not job.marks:
        return []
    asking = asking_of(job.model)
    masks = asking.answer(lambda: asking.masks_of(asking.rows_of(states)))
    mask = int(np.bitwise_or.reduce(masks, initial=0))
    bits = asking.learning.bits
    names = [name for name in job.marks if mask >> bits[name] & 1]
    return names + [FAILED] * (mask >> FAILED_BIT & 1)


# -- looking back ---------------------------------------------------------------------------------


def least(job: Job, level: int, sought: Sought, owner: int) -> tuple[int, ...] | None:
    """Of an owner's states of a level that are sought, the one with the least bytes."""
    asking = asking_of(job.model)
    states = list(read_level(job, level, shards_of(owner, job.owners)))

    def look(places_in: Callable[[Words], Iterator[Words]]) -> Callable[[], list[bytes]]:
        def found() -> list[bytes]:
            return [states[n] for some in places_in(asking.rows_of(states)) for n in some.tolist()]

        return found

    def leading(rows: Words) -> Iterator[Words]:
        goal = asking.rows_of([bytes(sought.leads_to)])[0]
        for _, _, successors, origins in asking.expand(rows):
            yield origins[(asking.tables.rows_of(successors) == goal).all(axis=1)]

    def marked_by_expanding(rows: Words) -> Iterator[Words]:
        for places, masks, _, _ in asking.expand(rows):
            yield places[masks >> BITS[sought.mark] & 1 == 1]

    def marked_at_once(rows: Words) -> Iterator[Words]:
        bit = BITS.get(sought.mark) or asking.learning.bits[sought.mark]
        yield np.flatnonzero(asking.masks_of(rows) >> bit & 1)

    ways = [marked_at_once, marked_by_expanding] if sought.mark == FAILED else [marked_at_once]
    if sought.leads_to or sought.mark == DEADLOCK:
        ways = [leading if sought.leads_to else marked_by_expanding]
    found: list[bytes] = []
    for way in ways:
        found = found or asking.answer(look(way))
    asking.take_counts()
    return tuple(min(found)) if found else None
