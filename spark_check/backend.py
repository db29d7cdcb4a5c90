"""The search's backend on Spark: the files of a checkpoint, and the jobs that make them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pyarrow as pa

from kspec.checkers.engine.learned.checking import ONE_IN
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed import checkpoint
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.checkpoint import Counterexample, Level, Manifest, cannot_keep
from kspec.checkers.engine.search import FAILED, Backend, Counts, Stopped, add
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.spark_check import tasks
from kspec.spark_check.errors import DISK_FULL
from kspec.spark_check.jobs import Job, Sought, files_beside, named, this_partition
from kspec.spark_check.levels import folder_of, make_here, make_on_spark, parts_of
from kspec.spark_check.session import session
from kspec.spec.core import Reachable, System
from kspec.traces.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class OnSpark(Backend):
    """Holds levels in the files of a checkpoint. Tasks make them: in this process while levels are
    small, and on Spark from the first level on that is worth a job.
    """

    engine = "spark"

    def __init__(
        self,
        system: System[Any],
        options: Options,
        manifest: Manifest,
        *,
        worth: int,
    ) -> None:
        self.system = system
        assert options.checkpoint, "levels are in files"
        self.folder = options.checkpoint.resolve()
        self.manifest = manifest
        self.master = options.master
        self.worth = worth
        self.max_memory = options.max_memory
        self.one_in = 1 if options.check_learning else ONE_IN
        self.model = named(system)
        self.name = uuid.uuid4().hex[:12]
        self.counts = Counts()
        self.levels: list[Level] = []
        """The levels loaded from the checkpoint or made."""
        self.next: Level | None = None
        """The level that the last one was expanded into."""
        self.made: Level | None = None
        """The same, until it is in the manifest."""
        self.owned: tuple[int, ...] | None = None
        """By owner: the number of its states in the last level, if this run made it."""
        self.wanted: tuple[str, ...] = ()
        self.shown: set[str] | None = None
        """The marks of the last level, if the tasks that made it reported them."""
        self.ways: list[Counterexample] = []
        self.bytes = 0
        """Bytes of memory that owners use."""
        self.spent: dict[str, float] = {"start": 0.0}
        """Processor seconds of the workers' Python, summed, by purpose."""
        self.stack = ExitStack()

    # -- Spark ----------------------------------------------------------------------------------

    @cached_property
    def spark(self) -> SparkSession:
        """The Spark session, started when first needed."""
        begun = time.perf_counter()
        app = f"kspec: {self.system.model.name}, {self.system.variant.name}"
        spark = self.stack.enter_context(session(self.master, app, folder=self.folder))
        for path in files_beside(self.model.model):
            spark.sparkContext.addPyFile(str(path))
        self.spent["start"] = time.perf_counter() - begun
        return spark

    @cached_property
    def owners(self) -> int:
        """The number of owners: one partition, and task, for each core."""
        self.workers = self.spark.sparkContext.defaultParallelism
        return self.workers

    def on_spark(self, what: str, work: Callable[[], T], go_on: Callable[[], None]) -> T:
        """Run something on Spark; `go_on` is called meanwhile, and may raise to end it."""
        context = self.spark.sparkContext
        of = f"{self.system.model.name}, {self.system.variant.name}"

        def described() -> T:
            context.setJobGroup(self.name, f"{of}: {what}", True)
            return work()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(described)
            try:
                while True:
                    try:
                        return future.result(0.2)
                    except TimeoutError:
                        go_on()
            except (Stopped, KeyboardInterrupt):
                context.cancelJobGroup(self.name)
                raise
            except Exception as error:
                full = next((told for told in DISK_FULL if told in str(error)), None)
                if full is None:
                    raise
                raise OSError(0, full, str(self.folder)) from error

    def job(self, owners: int) -> Job:
        """The description of a job for its tasks."""
        parts = tuple(level.parts for level in self.levels)
        owned = self.owned if self.owned and len(self.owned) == owners else None
        return Job(
            self.name, self.model, self.folder, owners, parts, owned, self.wanted, self.one_in
        )

    def is_worth(self, level: int) -> bool:
        """Whether a level, or an earlier one, is worth a job."""
        return max(of.states for of in self.levels[: level + 1]) >= self.worth

    def ask(self, what: str, level: int, task: Callable[[Job, int, int], Any]) -> list[Any]:
        """A task's answer about the states of a level, for each owner."""
        if not self.is_worth(level):
            return [task(self.job(1), level, 0)]
        rows = self.spark.range(self.owners, numPartitions=self.owners).mapInArrow(
            partial(answers, task, self.job(self.owners), level), "answer string"
        )
        found = self.on_spark(f"level {level + 1}: {what}", rows.collect, lambda: None)
        return [json.loads(row.answer) for row in found]

    # -- levels ---------------------------------------------------------------------------------

    @property
    def found(self) -> int:
        return self.next.states if self.next else 0

    @property
    def distinct(self) -> int:
        return sum(level.states for level in self.levels)

    def begin(self) -> int:
        if self.take_kept_level() is None:
            with stops_if_full():
                parts = tasks.write_initial(self.model, self.folder, folder_of(0, self.name))
            self.next = self.made = self.level_of(parts)
        size = self.next_level()
        self.keep(complete=True)
        return size

    def next_level(self) -> int:
        if self.next and self.next.states:
            self.levels.append(self.next)
        return self.found

    def expand(self, go_on: Callable[[int], None]) -> set[str]:
        self.next = None
        kept = self.take_kept_level()
        if kept is not None:
            return kept
        with stops_if_full():
            return self.make_level(go_on)

    def make_level(self, go_on: Callable[[int], None]) -> set[str]:
        """Expand the last level into the next one."""
        last = len(self.levels) - 1
        states, name = self.levels[last].states, folder_of(last + 1, self.name)
        if self.is_worth(last):
            what = f"level {last + 2}: expand {states:,} states, drop what is known"
            job, folder = self.job(self.owners), self.folder / name
            make = partial(make_on_spark, self.spark, job, folder)
            notes = self.on_spark(what, make, partial(go_on, states))
        else:
            notes = make_here(self.job(1), name)
        shown: set[str] = set()
        for note in notes:
            add(self.spent, note["seconds"])
            if "counts" in note:
                shown |= {*note["shown"]}
                self.counts.add(Counts(**note["counts"]))
        if FAILED in shown:
            return shown
        made = {note["owner"]: note for note in notes if "states" in note}
        self.next = self.made = self.level_of(parts_of(self.folder, name, made))
        self.owned = tuple(made[owner]["states"] for owner in range(len(made)))
        self.shown = {mark for note in made.values() for mark in note["marks"]}
        self.bytes = max(self.bytes, sum(note["bytes"] for note in made.values()))
        is_local = (self.master or "local").startswith("local")
        if is_local and self.bytes > self.max_memory:
            raise MemoryError
        return shown

    def level_of(self, parts: tuple[Any, ...]) -> Level:
        """The next level, with these files."""
        states = sum(part.states for part in parts)
        first = self.levels[0].states if self.levels else states
        level = Level.of(self.system, self.counts, first, states)
        return attrs.evolve(level, parts=parts)

    def marks(self, wanted: Sequence[str]) -> set[str]:
        self.wanted = tuple(wanted)
        level = len(self.levels) - 1
        if self.shown is None:
            told = self.manifest.marks_of(level)
            reachable = {p.name for p in self.system.properties if isinstance(p, Reachable)}
            if told is not None:  # the run that kept the level evaluated all properties
                self.wanted = tuple(name for name in wanted if name in reachable)
            if self.wanted:
                asked = self.ask("ask for marks", level, tasks.marks)
                told = reduce(set.union, asked, told or set())
            self.shown, self.wanted = told or set(), tuple(wanted)
        return self.shown & {*wanted, FAILED}

    # -- counterexamples ------------------------------------------------------------------------

    def trace_to(self, level: int, mark: str) -> Trace:
        kept = self.manifest.violations_in(level).get(mark)
        way = [tuple(words) for words in kept.states] if kept else self.way_to(level, mark)
        reachable = {p.name for p in self.system.properties if isinstance(p, Reachable)}
        if mark not in reachable and mark != FAILED:
            self.ways.append(Counterexample(mark, way))
        return behaviour(self.system, partial(tasks.pack, self.model), way, mark)

    def way_to(self, level: int, mark: str) -> list[tuple[int, ...]]:
        """The words of a shortest behaviour's states, found backwards through the levels."""
        sought, way = Sought(mark=mark), []
        for before in reversed(range(level + 1)):
            task = partial(tasks.least, sought)
            found = [tuple(one) for one in self.ask(f"search for {mark}", before, task) if one]
            assert found, "a state that was found has a predecessor"
            way.append(min(found))
            sought = Sought(leads_to=way[-1])
        return way[::-1]

    # -- what is kept ---------------------------------------------------------------------------

    def take_kept_level(self) -> set[str] | None:
        """Load the next level and the marks of expanding from the checkpoint, if it has them."""
        if len(self.levels) == len(self.manifest.levels):
            return None
        self.next = self.manifest.levels[len(self.levels)]
        self.owned = self.shown = None
        self.counts = self.next.counts
        return {DEADLOCK} & self.manifest.violations_in(len(self.levels) - 1).keys()

    def keep(self, *, complete: bool) -> None:
        manifest = self.manifest
        made, self.made = self.made if complete else None, None
        if made:
            manifest.levels.append(made)
        if manifest.add_violations(self.ways) or made:
            with stops_if_full():
                checkpoint.write_manifest(self.folder, manifest)

    # -- what else is told ----------------------------------------------------------------------

    def seconds(self) -> Mapping[str, float]:
        return self.spent

    def statistics(self) -> Mapping[str, Any]:
        return {"spark": {"bytes": self.bytes}}


@contextmanager
def stops_if_full() -> Iterator[None]:
    """End the run if the disk is full, or fails otherwise."""
    try:
        yield
    except OSError as error:
        raise Stopped(cannot_keep(error)) from error


def answers(
    task: Callable[[Job, int, int], Any], job: Job, level: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A task's answer for its owner, as a row."""
    for _ in batches:
        pass
    answer = json.dumps(task(job, level, this_partition()))
    yield pa.RecordBatch.from_pydict({"answer": [answer]})
