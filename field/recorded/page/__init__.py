"""Verdicts as one HTML file: the rejected event, what blocked it, and what was allowed.

It runs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kspec.field.recorded.mapping import Event
from kspec.field.recorded.report import brief, event_text, hidden_text
from kspec.field.recorded.verdict import INCONCLUSIVE, Rejection, Validation, counts
from kspec.traces.page.html import Markup, asset, bullets, element, report, row, table

MOST_TRACES = 200
"""How many rejected or inconclusive traces are drawn; all are counted."""


def validation_page(validations: Sequence[Validation]) -> str:
    """The HTML file."""
    worth = [v for v in validations if v.rejection or v.because or v.problems.counts]
    summary = ", ".join(f"{count:,} {verdict}" for verdict, count in counts(validations).items())
    every = [row((v.trace, v.verdict, f"{v.events:,}", specification(v))) for v in validations]
    body = [
        element("p", f"{summary}."),
        *(part for validation in worth[:MOST_TRACES] for part in section(validation)),
        element("h2", "All traces"),
        table(("trace", "verdict", "events", "specification"), every),
    ]
    style = asset(__package__, "page.css")
    return report("Recorded traces", body, style, subtitle=summary).html()


def specification(validation: Validation) -> str:
    """What a trace was checked against."""
    known = [str(validation.about[key]) for key in ("model", "variant") if key in validation.about]
    bounds = validation.about.get("bounds")
    if isinstance(bounds, dict):
        known += [f"{name}={value}" for name, value in bounds.items()]
    return ", ".join(known) or validation.mapping


def section(validation: Validation) -> Iterator[Markup]:
    """A trace that was not accepted, or could not be read in full."""
    verdict = element("span", validation.verdict, class_=validation.verdict)
    yield element("h2", verdict, " ", validation.trace)
    if validation.because:
        yield element("p", f"Because: {validation.because}.")
    if validation.rejection is not None:
        if validation.verdict == INCONCLUSIVE:
            yield element("p", "The states that were kept do not explain this event.")
        yield from rejected(validation.rejection)
    if validation.hidden_names:
        names = ", ".join(validation.hidden_names)
        yield element("p", f"{hidden_text(validation)} between two events: {names}.")
    rows = [
        row((kind["kind"], f"{kind['count']:,}", one["file"], one["line"], one["problem"]))
        for kind in validation.problems.to_json()
        for one in kind["samples"]
    ]
    if rows:
        yield element("h3", "Problems of reading")
        yield table(("kind", "count", "file", "line", "problem"), rows)


def rejected(rejection: Rejection) -> Iterator[Markup]:
    """The events up to the rejected one, and the reasons."""
    rows = [event_row(event, "") for event in rejection.last]
    if rejection.event is not None:
        rows.append(event_row(rejection.event, "rejected"))
    yield table(("event", "line", "content"), rows)
    if rejection.event is None:
        yield element("p", f"The trace ends too early: {rejection.guard}")
    elif rejection.guard:
        yield element("p", "Blocked by: ", element("strong", rejection.guard))
    if rejection.differences:
        yield element("h3", "Nearest state, and what was observed")
        yield table(
            ("variable", "specification", "observed"),
            [
                row((d.variable, brief(d.expected), brief(d.observed)))
                for d in rejection.differences
            ],
        )
    if rejection.allowed:
        yield element("h3", "Allowed instead")
        yield bullets(rejection.allowed)
    if rejection.before.allowed and rejection.before.event is not None:
        yield element("h3", f"Possible one event before, at {rejection.before.event.number}")
        yield bullets(rejection.before.allowed)
    if isinstance(rejection.nearest, dict):
        rows = [row((name, brief(value))) for name, value in rejection.nearest.items()]
        summary = element("summary", "The nearest state")
        yield element("details", summary, table(("variable", "value"), rows))


def event_row(event: Event, kind: str) -> Markup:
    """An event as a row."""
    where = f"{event.file}, line {event.line}" if event.file else ""
    return row((event.number, where, event_text(event)), ("", "place"), class_=kind)
