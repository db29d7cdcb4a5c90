"""Exploration, level by level, with all cores; the result depends on none of their timing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial, reduce
from itertools import chain
from operator import or_
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs
import numpy as np

from checkers.interrupt import noted
from checkers.limits import INTERRUPTED, Keep, Progress
from checkers.memory import peak_resident_bytes, resident_bytes
from checkers.native.behaviour import behaviour
from checkers.native.codes import Coding, coding_of, encoded
from checkers.native.worker import Memory, OutOfMemory, Worker, lesser, send
from impl.packed.compiled import made_ready
from impl.packed.kernel import DEADLOCK, MOST_GUARDS, Kernel, up_to_symmetry
from impl.packed.kernels import kernel_for
from spec.core import Always, Reachable, SpecError, System, Taken

if TYPE_CHECKING:
    from checkers.native.keep import Keeper

S = TypeVar("S")
T = TypeVar("T")


HANDED_OVER = "handed over"
"""What stopped a run that another engine goes on with."""


@attrs.frozen
class Violation(Generic[S]):
    """A shortest way to a state that violates a property, or that shows one."""

    property: str
    """Its name, or DEADLOCK."""
    states: Sequence[S]
    steps: Sequence[Taken]
    """What led from each state to the next."""


@attrs.frozen
class Exploration(Generic[S]):
    """What came of it."""

    levels: Sequence[int]
    """How many states were found at each distance from the initial ones."""
    generated: int
    """Enabled rule instances in the levels expanded, and initial states."""
    fired: dict[str, int]
    """How often each rule was enabled, of those the system has."""
    stopped_by: dict[str, dict[str, int]]
    """For each rule, how often which guard was the first not to hold, if that was asked for."""
    violations: Sequence[Violation[S]]
    witnesses: Sequence[Violation[S]]
    """A shortest way to each property that some state should show, where one does."""
    stopped: str | None
    """The limit that ended it, or None: then all was seen, or a violation ended it."""
    workers: int
    seconds_compile: float
    seconds_explore: float
    seconds_checkpoint: float
    """What of these went into writing and reading a checkpoint."""
    peak_bytes: int
    """The most memory that the whole process ever had."""
    stands_for: Sequence[int] | None = None
    """Up to symmetry: how many states those of each level stand for."""

    @property
    def distinct(self) -> int:
        """How many states were found."""
        return sum(self.levels)

    @property
    def depth(self) -> int:
        """How many states the longest of the shortest ways has."""
        return len(self.levels)


def explore(
    system: System[S],
    *,
    workers: int = 2,
    max_states: int | None = None,
    max_depth: int | None = None,
    max_memory: int | None = None,
    keep_going: bool = False,
    symmetry: bool = False,
    coverage: bool = False,
    keep: Keep | None = None,
    hand_over: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    compiling: Callable[[], None] | None = None,
) -> Exploration[S]:
    """Explore a system; NoKernel says that it cannot be done here.

    The first violation ends it, unless `keep_going`; then the shortest of every property is
    found. Of the shortest, that with the least words is reported: no matter how many workers.
    With `symmetry`, of all states that differ by names only, one is explored. With `keep`, its
    levels are kept in a checkpoint, or it goes on with those that are. A level of `hand_over`
    states is left to another engine, which goes on from the checkpoint.
    """
    begun = time.perf_counter()
    kernel = kernel_for(system)
    if symmetry:
        kernel = up_to_symmetry(kernel)
    coding = coding_of(kernel.layout)
    with keeper_for(keep, system, kernel, coding) as keeper:
        part = f"{system.model.name}{'-symmetry' * symmetry}{'-coverage' * coverage}"
        with made_ready(part, compiling):
            warm_up(kernel, coding, coverage)
        compiled = time.perf_counter()
        with noted() as interrupted, ThreadPoolExecutor(workers) as pool:
            search = Search(system, kernel, coding, workers, max_memory, pool, coverage)
            search.progress = progress
            search.keeper = keeper
            search.interrupted = interrupted
            search.hand_over = hand_over or sys.maxsize
            search.run(max_states or sys.maxsize, max_depth or sys.maxsize, keep_going)
            stands_for = search.count_orbits() if symmetry else None
    return Exploration(
        levels=search.levels,
        generated=search.generated,
        fired=search.fired,
        stopped_by=search.stopped_by if coverage else {},
        violations=search.violations,
        witnesses=search.witnesses,
        stopped=search.stopped,
        workers=workers,
        seconds_compile=compiled - begun,
        seconds_explore=time.perf_counter() - compiled,
        seconds_checkpoint=keeper.seconds if keeper else 0.0,
        peak_bytes=peak_resident_bytes(),
        stands_for=stands_for,
    )


def keeper_for(
    keep: Keep | None, system: System[Any], kernel: Kernel[Any], coding: Coding
) -> AbstractContextManager[Keeper | None]:
    """What keeps the levels, if that is asked for; what it needs is not imported otherwise."""
    if keep is None:
        return nullcontext()
    try:
        from checkers.native.keep import kept
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SpecError("checkpoints need pyarrow: pip install 'kspec[checkpoint]'") from None
    return kept(keep, system, kernel, coding)


def warm_up(kernel: Kernel[Any], coding: Coding, coverage: bool) -> None:
    """Have everything compiled, or read from the cache: take each compiled function once."""
    worker = Worker(0, 1, kernel, coding, Memory(0, None), coverage=coverage)
    worker.begin_level()
    send_states(worker, [(0,) * len(coding.widths)])
    worker.round(0, [worker])
    worker.begin_level()
    worker.round(1, [worker])
    worker.table.grow()


def send_states(worker: Worker, states: Iterable[Sequence[int]]) -> None:
    """Put packed states in a worker's outboxes, to be taken in in an even round."""
    codes, highs = encoded(np.array(list(states), np.int64).T.copy(), worker.coding)
    box = worker.outboxes[1]
    send(
        codes, highs, 0, len(codes), worker.recent, worker.recent_highs,
        box.codes, box.highs, box.counts,
    )  # fmt: skip


