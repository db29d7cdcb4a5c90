"""The reports as one HTML file: segments, leader epochs, holes and problems. It runs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeAlias

from kspec.field.disk.audit import PartitionReport
from kspec.field.disk.problems import Problem
from kspec.traces.page.html import Markup, asset, element, joined, report, row, table
from kspec.traces.text import counted

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
    problems = [problem for one in reports for problem in one.problems] + [*others]
    more = sum(one.more_problems for one in reports)
    found = counted(len(problems) + more, "problem") if problems else "no problem"
    summary = f"{counted(len(reports), 'log')}, {found}"
    body = [
        element("p", f"{summary}. {LEGEND}"),
        element("h2", "Problems"),
        *(listed(problems, more) if problems else [element("p", "No problem was found.")]),
    ]
    for name, replicas in groupby(reports, key=lambda one: one.folder.name):
        body += [element("h2", name), *figures(list(replicas))]
    return report("Logs on disk", body, asset(__package__, "page.css"), subtitle=summary).html()


LEGEND = (
    "Each bar is a log from its start to its end: a box for each segment, with a red border if one "
    "of its files has a problem; a colour for each leader epoch; gaps where no batch has the "
    "offsets; lines at the high watermark (HW) and the last stable offset (LSO)."
)


def figures(replicas: Sequence[PartitionReport]) -> Iterator[Markup]:
    """The logs of a partition's replicas, one below the other, with the same offsets."""
    first = min(offset for one in replicas for offset in (one.start, *one.bases[:1]))
    last = max(*(one.end for one in replicas), first + 1)
    for one in replicas:
        yield figure(one, first, last)


def figure(report: PartitionReport, first: int, last: int) -> Markup:
    """The bar of a log, with what the numbers say."""

    def place(offset: int) -> float:
        return round(WIDTH * (min(max(offset, first), last) - first) / (last - first), 2)

    high_watermark = "unknown" if report.high_watermark is None else report.high_watermark
    caption = (
        f"{report.folder.path}: {counted(report.records, 'record')} in "
        f"{counted(report.batches, 'batch', 'batches')} and "
        f"{counted(report.segments, 'segment')}, offsets {report.start} to {report.end}, HW "
        f"{high_watermark}, LSO {report.last_stable_offset}"
    )
    parts = [element("title", caption), *boxes(report, place), *marks(report, place)]
    picture = element("svg", *parts, viewBox=f"0 0 {WIDTH} {HEIGHT + 16}", role="img")
    return element("figure", picture, element("figcaption", caption))


def boxes(report: PartitionReport, place: Place) -> Iterator[Markup]:
    """Leader epochs, holes and segments."""

    def box(start: int, end: int, kind: str, says: str) -> Markup:
        left = place(start)
        width = max(round(place(end) - left, 2), 0.5)
        title = element("title", says)
        return element("rect", title, x=left, y=1, width=width, height=HEIGHT - 2, class_=kind)

    starts = [*report.leader_epochs[:MOST_BOXES], (-1, report.end)]
    for (epoch, start), (_, end) in pairwise(starts):
        says = f"leader epoch {epoch}, offsets {start} to {end}"
        yield box(start, end, f"epoch epoch-{epoch % COLOURS}", says)
    for start, end in report.holes[:MOST_BOXES]:
        yield box(start, end, "hole", f"no offsets {start} to {end}")
    damaged = {Path(problem.file).name.split(".")[0] for problem in report.problems}
    for base, end in pairwise([*report.bases[:MOST_BOXES], report.end]):
        kind = "segment bad" if f"{base:020}" in damaged else "segment"
        yield box(base, end, kind, f"segment {base}")


def marks(report: PartitionReport, place: Place) -> Iterator[Markup]:
    """The high watermark, and the last stable offset where a transaction is open."""
    if report.high_watermark is not None:
        yield mark("HW", place(report.high_watermark))
    if report.open_transactions:
        yield mark("LSO", place(report.last_stable_offset))


def mark(name: str, at: float) -> Markup:
    """A line with its name."""
    line = element("line", class_=name.lower(), x1=at, x2=at, y1=0, y2=HEIGHT)
    anchor = "end" if at > WIDTH / 2 else "start"
    return joined([line, element("text", name, x=at, y=HEIGHT + 13, text_anchor=anchor)])


def listed(problems: Sequence[Problem], more: int) -> Iterator[Markup]:
    """The problems, as a table."""
    rows = [row((one.file, one.position, one.problem)) for one in problems]
    yield table(("file", "byte", "problem"), rows)
    if more:
        yield element("p", f"And {more:,} more problems.")
