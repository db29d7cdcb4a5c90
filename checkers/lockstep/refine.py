"""Compare every step within the bounds: by the rules, and by learned rules or an implementation.

A *subject* is a function of the system and of some states that compares all steps from these: that
of a mutable implementation with a lockstep adapter (`adapter_subject`), for example. It receives
states in blocks, which processes or a cluster share. The default subject, `compare_answers`,
receives what learned rules answer about each state, instead of the state.

Where subject and rules agree in all states of a level, both have the same next level. So if no
level has a difference, both reach the same states. The comparison ends with the first level that
has a difference; the rules reach all of its states, so each difference has a behaviour that leads
to it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import attrs

from kspec.checkers.engine.learned.steps import StepsByLearning
from kspec.checkers.engine.options import INTERRUPTED, OnProgress, Progress
from kspec.checkers.engine.steps import Source, level_by_level
from kspec.checkers.lockstep import Adapter, Compared, Difference, compare_edges
from kspec.checkers.lockstep.learned import answers, compare_answers
from kspec.checkers.models.find import find_object
from kspec.checkers.models.named import Named
from kspec.spec.core import SpecError, System
from kspec.traces.trace import Trace, between

Subject: TypeAlias = Callable[[System[Any], Sequence[Any], int], Compared]
"""Compares all steps from some states; ends at the given number of differences."""
Block: TypeAlias = Sequence[Any]
"""States, or what learned rules answer about them."""

BLOCK = 256
"""How many states are compared at a time."""
TOGETHER = 256 * BLOCK
"""How many states of a level are in memory with their answers."""
WORTH = 8 * BLOCK
"""Levels of at most this many states are compared in the parent process."""
FEW = 3
"""How many differences are shown by default."""
LEARNED = "learned"
"""The default subject."""


# -- subjects --------------------------------------------------------------------------------------


def adapter_subject(adapter: Adapter[Any, Any]) -> Subject:
    """An implementation that has an adapter."""
    return lambda system, states, at_most: compare_edges(adapter, system, states, at_most=at_most)


def subject_of(name: str) -> Subject:
    """The subject of that name.

    `learned`, or a `module:attribute` or `file.py:attribute` that is an Adapter, or a
    function of type `Subject`.
    """
    if name == LEARNED:
        return compare_answers
    found = find_object(name)
    if isinstance(found, type) and issubclass(found, Adapter):
        found = found()
    if isinstance(found, Adapter):
        return adapter_subject(found)
    if not callable(found):
        raise SpecError(f"{name} is not a subject: an Adapter, or a function")
    subject: Subject = found
    return subject


# -- blocks ----------------------------------------------------------------------------------------


@attrs.frozen
class Work:
    """What every block is compared with, by names that other processes can look up."""

    name: Named
    subject: str = LEARNED
    at_most: int = FEW
    """How many differences are kept."""

    def __call__(self, block: Block) -> Compared:
        """Compare all steps from some states."""
        system, subject = ready(self)
        return subject(system, block, self.at_most)


@cache
def ready(work: Work) -> tuple[System[Any], Subject]:
    """The system and the subject, made once in each process."""
    return work.name.system(), subject_of(work.subject)


Spread: TypeAlias = Callable[[Work, Sequence[Block]], Iterable[Compared]]
"""Compares the blocks of a level: in this process, in several, or on a cluster."""


def one_by_one(work: Work, blocks: Sequence[Block]) -> Iterator[Compared]:
    """Compare in this process, one block after the other."""
    return map(work, blocks)


@attrs.frozen
class Refinement:
    """The result of a comparison."""

    system: System[Any]
    subject: str
    levels: list[int]
    """How many states were compared in each level."""
    compared: Compared
    """The sum of all levels, with the few differences that are kept, each with its behaviour."""
    seconds: float
    stopped_by: str | None = None
    """What ended it early; None if all levels were compared or a difference was found."""

    @property
    def states(self) -> int:
        """How many states were compared."""
        return sum(self.levels)

    @property
    def traces(self) -> list[Trace]:
        """The differences as traces."""
        return [difference.trace(self.system) for difference in self.compared.differences]


def is_small(blocks: Sequence[Block]) -> bool:
    """Whether sending these blocks to another process takes longer than comparing them."""
    return len(blocks) * BLOCK <= WORTH


def refine(
    work: Work, spread: Spread = one_by_one, on_progress: OnProgress | None = None
) -> Refinement:
    """Compare subject and rules over all steps, level by level, up to the first difference.

    Ctrl-C ends it with the result so far.
    """
    begun = time.perf_counter()
    system, _ = ready(work)
    source = StepsByLearning(system)
    total = Compared()
    levels: list[int] = []
    stopped_by = None
    try:
        for level in level_by_level(source):
            levels.append(0)
            for states, compared in compared_blocks(work, spread, source, level):
                total += compared
                levels[-1] += states
                if on_progress:
                    queue = len(source.keys) - sum(levels)
                    seconds = time.perf_counter() - begun
                    on_progress(Progress(len(levels), sum(levels), queue, seconds))
            if total.differences:
                break
    except KeyboardInterrupt:
        stopped_by = INTERRUPTED
    total.differences = [
        from_the_beginning(source, difference)
        for difference in few(total.differences, work.at_most)
    ]
    seconds = time.perf_counter() - begun
    return Refinement(system, work.subject, levels, total, seconds, stopped_by)


def compared_blocks(
    work: Work, spread: Spread, source: StepsByLearning, level: range
) -> Iterator[tuple[int, Compared]]:
    """The blocks of a level, compared: the size and the result of each.

    While processes compare one part of the level, this one finds what to compare in the next.
    """
    before: Iterable[tuple[int, Compared]] = ()
    for begin in range(level.start, level.stop, TOGETHER):
        part = range(begin, min(begin + TOGETHER, level.stop))
        blocks = [block_of(work, source, part[n : n + BLOCK]) for n in range(0, len(part), BLOCK)]
        spreading = zip(map(len, blocks), spread(work, blocks), strict=True)
        yield from before
        before = spreading
    yield from before


def block_of(work: Work, source: StepsByLearning, states: range) -> Block:
    """What the subject is asked to compare."""
    if work.subject == LEARNED:
        return list(answers(source, states))
    return [source.state(number) for number in states]


def few(differences: Sequence[Difference], most: int) -> list[Difference]:
    """At most `most` differences: one of each kind first, in the order of the states."""

    def kind(difference: Difference) -> tuple[str, str]:
        rule = difference.steps[-1].rule if difference.steps else ""
        return rule, difference.blocked_by

    first = {kind(d): d for d in reversed(differences)}.values()
    others = [d for d in differences if d not in first]
    return [*reversed(first), *others][:most]


def from_the_beginning(source: Source[Any], difference: Difference) -> Difference:
    """The same difference, at the end of a shortest way from an initial state."""
    states = tuple(source.way_to(difference.states[0]))
    steps = tuple(between(source.system, a, b) for a, b in pairwise(states))
    return difference.after(states, steps)