def cannot_keep(error: OSError) -> str:
    """What stopped a run whose checkpoint cannot be written."""
    return f"a checkpoint that cannot be written ({error.filename}: {error.strerror})"


class Search(Generic[S]):
    """A search under way."""

    def __init__(
        self,
        system: System[S],
        kernel: Kernel[S],
        coding: Coding,
        workers: int,
        max_memory: int | None,
        pool: ThreadPoolExecutor,
        coverage: bool,
    ) -> None:
        self.system = system
        self.kernel = kernel
        self.pool = pool
        memory = Memory(resident_bytes(), max_memory)
        self.workers = [
            Worker(i, workers, kernel, coding, memory, coverage=coverage) for i in range(workers)
        ]
        self.levels: list[int] = []
        self.violations: list[Violation[S]] = []
        self.stopped: str | None = None
        always = [p.name for p in system.properties if isinstance(p, Always)]
        self.wanted = kernel.mask([*always, DEADLOCK])
        """The properties still to be violated."""
        self.unseen = [p for p in system.properties if isinstance(p, Reachable)]
        """The properties that some state should show, and none did yet."""
        self.witnesses: list[Violation[S]] = []
        self.parity = 0
        self.acts = np.zeros(len(kernel.acts), np.int64)
        self.stops = np.zeros((len(kernel.acts), MOST_GUARDS), np.int64)
        self.begun = time.perf_counter()
        self.told = self.begun
        self.progress: Callable[[Progress], None] | None = None
        self.keeper: Keeper | None = None
        self.hand_over = sys.maxsize
        """A level of so many states is left to another engine."""
        self.interrupted: Callable[[], bool] = lambda: False

    @property
    def generated(self) -> int:
        """Enabled rule instances and initial states."""
        return sum(self.levels[:1]) + int(self.acts.sum())

    @property
    def fired(self) -> dict[str, int]:
        """The counts of the acts, by rule."""
        acts = dict(zip(self.kernel.acts, self.acts, strict=True))
        return {rule.name: int(acts[rule.name]) for rule in self.system.rules}

    @property
    def stopped_by(self) -> dict[str, dict[str, int]]:
        """By rule, how often each guard was the first not to hold, where it ever was."""
        acts = dict(zip(self.kernel.acts, self.stops, strict=True))
        return {
            rule.name: {
                guard: int(times)
                for (guard, _), times in zip(rule.guard_names(), acts[rule.name], strict=False)
                if times
            }
            for rule in self.system.rules
        }

    def of_all(self, task: Callable[[Worker], T]) -> list[T]:
        """Have every worker do something, all at the same time."""
        futures = [self.pool.submit(task, worker) for worker in self.workers]
        wait(futures)
        return [future.result() for future in futures]

    def run(self, max_states: int, max_depth: int, keep_going: bool) -> None:
        """Explore to the end, or to the first violation or limit."""
        try:
            more = self.begin(max_states, max_depth, keep_going)
            while more:
                more = self.expand_last(max_states, max_depth, keep_going)
        except OutOfMemory:
            self.stopped = "max_memory"
        except OSError as error:
            self.stopped = cannot_keep(error)
        if self.stopped:
            self.settle(keep_going)
        if self.keeper:
            try:
                self.keeper.finish(self)
            except OSError as error:
                self.stopped = cannot_keep(error)

    def begin(self, max_states: int, max_depth: int, keep_going: bool) -> bool:
        """Begin with what is kept, or with the initial states; whether there is more to find."""
        if self.keeper and not self.keeper.take_up(self, max_states, max_depth, keep_going):
            return False
        if not self.levels:
            send_states(self.workers[0], (self.kernel.pack(s) for s in self.system.initial()))
        return True

    def expand_last(self, max_states: int, max_depth: int, keep_going: bool) -> bool:
        """Expand the last level into the next; before the first, take in the initial states.

        Answers whether there is a next level to expand, and no reason to stop.
        """
        expanded = len(self.levels) - 1
        for worker in self.workers:
            worker.begin_level()
        while True:
            parity, self.parity = self.parity, 1 - self.parity
            self.of_all(partial(Worker.round, parity=parity, senders=self.workers))
            found = reduce(or_, (w.found for w in self.workers)) & self.wanted
            if found and not keep_going:
                self.report(expanded)
                return False
            self.tell_progress()
            if all(w.done and not w.outboxes[parity].counts.any() for w in self.workers):
                break
            if sum(w.table.count for w in self.workers) >= max_states:
                self.stopped = "max_states"
                return False
            if self.interrupted():
                self.stopped = INTERRUPTED
                return False
        if found:
            self.report(expanded)
        found_more = self.count_level() > 0
        if self.keeper:
            self.keeper.keep_level(self)
        if found_more:
            self.limit(max_states, max_depth)
        return found_more and not self.stopped

    def limit(self, max_states: int, max_depth: int) -> None:
        """Stop where a level completes what was asked for."""
        if sum(self.levels) >= max_states:
            self.stopped = "max_states"
        elif len(self.levels) == max_depth:
            self.stopped = "max_depth"
        elif self.levels[-1] >= self.hand_over:
            self.stopped = HANDED_OVER

    def count_level(self) -> int:
        """Note how many states were found last, and what happened up to now."""
        found = sum(w.found_last() for w in self.workers)
        if found:
            self.levels.append(found)
            self.look_for_witnesses(len(self.levels) - 1)
        self.acts = sum((w.fired for w in self.workers), np.zeros_like(self.acts))
        self.stops = sum((w.stopped for w in self.workers), np.zeros_like(self.stops))
        return found

    def settle(self, keep_going: bool) -> None:
        """After a limit ended it: check what was found and not expanded."""
        if len(self.levels) < len(self.workers[0].levels):
            self.count_level()
        for level in range(max(0, len(self.levels) - 2), len(self.levels)):
            self.report(level)
            if self.violations and not keep_going:
                break

    # -- counterexamples ------------------------------------------------------------------------

    def report(self, level: int) -> None:
        """Find the way to each property that is violated in a level, and was not before."""
        found = reduce(or_, self.of_all(partial(Worker.check, level=level))) & self.wanted
        self.wanted &= ~found
        for name in self.kernel.names(found):
            bit = self.kernel.mask([name])
            last = reduce(
                lesser, self.of_all(partial(Worker.least_violating, level=level, bit=bit))
            )
            assert last is not None
            self.violations.append(self.way_to(name, last, level))

    def look_for_witnesses(self, level: int) -> None:
        """Ask the specification about every state of a level, for what none has shown yet.

        That is as slow as the specification; but what can be shown is mostly shown early.
        """
        if not self.unseen:
            return
        least: dict[str, tuple[int, ...]] = {}
        for words in chain.from_iterable(worker.states(level) for worker in self.workers):
            state = self.kernel.unpack(words)
            for prop in self.unseen:
                if (prop.name not in least or words < least[prop.name]) and prop.body(state):
                    least[prop.name] = words
        self.unseen = [prop for prop in self.unseen if prop.name not in least]
        self.witnesses += [self.way_to(name, words, level) for name, words in least.items()]

    def way_to(self, name: str, words: tuple[int, ...], level: int) -> Violation[S]:
        """A shortest way to a state of a level, found backwards."""
        way = [words]
        for before in reversed(range(level)):
            found = reduce(
                lesser, self.of_all(partial(Worker.least_predecessor, level=before, of=words))
            )
            assert found is not None, "a state that was found has a predecessor"
            words = found
            way.append(words)
        states, steps = behaviour(self.system, self.kernel.pack, way[::-1])
        return Violation(name, states, steps)

    def count_orbits(self) -> list[int]:
        """How many states those of each level stand for."""
        return [
            sum(self.of_all(partial(Worker.count_orbits, level=level)))
            for level in range(len(self.levels))
        ]

    # -- what is known from before --------------------------------------------------------------

    def take_counts(self, fired: Mapping[str, int]) -> None:
        """Go on counting from here."""
        self.acts = np.array([fired.get(name, 0) for name in self.kernel.acts], np.int64)
        self.workers[0].fired[:] = self.acts

    def take_violation(self, name: str, words: Sequence[Sequence[int]]) -> None:
        """A violation that need not be looked for any more, with the least steps between."""
        self.wanted &= ~self.kernel.mask([name])
        states, steps = behaviour(self.system, self.kernel.pack, [tuple(w) for w in words])
        self.violations.append(Violation(name, states, steps))

    def tell_progress(self) -> None:
        """Tell how far it is, a few times a second."""
        now = time.perf_counter()
        if self.progress and now - self.told > 0.1:
            self.told = now
            found = sum(w.table.count for w in self.workers)
            queue = found - sum(self.levels[:-1])
            self.progress(Progress(len(self.levels), found, queue, now - self.begun))
