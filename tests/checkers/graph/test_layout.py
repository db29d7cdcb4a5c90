"""Boxes do not overlap, and arrows lead through every layer between their boxes."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from kspec.checkers.graph.layout import GAP, apart, lay_out


@pytest.mark.parametrize("seed", range(30))
def test_boxes_and_texts_do_not_overlap(seed: int) -> None:
    chance = Random(seed)
    levels = sorted(chance.choice([0, 1, 2, 5, 9]) for _ in range(chance.randint(1, 12)))
    boxes = range(len(levels))
    arrows = [(chance.choice(boxes), chance.choice(boxes)) for _ in range(chance.randint(0, 20))]
    widths = [chance.uniform(20, 200) for _ in boxes]
    label_widths = [chance.uniform(0, 150) for _ in arrows]
    found = lay_out(levels, arrows, widths, label_widths)
    of_label = dict(zip(found.labels, label_widths, strict=True))
    for layer in found.layers:
        for one, other in pairwise(layer):
            half = sum(
                (widths[node] if node >= 0 else of_label.get(node, 0.0)) / 2
                for node in (one, other)
            )
            assert found.places[other] - found.places[one] >= half + GAP - 1e-6
    layer_of = {node: number for number, layer in enumerate(found.layers) for node in layer}
    for (source, target), route in zip(arrows, found.routes, strict=True):
        assert (route[0], route[-1]) == (source, target)
        assert len(route) >= 3
        for one, other in pairwise(route):
            assert abs(layer_of[one] - layer_of[other]) == 1
    assert min((found.places[n] - widths[n] / 2 for n in boxes), default=0.0) >= -1e-6


def test_no_crossing_is_left_where_none_is_needed() -> None:
    found = lay_out([0, 0, 1, 1], [(0, 3), (1, 2)], [10] * 4, [10, 10])
    first, second = (number for number in found.layers[0] if number >= 0)
    below = [number for number in found.layers[2] if number >= 0]
    assert below == [{0: 3, 1: 2}[first], {0: 3, 1: 2}[second]]


def test_blocks_stand_where_their_members_want_to_be_on_average() -> None:
    half = {0: 10.0, 1: 10.0, 2: 10.0}
    assert apart([0, 1, 2], [0, 100, 200], half) == [0, 100, 200]
    step = 20 + GAP
    assert apart([0, 1, 2], [0, 0, 0], half) == pytest.approx([-step, 0, step])
