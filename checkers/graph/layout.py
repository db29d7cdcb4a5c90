"""Places for the boxes and arrows of a diagram, layer by layer (Sugiyama's method).

The layer of a box follows from its level: how many steps it is from an initial state. An arrow
passes through a point of its own in each layer between its boxes, so it crosses no other box; one
of them is wide enough for its text. Boxes and points of a layer are ordered by the mean place of
their neighbours, in some sweeps down and up, and the best order is kept; then they are moved
towards their neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import attrs

Node: TypeAlias = int
"""A box by its number, or a point of an arrow as a negative number."""

SWEEPS = 12
"""How often the order is improved; more sweeps change little."""
GAP = 28.0
"""The least distance between neighbours of a layer."""


@attrs.frozen
class Layout:
    """Where everything is."""

    places: Mapping[Node, float]
    """By box or point: the middle, from the left."""
    layers: Sequence[Sequence[Node]]
    """The boxes and points of each layer, from left to right."""
    routes: Sequence[Sequence[Node]]
    """By arrow: the boxes and points that it passes through."""
    labels: Sequence[Node]
    """By arrow: the point at which its text is."""


def lay_out(
    levels: Sequence[int],
    arrows: Sequence[tuple[int, int]],
    widths: Sequence[float],
    label_widths: Sequence[float],
) -> Layout:
    """Places for boxes, given the level of each, and for the text of each arrow.

    Layers of boxes and of texts alternate. Levels without a box take no room.
    """
    rank = {level: 2 * number for number, level in enumerate(sorted(set(levels)))}
    layer_of = [rank[level] for level in levels]
    layers: list[list[Node]] = [[] for _ in range(max(layer_of, default=0) + 2)]
    for box, layer in enumerate(layer_of):
        layers[layer].append(box)
    all_widths: dict[Node, float] = dict(enumerate(widths))
    routes, labels = [], []
    last = 0
    for (source, target), label_width in zip(arrows, label_widths, strict=True):
        begin, end = layer_of[source], layer_of[target]
        step = 1 if end >= begin else -1
        between = list(range(begin + step, end, step)) or [begin + 1]
        text_at = between[(len(between) - 1) // 2 // 2 * 2]
        route = [source]
        for layer in between:
            last -= 1
            route.append(last)
            layers[layer].append(last)
            all_widths[last] = label_width if layer == text_at else 0.0
            if layer == text_at:
                labels.append(last)
        routes.append([*route, target])
    neighbours: dict[Node, list[Node]] = {node: [] for layer in layers for node in layer}
    for route in routes:
        for one, other in pairwise(route):
            neighbours[one].append(other)
            neighbours[other].append(one)
    layers = ordered(layers, neighbours)
    return Layout(placed(layers, neighbours, all_widths), layers, routes, labels)


def ordered(layers: list[list[Node]], neighbours: Mapping[Node, list[Node]]) -> list[list[Node]]:
    """The layers in an order with few crossings."""
    best, fewest = layers, crossings(layers, neighbours)
    current = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for number in range(len(current)) if down else reversed(range(len(current))):
            beside = number - 1 if down else number + 1
            if not 0 <= beside < len(current):
                continue
            current[number] = by_neighbours(current[number], current[beside], neighbours)
        count = crossings(current, neighbours)
        if count < fewest:
            best, fewest = [list(layer) for layer in current], count
        if not count:
            break
    return best


def by_neighbours(
    layer: Sequence[Node], beside: Sequence[Node], neighbours: Mapping[Node, list[Node]]
) -> list[Node]:
    """A layer in the order of its neighbours' mean places in the layer beside it."""
    rank = {node: place for place, node in enumerate(beside)}
    means = {}
    for place, node in enumerate(layer):
        near = [rank[other] for other in neighbours[node] if other in rank]
        means[node] = sum(near) / len(near) if near else float(place)
    return sorted(layer, key=means.__getitem__)


def crossings(layers: Sequence[Sequence[Node]], neighbours: Mapping[Node, list[Node]]) -> int:
    """How many pairs of lines between adjacent layers cross."""
    total = 0
    for upper, lower in pairwise(layers):
        rank = {node: place for place, node in enumerate(lower)}
        ends: list[int] = []
        for node in upper:
            ends += sorted(rank[other] for other in neighbours[node] if other in rank)
        for place, end in enumerate(ends):
            total += sum(other < end for other in ends[place + 1 :])
    return total


def placed(
    layers: Sequence[Sequence[Node]],
    neighbours: Mapping[Node, list[Node]],
    widths: Mapping[Node, float],
) -> dict[Node, float]:
    """The middle of each box and point: near its neighbours, and apart from the next one."""
    half = {node: width / 2 for node, width in widths.items()}
    places: dict[Node, float] = {}
    for layer in layers:
        x = 0.0
        for node in layer:
            places[node] = x + half[node]
            x = places[node] + half[node] + GAP
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wanted = []
            for node in layer:
                near = [places[other] for other in neighbours[node]]
                wanted.append(sum(near) / len(near) if near else places[node])
            places |= zip(layer, apart(layer, wanted, half), strict=True)
    left = min((places[node] - half[node] for node in places), default=0.0)
    return {node: place - left for node, place in places.items()}


def apart(
    layer: Sequence[Node], wanted: Sequence[float], half: Mapping[Node, float]
) -> list[float]:
    """Places as near as possible to those wanted, in this order and without overlap.

    Pool-adjacent-violators: boxes that would overlap form a block, which stands where its members
    want to be on average. This minimizes the sum of squared distances.
    """
    offsets, x = [], 0.0
    for before, node in zip([None, *layer], layer, strict=False):
        x += 0.0 if before is None else half[before] + GAP + half[node]
        offsets.append(x)
    blocks: list[tuple[float, int]] = []
    for want, offset in zip(wanted, offsets, strict=True):
        blocks.append((want - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (one, count), (other, more) = blocks[-2:]
            blocks[-2:] = [((one * count + other * more) / (count + more), count + more)]
    shifts = [shift for shift, count in blocks for _ in range(count)]
    return [shift + offset for shift, offset in zip(shifts, offsets, strict=True)]
