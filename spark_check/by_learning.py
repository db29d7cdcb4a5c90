"""What Spark's workers do where a model has no kernel: the specification's own rules, on bytes.

The same rows are exchanged as with a kernel, but `codes` are states as bytes (`plain`), and
`highs` are their lengths. So are the levels in the checkpoint.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from time import process_time as clock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.native.blocks import SCHEMA, assert_whole
from checkers.native.codes import SHARDS
from checkers.native.worker import lesser, shards_of
from checkers.verdict import DEADLOCK
from spark_check.jobs import SENT, WRITTEN, Job, Model, Wanted, note_row, this_partition
from spark_check.plain import Codec
from spec.core import Always, Reachable, System

LAYOUT = "states as bytes, 1"
TOGETHER = 4096
"""How many states are sent or written as a row, at most."""


@cache
def system_of(model: Model) -> tuple[System[Any], Codec]:
    """The system and how its states are written, once for each process."""
    system = model.system()
    return system, Codec(system)


def shard_of(state: bytes) -> int:
    """The shard of a state."""
    return zlib.crc32(state) % SHARDS


# -- rows -----------------------------------------------------------------------------------------


def in_rows(owner: int, states: list[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """States as rows, so many in each."""
    for begin in range(0, len(states), TOGETHER):
        some = states[begin : begin + TOGETHER]
        lengths = np.array([len(state) for state in some], "<u4").tobytes()
        values: list[list[Any]] = [[owner], [b"".join(some)], [lengths], [None]]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(value, field.type)
                for value, field in zip(values[: len(schema)], schema, strict=True)
            ],
            schema=schema,
        )


def by_shard(states: Iterable[bytes], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """States as rows of one shard each, in the order of shards."""
    shards: dict[int, list[bytes]] = {}
    for state in states:
        shards.setdefault(shard_of(state), []).append(state)
    for shard, some in sorted(shards.items()):
        yield from in_rows(shard, sorted(some), schema)


def as_table(states: Iterable[bytes]) -> pa.Table:
    """States as the rows of a level's file."""
    return pa.Table.from_batches(by_shard(states, SCHEMA), SCHEMA)


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


def expand(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The successors of an owner's states of the last level, to whom they belong."""
    for _ in batches:
        pass
    begun = clock()
    owner = this_partition()
    system, codec = system_of(job.model)
    found: set[str] = set()
    fired: Counter[str] = Counter({rule.name: 0 for rule in system.rules})
    sent: set[bytes] = set()
    boxes: list[list[bytes]] = [[] for _ in range(job.owners)]
    for content in read_level(job, job.last, shards_of(owner, job.owners)):
        state = codec.decode(content)
        stuck = True
        for rule, _, after in system.steps(state):
            stuck = False
            fired[rule.name] += 1
            successor = codec.encode(after)
            if successor not in sent:
                sent.add(successor)
                boxes[shard_of(successor) * job.owners // SHARDS].append(successor)
        found |= set(shown_by(system, state, stuck))
    for to, states in enumerate(boxes):
        yield from in_rows(to, states, SENT)
    seconds = {"expand": clock() - begun}
    note = {"found": sorted(found), "fired": fired, "sent": len(sent), "seconds": seconds}
    yield note_row(SENT, note, owner)


def shown_by(system: System[Any], state: Any, stuck: bool) -> Iterator[str]:
    """The properties that a state violates, and those that it shows."""
    if stuck and system.is_deadlock(state):
        yield DEADLOCK
    for prop in system.properties:
        fails = isinstance(prop, Always) and prop.failure(state) is not None
        if fails or (isinstance(prop, Reachable) and prop.body(state)):
            yield prop.name


KNOWN: dict[tuple[str, int], tuple[int, set[bytes], list[bytes]]] = {}
"""By run and owner: the states of all levels up to one, and what was found for the next."""


def drop_known(job: Job, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of the states sent to an owner, those that it has not known."""
    begun = clock()
    owner = this_partition()
    for other in [key for key in KNOWN if key[0] != job.run]:
        del KNOWN[other]
    level, known, found = KNOWN.pop((job.run, owner), (-1, set(), []))
    if level > job.last:
        level, known, found = -1, set(), []
    for next_level in range(level + 1, job.last + 1):
        made_here = next_level == job.last and next_level == level + 1 and job.counts
        if made_here and job.counts and len(found) == job.counts[owner]:
            known.update(found)
        else:
            known.update(read_level(job, next_level, shards_of(owner, job.owners)))
    new: dict[bytes, None] = {}
    for batch in batches:
        for note in batch.column("note").drop_null():
            yield note_row(WRITTEN, json.loads(note.as_py()))
        for state in states_in(batch):
            if state not in known:
                new[state] = None
    found = list(new)
    KNOWN[job.run, owner] = job.last, known, found
    rows = 0
    for batch in by_shard(found, WRITTEN):
        rows += len(batch)
        yield batch
    taken = sum(map(len, known)) + sum(map(len, found)) + 100 * (len(known) + len(found))
    says = {"owner": owner, "states": len(found), "rows": rows, "bytes": taken}
    yield note_row(WRITTEN, {**says, "seconds": {"take in": clock() - begun}})


# -- looking back ---------------------------------------------------------------------------------


def least(job: Job, level: int, wanted: Wanted, owner: int, owners: int) -> tuple[int, ...] | None:
    """Of an owner's states of a level that are wanted, the one with the least bytes."""
    system, codec = system_of(job.model)
    answer: tuple[int, ...] | None = None
    goal = codec.decode(bytes(wanted.leads_to)) if wanted.leads_to else None
    for content in read_level(job, level, shards_of(owner, owners)):
        state = codec.decode(content)
        if wanted.leads_to:
            hit = any(after == goal for _, _, after in system.steps(state))
        else:
            stuck = wanted.shows == DEADLOCK and not any(True for _ in system.steps(state))
            hit = wanted.shows in shown_by(system, state, stuck)
        if hit:
            answer = lesser(answer, tuple(content))
    return answer
