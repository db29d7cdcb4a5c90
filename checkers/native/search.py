"""Packed states, compiled code, all cores; the result depends on none of their timing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from checkers.limits import Keep, Limits, OnProgress
from checkers.memory import resident_bytes
from checkers.native.behaviour import behaviour
from checkers.native.codes import Coding, coding_for, coding_of, decode, encoded
from checkers.native.expander import (
    BATCH,
    DEADLOCK_BIT,
    FAILED_BIT,
    ByKernel,
    Expander,
    bits_of_marks,
)
from checkers.native.worker import Found, Memory, Worker, owner_of, send
from checkers.search import FAILED, Backend, Counts, RuleFailed, Search, Stopped
from checkers.verdict import DEADLOCK, Verdict
from impl.packed.compiled import Words, compiled, made_ready
from impl.packed.kernel import Kernel, up_to_symmetry
from impl.packed.kernels import kernel_for
from spec.core import Reachable, SpecError, System
from traces.trace import Trace, between

if TYPE_CHECKING:
    from checkers.graph import Source
    from checkers.learned.keep import Keeping
    from checkers.learned.learning import Learning
    from checkers.learned.tables import Tables
    from checkers.native.keep import Keeper

T = TypeVar("T")


@attrs.frozen
class How:
    """How the native engine is to explore."""

    workers: int = 2
    symmetry: bool = False
    coverage: bool = False
    keep: Keep | None = None
    check_learning: bool = False
    kept: bool = False
    """Whether what is learned is kept for the next run, and used from the last."""
    compiling: Callable[[], None] | None = None
    """Called before something is compiled that is not in the cache."""


def explore_by_kernel(
    system: System[Any],
    limits: Limits | None = None,
    how: How | None = None,
    on_progress: OnProgress | None = None,
) -> Verdict:
    """Explore with a hand-written kernel; NoKernel says that there is none for this system."""
    how = how or How()
    with packed_by_kernel(system, limits or Limits(), how) as backend:
        return Search(system, backend, limits or Limits(), on_progress).run()


@contextmanager
def packed_by_kernel(system: System[Any], limits: Limits, how: How) -> Iterator[Packed]:
    """The backend of a system that has a kernel."""
    begun = time.perf_counter()
    kernel = kernel_for(system)
    if how.symmetry:
        kernel = up_to_symmetry(kernel)
    coding = coding_of(kernel.layout)
    with ExitStack() as stack:
        keeper = stack.enter_context(keeper_for(how.keep, system, kernel, coding))
        part = f"{system.model.name}{'-symmetry' * how.symmetry}{'-coverage' * how.coverage}"
        with made_ready(part, how.compiling):
            warm_up(ByKernel(kernel, system, coverage=how.coverage), coding)
        pool = stack.enter_context(ThreadPoolExecutor(how.workers))
        backend = ByHand(system, kernel, coding, how, limits.max_memory, pool)
        backend.keeper = keeper
        backend.spent["compile"] = time.perf_counter() - begun
        yield backend


@contextmanager
def keeper_for(
    keep: Keep | None, system: System[Any], kernel: Kernel[Any], coding: Coding
) -> Iterator[Keeper | None]:
    """What keeps the levels, if that is asked for; what it needs is not imported otherwise."""
    if keep is None:
        yield None
        return
    try:
        from checkers.native.keep import kept
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SpecError("checkpoints need pyarrow: pip install 'kspec[checkpoint]'") from None
    with kept(keep, system, kernel, coding) as keeper:
        yield keeper


def warm_up(expander: Expander, coding: Coding) -> None:
    """Have everything compiled, or read from the cache: take each compiled function once."""
    worker = Worker(0, 1, expander, coding, Memory(0, None))
    worker.begin_level()
    send_states(worker, [(0,) * len(coding.widths)])
    worker.round(0, [worker])
    worker.ask_level(0)
    worker.mark()
    worker.ask_level(0)
    worker.begin_level()
    worker.round(1, [worker])
    worker.table.grow()
    expander.take_counts()


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


class Packed(Backend):
    """States as codes, each owned by one of the workers."""

    def __init__(
        self,
        system: System[Any],
        coding: Coding,
        bits: Mapping[str, int],
        workers: int,
        max_memory: int | None,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.system = system
        self.bits = bits
        self.workers = workers
        self.pool = pool
        self.counts = Counts()
        self.keeper: Keeper | None = None
        self.spent: dict[str, float] = {}
        self.ways: list[tuple[str, int, Trace, list[tuple[int, ...]]]] = []
        """What was found: mark, level, behaviour, and its states' words."""
        self.least: dict[str, Found] = {}
        """By mark that no bit stands for: the first state of the last level that shows it."""
        self.base = resident_bytes()
        self.max_memory = max_memory
        self.parity = 0
        self.level = -1
        """The last level that is complete."""
        self.hire(coding)

    def hire(self, coding: Coding) -> None:
        """Workers for states of this coding, who own none yet."""
        self.coding = coding
        memory = Memory(self.base, self.max_memory)
        memory.beside = self.bytes_beside
        self.all = [
            Worker(i, self.workers, self.expander(), coding, memory) for i in range(self.workers)
        ]

    def expander(self) -> Expander:
        """What a worker asks."""
        raise NotImplementedError

    def bytes_beside(self) -> int:
        """What is taken beside the states."""
        return 0

    def initial(self) -> list[tuple[int, ...]]:
        """The words of the initial states."""
        raise NotImplementedError

    def state(self, words: Sequence[int]) -> Any:
        """The state of some words."""
        raise NotImplementedError

    def learn(self) -> bool:
        """Learn what workers have missed, if they have; whether there was anything."""
        return False

    def of_all(self, task: Callable[[Worker], T]) -> list[T]:
        """Have every worker do something, all at the same time."""
        if self.workers == 1:
            return [task(self.all[0])]
        futures = [self.pool.submit(task, worker) for worker in self.all]
        wait(futures)
        return [future.result() for future in futures]

    # -- levels ---------------------------------------------------------------------------------

    @property
    def found(self) -> int:
        """How many states there are in the next level so far."""
        if self.keeper and self.keeper.unread:
            return self.keeper.unread[-1].states
        if len(self.all[0].levels) <= self.level + 1:
            return 0
        return sum(worker.found_last() for worker in self.all)

    @property
    def distinct(self) -> int:
        """How many states are found."""
        unread = self.keeper.unread if self.keeper else []
        read = sum(worker.table.count for worker in self.all)
        return read + sum(level.states for level in unread)

    def next_level(self) -> int:
        """Go on with what was found."""
        found = self.found
        if found:
            self.level += 1
        return found

    def begin(self) -> int:
        """Take the initial states, or the first level of a checkpoint."""
        if self.take_kept_level() is None:
            for worker in self.all:
                worker.begin_level()
            send_states(self.all[0], self.initial())
            self.of_all(partial(Worker.round, parity=0, senders=self.all))
            self.parity = 0
        found = self.next_level()
        self.keep(complete=True)
        return found

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the last level, in rounds, until nothing is left to ask or to take in."""
        kept = self.take_kept_level()
        if kept is not None:
            return kept
        self.read_kept()
        known = sum(chunk.count for worker in self.all for chunk in worker.levels[self.level])
        expanded = self.distinct - known
        self.begin_expanding()
        while True:
            parity, self.parity = self.parity, 1 - self.parity
            self.of_all(partial(Worker.round, parity=parity, senders=self.all))
            if self.learn():
                continue
            if all(w.done and not w.outboxes[parity].counts.any() for w in self.all):
                break
            go_on(self.distinct - expanded)
        return self.end_of_expanding()

    def begin_expanding(self) -> None:
        """Be ready to expand the last level."""
        for worker in self.all:
            worker.ask_level(self.level)
            worker.begin_level()
            worker.outboxes[0].counts[:] = worker.outboxes[1].counts[:] = 0

    def end_of_expanding(self) -> set[str]:
        """Count what was expanded."""
        for worker in self.all:
            self.counts.add(worker.expander.take_counts())
        mask = reduce(or_, (worker.found for worker in self.all))
        bits = {DEADLOCK: DEADLOCK_BIT, FAILED: FAILED_BIT}
        return {name for name, bit in bits.items() if mask >> bit & 1}

    def cut_short(self) -> set[str]:
        return self.end_of_expanding()

    def marks(self, wanted: Sequence[str]) -> set[str]:
        """Ask every state of the last level."""
        self.least = {}
        by_bit = [name for name in wanted if name in self.bits]
        shown: set[str] = set()
        kept = self.keeper.marks_of(self.level) if self.keeper else None
        if kept is not None:
            shown = kept & {*by_bit}
        elif by_bit:
            self.read_kept()
            for worker in self.all:
                worker.ask_level(self.level)
            while True:
                self.of_all(Worker.mark)
                if not self.learn() and all(worker.done for worker in self.all):
                    break
            mask = reduce(or_, (worker.found for worker in self.all))
            shown = {name for name in by_bit if mask >> self.bits[name] & 1}
            if mask >> FAILED_BIT & 1:
                shown.add(FAILED)
        self.look_for([name for name in wanted if name not in self.bits])
        return shown | self.least.keys()

    def look_for(self, names: Sequence[str]) -> None:
        """Ask the specification which states of the last level show these properties.

        That is as slow as the specification; but what can be shown is mostly shown early.
        """
        props = [p for p in self.system.properties if p.name in names and isinstance(p, Reachable)]
        if not props:
            return
        self.read_kept()
        for worker in self.all:
            for words in worker.states(self.level):
                state = self.state(words)
                for prop in props:
                    least = self.least.get(prop.name)
                    if (least is None or words < least[0]) and prop.body(state):
                        self.least[prop.name] = words, words

    # -- counterexamples ------------------------------------------------------------------------

    def trace_to(self, level: int, mark: str) -> Trace:
        """A shortest way, found backwards through the levels; of several, the first in order."""
        kept = self.keeper.ways_of(level).get(mark) if self.keeper else None
        way = [tuple(words) for words in kept.states] if kept else self.way_to(level, mark)
        trace = self.told(way, mark)
        self.ways.append((mark, level, trace, way))
        return trace

    def way_to(self, level: int, mark: str) -> list[tuple[int, ...]]:
        """The words of that behaviour's states."""
        self.read_kept()
        found = self.least.get(mark)
        if found is None:
            found = self.least_marked(level, mark)
        way = [found[1]]
        for before in reversed(range(level)):
            found = self.first(partial(Worker.least_predecessor, level=before, of=way[-1]))
            assert found is not None, "a state that was found has a predecessor"
            way.append(found[1])
        way.reverse()
        return way

    def least_marked(self, level: int, mark: str) -> Found:
        """The first state of a level that has a mark."""
        tries = [(self.bits.get(mark, FAILED_BIT), False), (FAILED_BIT, True)]
        if mark == DEADLOCK:
            tries = [(DEADLOCK_BIT, True)]
        for bit, by_expanding in tries:
            found = self.first(
                partial(Worker.least_marked, level=level, bit=bit, by_expanding=by_expanding)
            )
            if found is not None:
                return found
        raise AssertionError(f"no state of level {level + 1} has the mark {mark}")

    def first(self, look: Callable[[Worker], Found | None]) -> Found | None:
        """The first of the states that workers find, when all is known that it takes."""
        while True:
            found = [one for one in self.of_all(look) if one is not None]
            if not self.learn_looking_back():
                break
        for worker in self.all:
            worker.expander.take_counts()  # what is asked to look back counts for nothing
        return min(found, default=None)

    def learn_looking_back(self) -> bool:
        """Learn what was missed while looking back, if anything was."""
        return False

    def told(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        """A way as a behaviour of the specification."""
        states = [self.state(words) for words in way]
        steps = [between(self.system, a, b) for a, b in pairwise(states)]
        return Trace(self.system, tuple(states), tuple(steps), mark)

    def source(self) -> Source[Any]:
        """The states and steps within the bounds, once more, for what needs the whole graph."""
        from checkers.graph import from_learning

        return from_learning(self.system)

    def violation_of_leads_to(self, prop: Any, go_on: Callable[[int], None]) -> Any:
        """Search the graph of all states."""
        from checkers.liveness import find_violation

        return find_violation(self.source(), prop, go_on)

    # -- what is kept ---------------------------------------------------------------------------

    def keep(self, *, complete: bool) -> None:
        """Have the keeper write a level that is complete, or finish."""
        if self.keeper is None:
            return
        try:
            if complete:
                self.keeper.keep_level(self)
            else:
                self.keeper.finish(self)
        except OSError as error:
            raise Stopped(cannot_keep(error)) from error

    def take_kept_level(self) -> set[str] | None:
        """Take the next level from the checkpoint, and what expanding has shown, if it has it."""
        return None if self.keeper is None else self.keeper.take_level(self)

    def read_kept(self) -> None:
        """Read the states of the levels that were taken from the checkpoint."""
        if self.keeper:
            self.keeper.read(self)

    def seconds(self) -> Mapping[str, float]:
        """What compiling, and the checkpoint, took."""
        if self.keeper:
            return {**self.spent, "checkpoint": self.keeper.seconds}
        return self.spent


class ByHand(Packed):
    """Asks a hand-written kernel."""

    engine = "kernel"

    def __init__(
        self,
        system: System[Any],
        kernel: Kernel[Any],
        coding: Coding,
        how: How,
        max_memory: int | None,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.kernel = kernel
        self.how = how
        bits = {name: bit for bit, name in enumerate(kernel.properties)}
        super().__init__(system, coding, bits_of_marks(bits), how.workers, max_memory, pool)

    def expander(self) -> Expander:
        return ByKernel(self.kernel, self.system, coverage=self.how.coverage)

    def initial(self) -> list[tuple[int, ...]]:
        return list(dict.fromkeys(self.kernel.pack(state) for state in self.system.initial()))

    def state(self, words: Sequence[int]) -> Any:
        return self.kernel.unpack(words)

    def told(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        states, steps = behaviour(self.system, self.kernel.pack, way)
        return Trace(self.system, tuple(states), tuple(steps), mark)

    def stands_for(self) -> int | None:
        if not self.how.symmetry:
            return None
        represent = self.kernel.representatives
        assert represent is not None
        return sum(
            sum(self.of_all(partial(Worker.count_orbits, level=level, represent=represent)))
            for level in range(self.level + 1)
        )


class ByLearning(Packed):
    """Asks what was learned of the rules."""

    engine = "learned"

    def __init__(
        self,
        system: System[Any],
        learning: Learning,
        workers: int,
        max_memory: int | None,
        pool: ThreadPoolExecutor,
        *,
        check_everything: bool = False,
        kept_runs: int = 0,
    ) -> None:
        from checkers.learned.checking import Checking

        self.learning = learning
        self.checking = Checking(learning, everything=check_everything)
        self.kept_runs = kept_runs
        coding = coding_for(learning.tables.packing.widths)
        super().__init__(system, coding, bits_of_marks(learning.bits), workers, max_memory, pool)

    def expander(self) -> Expander:
        from checkers.learned.expander import Learned

        return Learned(self.learning)

    def bytes_beside(self) -> int:
        return self.learning.tables.bytes

    def initial(self) -> list[tuple[int, ...]]:
        return [self.learning.words(row) for row in self.learning.initial]

    def state(self, words: Sequence[int]) -> Any:
        return self.learning.state(words)

    def source(self) -> Source[Any]:
        from checkers.graph import from_learning

        return from_learning(self.system, Learnable(self.learning.tables))

    def learn(self) -> bool:
        missed = self.take_missed()
        if not missed:
            return False
        if self.learning.learn(missed):
            self.repack()
        for worker in self.all:
            worker.take_again()
        return True

    def take_missed(self) -> list[tuple[Words, Words]]:
        """What workers could not answer."""
        missed = []
        for worker in self.all:
            expander: Any = worker.expander
            missed += expander.missed
            expander.missed = []
        return missed

    def learn_looking_back(self) -> bool:
        missed = self.take_missed()
        if not missed:
            return False
        assert not self.learning.learn(missed), "a level that is expanded has no new successors"
        return True

    def repack(self) -> None:
        """Give all states more bits, and begin anew with the level that is being expanded."""
        learning, old = self.learning, self.all
        old_coding, old_layout = self.coding, learning.layout_arrays
        learning.repack()
        self.hire(coding_for(learning.tables.packing.widths))
        new_layout = learning.layout_arrays
        for level in range(self.level + 1):
            for worker in self.all:
                worker.begin_level()
            move = partial(
                move_level, level=level, old=old, coding=old_coding,
                layout=old_layout, to=new_layout, of=self.workers,
            )  # fmt: skip
            self.of_all(move)
        self.begin_expanding()

    def end_of_expanding(self) -> set[str]:
        shown = super().end_of_expanding()
        if FAILED not in shown:
            for worker in self.all:
                self.checking.check_level(worker, self.level)
        return shown

    def statistics(self) -> Mapping[str, Any]:
        book, tables = self.learning.book, self.learning.tables
        return {
            "learned": {
                "runs": sum(instance.runs for instance in book.instances),
                "paths": tables.runs.count,
                "kept_runs": self.kept_runs,
                "values": len(book.values.kinds),
                "components": {c.name: len(c.values) for c in book.components},
                "bits": sum(tables.packing.widths),
                "bytes": tables.bytes,
                "checked": self.checking.checked,
                "plainer": book.plainer,
            }
        }

    def seconds(self) -> Mapping[str, float]:
        return {**super().seconds(), "learn": self.learning.book.seconds}


@compiled
def own(codes: Words, highs: Words, count: int, owner: int, of: int) -> int:
    """Move an owner's states to the front; answers how many they are."""
    kept = 0
    for i in range(count):
        if owner_of(codes[i], of) == owner:
            codes[kept] = codes[i]
            for row in range(highs.shape[0]):
                highs[row, kept] = highs[row, i]
            kept += 1
    return kept


def move_level(
    worker: Worker,
    level: int,
    old: Sequence[Worker],
    coding: Coding,
    layout: tuple[Words, Words, Words],
    to: tuple[Words, Words, Words],
    of: int,
) -> None:
    """Give a worker its states of a level, from those who had the states before."""
    from checkers.learned.walk import move_to_other_words

    words: Words = np.empty((len(coding.widths), BATCH), np.int64)
    moved: Words = np.empty((len(worker.coding.widths), BATCH), np.int64)
    for other in old:
        for chunk in other.levels[level]:
            for begin in range(0, chunk.count, BATCH):
                count = min(BATCH, chunk.count - begin)
                decode(chunk.codes, chunk.pieces, begin, count, coding, words)
                move_to_other_words(words, count, *layout, to[0], to[1], moved)
                codes, highs = encoded(moved[:, :count].copy(), worker.coding)
                kept = own(codes, highs, count, worker.index, of)
                worker.take_in(codes, highs, kept)


def warm_up_learning(learning: Learning) -> None:
    """Have everything compiled that learning and asking go through."""
    from checkers.learned.expander import Learned

    coding = coding_for(learning.tables.packing.widths)
    expander = Learned(learning)
    warm_up(expander, coding)
    outgrown = learning.learn(expander.missed)
    worker = Worker(0, 1, expander, coding, Memory(0, None))
    worker.begin_level()
    layout = learning.layout_arrays
    send_states(worker, [(0,) * len(coding.widths)])
    worker.round(0, [worker])
    moved = Worker(0, 1, expander, coding, Memory(0, None))
    moved.begin_level()
    move_level(moved, 0, [worker], coding, layout, layout, 1)
    if outgrown:
        learning.repack()


def explore_by_learning(
    system: System[Any],
    limits: Limits | None = None,
    how: How | None = None,
    on_progress: OnProgress | None = None,
    learned: Learnable | None = None,
) -> Verdict:
    """Explore with what is learned of the rules on the way, and was before."""
    from checkers.learned.book import Unfit

    how, limits = how or How(), limits or Limits()
    learned = learned or Learnable(kept=how.kept)
    while True:
        begun = time.perf_counter()
        try:
            with ThreadPoolExecutor(how.workers) as pool:
                with made_ready("learned", how.compiling):
                    learning = learned.of(system)
                    warm_up_learning(learning)
                backend = ByLearning(
                    system, learning, how.workers, limits.max_memory, pool,
                    check_everything=how.check_learning, kept_runs=learned.kept_runs,
                )  # fmt: skip
                backend.spent["prepare"] = time.perf_counter() - begun
                verdict = Search(system, backend, limits, on_progress).run()
        except Unfit as unfit:
            learned.take_apart(unfit.field)
        except RuleFailed:
            learned.keep()
            raise
        except Exception:
            if not learned.discard_kept():
                raise
        else:
            learned.keep()
            return verdict


class Learnable:
    """What was learned of systems with the same states: mutants differ in one rule each."""

    def __init__(self, tables: Tables | None = None, *, kept: bool = False) -> None:
        self.tables = tables
        self.apart = set(tables.book.whole_fields) if tables else set()
        self.kept = kept
        """Whether it is kept from one run to the next."""
        self.keeping: Keeping | None = None

    def of(self, system: System[Any]) -> Learning:
        """What is known of a system."""
        from checkers.learned.book import Book
        from checkers.learned.learning import Learning
        from checkers.learned.tables import Tables

        if self.tables is None and self.kept:
            self.tables = self.load(system)
        if self.tables is None:
            self.tables = Tables(Book(system, self.apart))
        return Learning(system, self.tables)

    def load(self, system: System[Any]) -> Tables | None:
        """What earlier runs have learned."""
        from checkers.learned.keep import Keeping

        if self.keeping is None:
            self.keeping = Keeping(system)
        tables = self.keeping.load(self.apart)
        if tables is not None:
            self.apart |= tables.book.whole_fields
        return tables

    @property
    def kept_runs(self) -> int:
        """How many paths come from earlier runs."""
        return self.keeping.loaded if self.keeping else 0

    def keep(self) -> None:
        """Keep what is known for the next run."""
        if self.keeping and self.tables:
            self.keeping.save(self.tables)

    def discard_kept(self) -> bool:
        """Begin anew, without what earlier runs have learned; False if there was nothing."""
        if not self.kept_runs or self.keeping is None:
            return False
        self.keeping.discard()
        self.tables = None
        return True

    def take_apart(self, field: str) -> None:
        """Begin anew, with a field whose length varies as one component."""
        self.apart.add(field)
        self.tables = None


__all__ = ["BATCH", "ByHand", "ByLearning", "How", "Packed"]
