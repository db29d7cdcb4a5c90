"""An implementation in lockstep with the specification: one step in both, then compare.

Both take each step: the rule, and the implementation, which an `Adapter` makes comparable. Then
both must give the same answer and be in the same state. Steps that the specification blocks are
tried as well where the implementation itself must refuse them.

Two drivers choose the steps. `walk_in_step` walks at random and shrinks a difference that it finds
(it needs Hypothesis). `compare_edges` takes all steps from the states that it is given, and
`compare_everywhere` all steps from all reachable states.
"""

from __future__ import annotations

from kspec.checkers.lockstep.adapter import Adapter, NotModelled
from kspec.checkers.lockstep.edges import compare_edges, compare_everywhere
from kspec.checkers.lockstep.shorten import shortened
from kspec.checkers.lockstep.step import Compared, Difference
from kspec.checkers.lockstep.walks import Differs, machine, run_walks, walk_in_step

__all__ = [
    "Adapter",
    "Compared",
    "Difference",
    "Differs",
    "NotModelled",
    "compare_edges",
    "compare_everywhere",
    "machine",
    "run_walks",
    "shortened",
    "walk_in_step",
]
