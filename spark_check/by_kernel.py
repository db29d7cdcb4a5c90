"""Spark tasks on packed states: expand them, drop known ones, look back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from time import process_time as clock
from typing import Any

import numpy as np
import pyarrow as pa

from kspec.checkers.engine.packed.blocks import (
    ROWS_TOGETHER,
    as_rows,
    as_states,
    assert_whole,
    read_part,
)
from kspec.checkers.engine.packed.codes import PIECE_BITS, PIECES, Coding, Pieces, coding_of
from kspec.checkers.engine.packed.expander import DEADLOCK_BIT, FAILED_BIT, KernelExpander
from kspec.checkers.engine.packed.keep import run_of as run_of_kernel
from kspec.checkers.engine.packed.search import warm_up
from kspec.checkers.engine.packed.worker import (
    Chunk,
    Memory,
    Worker,
    nothing_recent,
    send,
    shards_of,
)
from kspec.checkers.engine.search import FAILED
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.impl.packed.compiled import Words, made_ready
from kspec.impl.packed.kernel import Kernel
from kspec.impl.packed.kernels import kernel_for
from kspec.spark_check.jobs import (
    SENT,
    WRITTEN,
    Job,
    Model,
    Sought,
    keep_what_is_loaded,
    note_row,
    this_partition,
)
from kspec.spark_check.known import OwnedStates, known
from kspec.spec.core import Reachable, SpecError, System

OUTBOX_BITS = 19
"""A task sends its candidates when it has about this many, as a power of two."""
RECENT_BITS = 20
"""The number of recently sent candidates that are remembered, as a power of two."""
BITS = {DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
"""The marks that expanding finds."""


@cache
def system_of(model: Model) -> System[Any]:
    """The system, created once per process."""
    return model.system()


@cache
def kernel_of(model: Model) -> tuple[Kernel[Any], Coding]:
    """The compiled kernel, created once per process."""
    kernel = kernel_for(system_of(model))
    coding = coding_of(kernel.layout)
    with made_ready("engine", None):
        warm_up(KernelExpander(kernel, system_of(model), coverage=False), coding)
    keep_what_is_loaded()
    return kernel, coding


@cache
def worker_for(model: Model) -> Worker:
    """The worker that expands states, created once per process."""
    kernel, coding = kernel_of(model)
    expander = KernelExpander(kernel, system_of(model), coverage=False)
    return Worker(0, 1, expander, coding, Memory(0, None))


def run_of(system: System[Any]) -> dict[str, Any]:
    """What two runs must agree on: the same as for the native engine."""
    return run_of_kernel(system, kernel_for(system))


def pack(model: Model, state: Any) -> tuple[int, ...]:
    """The words of a state."""
    words: tuple[int, ...] = kernel_of(model)[0].pack(state)
    return words


# -- rows -----------------------------------------------------------------------------------------


def row(owner: int, codes: Words, pieces: Pieces) -> pa.RecordBatch:
    """States of one owner as a row, without copying."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([owner], pa.int32()),
            short_column(codes),
            short_column(pieces),
            pa.nulls(1, pa.binary()),
        ],
        schema=SENT,
    )


def short_column(content: Words | Pieces) -> pa.Array:
    """A column of one value: an array's bytes."""
    offsets = pa.py_buffer(np.array([0, content.nbytes], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(content)])


def as_pieces(highs: Words, pieces: int) -> Any:
    """High bits as stored: those of one state are adjacent."""
    rows, places = np.divmod(np.arange(pieces), PIECES)
    return (highs[rows].T >> PIECE_BITS * places).astype(np.uint16, order="C")


# -- a level --------------------------------------------------------------------------------------


