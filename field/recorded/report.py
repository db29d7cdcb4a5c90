"""A verdict as text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kspec.field.recorded.mapping import Event
from kspec.field.recorded.observation import plain_observed
from kspec.field.recorded.verdict import INCONCLUSIVE, REJECTED, Rejection, Validation
from kspec.traces.text import counted

MOST_TEXT = 400
"""How much of an event is printed."""
MOST_DIFFERENCES = 12
"""How many differences are printed; the JSON has all."""


def lines(validation: Validation) -> Iterator[str]:
    """A verdict for a reader."""
    about = validation.about
    spec = ", ".join(str(about[key]) for key in ("model", "variant") if key in about)
    checked = counted(validation.events, "event")
    yield f"{validation.trace}: {validation.verdict} ({checked}; {spec or validation.mapping})"
    if validation.because:
        yield f"  Because: {validation.because}."
    if validation.rejection is not None:
        if validation.verdict == INCONCLUSIVE:
            yield "  The states that were kept do not explain this event:"
        yield from rejection_lines(validation.rejection)
    if validation.hidden_names and validation.verdict == REJECTED:
        names = ", ".join(validation.hidden_names)
        yield f"  {hidden_text(validation)} between two events: {names}"
    for kind in validation.problems.to_json():
        yield f"  {kind['count']:,} × {kind['kind']}; the first:"
        sample = kind["samples"][0]
        yield f"    {sample['file']}, line {sample['line']}: {sample['problem']}"


def hidden_text(validation: Validation) -> str:
    """How many hidden steps were tried."""
    most = validation.most_hidden
    if not most:
        return "Any number of hidden steps"
    return f"At most {most} hidden step{'' if most == 1 else 's'}"


def rejection_lines(rejection: Rejection) -> Iterator[str]:
    """The event that nothing explains, and why."""
    if rejection.event is None:
        yield f"  The trace ends too early: {rejection.guard}"
    else:
        yield f"  Event {place(rejection.event)}"
        yield f"    {event_text(rejection.event)}"
    if rejection.event is not None and rejection.guard:
        yield f"  Blocked by: {rejection.guard}"
    if rejection.differences:
        yield "  Nearest state of the specification, and what was observed:"
        for each in rejection.differences[:MOST_DIFFERENCES]:
            expected, observed = brief(each.expected), brief(each.observed)
            yield f"    {each.variable}: {expected}, observed {observed}"
        if len(rejection.differences) > MOST_DIFFERENCES:
            yield f"    and {len(rejection.differences) - MOST_DIFFERENCES} more"
    if rejection.allowed:
        yield "  Allowed instead:"
        for step in rejection.allowed:
            yield f"    {step}"
    before = rejection.before
    if before.event is not None and before.allowed:
        yield f"  One event before, at {place(before.event)}, this was possible as well:"
        for step in before.allowed:
            yield f"    {step}"


def place(event: Event) -> str:
    """An event's number and its line."""
    where = f" ({event.file}, line {event.line})" if event.file else ""
    return f"{event.number}{where}"


def event_text(event: Event) -> str:
    """An event as it was written, shortened."""
    return brief({k: plain_observed(v) for k, v in event.content.items() if k != "source"})


def brief(value: object) -> str:
    """A value as JSON, shortened."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"
