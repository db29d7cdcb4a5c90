"""Compare every step within the bounds: by the rules, and by a kernel or an implementation.

A *subject* is a function of the system and of some states that compares all steps from these: that
of a kernel (`kernel_subject`), or of a mutable implementation with a lockstep adapter
(`adapter_subject`). It receives states in blocks, which processes or a cluster share.

Where subject and rules agree in all states of a level, both have the same next level. So if no
level has a difference, both reach the same states. The comparison ends with the first level that
has a difference; the rules reach all of its states, so each difference has a behaviour that leads
to it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any, TypeAlias

import attrs
import numpy as np

from kspec.checkers.engine.options import INTERRUPTED, OnProgress, Progress
from kspec.checkers.engine.run import has_kernel
from kspec.checkers.engine.steps import Key, Source, level_by_level
from kspec.checkers.graph.graph import source_of
from kspec.checkers.lockstep import Adapter, Compared, Difference, compare_edges
from kspec.checkers.lockstep.step import Attempt, differing
from kspec.checkers.models.find import find_object
from kspec.checkers.models.named import Named
from kspec.impl.packed.kernel import MOST_GUARDS, Kernel
from kspec.impl.packed.layout import LayoutError
from kspec.spec.core import Always, Blocked, SpecError, System, Taken
from kspec.traces.trace import Trace, between

Subject: TypeAlias = Callable[[System[Any], Sequence[Any], int], Compared]
"""Compares all steps from some states; ends at the given number of differences."""

BLOCK = 256
"""How many states are compared at a time."""
WORTH = 8 * BLOCK
"""Levels of at most this many states are compared in the parent process."""
FEW = 3
"""How many differences are shown by default."""
KERNEL = "kernel"
"""The name of the subject that is the kernel of the model."""


# -- subjects --------------------------------------------------------------------------------------


def adapter_subject(adapter: Adapter[Any, Any]) -> Subject:
    """An implementation that has an adapter."""
    return lambda system, states, at_most: compare_edges(adapter, system, states, at_most=at_most)


def kernel_subject(kernel: Kernel[Any]) -> Subject:
    """A kernel: its steps, the guards that block its rules, and the properties that it computes."""
    return partial(compare_kernel, kernel)


def subject_of(name: str, system: System[Any]) -> Subject:
    """The subject of that name.

    `kernel`, or a `module:attribute` or `file.py:attribute` that is an Adapter, a kernel, or a
    function of type `Subject`.
    """
    if name == KERNEL:
        return kernel_subject(system_kernel(system))
    found = find_object(name)
    if isinstance(found, type) and issubclass(found, Adapter):
        found = found()
    if isinstance(found, Adapter):
        return adapter_subject(found)
    if isinstance(found, Kernel):
        return kernel_subject(found)
    if not callable(found):
        raise SpecError(f"{name} is not a subject: an Adapter, a Kernel, or a function")
    subject: Subject = found
    return subject


def system_kernel(system: System[Any]) -> Kernel[Any]:
    """The kernel of a system, or SpecError."""
    from kspec.impl.packed.kernel import NoKernel
    from kspec.impl.packed.kernels import kernel_for

    try:
        return kernel_for(system)
    except NoKernel as error:
        raise SpecError(str(error)) from None


# -- a kernel against the rules --------------------------------------------------------------------


def compare_kernel(
    kernel: Kernel[Any], system: System[Any], states: Sequence[Any], at_most: int
) -> Compared:
    """Expand and check the states by the kernel, and then one by one by the rules."""
    compared = Compared()
    words = np.array([kernel.pack(state) for state in states], np.int64).T.copy()
    masks = np.empty(len(states), np.int64)
    kernel.check(words, 0, len(states), masks)
    words_of = packing(kernel)
    for place, state in enumerate(states):
        alone = words[:, place : place + 1].copy()
        outcomes = [
            (rule, choice, rule.attempt(state, choice))
            for rule in system.rules
            for choice in rule.instances(state)
        ]
        found = [
            *steps_that_differ(kernel, outcomes, state, alone, words_of, compared),
            *stops_that_differ(kernel, outcomes, state, alone, compared),
            *failures_that_differ(kernel, system, state, int(masks[place])),
        ]
        compared.differences += found
        if len(compared.differences) >= at_most:
            break
    return compared


def steps_that_differ(
    kernel: Kernel[Any],
    outcomes: Sequence[Attempt],
    state: Any,
    words: Any,
    words_of: Callable[[Any], tuple[int, ...] | None],
    compared: Compared,
) -> Iterator[Difference]:
    """Steps that only one of the two takes in a state, or that lead to different states."""
    here: dict[tuple[str, tuple[Any, ...]], tuple[Taken, tuple[int, ...]]] = {}
    for taken, after in successors(kernel, state, words):
        act = taken.rule, tuple(taken.choices.values())
        if act in here:
            yield Difference((state,), (taken,), "", ("the kernel takes this step twice",))
        here[act] = taken, after
    for rule, choice, outcome in outcomes:
        step, found = here.pop((rule.name, choice), (None, ()))
        if isinstance(outcome, Blocked):
            if step:
                guard = str(outcome.guard)
                yield Difference((state,), (step,), guard, ("the kernel takes this step",))
            continue
        says: Iterable[str] = ()
        if step is None:
            says = ["the kernel does not take this step"]
        elif found != words_of(outcome):
            says = differences_after(kernel, outcome, found)
        else:
            compared.steps += 1
            continue
        taken = Taken(rule.name, dict(zip(rule.choices, choice, strict=True)))
        yield Difference((state, outcome), (taken,), "", tuple(says))
    for taken, _ in here.values():
        yield Difference((state,), (taken,), "there is such a choice", ("the kernel takes it",))


def successors(
    kernel: Kernel[Any], state: Any, words: Any
) -> Iterator[tuple[Taken, tuple[int, ...]]]:
    """The steps from one state by the kernel, and the words to which they lead."""
    todo = np.empty((len(kernel.acts), kernel.fanout), np.int64)
    after = np.empty((len(words), kernel.fanout), np.int64)
    origins = np.empty(kernel.fanout, np.int64)
    counts = np.empty(len(kernel.acts), np.int64)
    _, n = kernel.expand(words, 0, 1, todo, after, origins, counts)
    for origin, column in zip(origins[:n].tolist(), after[:, :n].T.tolist(), strict=True):
        yield kernel.taken(origin & 0xFFFF, state), tuple(column)


@cache
def packing(kernel: Kernel[Any]) -> Callable[[Any], tuple[int, ...] | None]:
    """A function that packs a state, or returns None if it has no words. Results are cached."""

    @lru_cache(1 << 15)
    def words_of(state: Any) -> tuple[int, ...] | None:
        try:
            return kernel.pack(state)
        except LayoutError:
            return None

    return words_of


def differences_after(kernel: Kernel[Any], after: Any, found: tuple[int, ...]) -> Iterator[str]:
    """How the state to which the kernel leads differs."""
    try:
        yield from differing(after, kernel.unpack(found), "state")
    except (LayoutError, IndexError, ValueError):
        yield f"state: {found} here, which unpack to no state"
        return
    if kernel.unpack(found) == after:
        yield f"state: {found} here, which unpack to the right state but are not its words"


def stops_that_differ(
    kernel: Kernel[Any], outcomes: Sequence[Attempt], state: Any, words: Any, compared: Compared
) -> Iterator[Difference]:
    """Which guard blocks each rule first, and how often, where the kernel counts that."""
    if kernel.stops is None:
        return
    by_rules = Counter(
        (rule.name, str(outcome.guard))
        for rule, _, outcome in outcomes
        if isinstance(outcome, Blocked)
    )
    stopped = np.zeros((len(kernel.acts), MOST_GUARDS), np.int64)
    kernel.stops(words, 1, stopped)
    rows = dict(zip(kernel.acts, stopped.tolist(), strict=True))
    here = {
        (rule.name, guard): times
        for rule in {rule.name: rule for rule, _, _ in outcomes}.values()
        for guard, times in zip(guards_of(rule), rows[rule.name], strict=False)
        if times
    }
    if here == by_rules:
        compared.refused += by_rules.total()
        return
    says = tuple(
        f"{name} is blocked by {guard!r} {by_rules[name, guard]} times by the specification, "
        f"{here.get((name, guard), 0)} times here"
        for name, guard in dict.fromkeys([*by_rules, *here])
        if by_rules[name, guard] != here.get((name, guard), 0)
    )
    yield Difference((state,), (), "", says)


@cache
def guards_of(rule: Any) -> list[str]:
    """The names of a rule's guards, in their order."""
    return [str(guard) for guard, _ in rule.guard_names()]


