"""Sets of traces of a graph: to every state, over every step, or all of some length.

A set consists of pieces. A piece is small, knows the number of its first trace, and needs nothing
but the graph. So pieces can be made in any order, on many machines and more than once, and the
traces have the same numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.steps import Numbers
from kspec.checkers.graph.cover import Steps, edge_cover, way_to
from kspec.checkers.graph.graph import Graph
from kspec.spec.core import SpecError

TOGETHER = 1 << 14
"""The largest number of traces in a piece."""

Counts: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

EXACT = 1 << 53
"""Traces are counted in floats, which are exact up to here."""


@attrs.frozen(eq=False)
class Rows:
    """Some traces, one after the other."""

    first: int
    """The number of the first."""
    initial: Numbers
    """By trace: the state in which it begins."""
    lengths: Numbers
    """By trace: how many steps it has."""
    steps: Numbers
    """The steps of all traces."""

    def __iter__(self) -> Iterator[tuple[int, int, Steps]]:
        """Each trace: its number, the state in which it begins, and its steps."""
        ends = np.cumsum(self.lengths)
        for place, end in enumerate(ends.tolist()):
            begin = end - int(self.lengths[place])
            yield self.first + place, int(self.initial[place]), self.steps[begin:end].tolist()


class Piece(Protocol):
    """Some traces of a set, not generated yet."""

    def rows(self, graph: Graph[Any]) -> Rows:
        """Generate them."""


@attrs.frozen
class TraceSet:
    """A set of traces: its size, and its pieces."""

    says: str
    pieces: Sequence[Piece]
    traces: int
    steps: int
    """The steps of all its traces together."""
    longest: int
    """The number of steps of the longest."""


def as_rows(graph: Graph[Any], first: int, traces: Sequence[Steps], ends: Sequence[int]) -> Rows:
    """Traces as rows, given also the state in which each ends."""
    begins = [t[0] if t else -1 for t in traces]
    return Rows(
        first,
        np.array([graph.origins[b] if b >= 0 else e for b, e in zip(begins, ends, strict=True)]),
        np.array([len(trace) for trace in traces], np.int64),
        np.fromiter(chain.from_iterable(traces), np.int64),
    )


# -- a shortest trace to every state ---------------------------------------------------------------


@attrs.frozen
class ToStates:
    """A shortest trace to each state of a range; a trace has the number of its state."""

    first: int
    behind: int

    def rows(self, graph: Graph[Any]) -> Rows:
        """Follow each state back to an initial one."""
        states = range(self.first, self.behind)
        return as_rows(graph, self.first, [way_to(graph, state) for state in states], states)


def to_every_state(graph: Graph[Any]) -> TraceSet:
    """A shortest trace to every state."""
    size, levels = len(graph.keys), graph.levels
    pieces = [ToStates(n, min(n + TOGETHER, size)) for n in range(0, size, TOGETHER)]
    return TraceSet("to every state", pieces, size, int(levels.sum()), int(levels.max(initial=0)))


# -- every step ------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Given:
    """Traces that are already chosen."""

    first: int
    traces: Sequence[Steps]

    def rows(self, graph: Graph[Any]) -> Rows:
        """The given traces."""
        ends = [int(graph.to[trace[-1]]) for trace in self.traces]
        return as_rows(graph, self.first, self.traces, ends)


def over_every_step(graph: Graph[Any], longest: int | None = None) -> TraceSet:
    """Traces that take every step, with the fewest steps in all."""
    traces = edge_cover(graph, longest)
    pieces = [Given(n, traces[n : n + TOGETHER]) for n in range(0, len(traces), TOGETHER)]
    lengths = [len(trace) for trace in traces]
    most = max(lengths, default=0)
    return TraceSet("over every step", pieces, len(traces), sum(lengths), most)


# -- all of some length ----------------------------------------------------------------------------


def traces_onward(graph: Graph[Any], length: int) -> list[Counts]:
    """For 0 to `length` more steps, by state: how many traces continue from it.

    A trace ends when it has all its steps, or in a state without successors; so none is a prefix
    of another.
    """
    size = len(graph.keys)
    ends = np.diff(graph.begins) == 0
    onward = [np.ones(size)]
    for _ in range(length):
        found = np.bincount(graph.origins, weights=onward[-1][graph.to], minlength=size)
        onward.append(np.where(ends, 1.0, found))
    return onward


def extent(graph: Graph[Any], onward: Sequence[Counts]) -> tuple[int, int]:
    """The number of steps of all these traces together, and of the longest."""
    size = len(graph.keys)
    steps: Any = np.zeros(size)
    longest = np.zeros(size, np.int64)
    for traces in onward[:-1]:
        weights = (steps + traces)[graph.to]
        steps = np.bincount(graph.origins, weights=weights, minlength=size)
        further = np.zeros(size, np.int64)
        np.maximum.at(further, graph.origins, longest[graph.to] + 1)
        longest = further
    return int(steps[: graph.initial].sum()), int(longest[: graph.initial].max(initial=0))


@attrs.frozen
class Onward:
    """All traces with one prefix."""

    first: int
    initial: int
    """The state in which they begin."""
    steps: tuple[int, ...]
    """The prefix."""
    length: int
    """The largest number of steps in a trace."""

    def end(self, graph: Graph[Any]) -> int:
        """The state to which the prefix leads."""
        return int(graph.to[self.steps[-1]]) if self.steps else self.initial

    def rows(self, graph: Graph[Any]) -> Rows:
        """Extend all traces by one step at a time; -1 where a trace has ended."""
        table = np.array([self.steps], np.int64).reshape(1, -1)
        ends = np.array([self.end(graph)])
        degrees = np.diff(graph.begins)
        while table.shape[1] < self.length and degrees[ends].any():
            ways = degrees[ends]
            copies = np.maximum(ways, 1)
            place = np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
            before = np.repeat(ends, copies)
            going = np.repeat(ways > 0, copies)
            step = np.where(going, graph.begins[before] + place, -1)
            table = np.column_stack([np.repeat(table, copies, axis=0), step])
            ends = np.where(going, graph.to[step], before)
        taken = table >= 0
        initial = np.full(len(table), self.initial)
        return Rows(self.first, initial, taken.sum(axis=1), table[taken])


def all_up_to(graph: Graph[Any], length: int, limit: int) -> TraceSet:
    """All traces of at most `length` steps; SpecError if there are more than the limit."""
    onward = traces_onward(graph, length)
    counted = float(onward[length][: graph.initial].sum())
    if counted > limit:
        about = "" if counted < EXACT else "about "
        count = f"{int(counted):,}" if counted < EXACT else f"{counted:.1e}"
        if counted == math.inf:
            about, count = "more than ", f"{sys.float_info.max:.1e}"
        raise SpecError(
            f"there are {about}{count} traces of up to {length} steps, "
            f"and --limit is {limit:,}: take fewer steps, or raise --limit"
        )
    total = int(counted)
    pieces: list[Piece] = []
    todo: list[tuple[tuple[int, ...], int, int]]
    todo = [((), state, state) for state in reversed(range(graph.initial))]
    first = 0
    while todo:
        steps, initial, state = todo.pop()
        rest = length - len(steps)
        traces = int(onward[rest][state])
        if traces <= TOGETHER:
            pieces.append(Onward(first, initial, steps, length))
            first += traces
        else:
            out = range(graph.begins[state], graph.begins[state + 1])
            todo += [((*steps, s), initial, int(graph.to[s])) for s in reversed(out)]
    return TraceSet(f"all up to {length} steps", pieces, total, *extent(graph, onward))
