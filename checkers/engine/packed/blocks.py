"""States as rows of a Parquet file: each row is a block of states of one shard.

A shard is a few bits of a checksum of a state. An owner of states owns whole shards, so a row has
one owner whatever their number, and that number may change from run to run. The docstring of
`checkpoint` defines the format.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kspec.checkers.engine.packed.checkpoint import CheckpointError, Part, assert_there, naming
from kspec.impl.compiled import Words

SCHEMA = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("codes", pa.large_binary(), nullable=False),
        pa.field("highs", pa.large_binary(), nullable=False),
    ]
)
"""The file has one binary type; `large` concerns tables in memory only."""

ROWS_TOGETHER = 256
"""Rows per row group: an owner of few shards need not read the others."""


def as_column(content: Any, offsets: Words) -> pa.Array:
    """A binary column whose values lie between consecutive offsets, without copying."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def content_of(column: pa.Array) -> memoryview:
    """All values of a binary column, concatenated."""
    _, offsets, content = column.buffers()
    if content is None:
        return memoryview(b"")
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    ends = np.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
    return memoryview(content)[ends[0] : ends[-1]]


# -- files ----------------------------------------------------------------------------------------


def write_rows(folder: Path, name: str, rows: pa.Table, states: int) -> Part:
    """Write states as a file, completely and durably, under its final name."""
    path, beside = folder / name, folder / f"{name}.tmp"
    try:
        with naming(path), beside.open("w+b") as file:
            pq.write_table(
                rows,
                file,
                row_group_size=ROWS_TOGETHER,
                compression="none",
                use_dictionary=False,
                write_statistics=["shard"],
                store_schema=False,
            )
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            part = Part(
                name, states, len(rows), beside.stat().st_size,
                hashlib.file_digest(file, "sha256").hexdigest(),
            )  # fmt: skip
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    return part


def assert_whole(folder: Path, part: Part) -> None:
    """Raise CheckpointError if a file does not have the checksum in the manifest."""
    assert_there(folder, part)
    path = folder / part.name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror}") from None
    if found != part.sha256:
        raise CheckpointError(f"{path} is damaged: its checksum differs from the manifest's")


def read_rows(path: Path, shards: range) -> Iterator[pa.RecordBatch]:
    """The rows of some shards, one row group at a time."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            known = file.metadata.row_group(group).column(0).statistics
            if known and (known.max < shards.start or known.min >= shards.stop):
                continue
            for rows in file.read_row_group(group).to_batches():
                at = rows.column("shard").to_numpy()
                mine = (at >= shards.start) & (at < shards.stop)
                edges = np.flatnonzero(np.diff(mine, prepend=False, append=False))
                for begin, end in edges.reshape(-1, 2).tolist():
                    yield rows.slice(begin, end - begin)
