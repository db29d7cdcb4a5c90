"""The timeline as one HTML file: it loads nothing and runs no script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, tzinfo
from importlib.resources import files
from string import Template

import attrs

from kspec.field.logs.causes import short
from kspec.field.logs.partitions import Partition, isr_text
from kspec.field.logs.rounds import Group, Round, headline
from kspec.field.logs.timeline import (
    Timeline,
    clock,
    counted,
    details,
    duration,
    not_shown,
    note,
    report_lines,
    sorted_items,
    time_of,
)
from kspec.traces.page import digest, in_markup

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
    style = asset("page.css")
    changed = [one for one in timeline.partitions if one.has_history]
    rounds = sum(len(group.rounds) for group in timeline.groups)
    return Template(asset("page.html")).substitute(
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
        f"style-src '{digest(style)}'",
        summary=in_markup(
            f"{counted(len(timeline.groups), 'group')}, {counted(rounds, 'rebalance')}, "
            f"{counted(len(changed), 'partition')} with changes of leader or ISR"
        ),
        style=style,
        groups="\n".join(group_part(group, zone) for group in timeline.groups),
        partitions="\n".join(partition_part(one, zone) for one in changed),
        files="\n".join(file_row(report) for report in timeline.reading.files),
        missing="\n".join(f"<li>{in_markup(text)}</li>" for text in not_shown(timeline)),
    )


# -- groups -------------------------------------------------------------------------------------


def group_part(group: Group, zone: tzinfo) -> str:
    """A group: why it rebalances, the picture, and each round."""
    items = sorted_items(group)[-MOST_ROUNDS:]
    rows = "\n".join(
        round_row(item, zone) if isinstance(item, Round) else note_row(note(item, zone))
        for item in items
    )
    head = "<tr><th>time</th><th>generation</th><th>members</th><th>took</th><th>why</th></tr>"
    return (
        f"<section><h2>Group {in_markup(group.name)}</h2>\n"
        f"<h3>Why it rebalances</h3>\n<ul class='causes'>{''.join(causes(group))}</ul>\n"
        f"{picture(group, zone)}\n"
        f"<div class='wide'><table class='rounds'><thead>{head}</thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div></section>"
    )


def causes(group: Group) -> Iterator[str]:
    """The causes, each with its number of rounds and what to change."""
    for cause, count, clients in group.causes():
        kind = " class='fault'" if cause.is_timeout else " class='set'" if cause.setting else ""
        setting = f" <code>{in_markup(cause.setting)}</code>" if cause.setting else ""
        named = f" <span class='who'>{in_markup(', '.join(clients))}</span>" if clients else ""
        yield (
            f"<li{kind}><b>{count} × {in_markup(cause.name)}</b>{named}"
            f"<p>{in_markup(cause.advice)}{setting}</p></li>"
        )


def round_row(one: Round, zone: tzinfo) -> str:
    """A row of the table: a round."""
    told = "".join(f"<small>{in_markup(text)}</small>" for text in details(one))
    generation = "?" if one.generation is None else one.generation
    members = "?" if one.members is None else one.members
    took = duration(one.took_ms) if one.end_ms is not None else "not ended"
    where = f"{one.source.get('file', '')}, line {one.source.get('line', '?')}"
    return (
        f"<tr title='{in_markup(where)}'><td class='time'>{clock(time_of(one), zone)}</td>"
        f"<td class='number'>{generation}</td><td class='number'>{members}</td>"
        f"<td class='number'>{took}</td><td>{in_markup(headline(one))}{told}</td></tr>"
    )


def note_row(text: str) -> str:
    """A row of the table: something else that happened to the group."""
    return f"<tr class='note'><td colspan='5'>{in_markup(text.strip())}</td></tr>"


@attrs.frozen
class Scale:
    """Where a time is in a picture."""

    first: float
    last: float

    def at(self, time_ms: float) -> float:
        """The place of a time."""
        share = (time_ms - self.first) / max(self.last - self.first, 1)
        return round(LEFT + (WIDTH - LEFT) * min(max(share, 0), 1), 2)


def picture(group: Group, zone: tzinfo) -> str:
    """A row for each member from its join to its departure, and a band for each round."""
    rounds = [one for one in group.rounds if time_of(one) is not None][-MOST_ROUNDS:]
    if len(rounds) < 2:
        return ""
    times = [
        t for one in rounds for t in (one.start_ms, one.end_ms, one.assigned_ms) if t is not None
    ]
    times += [d.time_ms for one in rounds for d in one.departed if d.time_ms is not None]
    scale = Scale(min(times), max(times))
    lives = sorted(lives_of(rounds, scale.last), key=lambda life: life[1:3])[-MOST_MEMBERS:]
    height = ROW * (len(lives) + 1) + 30
    parts = [*bands(rounds, scale, height - 24)]
    for number, (member, start, end, how) in enumerate(lives):
        top = ROW * (number + 1) + 4
        left, right = scale.at(start), scale.at(end)
        parts.append(f"<text x='0' y='{top + 11}'>{in_markup(short(member)[:20])}</text>")
        says = f"{short(member)}: from {clock(start, zone)} to {clock(end, zone)}{how}"
        parts.append(
            f"<rect class='life' x='{left}' y='{top}' width='{max(right - left, 2)}' height='12' "
            f"rx='3'><title>{in_markup(says)}</title></rect>"
        )
        if how:
            parts.append(f"<path class='end' d='M{right - 4} {top + 2}l8 8m0 -8l-8 8'/>")
    parts += [axis(scale, zone, height)]
    label = (
        f"{counted(len(lives), 'member')} and {counted(len(rounds), 'rebalance')} of {group.name}"
    )
    return (
        f"<figure><svg viewBox='0 0 {WIDTH} {height}' role='img'>"
        f"<title>{in_markup(label)}</title>{''.join(parts)}</svg>"
        "<figcaption>A bar for each member, a cross where it was removed or left; a band for each "
        "rebalance, red where a timeout expired. Numbers are generations.</figcaption></figure>"
    )


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


def bands(rounds: Sequence[Round], scale: Scale, height: float) -> Iterator[str]:
    """A band for each round."""
    free = 0.0
    for one in rounds:
        start = time_of(one) or scale.first
        end = one.assigned_ms or one.end_ms or start
        left, right = scale.at(start), scale.at(end)
        met = [one.trigger.cause, *(departure.cause for departure in one.departed)]
        is_fault = any(cause.is_timeout for cause in met)
        kind = "band fault" if is_fault else "band"
        generation = "?" if one.generation is None else str(one.generation)
        says = f"generation {generation}, {duration(one.took_ms)}: {headline(one)}"
        yield (
            f"<rect class='{kind}' x='{left}' y='14' width='{max(right - left, 2)}' "
            f"height='{height - 14}'><title>{in_markup(says)}</title></rect>"
        )
        if left >= free:
            yield f"<text class='generation' x='{left}' y='11'>{generation}</text>"
            free = left + 9 * len(generation) + 4


def axis(scale: Scale, zone: tzinfo, height: float) -> str:
    """The first time and the last."""
    first, last = clock(scale.first, zone), clock(scale.last, zone)
    return (
        f"<text class='axis' x='{LEFT}' y='{height - 4}'>{first}</text>"
        f"<text class='axis' x='{WIDTH}' y='{height - 4}' text-anchor='end'>{last}</text>"
    )


# -- partitions and files --------------------------------------------------------------------------


def partition_part(partition: Partition, zone: tzinfo) -> str:
    """A partition: its leader epochs as a bar, and its changes as a table."""
    items = partition.changes()
    rows = "\n".join(
        f"<tr><td class='time'>{clock(time_ms or None, zone)}</td><td>{in_markup(text)}</td></tr>"
        for time_ms, text in items[-MOST_ROUNDS:]
    )
    return (
        f"<section><h3>{in_markup(partition.name)}</h3>{epochs(partition)}"
        f"<details><summary>{counted(len(items), 'change')}</summary><table><tbody>\n{rows}\n"
        "</tbody></table></details></section>"
    )


def epochs(partition: Partition) -> str:
    """The leader epochs of a partition as a bar, with marks where the ISR changed."""
    starts = [(one.start_ms, one) for one in partition.epochs if one.start_ms is not None]
    times = [start for start, _ in starts]
    times += [change["time_ms"] for change in partition.isrs if change["time_ms"] is not None]
    if len(times) < 2 or not starts:
        return ""
    scale = Scale(min(times), max(times))
    ends = [start for start, _ in starts[1:]] + [scale.last]
    parts = []
    for (start, one), end in zip(starts, ends, strict=True):
        left, width = scale.at(start), max(scale.at(end) - scale.at(start), 2)
        says = f"leader epoch {one.epoch}: broker {one.leader}"
        parts.append(
            f"<rect class='epoch-{one.epoch % COLOURS}' x='{left}' y='2' width='{width}' "
            f"height='18'><title>{in_markup(says)}</title></rect>"
            f"<text x='{left + 4}' y='15'>{in_markup(f'{one.leader}')}</text>"
        )
    for change in partition.isrs[1:]:
        if change["time_ms"] is not None:
            at, kind = scale.at(change["time_ms"]), "shrink" if change["left"] else "expand"
            parts.append(
                f"<line class='{kind}' x1='{at}' x2='{at}' y1='0' y2='22'>"
                f"<title>{in_markup(isr_text(change))}</title></line>"
            )
    return (
        f"<figure><svg viewBox='0 0 {WIDTH} 24' role='img'><title>leader epochs</title>"
        f"<text x='0' y='15'>leader</text>{''.join(parts)}</svg></figure>"
    )


def file_row(report: object) -> str:
    """A row of the table of files."""
    told = "".join(f"<small>{in_markup(text)}</small>" for text in report_lines(report))
    cells = (report.lines, report.protocol_lines, report.events)  # type: ignore[attr-defined]
    numbers = "".join(f"<td class='number'>{cell:,}</td>" for cell in cells)
    return f"<tr><td>{in_markup(report.file)}{told}</td>{numbers}</tr>"  # type: ignore[attr-defined]


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
