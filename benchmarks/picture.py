"""Lines on logarithmic axes, as SVG, without a drawing library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import attrs

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 20, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")


@attrs.frozen
class Line:
    """One series of measurements."""

    name: str
    points: Sequence[tuple[float, float]]


def log_log(lines: Sequence[Line], *, across: str, up: str) -> str:
    """Draw the lines, with a grid line for each power of ten."""
    points = [point for line in lines for point in line.points]
    low_x, high_x = _powers([x for x, _ in points])
    low_y, high_y = _powers([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        along = (math.log10(x) - low_x) / (high_x - low_x)
        above = (math.log10(y) - low_y) / (high_y - low_y)
        return (
            LEFT + along * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - above * (HEIGHT - TOP - BOTTOM),
        )

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for power in range(low_x, high_x + 1):
        x, bottom = place(10**power, 10**low_y)
        parts.append(_grid(x, bottom, x, TOP))
        parts.append(_text(x, bottom + 18, f"{10**power:,}", "middle"))
    for power in range(low_y, high_y + 1):
        left, y = place(10**low_x, 10.0**power)
        parts.append(_grid(left, y, WIDTH - RIGHT, y))
        parts.append(_text(left - 6, y + 4, f"{10.0**power:g}", "end"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, across, "middle"))
    parts.append(_text(LEFT - 6, TOP - 6, up, "end"))
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        spots = [place(x, y) for x, y in sorted(line.points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        # A dot for each point, since a line of one point is invisible.
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
        key = TOP + 20 + 20 * number
        edge = WIDTH - RIGHT + 15
        parts.append(f'<rect x="{edge}" y="{key - 9}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(edge + 16, key, line.name, "start"))
    return "\n".join([*parts, "</svg>\n"])


def _powers(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten between which the values are."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _grid(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
