"""An implementation in lockstep with the specification: one step in both, then compare.

The specification's own rules say what can happen next. Each step is taken by the rule, and by
the implementation, which an `Adapter` makes comparable; then both must have answered the same
and be in the same state. What the specification forbids may be tried as well: then the
implementation must refuse.

Two drivers take the steps. `walk_in_step` walks at random, and makes a difference that it finds
shorter until it is a story (it takes Hypothesis). `compare_edges` goes through all steps from
states that it is given, and `compare_everywhere` through all steps from all reachable states.
"""

from __future__ import annotations

from checkers.lockstep.adapter import Adapter, NotModelled
from checkers.lockstep.edges import compare_edges, compare_everywhere
from checkers.lockstep.step import Compared, Difference
from checkers.lockstep.walks import Differs, machine, walk_in_step

__all__ = [
    "Adapter",
    "Compared",
    "Difference",
    "Differs",
    "NotModelled",
    "compare_edges",
    "compare_everywhere",
    "machine",
    "walk_in_step",
]