def failures_that_differ(
    kernel: Kernel[Any], system: System[Any], state: Any, mask: int
) -> Iterator[Difference]:
    """The properties that only one of the two finds violated."""
    always = [p for p in system.properties if isinstance(p, Always) and p.name in kernel.properties]
    asked = {p.name for p in always}
    by_rules = {p.name for p in always if p.failure(state) is not None}
    here = {*kernel.names(mask)} & asked
    if here != by_rules:
        says = [f"{name} is violated by the specification, not here" for name in by_rules - here]
        says += [f"{name} is violated here, not by the specification" for name in here - by_rules]
        yield Difference((state,), (), "", tuple(sorted(says)))


# -- blocks ----------------------------------------------------------------------------------------


@attrs.frozen
class Work:
    """What every block is compared with, by names that other processes can look up."""

    name: Named
    subject: str = KERNEL
    at_most: int = FEW
    """How many differences are kept."""

    def __call__(self, block: Sequence[Key]) -> Compared:
        """Compare all steps from the states of these keys of a portable source."""
        system, as_state, subject = ready(self)
        try:
            states = [as_state(key) for key in block]
        except (LayoutError, IndexError, ValueError) as error:
            raise SpecError(
                f"the {self.subject} leads to words that are not a state: {error}"
            ) from None
        return subject(system, states, self.at_most)


