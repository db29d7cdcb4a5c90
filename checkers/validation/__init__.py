"""Recorded traces: whether a system did what the specification allows.

A trace is a file of events. A **mapping** says which states of the specification an event allows;
the **checker** keeps the states that explain the trace so far, and rejects the trace at the first
event that none of them explains.

Read `mapping`, `checker` and `models`, in this order.

- `mapping`: what the checker asks of a mapping; `models`, `replica`: mappings; `find`: their names.
- `checker`: pure functions of a frontier and an event; `merging`: nodes without a common clock.
- `reading`: files as headers and events, in bounded memory; `problems`: what could not be read.
- `observation`: partial observations of states; `schema`: the JSON Schema of a trace.
- `verdict`, `report`, `page`: the answer, as a record, as text and as a page.
"""

from __future__ import annotations

from checkers.validation.checker import (
    Frontier,
    Limits,
    advance,
    begin,
    finish,
    validate_events,
)
from checkers.validation.files import validate_files, validate_recordings
from checkers.validation.find import MAPPINGS, find_mapping
from checkers.validation.mapping import BadEvent, Difference, Event, Reason, Schemas, TraceMapping
from checkers.validation.problems import Problems
from checkers.validation.reading import Recording, from_lines, from_objects, read_trace
from checkers.validation.verdict import Rejection, Validation

__all__ = [
    "MAPPINGS",
    "BadEvent",
    "Difference",
    "Event",
    "Frontier",
    "Limits",
    "Problems",
    "Reason",
    "Recording",
    "Rejection",
    "Schemas",
    "TraceMapping",
    "Validation",
    "advance",
    "begin",
    "find_mapping",
    "finish",
    "from_lines",
    "from_objects",
    "read_trace",
    "validate_events",
    "validate_files",
    "validate_recordings",
]
