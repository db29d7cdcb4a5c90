"""A diagram as a picture: one SVG file, without scripts, fonts or links from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain, count, pairwise, product
from string import ascii_lowercase

from kspec.checkers.graph.diagram import Arrow, Box, Diagram
from kspec.checkers.graph.formats import harmless, label
from kspec.checkers.graph.layout import lay_out
from kspec.spec.core import SpecError
from kspec.traces.page.html import asset
from kspec.traces.text import printable

MOST_BOXES = 300
"""More boxes than this are no picture that anybody reads."""
MOST_ARROWS = 1500

LETTER, LINE, PADDING = 7.2, 17.0, 12.0
"""The width of a letter, the height of a line, and the space around the text of a box."""
SMALL_LETTER, SMALL_LINE = 6.0, 12.0
"""The same for the text of an arrow."""
KEY_LINE = 17.0
LAYER_GAP, MARGIN = 26.0, 36.0
MOST_WRITTEN = 20
"""With more arrows than this, rules are letters, and a key tells which."""
MOST_RULES = 3
"""How many rules are written at an arrow; its tooltip has all of them."""
WIDEST = 46
"""The most letters in a line of a box; its tooltip has the whole line."""


TIP = """
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#8195a8"/></marker></defs>
""".strip()
"""The tip of an arrow."""


def svg(diagram: Diagram) -> str:
    """The picture; SpecError if it would be too large to read."""
    if len(diagram.boxes) > MOST_BOXES or len(diagram.arrows) > MOST_ARROWS:
        raise SpecError(
            f"a picture of {len(diagram.boxes):,} boxes and {len(diagram.arrows):,} arrows cannot "
            "be read: fold it with --by, take smaller bounds, or write .graphml or .dot"
        )
    return Drawing(diagram).whole()


def lines_of(number: int, box: Box) -> list[str]:
    """The lines in a box."""
    lines = [printable(line) for line in label(number, box).split("\n")]
    return [line if len(line) <= WIDEST else line[: WIDEST - 1] + "…" for line in lines]


class Drawing:
    """Where everything is drawn."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.lines = [lines_of(number, box) for number, box in enumerate(diagram.boxes)]
        self.key = letters(diagram) if len(diagram.arrows) > MOST_WRITTEN else {}
        self.rules = [rules_of(arrow, self.key) for arrow in diagram.arrows]
        self.widths = [widest(lines, LETTER) + 2 * PADDING for lines in self.lines]
        self.layout = lay_out(
            [box.level for box in diagram.boxes],
            [(arrow.source, arrow.target) for arrow in diagram.arrows],
            self.widths,
            [widest(rules, SMALL_LETTER) for rules in self.rules],
        )
        self.tops: list[float] = []
        self.heights: list[float] = []
        texts = dict(zip(self.layout.labels, self.rules, strict=True))
        top = 2 * MARGIN + KEY_LINE * len(self.key)
        for layer in self.layout.layers:
            boxes = max((self.height(node) for node in layer if node >= 0), default=0.0)
            rules = max((len(texts.get(node, ())) for node in layer), default=0) * SMALL_LINE
            self.tops.append(top)
            self.heights.append(max(boxes, rules))
            top += self.heights[-1] + LAYER_GAP
        self.bottom = top - LAYER_GAP
        self.layer = {node: n for n, layer in enumerate(self.layout.layers) for node in layer}

    def x(self, node: int) -> float:
        """The middle of a box or point, from the left."""
        return self.layout.places[node] + MARGIN

    def y(self, node: int) -> float:
        """The middle of its layer, from the top."""
        return self.tops[self.layer[node]] + self.heights[self.layer[node]] / 2

    def height(self, box: int) -> float:
        """The height of a box."""
        return len(self.lines[box]) * LINE + 2 * PADDING

    def whole(self) -> str:
        """The file."""
        right = max((self.x(n) + width / 2 for n, width in enumerate(self.widths)), default=0.0)
        for node, rules in zip(self.layout.labels, self.rules, strict=True):
            right = max(right, self.x(node) + widest(rules, SMALL_LETTER) / 2)
        width = max(right, MARGIN + len(self.diagram.title) * 9) + MARGIN
        height = self.bottom + MARGIN
        size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
        style = asset(__package__, "drawing.css")
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(printable(self.diagram.title))}</title><style>\n{style}</style>",
            TIP,
            self.text(MARGIN, MARGIN, printable(self.diagram.title), "title", anchor="start"),
            *(
                self.text(
                    MARGIN, MARGIN + 24 + KEY_LINE * line, f"{letter}  {rule}", "soft", "start"
                )
                for line, (rule, letter) in enumerate(self.key.items())
            ),
            *(self.arrow(n, arrow) for n, arrow in enumerate(self.diagram.arrows)),
            *(self.box(n, box) for n, box in enumerate(self.diagram.boxes)),
            *(self.text_of(number) for number in range(len(self.rules))),
            "</svg>",
        ]
        return "\n".join(parts) + "\n"

    def text(self, x: float, y: float, said: str, style: str = "", anchor: str = "middle") -> str:
        """A line of text."""
        named = f' class="{style}"' if style else ""
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(said)}</text>'

    def box(self, number: int, box: Box) -> str:
        """A box with its text."""
        width, height = self.widths[number], self.height(number)
        x, y = self.x(number) - width / 2, self.y(number) - height / 2
        style = " ".join(["initial"] * box.is_initial + ["fails"] * bool(box.fails))
        said = "".join(
            self.text(self.x(number), y + PADDING + LINE * (place + 0.75), line)
            for place, line in enumerate(self.lines[number])
        )
        return (
            f'<g class="{style}"><title>{escape(harmless(label(number, box)))}</title>'
            f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="8"/>{said}</g>'
        )

    def path(self, number: int) -> str:
        """The line of an arrow: through its points, from one box to another or back to its own."""
        source, *between, target = self.layout.routes[number]
        below = self.layer[between[0]] > self.layer[source]
        above = self.layer[between[-1]] < self.layer[target]
        aside = 0.0 if self.layer[source] < self.layer[target] else 1 / 4  # the way back
        begin = (
            self.x(source) + self.widths[source] * aside,
            self.y(source) + (1 if below else -1) * self.height(source) / 2,
        )
        end = (
            self.x(target) + self.widths[target] * (-aside if source == target else aside),
            self.y(target) + (-1 if above else 1) * self.height(target) / 2,
        )
        points = [begin, *((self.x(node), self.y(node)) for node in between), end]
        path = f"M{begin[0]:.1f} {begin[1]:.1f}"
        for (x, y), (to_x, to_y) in pairwise(points):
            middle = (y + to_y) / 2
            path += f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        return path

    def arrow(self, number: int, arrow: Arrow) -> str:
        """The line of an arrow, with all its rules in the tooltip."""
        said = "\n".join(f"{rule}: {count:,}" for rule, count in arrow.steps.items())
        return (
            f"<g><title>{escape(harmless(said))}</title>"
            f'<path class="arrow" d="{self.path(number)}" marker-end="url(#tip)"/></g>'
        )

    def text_of(self, number: int) -> str:
        """The first rules of an arrow, where its line has room for them."""
        node, rules = self.layout.labels[number], self.rules[number]
        first = self.y(node) - (len(rules) - 1) * SMALL_LINE / 2 + 3.5
        return "".join(
            self.text(self.x(node), first + SMALL_LINE * place, rule, "rule")
            for place, rule in enumerate(rules)
        )


def letters(diagram: Diagram) -> dict[str, str]:
    """A letter, or several, for each rule of a diagram."""
    rules = sorted({name_without_choices(rule) for arrow in diagram.arrows for rule in arrow.steps})
    lengths = (product(ascii_lowercase, repeat=length) for length in count(1))
    return {
        rule: "".join(some) for rule, some in zip(rules, chain.from_iterable(lengths), strict=False)
    }


def name_without_choices(rule: str) -> str:
    """The name of a rule that is written with its choices."""
    return rule.partition("(")[0]


def rules_of(arrow: Arrow, key: Mapping[str, str]) -> list[str]:
    """The rules that are written at an arrow."""
    if key:
        return [" ".join(dict.fromkeys(key[name_without_choices(rule)] for rule in arrow.steps))]
    lines = [printable(rule) for rule in list(arrow.steps)[:MOST_RULES]]
    if len(arrow.steps) > MOST_RULES:
        lines.append(f"and {len(arrow.steps) - MOST_RULES} more")
    return lines


def widest(lines: Sequence[str], letter: float) -> float:
    """The width of the longest line."""
    return max(map(len, lines), default=0) * letter
