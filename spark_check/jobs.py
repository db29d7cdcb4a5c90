"""What Spark's tasks are told, and the rows that they exchange.

A row of candidates is states of one owner as arrays, so that it is a megabyte and not a state. A
row of a level is a block of the checkpoint. What a task has to say beside its states (how often
each rule fired, which properties are violated) goes the same way, as a row with a `note`; so it
is counted once, however often Spark has to try.
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

from checkers.native.blocks import SCHEMA
from checkers.native.checkpoint import Part
from spec.core import SpecError, System

SENT = pa.schema(
    [("owner", pa.int32()), ("codes", pa.binary()), ("highs", pa.binary()), ("note", pa.binary())]
)
WRITTEN = SCHEMA.append(pa.field("note", pa.binary()))


@attrs.frozen
class Model:
    """What is explored, in words that find it again in another process."""

    place: str
    """The module of the model, and its name there."""
    variant: str
    bounds: tuple[tuple[str, int], ...]
    properties: tuple[str, ...]

    @classmethod
    def of(cls, system: System[Any]) -> Model:
        """The words for a system."""
        return cls(
            place_of(system.model),
            system.variant.name,
            tuple(attrs.asdict(system.bounds).items()),
            tuple(p.name for p in system.properties),
        )

    def system(self) -> System[Any]:
        """The system."""
        from checkers.models import find_model

        system = find_model(self.place).system(self.variant, dict(self.bounds))
        return system.with_properties(self.properties)


def place_of(model: Any) -> str:
    """`module:name` of a model that stands in a module."""
    for name, module in list(sys.modules.items()):
        if name != "__main__":
            for attribute, value in list(getattr(module, "__dict__", {}).items()):
                if value is model:
                    return f"{name}:{attribute}"
    raise SpecError(f"Spark's workers cannot find the model {model.name}: it stands in no module")


def files_beside(place: str) -> list[Path]:
    """The files of a model that stands in a file of its own, and of what it imports from there.

    They are sent to workers; a package of one's own is installed on them, or sent by hand.
    """
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
    """What all tasks of a job are told."""

    run: str
    """Names this run of the engine, and no other."""
    model: Model
    folder: Path
    owners: int
    levels: tuple[tuple[Part, ...], ...]
    """The files of each level so far; the job expands the last one."""
    counts: tuple[int, ...] | None
    """How many states of the last level each owner has, if this run has made it."""
    marks: tuple[str, ...] = ()
    """The properties that the states of the next level are asked for."""

    @property
    def last(self) -> int:
        """The level that is expanded."""
        return len(self.levels) - 1


@attrs.frozen
class Sought:
    """What is looked for in a level: a state with a mark, or one that leads to a given state."""

    mark: str = ""
    leads_to: tuple[int, ...] = ()


def note_row(schema: pa.Schema, note: Mapping[str, Any], owner: int = -1) -> pa.RecordBatch:
    """What a task has to say beside its states."""
    values = [[owner], [b""], [b""], [json.dumps(note).encode()]]
    return pa.RecordBatch.from_arrays(
        [pa.array(value, field.type) for value, field in zip(values, schema, strict=True)],
        schema=schema,
    )


def this_partition() -> int:
    """The number of this task's partition, which is its owner."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0  # in the driver there is one for all


def keep_what_is_loaded() -> None:
    """Spare a worker of Spark from going through all modules after each task.

    It looks for garbage then, which takes longer than a small task.
    """
    from pyspark import TaskContext

    if TaskContext.get():
        gc.freeze()
