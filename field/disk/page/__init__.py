"""The reports as one HTML file: segments, leader epochs, holes and problems. It runs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from itertools import groupby, pairwise
from pathlib import Path
from string import Template
from typing import TypeAlias

from kspec.field.disk.audit import PartitionReport
from kspec.field.disk.problems import Problem
from kspec.traces.page import digest, in_markup

Place: TypeAlias = Callable[[int], float]
"""Where an offset is in a bar."""

WIDTH, HEIGHT = 1000, 28
"""The size of a bar; the page scales it to its width."""
MOST_BOXES = 500
"""How many segments or epochs of a log are drawn."""
COLOURS = 6
"""How many colours the leader epochs take in turn."""


def log_page(reports: Sequence[PartitionReport], others: Sequence[Problem] = ()) -> str:
    """The HTML file; `others` are problems that belong to no partition."""
    problems = [problem for report in reports for problem in report.problems] + [*others]
    more = sum(report.more_problems for report in reports)
    style = asset("page.css")
    found = counted(len(problems) + more, "problem") if problems else "no problem"
    return Template(asset("page.html")).substitute(
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{digest(style)}'",
        summary=f"{counted(len(reports), 'log')}, {found}",
        style=style,
        partitions="\n".join(
            partition(str(name), list(replicas))
            for name, replicas in groupby(reports, key=lambda report: report.folder.name)
        ),
        problems=table(problems, more) if problems else "<p>No problem was found.</p>",
    )


def partition(name: str, replicas: Sequence[PartitionReport]) -> str:
    """The logs of a partition's replicas, one below the other, with the same offsets."""
    first = min(offset for report in replicas for offset in (report.start, *report.bases[:1]))
    last = max(report.end for report in replicas)
    bars = "\n".join(figure(report, first, max(last, first + 1)) for report in replicas)
    return f"<h2>{in_markup(name)}</h2>\n{bars}"


def figure(report: PartitionReport, first: int, last: int) -> str:
    """The bar of a log, with what the numbers say."""

    def place(offset: int) -> float:
        return round(WIDTH * (min(max(offset, first), last) - first) / (last - first), 2)

    parts = [*boxes(report, place), *marks(report, place)]
    high_watermark = "unknown" if report.high_watermark is None else report.high_watermark
    caption = (
        f"{report.folder.path}: {counted(report.records, 'record')} in "
        f"{counted(report.batches, 'batch', 'batches')} and "
        f"{counted(report.segments, 'segment')}, offsets {report.start} to {report.end}, HW "
        f"{high_watermark}, LSO {report.last_stable_offset}"
    )
    picture = f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 16}" role="img">'
    title = f"<title>{in_markup(caption)}</title>"
    return (
        f"<figure>{picture}{title}{''.join(parts)}</svg>"
        f"<figcaption>{in_markup(caption)}</figcaption></figure>"
    )


def boxes(report: PartitionReport, place: Place) -> Iterator[str]:
    """Leader epochs, holes and segments."""
    starts = [*report.leader_epochs[:MOST_BOXES], (-1, report.end)]
    for (epoch, start), (_, end) in pairwise(starts):
        says = f"leader epoch {epoch}, offsets {start} to {end}"
        yield box(place(start), place(end), f'class="epoch epoch-{epoch % COLOURS}"', says)
    for start, end in report.holes[:MOST_BOXES]:
        yield box(place(start), place(end), 'class="hole"', f"no offsets {start} to {end}")
    damaged = {Path(problem.file).name.split(".")[0] for problem in report.problems}
    for base, end in pairwise([*report.bases[:MOST_BOXES], report.end]):
        kind = "segment bad" if f"{base:020}" in damaged else "segment"
        yield box(place(base), place(end), f'class="{kind}"', f"segment {base}")


def box(left: float, right: float, attributes: str, says: str) -> str:
    """A rectangle that says what it is."""
    width = max(round(right - left, 2), 0.5)
    shape = f'<rect x="{left}" y="1" width="{width}" height="{HEIGHT - 2}" {attributes}>'
    return f"{shape}<title>{in_markup(says)}</title></rect>"


def marks(report: PartitionReport, place: Place) -> Iterator[str]:
    """The high watermark, and the last stable offset where a transaction is open."""
    if report.high_watermark is not None:
        yield mark("hw", "HW", place(report.high_watermark))
    if report.open_transactions:
        yield mark("lso", "LSO", place(report.last_stable_offset))


def mark(kind: str, name: str, at: float) -> str:
    """A line with its name."""
    line = f'<line class="{kind}" x1="{at}" x2="{at}" y1="0" y2="{HEIGHT}"/>'
    anchor = "end" if at > WIDTH / 2 else "start"
    return f'{line}<text x="{at}" y="{HEIGHT + 13}" text-anchor="{anchor}">{name}</text>'


def table(problems: Sequence[Problem], more: int) -> str:
    """The problems, as a table."""
    rows = "\n".join(
        f"<tr><td>{in_markup(one.file)}</td><td>{one.position}</td>"
        f"<td>{in_markup(one.problem)}</td></tr>"
        for one in problems
    )
    rest = f"<p>And {more:,} more problems.</p>" if more else ""
    head = "<thead><tr><th>file</th><th>byte</th><th>problem</th></tr></thead>"
    return f"<table>{head}<tbody>\n{rows}\n</tbody></table>{rest}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 log", "2 logs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
