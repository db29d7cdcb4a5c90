"""The matrix as one HTML file, with a cell for each combination that opens its shortest loss."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kspec.field.advice.matrix import SAME, Cell, acks_text, column, rows
from kspec.field.advice.questions import BUDGETS, loss_of, says
from kspec.field.advice.settings import shown
from kspec.traces.page import story_page
from kspec.traces.page.html import (
    Markup,
    Page,
    asset,
    bullets,
    element,
    in_markup,
    in_script,
    report,
    table,
)
from kspec.traces.story import Story, tell

SETTINGS = (
    "replication.factor",
    "acks",
    "min.insync.replicas",
    "unclean.leader.election.enable",
)


def matrix_page(cells: Sequence[Cell], protocol: str, not_modelled: Sequence[str]) -> str:
    """The HTML file."""
    lost = [cell for cell in cells if cell.answer.loss is not None]
    number = {id(cell): index for index, cell in enumerate(lost)}
    by_settings = rows(cells)
    columns = list(dict.fromkeys(name for each in by_settings.values() for name in each))
    heads = [Markup(name.replace(".", ".<wbr>")) for name in SETTINGS]
    lines = []
    factor = 0
    for s, each in by_settings.items():
        settings = (s.factor, acks_text(s.acks), s.min_insync, shown(s.unclean))
        made = [element("td", text) for text in settings]
        made += [as_cell(each[name], number) for name in columns]
        lines.append(element("tr", *made, class_="begins" if s.factor != factor else ""))
        factor = s.factor
    introduction = asset(__package__, "introduction.html").rstrip()
    body = [
        element("p", Markup(introduction.format(protocol=in_markup(protocol)))),
        element("div", table([*heads, *map(says_column, columns)], lines), class_="wide"),
        element("h2", "Combinations that are left out"),
        bullets(SAME),
        element("h2", "Not modelled"),
        element("p", f"{'; '.join(not_modelled)}."),
    ]
    style = asset(__package__, "matrix.css")
    table_page = report("Which settings lose data, or stop writes", body, style)
    pages = [story_page(story_of(cell)) for cell in lost]
    return attrs.evolve(
        table_page,
        title=f"Which settings lose data: {protocol}",
        body=table_page.body + asset(__package__, "viewer.html"),
        script=asset(__package__, "matrix.js"),
        data={"losses": in_parts(pages)},
        framed=pages[0] if pages else None,
    ).html()


def story_of(cell: Cell) -> Story:
    """The shortest loss of a cell."""
    return tell(loss_of(cell.settings, cell.answer), says(cell.answer), violated=True)


def says_column(name: str) -> str:
    """The heading of a column."""
    budget, _, flushed = name.partition(", ")
    return BUDGETS[budget].says + (", with each record flushed" if flushed else "")


def as_cell(cell: Cell, number: dict[int, int]) -> Markup:
    """A cell of the table; a loss is a button."""
    found = cell.answer
    writes = {True: "writes go on", False: "writes stop", None: "unknown"}[found.available]
    if found.kept is None:
        return element("td", "unknown")
    if found.kept:
        states = element("small", f"{found.searched:,} states")
        kind = "kept" if found.available else "stops"
        return element("td", f"kept, {writes}", states, class_=kind)
    label = f"lost in {(found.states or 1) - 1} steps"
    which = {"data-loss": number[id(cell)], "title": f"{label}: {column(cell)}"}
    button = element("button", label, type="button", **which)
    return element("td", button, element("small", writes), class_="lost")


def in_parts(pages: Sequence[Page]) -> dict[str, object]:
    """The pages of the losses: their common beginning and end, and what differs."""
    losses = [in_script(page.data["story"]) for page in pages]
    before, _, after = pages[0].html().partition(losses[0]) if pages else ("", "", "")
    return {"before": before, "after": after, "losses": losses}
