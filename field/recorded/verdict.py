"""The answer for one trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kspec.checkers.engine.verdict import EXIT_INCONCLUSIVE, EXIT_OK, EXIT_REJECTED
from kspec.field.recorded.mapping import Difference, Event
from kspec.field.recorded.problems import Problems

ACCEPTED, REJECTED, INCONCLUSIVE = "accepted", "rejected", "inconclusive"
EXIT_CODES = {ACCEPTED: EXIT_OK, REJECTED: EXIT_REJECTED, INCONCLUSIVE: EXIT_INCONCLUSIVE}


@attrs.frozen
class Before:
    """The last event that was explained, and the alternatives to it."""

    event: Event | None
    """None if the first event was rejected."""
    states: int
    """How many states explained the trace before that event."""
    allowed: tuple[str, ...]
    """What the specification allowed in its place."""

    def to_json(self) -> dict[str, Any]:
        """For a machine."""
        event = None if self.event is None else numbered(self.event)
        return {"event": event, "states": self.states, "allowed": list(self.allowed)}


@attrs.frozen
class Rejection:
    """The first event that no state explains, and why the nearest state does not."""

    event: Event | None
    """None if the trace ended although something had to follow."""
    guard: str | None
    """The guard that blocked the event in the nearest state."""
    allowed: tuple[str, ...]
    """What was allowed in the nearest state instead."""
    differences: tuple[Difference, ...]
    """How the nearest state differs from what was observed."""
    states: int
    """How many states explained the trace up to the event."""
    nearest: Any
    """The nearest state, as JSON."""
    before: Before
    last: tuple[Event, ...] = ()
    """The last events before it, for the report."""


@attrs.frozen
class Validation:
    """The verdict on a trace."""

    verdict: str
    """`accepted`, `rejected` or `inconclusive`."""
    trace: str
    """The name of the trace: its file, or its id."""
    mapping: str
    events: int
    """How many events were checked, a rejected one included."""
    about: Mapping[str, Any]
    """The specification: model, variant, bounds, settings."""
    hidden_names: tuple[str, ...]
    """The steps that the trace cannot show."""
    most_hidden: int
    """How many hidden steps were tried between two events."""
    largest: int
    """The largest number of states that explained the trace at once."""
    problems: Problems
    because: str = ""
    """Why the verdict is inconclusive."""
    rejection: Rejection | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of `kspec validate`."""
        return EXIT_CODES[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """For a machine: the object that `kspec validate --json` prints for a trace."""
        record = {
            "verdict": self.verdict,
            "trace": self.trace,
            "mapping": self.mapping,
            **self.about,
            "events": self.events,
            "hidden_steps": {"names": list(self.hidden_names), "most": self.most_hidden},
            "most_states": self.largest,
            "problems": self.problems.to_json(),
        }
        if self.because:
            record["because"] = self.because
        if self.rejection is not None:
            record |= rejection_to_json(self.rejection)
        return record


def rejection_to_json(rejection: Rejection) -> dict[str, Any]:
    """The fields of a rejected trace."""
    event = rejection.event
    return {
        "event": None if event is None else numbered(event),
        "file": None if event is None else event.file,
        "line": None if event is None else event.line,
        "guard": rejection.guard,
        "allowed": list(rejection.allowed),
        "difference": [attrs.asdict(each) for each in rejection.differences],
        "states": rejection.states,
        "nearest": rejection.nearest,
        "before": rejection.before.to_json(),
    }


def numbered(event: Event) -> dict[str, Any]:
    """An event with its number."""
    return {"number": event.number, "content": dict(event.content)}


def counts(found: Sequence[Validation]) -> dict[str, int]:
    """How many traces have each verdict."""
    every = [validation.verdict for validation in found]
    return {v: every.count(v) for v in (ACCEPTED, REJECTED, INCONCLUSIVE) if v in every}
