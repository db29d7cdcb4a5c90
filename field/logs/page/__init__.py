"""The timeline as one HTML file: it loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo

import attrs

from kspec.field.logs.adapter import FileReport
from kspec.field.logs.causes import short
from kspec.field.logs.partitions import Partition, isr_text
from kspec.field.logs.rounds import Group, Round, headline
from kspec.field.logs.timeline import (
    Timeline,
    clock,
    details,
    duration,
    not_shown,
    note,
    report_lines,
    sorted_items,
    time_of,
)
from kspec.traces.page.html import Markup, asset, bullets, element, joined, report, row, table
from kspec.traces.text import counted

WIDTH, ROW = 1000, 18
"""The width of a picture, and the height of a member's row; the page scales it."""
LEFT = 130
"""The room for names at the left of a picture."""
MOST_ROUNDS = 300
"""How many rounds of a group a page shows: the last ones."""
MOST_MEMBERS = 40
"""How many members a picture has."""
COLOURS = 6
"""How many colours leader epochs take in turn."""


def timeline_page(timeline: Timeline, zone: tzinfo = UTC) -> str:
    """The HTML file."""
    changed = [one for one in timeline.partitions if one.has_history]
    rounds = sum(len(group.rounds) for group in timeline.groups)
    summary = (
        f"{counted(len(timeline.groups), 'group')}, {counted(rounds, 'rebalance')}, "
        f"{counted(len(changed), 'partition')} with changes of leader or ISR"
    )
    read = [file_row(each) for each in timeline.reading.files]
    body = [
        element("p", f"{summary}.", class_="lead"),
        *(group_part(group, zone) for group in timeline.groups),
        element("h2", "Partitions"),
        element("p", LEGEND),
        *(partition_part(one, zone) for one in changed),
        element("h2", "What was read"),
        element("div", table(("file", "lines", "understood", "events"), read), class_="wide"),
        element("h2", "What these logs cannot show"),
        bullets(not_shown(timeline)),
    ]
    style = asset(__package__, "page.css")
    return report("Timeline of Kafka's logs", body, style, subtitle=summary).html()


LEGEND = (
    "A colour for each leader epoch, with the broker that leads. Red lines: a replica left the "
    "ISR; green lines: one joined it."
)


# -- groups -------------------------------------------------------------------------------------


def group_part(group: Group, zone: tzinfo) -> Markup:
    """A group: why it rebalances, the picture, and each round."""
    rows = [
        round_row(item, zone) if isinstance(item, Round) else note_row(note(item, zone))
        for item in sorted_items(group)[-MOST_ROUNDS:]
    ]
    columns = ("time", "generation", "members", "took", "why")
    return element(
        "section",
        element("h2", f"Group {group.name}"),
        element("h3", "Why it rebalances"),
        element("ul", *causes(group), class_="causes"),
        picture(group, zone),
        element("div", table(columns, rows, class_="rounds"), class_="wide"),
    )


def causes(group: Group) -> Iterator[Markup]:
    """The causes, each with its number of rounds and what to change."""
    for cause, count, clients in group.causes():
        kind = "fault" if cause.is_timeout else "set" if cause.setting else ""
        setting = [" ", element("code", cause.setting)] if cause.setting else []
        named = [" ", element("span", ", ".join(clients), class_="who")] if clients else []
        headed = [element("b", f"{count} × {cause.name}"), *named]
        yield element("li", *headed, element("p", cause.advice, *setting), class_=kind)


def round_row(one: Round, zone: tzinfo) -> Markup:
    """A row of the table: a round."""
    cells = (
        clock(time_of(one), zone),
        "?" if one.generation is None else one.generation,
        "?" if one.members is None else one.members,
        duration(one.took_ms) if one.end_ms is not None else "not ended",
        joined([headline(one), *(element("small", text) for text in details(one))]),
    )
    where = f"{one.source.get('file', '')}, line {one.source.get('line', '?')}"
    return row(cells, ("time", "number", "number", "number"), title=where)


def note_row(text: str) -> Markup:
    """A row of the table: something else that happened to the group."""
    return element("tr", element("td", text.strip(), colspan=5), class_="note")


@attrs.frozen
class Scale:
    """Where a time is in a picture."""

    first: float
    last: float

    def at(self, time_ms: float) -> float:
        """The place of a time."""
        share = (time_ms - self.first) / max(self.last - self.first, 1)
        return round(LEFT + (WIDTH - LEFT) * min(max(share, 0), 1), 2)


