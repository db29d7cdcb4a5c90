"""A run on Spark, from where the levels in a checkpoint end."""

from __future__ import annotations

import os
import shutil
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pyarrow as pa

from checkers.interrupt import noted
from checkers.limits import INTERRUPTED, Limits, OnProgress, Progress
from checkers.memory import peak_resident_bytes
from checkers.native import checkpoint
from checkers.native.checkpoint import Level
from checkers.native.search import Exploration, cannot_keep
from spark_check.errors import DISK_FULL
from spark_check.findings import Findings
from spark_check.jobs import Job, Model, Wanted, files_beside
from spark_check.levels import folder_of, make_here, make_on_spark, parts_of
from spark_check.session import session
from spec.core import System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Run(ABC):
    """A run under way."""

    tasks: ModuleType
    """What workers do: `expand`, `drop_known` and `least`."""

    def __init__(
        self,
        system: System[Any],
        limits: Limits,
        master: str | None,
        folder: Path,
        worth: int,
        on_progress: OnProgress | None,
    ) -> None:
        self.system = system
        self.limits = limits
        self.master = master
        self.folder = folder.resolve()
        self.worth = worth
        self.on_progress = on_progress
        self.model = Model.of(system)
        self.name = uuid.uuid4().hex[:12]
        self.found = Findings(system, self.pack, self.least)
        self.levels: list[Level] = []
        """Those that this run has taken up or made."""
        self.counts: tuple[int, ...] | None = None
        self.bytes = 0
        self.stopped: str | None = None
        self.begun = time.perf_counter()
        self.spent: dict[str, float] = {}
        """In what the workers' Python spent the time of processors, all of them together."""
        self.stack = ExitStack()
        self.interrupted: Callable[[], bool] = lambda: False

    @staticmethod
    @abstractmethod
    def what_is_run(system: System[Any]) -> Mapping[str, Any]:
        """What two runs must agree in."""

    @abstractmethod
    def pack(self, state: Any) -> tuple[int, ...]:
        """A state as it is told to tasks."""

    @cached_property
    def spark(self) -> SparkSession:
        """Spark, from when it is first needed until the run ends."""
        begun = time.perf_counter()
        app = f"kspec: {self.system.model.name}, {self.system.variant.name}"
        spark = self.stack.enter_context(session(self.master, app, folder=self.folder))
        for path in files_beside(self.model.place):
            spark.sparkContext.addPyFile(str(path))
        self.spent["start"] = time.perf_counter() - begun
        return spark

    @cached_property
    def owners(self) -> int:
        """Among how many the states are shared out: a partition, and a task, for each core."""
        return self.spark.sparkContext.defaultParallelism

    # -- the levels -----------------------------------------------------------------------------

    def go_on(self, here: Exploration[Any]) -> Exploration[Any]:
        """Explore to the end, or to the first violation or limit."""
        handle = checkpoint.lock(self.folder)
        try:
            with noted() as self_interrupted, self.stack:
                self.interrupted = self_interrupted
                self.manifest = checkpoint.resume(self.folder, self.what_is_run(self.system))
                self.begin()
                try:
                    self.explore(here)
                except OSError as error:
                    self.stopped = cannot_keep(error)
        finally:
            os.close(handle)
        last = self.levels[-1]
        return attrs.evolve(
            here,
            levels=[level.states for level in self.levels if level.states],
            generated=last.generated,
            fired={name: counts["fired"] for name, counts in last.rules.items()},
            violations=self.found.violations,
            witnesses=self.found.witnesses,
            stopped=self.stopped,
            workers=self.__dict__.get("owners", 1),
            seconds_explore=time.perf_counter() - self.begun - self.spent.get("start", 0.0),
            peak_bytes=peak_resident_bytes() + self.bytes,
        )

    @abstractmethod
    def begin(self) -> None:
        """Have at least the initial states in the checkpoint."""

    def explore(self, here: Exploration[Any]) -> None:
        """Take up what is kept, and go on from there."""
        self.found.take_witnesses(here.witnesses)
        for index, level in enumerate(self.manifest.levels):
            self.levels.append(level)
            if index >= len(here.levels) and self.found.unseen:
                self.report(index, list(self.found.unseen))
            for way in self.manifest.violations:
                if way.level == index and level.states:
                    self.found.take_violation(way.name, way.states)
            if level.states:
                self.limit()
            if self.is_done():
                break
        while not self.is_done():
            if not self.make_level():
                break
            self.limit()
        if self.stopped:
            self.settle()

    def is_done(self) -> bool:
        """Whether nothing is to be found any more."""
        ended = bool(self.found.violations) and not self.limits.keep_going
        return self.stopped is not None or ended or not self.levels[-1].states

    def limit(self) -> None:
        """Stop where a level completes what was asked for."""
        if not self.levels[-1].states:
            return
        if sum(level.states for level in self.levels) >= (self.limits.max_states or sys.maxsize):
            self.stopped = "max_states"
        elif len(self.levels) == self.limits.max_depth:
            self.stopped = "max_depth"

    def job(self, owners: int) -> Job:
        """What tasks are told now."""
        parts = tuple(level.parts for level in self.levels)
        counts = self.counts if self.counts and len(self.counts) == owners else None
        return Job(
            self.name, self.model, self.folder, owners, parts, counts, tuple(self.found.unseen)
        )

    def make_level(self) -> bool:
        """Expand the last level into the next one; whether that is to count."""
        index, before = len(self.levels), self.levels[-1]
        name = folder_of(index, self.name)
        if max(level.states for level in self.levels) < self.worth:
            notes = make_here(self.tasks, self.job(1), name)
        else:
            what = f"level {index + 1}: expand {before.states:,} states, drop what is known"
            job, folder = self.job(self.owners), self.folder / name
            make = partial(make_on_spark, self.spark, self.tasks, job, folder)
            notes = self.on_spark(what, make) or []
        if not notes:
            return False
        sent, kept = [n for n in notes if "fired" in n], [n for n in notes if "states" in n]
        self.account(notes)
        self.report(index - 1, [name for note in sent for name in note["found"]])
        if self.found.violations and not self.limits.keep_going and not self.counts_level():
            shutil.rmtree(self.folder / name, ignore_errors=True)
            checkpoint.write_manifest(self.folder, self.manifest)
            return False
        states = {n["owner"]: n["states"] for n in kept}
        fired = {rule: sum(n["fired"][rule] for n in sent) for rule in before.rules}
        level = Level(
            states=sum(states.values()),
            generated=before.generated + sum(fired.values()),
            rules={
                rule: {"fired": counts["fired"] + fired[rule]}
                for rule, counts in before.rules.items()
            },
            parts=parts_of(self.folder, name, states, {n["owner"]: n["rows"] for n in kept}),
        )
        self.counts = tuple(states[owner] for owner in range(len(states)))
        self.bytes = max(self.bytes, sum(n["bytes"] for n in kept))
        if (self.master or "local").startswith("local") and self.bytes > self.limits.max_memory:
            self.stopped = "max_memory"
        self.levels.append(level)
        self.manifest.levels.append(level)
        checkpoint.write_manifest(self.folder, self.manifest)
        self.tell_progress()
        return True

    def counts_level(self) -> bool:
        """Whether a level counts although its expansion has ended the run."""
        return False

    def settle(self) -> None:
        """After a limit ended it: check what was found and not expanded."""
        for index in range(max(0, len(self.levels) - 2), len(self.levels)):
            if self.levels[index].states and self.stopped != INTERRUPTED:
                self.report(index, [*self.found.wanted, *self.found.unseen])
            if self.found.violations and not self.limits.keep_going:
                break
        checkpoint.write_manifest(self.folder, self.manifest)

    # -- counterexamples ------------------------------------------------------------------------

    def report(self, level: int, shown: Sequence[str]) -> None:
        """Find the way to each property that shows in a level, and did not before."""
        self.manifest.violations += self.found.find(level, shown)

    def least(self, level: int, wanted: Wanted, name: str) -> tuple[int, ...] | None:
        """Of the states of a level that are wanted, the one with the least words."""
        if self.levels[level].states < self.worth:
            here: tuple[int, ...] | None = self.tasks.least(self.job(1), level, wanted, 0, 1)
            return here
        owners = self.spark.range(self.owners, numPartitions=self.owners)
        task = partial(look_back, self.tasks.least, self.job(self.owners), level, wanted)
        rows = owners.mapInArrow(task, "words array<long>")
        answers = self.on_spark(f"level {level + 1}: search back for {name}", rows.collect)
        return min((tuple(answer.words) for answer in answers or ()), default=None)

    # -- Spark ----------------------------------------------------------------------------------

    def on_spark(self, what: str, work: Callable[[], T]) -> T | None:
        """Have Spark do something, and tell progress meanwhile; None if that ends the run."""
        context = self.spark.sparkContext
        of = f"{self.system.model.name}, {self.system.variant.name}"

        def described() -> T:
            context.setJobGroup(self.name, f"{of}: {what}", True)
            return work()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(described)
            while True:
                try:
                    return future.result(0.2)
                except TimeoutError:
                    self.tell_progress()
                    if self.interrupted() and self.stopped is None:
                        self.stopped = INTERRUPTED
                        context.cancelJobGroup(self.name)
                except Exception as error:
                    if self.stopped == INTERRUPTED:
                        return None
                    full = next((told for told in DISK_FULL if told in str(error)), None)
                    if full is None:
                        raise
                    raise OSError(0, full, str(self.folder)) from error

    def tell_progress(self) -> None:
        """Tell how far it is."""
        if self.on_progress:
            found = sum(level.states for level in self.levels)
            seconds = time.perf_counter() - self.begun - self.spent.get("start", 0.0)
            self.on_progress(
                Progress(len(self.levels), found, self.levels[-1].states, max(seconds, 0.0))
            )

    def account(self, notes: Sequence[dict[str, Any]]) -> None:
        """Add up where the tasks spent their time."""
        for note in notes:
            for name, seconds in note["seconds"].items():
                self.spent[name] = self.spent.get(name, 0.0) + seconds


def look_back(
    least: Callable[..., tuple[int, ...] | None], job: Job, level: int, wanted: Wanted, batches: Any
) -> Any:
    """The task that looks for an owner's least state."""
    from spark_check.jobs import this_partition

    for _ in batches:
        pass
    found = least(job, level, wanted, this_partition(), job.owners)
    words = pa.array([found] if found else [], pa.list_(pa.int64()))
    yield pa.RecordBatch.from_arrays([words], ["words"])