def expand(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of an owner's states of the last level, by their owners."""
    for _ in batches:
        pass
    begun = clock()
    owner = this_partition()
    _, coding = kernel_of(job.model)
    worker = worker_for(job.model)
    ready = clock()
    with known(job.run, owner, coding) as memory:
        level = frontier(job, owner, memory, coding)
        read = clock()
        away, sent = 0.0, 0
        worker.levels = [level]
        worker.ask_level(0)
        worker.expander.take_counts()
        room = (1 << OUTBOX_BITS) // job.owners + (1 << 10)
        recent, recent_highs = nothing_recent(1 << RECENT_BITS, coding.rows)
        highs: Words = np.empty((job.owners, coding.rows, room), np.int64)
        codes: Words = np.empty((job.owners, room), np.int64)
        counts: Words = np.zeros(job.owners, np.int64)
        while (batch := worker.next_batch())[1]:
            worker.expand(*batch)
            begin, end = worker.unsent
            while begin < end:
                begin = send(
                    worker.codes, worker.highs, begin, end, recent, recent_highs,
                    codes, highs, counts,
                )  # fmt: skip
                if begin < end:
                    leave = clock()
                    for to, count in enumerate(counts.tolist()):
                        sent += count
                        yield row(
                            to, codes[to, :count], as_pieces(highs[to, :, :count], coding.pieces)
                        )
                    codes = np.empty_like(codes)
                    counts[:] = 0
                    away += clock() - leave
        leave = clock()
        for to, count in enumerate(counts.tolist()):
            sent += count
            yield row(to, codes[to, :count], as_pieces(highs[to, :, :count], coding.pieces))
        done = clock()
    seconds = {
        "prepare": ready - begun,
        "read": read - ready,
        "expand": leave - read - away,
        "send": done - leave + away,
    }
    counted = worker.expander.take_counts()
    note = {
        "shown": [name for name, bit in BITS.items() if worker.found >> bit & 1],
        "fired": counted.fired,
        "edge_of_bounds": counted.edge_of_bounds,
        "sent": sent,
        "seconds": seconds,
    }
    yield note_row(SENT, note, owner)


def frontier(job: Job, owner: int, memory: OwnedStates, coding: Coding) -> list[Chunk]:
    """An owner's states of the last level, from memory or from their files."""
    if job.counts and memory.level == job.last and memory.last == job.counts[owner]:
        count = memory.last
        return [Chunk(memory.codes[:count], memory.pieces[:count], count)] if count else []
    return chunks_of(job, job.last, shards_of(owner, job.owners), coding)


def chunks_of(job: Job, level: int, shards: range, coding: Coding) -> list[Chunk]:
    """The states of some shards of a level, from its files."""
    return [
        Chunk(codes, as_pieces(highs, coding.pieces), len(codes))
        for codes, highs in read_level(job, level, shards, coding)
        if len(codes)
    ]


def read_level(
    job: Job, level: int, shards: range, coding: Coding
) -> Iterator[tuple[Words, Words]]:
    """The states of some shards of a level; SpecError names a damaged file."""
    for part in job.levels[level]:
        assert_whole(job.folder, part)
        yield from read_part(job.folder / part.name, shards, coding.pieces)


def drop_known(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The states sent to an owner that it did not know."""
    begun = clock()
    owner = this_partition()
    _, coding = kernel_of(job.model)
    with known(job.run, owner, coding) as memory:
        catch_up(job, owner, memory)
        ready = clock()
        inside = 0.0
        for batch in batches:
            for note in batch.column("note").drop_null():
                yield note_row(WRITTEN, json.loads(note.as_py()))
            enter = clock()
            memory.take_in(*as_states(batch, coding.pieces))
            inside += clock() - enter
        taken = clock()
        count = memory.last
        rows = as_rows(memory.codes[:count], memory.pieces[:count])
        for found in rows.to_batches(max_chunksize=ROWS_TOGETHER):
            notes = pa.nulls(len(found), pa.binary())
            yield pa.RecordBatch.from_arrays([*found.columns, notes], schema=WRITTEN)
        done = clock()
        seconds = {
            "catch up": ready - begun,
            "take in": inside,
            "receive": taken - ready - inside,
            "hand on": done - taken,
        }
        chunks = [Chunk(memory.codes[:count], memory.pieces[:count], count)] if count else []
        shown = marked(job, chunks)
        seconds["mark"] = clock() - done
        summary = {"owner": owner, "states": count, "rows": len(rows), "bytes": memory.bytes}
    yield note_row(WRITTEN, {**summary, "marks": shown, "seconds": seconds})


def catch_up(job: Job, owner: int, memory: OwnedStates) -> None:
    """Load all levels so far into an owner's memory, and prepare it for the next one."""
    if memory.level == job.last + 1:
        return  # another attempt has begun or finished this task: continue, with the same result
    shards = shards_of(owner, job.owners)
    if memory.level > job.last:
        raise SpecError("a task of a completed level was started again")
    first = memory.level + 1
    if memory.level == job.last and not (job.counts and memory.last == job.counts[owner]):
        first = job.last
    for level in range(first, job.last + 1):
        if level > memory.level:
            memory.begin_level(level)
        for codes, highs in read_level(job, level, shards, memory.coding):
            memory.take_in(codes, highs)
    if job.counts and memory.last != job.counts[owner]:
        names = ", ".join(str(job.folder / part.name) for part in job.levels[job.last])
        raise SpecError(f"{names}: {memory.last:,} states instead of {job.counts[owner]:,}")
    memory.begin_level(job.last + 1)


# -- looking back ---------------------------------------------------------------------------------


def least(job: Job, level: int, sought: Sought, owner: int) -> tuple[int, ...] | None:
    """The least of an owner's states of a level that are sought."""
    kernel, coding = kernel_of(job.model)
    worker = worker_for(job.model)
    worker.levels = [chunks_of(job, level, shards_of(owner, job.owners), coding)]
    if sought.leads_to:
        found = worker.least_predecessor(0, sought.leads_to)
    elif sought.mark in BITS:
        found = worker.least_marked(0, BITS[sought.mark], by_expanding=True)
    elif sought.mark in kernel.properties:
        bit = kernel.properties.index(sought.mark)
        found = worker.least_marked(0, bit, by_expanding=False)
    else:
        prop = next(p for p in system_of(job.model).properties if p.name == sought.mark)
        assert isinstance(prop, Reachable)
        return min((s for s in worker.states(0) if prop.body(kernel.unpack(s))), default=None)
    return None if found is None else found[1]


def marks(job: Job, level: int, owner: int) -> list[str]:
    """The job's marks among an owner's states of a level."""
    _, coding = kernel_of(job.model)
    return marked(job, chunks_of(job, level, shards_of(owner, job.owners), coding))


def marked(job: Job, level: list[Chunk]) -> list[str]:
    """The job's marks among some states.

    Only the specification evaluates reachability properties. That is slow, but witnesses are
    usually found early.
    """
    kernel, _ = kernel_of(job.model)
    worker = worker_for(job.model)
    worker.levels = [level]
    known = {name: bit for bit, name in enumerate(kernel.properties) if name in job.marks}
    found: set[str] = set()
    if known:
        worker.ask_level(0)
        worker.mark()
        found = {name for name, bit in known.items() if worker.found >> bit & 1}
    props = [p for p in system_of(job.model).properties if p.name in {*job.marks} - {*known}]
    if props:
        for state in map(kernel.unpack, worker.states(0)):
            found |= {p.name for p in props if isinstance(p, Reachable) and p.body(state)}
    return sorted(found)
