"""Verdicts as one HTML file: the rejected event, what blocked it, and what was allowed.

It runs no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from kspec.field.recorded.mapping import Event
from kspec.field.recorded.report import brief, event_text, hidden_text
from kspec.field.recorded.verdict import INCONCLUSIVE, Rejection, Validation
from kspec.traces.page import digest, in_markup

MOST_TRACES = 200
"""How many rejected or inconclusive traces are drawn; all are counted."""


def validation_page(validations: Sequence[Validation]) -> str:
    """The HTML file."""
    style = asset("page.css")
    worth = [v for v in validations if v.rejection or v.because or v.problems.counts]
    counts = dict.fromkeys(("accepted", "rejected", "inconclusive"), 0)
    for validation in validations:
        counts[validation.verdict] += 1
    summary = ", ".join(f"{count:,} {verdict}" for verdict, count in counts.items() if count)
    return Template(asset("page.html")).substitute(
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{digest(style)}'",
        summary=in_markup(summary),
        style=style,
        traces="\n".join(map(section, worth[:MOST_TRACES])),
        every=table(
            ("trace", "verdict", "events", "specification"),
            [(v.trace, v.verdict, f"{v.events:,}", specification(v)) for v in validations],
        ),
    )


def specification(validation: Validation) -> str:
    """What a trace was checked against."""
    known = [str(validation.about[key]) for key in ("model", "variant") if key in validation.about]
    bounds = validation.about.get("bounds")
    if isinstance(bounds, dict):
        known += [f"{name}={value}" for name, value in bounds.items()]
    return ", ".join(known) or validation.mapping


def section(validation: Validation) -> str:
    """A trace that was not accepted, or could not be read in full."""
    verdict = f'<span class="{validation.verdict}">{validation.verdict}</span>'
    parts = [f"<h2>{verdict} {in_markup(validation.trace)}</h2>"]
    if validation.because:
        parts.append(paragraph(f"Because: {validation.because}."))
    if validation.rejection is not None:
        if validation.verdict == INCONCLUSIVE:
            parts.append(paragraph("The states that were kept do not explain this event."))
        parts += rejected(validation.rejection)
    if validation.hidden_names:
        names = ", ".join(validation.hidden_names)
        parts.append(paragraph(f"{hidden_text(validation)} between two events: {names}."))
    rows = [
        (kind["kind"], f"{kind['count']:,}", sample["file"], str(sample["line"]), sample["problem"])
        for kind in validation.problems.to_json()
        for sample in kind["samples"]
    ]
    if rows:
        parts.append("<h3>Problems of reading</h3>")
        parts.append(table(("kind", "count", "file", "line", "problem"), rows))
    return "\n".join(parts)


def rejected(rejection: Rejection) -> Iterable[str]:
    """The events up to the rejected one, and the reasons."""
    rows = [event_row(event, "") for event in rejection.last]
    if rejection.event is not None:
        rows.append(event_row(rejection.event, "rejected"))
    head = heads(("event", "line", "content"))
    yield f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    if rejection.event is None:
        yield paragraph(f"The trace ends too early: {rejection.guard}")
    elif rejection.guard:
        yield f"<p>Blocked by: <strong>{in_markup(rejection.guard)}</strong></p>"
    if rejection.differences:
        yield "<h3>Nearest state, and what was observed</h3>"
        yield table(
            ("variable", "specification", "observed"),
            [(d.variable, brief(d.expected), brief(d.observed)) for d in rejection.differences],
        )
    if rejection.allowed:
        yield "<h3>Allowed instead</h3>"
        yield bullets(rejection.allowed)
    if rejection.before.allowed and rejection.before.event is not None:
        yield f"<h3>Possible one event before, at {rejection.before.event.number}</h3>"
        yield bullets(rejection.before.allowed)
    if isinstance(rejection.nearest, dict):
        yield "<details><summary>The nearest state</summary>"
        yield table(
            ("variable", "value"), [(str(k), brief(v)) for k, v in rejection.nearest.items()]
        )
        yield "</details>"


def event_row(event: Event, kind: str) -> str:
    """An event as a row."""
    where = f"{event.file}, line {event.line}" if event.file else ""
    cells = f'<td>{event.number}</td><td class="place">{in_markup(where)}</td>'
    return f'<tr class="{kind}">{cells}<td>{in_markup(event_text(event))}</td></tr>'


def bullets(items: Iterable[str]) -> str:
    """A list."""
    return f"<ul>{''.join(f'<li>{in_markup(item)}</li>' for item in items)}</ul>"


def paragraph(text: str) -> str:
    """A paragraph."""
    return f"<p>{in_markup(text)}</p>"


def heads(names: Sequence[str]) -> str:
    """The heading row of a table."""
    return f"<tr>{''.join(f'<th>{in_markup(name)}</th>' for name in names)}</tr>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    body = "\n".join(
        f"<tr>{''.join(f'<td>{in_markup(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><thead>{heads(columns)}</thead><tbody>\n{body}\n</tbody></table>"


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