@cache
def ready(work: Work) -> tuple[System[Any], Callable[[Key], Any], Subject]:
    """The system, its keys and the subject, made once in each process."""
    system = work.name.system()
    source = source_of(system, by_rules=not has_kernel(system))
    return system, source.as_state, subject_of(work.subject, system)


Spread: TypeAlias = Callable[[Work, Sequence[Sequence[Key]]], Iterable[Compared]]
"""Compares the blocks of a level: in this process, in several, or on a cluster."""


def one_by_one(work: Work, blocks: Sequence[Sequence[Key]]) -> Iterator[Compared]:
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


def is_small(blocks: Sequence[Sequence[Any]]) -> bool:
    """Whether sending these blocks to another process takes longer than comparing them."""
    return len(blocks) * BLOCK <= WORTH


def refine(
    work: Work, spread: Spread = one_by_one, on_progress: OnProgress | None = None
) -> Refinement:
    """Compare subject and rules over all steps, level by level, up to the first difference.

    Ctrl-C ends it with the result so far.
    """
    begun = time.perf_counter()
    system, _, _ = ready(work)
    source = source_of(system)
    sent = source.keys.__getitem__ if source.is_portable else source.state
    total = Compared()
    levels: list[int] = []
    stopped_by = None
    try:
        for level in level_by_level(source):
            keys = list(map(sent, level))
            blocks = [keys[n : n + BLOCK] for n in range(0, len(keys), BLOCK)]
            levels.append(0)
            for block, compared in zip(blocks, spread(work, blocks), strict=True):
                total += compared
                levels[-1] += len(block)
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
