"""The description of a job for Spark's tasks, and the rows that they exchange.

A row of candidates holds arrays of states of one owner, so a row is a megabyte and not a single
state. A row of a level is a block of the checkpoint. Everything else that a task reports (how
often each rule was enabled, which properties are violated) is a row with a `note`, so that it is
counted once, however often Spark repeats a task.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa

from kspec.checkers.engine.learned.checking import ONE_IN
from kspec.checkers.engine.packed.blocks import SCHEMA
from kspec.checkers.engine.packed.checkpoint import Part
from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.models.named import Named
from kspec.spec.core import SpecError, System

SENT = pa.schema(
    [("owner", pa.int32()), ("codes", pa.binary()), ("highs", pa.binary()), ("note", pa.binary())]
)
WRITTEN = SCHEMA.append(pa.field("note", pa.binary()))


def named(system: System[Any]) -> Named:
    """A system by name, so that Spark's workers can find it."""
    return Named.of(place_of(system.model), system)


def place_of(model: Any) -> str:
    """The name of a model of kspec's, or `module:name` of a model that a module defines."""
    if model.name in registered_models() and model is find_model(model.name):
        return str(model.name)
    for name, module in list(sys.modules.items()):
        if name != "__main__":
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if value is model:
                    return f"{name}:{attribute}"
    raise SpecError(f"Spark's workers cannot find the model {model.name}: no module defines it")


def files_beside(place: str) -> list[Path]:
    """The files of a model in a file of its own, and of the modules beside it that it imports.

    They are sent to workers; a package must be installed on them, or sent by the user.
    """
    if place in registered_models():
        return []
    name = place.partition(":")[0]
    own = getattr(sys.modules[name], "__file__", None)
    if "." in name or own is None:
        return []
    folder = Path(own).resolve().parent
    found = {
        Path(file).resolve()
        for other, module in list(sys.modules.items())
        if "." not in other and other != "__main__" and (file := getattr(module, "__file__", None))
    }
    return sorted(path for path in found if path.parent == folder and path.suffix == ".py")


@attrs.frozen
class Job:
    """The description of a job, for all its tasks."""

    run: str
    """A unique name of this run of the engine."""
    model: Named
    folder: Path
    owners: int
    levels: tuple[tuple[Part, ...], ...]
    """The files of each level so far; the job expands the last level."""
    counts: tuple[int, ...] | None
    """By owner: the number of its states in the last level, if this run made it."""
    marks: tuple[str, ...] = ()
    """The properties to evaluate in the states of the next level."""
    one_in: int = ONE_IN
    """One in this many states has its learned answers compared with the rules."""

    @property
    def last(self) -> int:
        """The level to expand."""
        return len(self.levels) - 1


@attrs.frozen
class Sought:
    """The state sought in a level: one with a mark, or a predecessor of a given state."""

    mark: str = ""
    leads_to: tuple[int, ...] = ()


def note_row(schema: pa.Schema, note: Mapping[str, Any], owner: int = -1) -> pa.RecordBatch:
    """A row with a task's report."""
    values = [[owner], [b""], [b""], [json.dumps(note).encode()]]
    return pa.RecordBatch.from_arrays(
        [pa.array(value, field.type) for value, field in zip(values, schema, strict=True)],
        schema=schema,
    )


def this_partition() -> int:
    """The number of this task's partition, which is its owner's number."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0  # the driver uses one for all partitions


def keep_what_is_loaded() -> None:
    """Exclude loaded modules from garbage collection.

    A Spark worker collects garbage after each task, which takes longer than a small task.
    """
    from pyspark import TaskContext

    if TaskContext.get():
        gc.freeze()
