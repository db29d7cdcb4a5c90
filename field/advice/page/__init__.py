"""The matrix as one HTML file, with a cell for each combination that opens its shortest loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from kspec.field.advice.matrix import SAME, Cell, acks_text, column, rows
from kspec.field.advice.questions import BUDGETS, loss_of, says
from kspec.traces.page import digest, in_markup, in_script, page
from kspec.traces.story import tell

SETTINGS = (
    "replication.factor",
    "acks",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)


def matrix_page(cells: Sequence[Cell], protocol: str, not_modelled: Sequence[str]) -> str:
    """The HTML file."""
    lost = [cell for cell in cells if cell.answer.loss is not None]
    before, after, losses = stories(lost)
    number = {id(cell): index for index, cell in enumerate(lost)}
    table = rows(cells)
    columns = list(dict.fromkeys(name for row in table.values() for name in row))
    headings = [in_markup(name).replace(".", ".<wbr>") for name in SETTINGS]
    headings += [in_markup(says_column(name)) for name in columns]
    heads = "".join(f"<th>{heading}</th>" for heading in headings)
    lines = []
    factor = 0
    for s, row in table.items():
        of_row = (str(s.factor), acks_text(s.acks), str(s.min_insync), str(s.unclean).lower())
        settings = "".join(f"<td>{in_markup(text)}</td>" for text in of_row)
        begins = ' class="begins"' if s.factor != factor else ""
        factor = s.factor
        lines.append(
            f"<tr{begins}>{settings}{''.join(as_cell(row[name], number) for name in columns)}</tr>"
        )
    style, script = asset("matrix.css"), asset("matrix.js")
    return Template(asset("matrix.html")).substitute(
        policy=policy(style, script, before),
        protocol=in_markup(protocol),
        heads=heads,
        rows="\n".join(lines),
        same="".join(f"<li>{in_markup(text)}</li>" for text in SAME),
        left_out=in_markup(f"{'; '.join(not_modelled)}."),
        style=style,
        losses=in_script({"before": before, "after": after, "losses": losses}),
        script=script,
    )


def says_column(name: str) -> str:
    """The heading of a column."""
    budget, _, flushed = name.partition(", ")
    return BUDGETS[budget].says + (", with each record flushed" if flushed else "")


def as_cell(cell: Cell, number: dict[int, int]) -> str:
    """A cell of the table; a loss is a button."""
    found = cell.answer
    writes = {True: "writes go on", False: "writes stop", None: "unknown"}[found.available]
    if found.kept is None:
        return "<td>unknown</td>"
    if found.kept:
        kind = "kept" if found.available else "stops"
        states = f"{found.searched:,} states"
        return f'<td class="{kind}">kept, {writes}<small>{states}</small></td>'
    label = f"lost in {(found.states or 1) - 1} steps"
    name = f"{label}: {column(cell)}"
    button = f'<button type="button" data-loss="{number[id(cell)]}" title="{name}">{label}</button>'
    return f'<td class="lost">{button}<small>{writes}</small></td>'


STORY = re.compile(r'(.*<script type="application/json" id="story">)(.*?)(</script>.*)', re.DOTALL)


def stories(lost: Sequence[Cell]) -> tuple[str, str, list[str]]:
    """The pages of the losses: their common beginning and end, and what differs."""
    before = after = ""
    losses = []
    for cell in lost:
        trace = loss_of(cell.settings, cell.answer)
        whole = page(tell(trace, says(cell.answer), violated=True))
        found = STORY.fullmatch(whole)
        assert found is not None
        before, after = before or found[1], after or found[3]
        losses.append(found[2])
    return before, after, losses


def policy(style: str, script: str, story: str) -> str:
    """The content security policy. It applies to the pages of the losses as well."""
    styles = [f"'{digest(style)}'", *allowed(story, "style-src")]
    scripts = [f"'{digest(script)}'", *allowed(story, "script-src")]
    return "; ".join(
        [
            "default-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "img-src data:",
            "frame-src blob:",
            f"style-src {' '.join(styles)}",
            f"script-src {' '.join(scripts)}",
        ]
    )


def allowed(story: str, directive: str) -> list[str]:
    """The sources that the policy of a story's page allows."""
    found = re.search(
        rf'http-equiv="Content-Security-Policy" content="[^"]*{directive} ([^;"]*)', story
    )
    return found[1].split() if found else []


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
