"""Renew the diagrams of a group's states after its rules changed: `python docs/tools/states.py`.

It explores the group in the bounds used for mutation, and in bounds in which one of two consumers
crashes. It writes two diagrams and a table for the page about groups: the usual diagram, and the
one that exploration found. A test compares them, and fails until this script has been run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from math import hypot
from pathlib import Path

from kspec.checkers.graph.transitions import Transitions, transitions
from kspec.spec.group import GROUP
from kspec.spec.group.baseline import BASELINE
from kspec.spec.group.properties import states_passed
from kspec.spec.messages import GroupState

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "group.md"
DRAWN, FOUND = DOCS / "images" / "group-drawn.svg", DOCS / "images" / "group-found.svg"
TABLE = re.compile(r"(?<=<!-- transitions of group -->\n).*?(?=<!-- end -->)", re.DOTALL)

EMPTY, PREPARING = GroupState.EMPTY, GroupState.PREPARING_REBALANCE
COMPLETING, STABLE, DEAD = GroupState.COMPLETING_REBALANCE, GroupState.STABLE, GroupState.DEAD

USUAL = {
    (EMPTY, PREPARING): "a rebalance begins",
    (PREPARING, EMPTY): "every member has left",
    (PREPARING, COMPLETING): "members have joined",
    (COMPLETING, PREPARING): "a member joins or leaves",
    (COMPLETING, STABLE): "the leader has assigned",
    (STABLE, PREPARING): "a session expires, a member leaves, a new one joins",
    (EMPTY, DEAD): "its offsets expire, and the group is deleted",
    (PREPARING, DEAD): "its partition of the offsets topic gets another leader",
    (STABLE, DEAD): "its partition of the offsets topic gets another leader",
}
"""The transitions in the diagrams of courses and notes on Kafka, with their labels."""

PLACES = {
    EMPTY: (110, 60),
    PREPARING: (420, 60),
    COMPLETING: (760, 60),
    STABLE: (760, 290),
    DEAD: (110, 290),
}
ORDER = list(PLACES)
WIDTH, HEIGHT, HALF_HIGH = 890, 340, 22
HALF_WIDE = {EMPTY: 50, PREPARING: 100, COMPLETING: 105, STABLE: 50, DEAD: 50}

STYLE = """
  text { font: 600 15px system-ui, sans-serif; text-anchor: middle; fill: #1b1f24; }
  .state { fill: #e6edfb; stroke: #1d4fb8; stroke-width: 2; }
  .way { fill: none; stroke: #3c4450; stroke-width: 2; }
  .tip { fill: #3c4450; }
  .number { fill: #ffffff; stroke: #3c4450; stroke-width: 1.5; }
  .only .way { stroke: #ad5f00; stroke-width: 3.5; }
  .only .tip { fill: #ad5f00; }
  .only .number { fill: #fcdcb4; stroke: #ad5f00; }
"""

ONE_IS_MISSED = {"consumers": 2, "ids": 1, "crashes": 1, "failovers": 0}
"""Bounds in which the group waits for a consumer that has crashed."""

Change = tuple[GroupState, GroupState]


def found() -> Transitions:
    """Every transition that occurs within these bounds, with its rules."""
    systems = [GROUP.system(None, bounds) for bounds in (*BASELINE.bounds, ONE_IS_MISSED)]
    return transitions(systems, states_passed)


def numbered(changes: Collection[Change]) -> dict[Change, int]:
    """A number for each transition, in the order of its two states."""
    order = sorted(changes, key=lambda change: tuple(map(ORDER.index, change)))
    return {change: number for number, change in enumerate(order, 1)}


# -- the drawing ------------------------------------------------------------------------------


def drawing(
    changes: Collection[Change], only: Collection[Change], numbers: dict[Change, int], title: str
) -> str:
    """The diagram, with the transitions that only it has highlighted."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" fill="#ffffff"/>',
    ]
    for change in sorted(changes, key=numbers.__getitem__):
        parts += arrow(change, numbers[change], change in only, (change[1], change[0]) in changes)
    for state, (x, y) in PLACES.items():
        half = HALF_WIDE[state]
        parts.append(
            f'<rect class="state" x="{x - half}" y="{y - HALF_HIGH}" width="{2 * half}" '
            f'height="{2 * HALF_HIGH}" rx="9"/>'
        )
        parts.append(f'<text x="{x}" y="{y + 5}">{state}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def arrow(change: Change, number: int, only: bool, both_ways: bool) -> Iterator[str]:
    """A numbered arrow from state to state, beside the one that leads back."""
    x1, y1, x2, y2 = map(float, (*PLACES[change[0]], *PLACES[change[1]]))
    length = hypot(x2 - x1, y2 - y1)
    along = ((x2 - x1) / length, (y2 - y1) / length)
    aside = 13 if both_ways else 0
    x1, x2 = x1 - along[1] * aside, x2 - along[1] * aside
    y1, y2 = y1 + along[0] * aside, y2 + along[0] * aside
    starts, ends = reach(change[0], along, aside), length - reach(change[1], along, aside) - 3

    def at(distance: float, beside: float = 0) -> str:
        x = x1 + along[0] * distance - along[1] * beside
        y = y1 + along[1] * distance + along[0] * beside
        return f"{x:.1f} {y:.1f}"

    yield f'<g class="{"only" if only else "usual"}">'
    yield f'<path class="way" d="M{at(starts)}L{at(ends - 8)}"/>'
    yield f'<path class="tip" d="M{at(ends)}L{at(ends - 12, 6)}L{at(ends - 12, -6)}z"/>'
    x, y = at(starts + (ends - starts) * 0.4).split()
    yield f'<circle class="number" cx="{x}" cy="{y}" r="11.5"/>'
    yield f'<text x="{x}" y="{float(y) + 5:.1f}">{number}</text>'
    yield "</g>"


def reach(state: GroupState, along: tuple[float, float], aside: float) -> float:
    """The distance from the centre of a state's box to its edge, in this direction."""
    wide, high = HALF_WIDE[state] - aside * abs(along[1]), HALF_HIGH - aside * abs(along[0])
    x, y = (max(abs(part), 1e-6) for part in along)
    return min(wide / x, high / y)


# -- the table --------------------------------------------------------------------------------


def table(changes: Transitions, numbers: dict[Change, int]) -> str:
    """Each transition: what is usually said of it, and the rules that do it."""
    lines = ["| | from | to | usual label | rules |", "|" + "---|" * 5]
    for change, number in numbers.items():
        said = USUAL.get(change, "**not drawn**")
        rules = ", ".join(f"`{rule}`" for rule in sorted(changes.get(change, ())))
        rules = rules or "**none: it does not occur**"
        lines.append(f"| {number} | {change[0]} | {change[1]} | {said} | {rules} |")
    return "\n".join(["", *lines, "", ""])


def files() -> dict[Path, str]:
    """What the page and its two drawings should hold now."""
    changes = found()
    numbers = numbered({*changes, *USUAL})
    drawn = drawing(USUAL, USUAL.keys() - changes.keys(), numbers, "As it is usually drawn")
    shown = drawing(changes, changes.keys() - USUAL.keys(), numbers, "As the exploration finds it")
    page = TABLE.sub(lambda _: table(changes, numbers), PAGE.read_text(encoding="utf-8"))
    return {DRAWN: drawn, FOUND: shown, PAGE: page}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