def picture(group: Group, zone: tzinfo) -> Markup:
    """A row for each member from its join to its departure, and a band for each round."""
    rounds = [one for one in group.rounds if time_of(one) is not None][-MOST_ROUNDS:]
    if len(rounds) < 2:
        return Markup()
    times = [
        t for one in rounds for t in (one.start_ms, one.end_ms, one.assigned_ms) if t is not None
    ]
    times += [d.time_ms for one in rounds for d in one.departed if d.time_ms is not None]
    scale = Scale(min(times), max(times))
    lives = sorted(lives_of(rounds, scale.last), key=lambda life: life[1:3])[-MOST_MEMBERS:]
    height = ROW * (len(lives) + 1) + 30
    label = (
        f"{counted(len(lives), 'member')} and {counted(len(rounds), 'rebalance')} of {group.name}"
    )
    parts = [element("title", label), *bands(rounds, scale, height - 24)]
    for number, (member, start, end, how) in enumerate(lives):
        top = ROW * (number + 1) + 4
        says = f"{short(member)}: from {clock(start, zone)} to {clock(end, zone)}{how}"
        parts.append(element("text", short(member)[:20], x=0, y=top + 11))
        parts.append(bar("life", says, scale, start, end, y=top, height=12, rx=3))
        if how:
            cross = f"M{scale.at(end) - 4} {top + 2}l8 8m0 -8l-8 8"
            parts.append(element("path", class_="end", d=cross))
    parts += axis(scale, zone, height)
    caption = (
        "A bar for each member, a cross where it was removed or left; a band for each "
        "rebalance, red where a timeout expired. Numbers are generations."
    )
    return figure(parts, height, element("figcaption", caption))


def figure(parts: Iterable[Markup], height: float, caption: object = "") -> Markup:
    """A picture, whose first part is its title."""
    svg = element("svg", *parts, viewBox=f"0 0 {WIDTH} {height}", role="img")
    return element("figure", svg, caption)


def bar(kind: str, says: str, scale: Scale, start: float, end: float, **place: float) -> Markup:
    """A rectangle from one time to another, at least wide enough to be seen."""
    left, width = scale.at(start), max(scale.at(end) - scale.at(start), 2)
    return element("rect", element("title", says), class_=kind, x=left, width=width, **place)


def lives_of(rounds: Sequence[Round], last: float) -> Iterator[tuple[str, float, float, str]]:
    """Each member, when it joined and when and how it departed."""
    begun: dict[str, float] = {}
    first = time_of(rounds[0]) or 0
    for one in rounds:
        at = time_of(one) or first
        for member in one.joined:
            begun.setdefault(member, at)
        for departure in one.departed:
            start = begun.pop(departure.member, first)
            end = departure.time_ms or at
            yield departure.member, min(start, end), end, f"; it {departure.cause.says}"
    for member, start in begun.items():
        yield member, start, last, ""


def bands(rounds: Sequence[Round], scale: Scale, height: float) -> Iterator[Markup]:
    """A band for each round."""
    free = 0.0
    for one in rounds:
        start = time_of(one) or scale.first
        end = one.assigned_ms or one.end_ms or start
        met = [one.trigger.cause, *(departure.cause for departure in one.departed)]
        kind = "band fault" if any(cause.is_timeout for cause in met) else "band"
        generation = "?" if one.generation is None else str(one.generation)
        says = f"generation {generation}, {duration(one.took_ms)}: {headline(one)}"
        yield bar(kind, says, scale, start, end, y=14, height=height - 14)
        left = scale.at(start)
        if left >= free:
            yield element("text", generation, class_="generation", x=left, y=11)
            free = left + 9 * len(generation) + 4


def axis(scale: Scale, zone: tzinfo, height: float) -> list[Markup]:
    """The first time and the last."""
    first, last = clock(scale.first, zone), clock(scale.last, zone)
    return [
        element("text", first, class_="axis", x=LEFT, y=height - 4),
        element("text", last, class_="axis", x=WIDTH, y=height - 4, text_anchor="end"),
    ]


# -- partitions and files --------------------------------------------------------------------------


def partition_part(partition: Partition, zone: tzinfo) -> Markup:
    """A partition: its leader epochs as a bar, and its changes as a table."""
    items = partition.changes()
    rows = [
        row((clock(time_ms or None, zone), text), ("time",))
        for time_ms, text in items[-MOST_ROUNDS:]
    ]
    summary = element("summary", counted(len(items), "change"))
    changes = element("details", summary, table((), rows))
    return element("section", element("h3", partition.name), epochs(partition), changes)


def epochs(partition: Partition) -> Markup:
    """The leader epochs of a partition as a bar, with marks where the ISR changed."""
    starts = [(one.start_ms, one) for one in partition.epochs if one.start_ms is not None]
    times = [start for start, _ in starts]
    times += [change["time_ms"] for change in partition.isrs if change["time_ms"] is not None]
    if len(times) < 2 or not starts:
        return Markup()
    scale = Scale(min(times), max(times))
    ends = [start for start, _ in starts[1:]] + [scale.last]
    parts = [element("title", "leader epochs"), element("text", "leader", x=0, y=15)]
    for (start, one), end in zip(starts, ends, strict=True):
        says = f"leader epoch {one.epoch}: broker {one.leader}"
        parts.append(bar(f"epoch-{one.epoch % COLOURS}", says, scale, start, end, y=2, height=18))
        parts.append(element("text", one.leader, x=scale.at(start) + 4, y=15))
    for change in partition.isrs[1:]:
        if change["time_ms"] is not None:
            at, kind = scale.at(change["time_ms"]), "shrink" if change["left"] else "expand"
            title = element("title", isr_text(change))
            parts.append(element("line", title, class_=kind, x1=at, x2=at, y1=0, y2=22))
    return figure(parts, 24)


def file_row(read: FileReport) -> Markup:
    """A row of the table of files."""
    told = [element("small", text) for text in report_lines(read)]
    counts = [f"{count:,}" for count in (read.lines, read.protocol_lines, read.events)]
    return row((joined([read.file, *told]), *counts), ("", "number", "number", "number"))
