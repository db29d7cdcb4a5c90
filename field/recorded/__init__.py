"""Recorded traces: whether a system did what the specification allows.

A trace is a file of events. A **mapping** says which states of the specification an event allows;
the **checker** keeps the states that explain the trace so far, and rejects the trace at the first
event that none of them explains.

Read `mapping`, `checker` and `models`, in this order.

- `mapping`: what the checker asks of a mapping; `find`: the names of mappings.
- `models`: mappings of models; `observed`: of what `spec.observed` checks, `replica`, `consumer`.
- `checker`: pure functions of a frontier and an event; `merging`: nodes without a common clock.
- `reading`: files as headers and events, in bounded memory; `problems`: what could not be read.
- `observation`: partial observations of states; `schema`: the JSON Schema of a trace.
- `verdict`, `report`, `page`: the answer, as a record, as text and as a page.
"""

from __future__ import annotations

from kspec.field.recorded.checker import Frontier, Limits
from kspec.field.recorded.files import validate_files, validate_recordings
from kspec.field.recorded.find import find_mapping
from kspec.field.recorded.mapping import BadEvent, Difference, Event, Reason, Schemas, TraceMapping
from kspec.field.recorded.problems import Problems
from kspec.field.recorded.reading import Recording, from_objects, read_trace
from kspec.field.recorded.verdict import Validation

__all__ = [
    "BadEvent",
    "Difference",
    "Event",
    "Frontier",
    "Limits",
    "Problems",
    "Reason",
    "Recording",
    "Schemas",
    "TraceMapping",
    "Validation",
    "find_mapping",
    "from_objects",
    "read_trace",
    "validate_files",
    "validate_recordings",
]
