"""Exploration on Spark, level by level: the checkpoint of the native engine, made by many.

While levels are small the native engine explores them here. A level that is worth it is
expanded by a Spark job of two stages: the owners of its states expand them and send what they
find to its owners, who drop what they know and write the rest. Spark commits what they write,
and then the level becomes part of the checkpoint; so at any moment either engine can go on.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

if __name__ == "__main__":
    # As a script, `spark-submit spark_check/explore.py`: its neighbours are no modules by themselves.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from checkers.engines import as_verdict, cores, say_compiling
from checkers.interrupt import noted
from checkers.limits import INTERRUPTED, Keep, Limits, OnProgress, Progress
from checkers.memory import peak_resident_bytes
from checkers.verdict import Verdict
from impl.packed.kernel import DEADLOCK, NoKernel
from spark_check.session import assert_pyspark, session
from spec.core import Always, SpecError, System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from checkers.native.checkpoint import Level
    from checkers.native.search import Exploration
    from spark_check.tasks import Job, Wanted

T = TypeVar("T")

WORTH = 200_000
"""A level of fewer states is explored in the driver, as long as none before it had more."""


def explore(
    system: System[Any],
    limits: Limits,
    master: str | None = None,
    workers: int | None = None,
    on_progress: OnProgress | None = None,
    keep: Keep | None = None,
    *,
    worth: int = WORTH,
) -> Verdict:
    """Explore a system on a Spark master; without `keep` the checkpoint is a temporary one."""
    assert_pyspark()
    from checkers.native.search import HANDED_OVER
    from checkers.native.search import explore as explore_here

    with folder_for(keep) as kept:
        try:
            here = explore_here(
                system,
                workers=workers or cores(),
                max_states=limits.max_states,
                max_depth=limits.max_depth,
                max_memory=limits.max_memory,
                keep_going=limits.keep_going,
                keep=kept,
                hand_over=worth,
                progress=on_progress,
                compiling=say_compiling,
            )
        except NoKernel as error:
            raise SpecError(f"{error}; use --engine reference") from None
        seconds = {"explore": here.seconds_explore, "compile": here.seconds_compile}
        if here.stopped != HANDED_OVER or (here.violations and not limits.keep_going):
            found = attrs.evolve(here, stopped=None) if here.stopped == HANDED_OVER else here
            return as_verdict(system, limits, found, "spark", seconds)
        begun = time.perf_counter()
        with session(master, f"kspec {system.model.name}") as spark:
            seconds["start"] = time.perf_counter() - begun
            run = Run(spark, system, limits, kept.folder, worth, on_progress)
            found = run.go_on(here)
        seconds["explore"] += run.seconds
        return as_verdict(system, limits, found, "spark", seconds | run.spent)


@contextmanager
def folder_for(keep: Keep | None) -> Iterator[Keep]:
    """Where the levels are kept; if nobody asked for it, only until the end."""
    if keep:
        yield keep
        return
    folder = Path(tempfile.mkdtemp(prefix="kspec-"))
    try:
        yield Keep(folder, resume=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Run:
    """A run on Spark, from where the native engine has left it."""

    def __init__(
        self,
        spark: SparkSession,
        system: System[Any],
        limits: Limits,
        folder: Path,
        worth: int,
        on_progress: OnProgress | None,
    ) -> None:
        from checkers.native.keep import run_of
        from spark_check.tasks import Model, kernel_of

        self.spark = spark
        self.system = system
        self.limits = limits
        self.folder = folder.resolve()
        self.worth = worth
        self.on_progress = on_progress
        self.model = Model.of(system)
        self.kernel, _ = kernel_of(self.model)
        self.run_of = run_of(system, self.kernel)
        self.name = uuid.uuid4().hex[:12]
        self.owners = spark.sparkContext.defaultParallelism
        always = [p.name for p in system.properties if isinstance(p, Always)]
        self.wanted = self.kernel.mask([*always, DEADLOCK])
        self.violations: list[Any] = []
        self.levels: list[Level] = []
        """Those that this run has taken up or made."""
        self.counts: tuple[int, ...] | None = None
        self.bytes = 0
        self.stopped: str | None = None
        self.begun = time.perf_counter()
        self.seconds = 0.0
        self.spent: dict[str, float] = {}
        self.interrupted: Callable[[], bool] = lambda: False
        self.publisher = ThreadPoolExecutor(1)
        self.published: Future[None] | None = None

    # -- the levels -----------------------------------------------------------------------------

    def go_on(self, here: Exploration[Any]) -> Exploration[Any]:
        """Explore to the end, or to the first violation or limit."""
        from checkers.native import checkpoint

        handle = checkpoint.lock(self.folder)
        try:
            with noted() as interrupted, self.publisher:
                self.interrupted = interrupted
                self.manifest = checkpoint.resume(self.folder, self.run_of)
                self.explore(len(here.levels))
                if self.published:
                    self.published.result()
        finally:
            os.close(handle)
        self.seconds = time.perf_counter() - self.begun
        levels = [level.states for level in self.levels if level.states]
        fired = {name: counts["fired"] for name, counts in self.levels[-1].rules.items()}
        return attrs.evolve(
            here,
            levels=levels,
            generated=self.levels[-1].generated,
            fired=fired,
            violations=self.violations,
            witnesses=[],
            stopped=self.stopped,
            workers=self.owners,
            peak_bytes=peak_resident_bytes() + self.bytes,
        )

    def explore(self, at_least: int) -> None:
        """Take up what is kept, and go on from there."""
        for index, level in enumerate(self.manifest.levels):
            self.levels.append(level)
            if not level.states:
                return
            if index + 1 >= at_least:
                self.limit()
            for way in self.manifest.violations:
                if way.level == index:
                    self.take_violation(way.name, way.states)
            if self.stopped or (self.violations and not self.limits.keep_going):
                break
        while self.levels[-1].states and not self.stopped:
            if self.violations and not self.limits.keep_going:
                return
            if not self.make_level():
                return
            self.limit()
        if self.stopped:
            self.settle()

    def limit(self) -> None:
        """Stop where a level completes what was asked for."""
        if sum(level.states for level in self.levels) >= (self.limits.max_states or sys.maxsize):
            self.stopped = "max_states"
        elif len(self.levels) == self.limits.max_depth:
            self.stopped = "max_depth"

    def job(self) -> Job:
        """What tasks are told now."""
        from spark_check.tasks import Job

        parts = tuple(level.parts for level in self.levels)
        return Job(self.name, self.model, self.folder, self.owners, parts, self.counts)

    def make_level(self) -> bool:
        """Expand the last level into the next one; whether that is to count."""
        from spark_check.levels import folder_of, parts_of

        index = len(self.levels)
        name = folder_of(index, self.name)
        what = f"level {index + 1}: expand {self.levels[-1].states:,} states, drop what is known"
        notes = self.on_spark(what, partial(self.run_level, self.job(), name))
        if notes is None:
            return False
        sent, kept = [n for n in notes if "fired" in n], [n for n in notes if "states" in n]
        self.account(sent + kept)
        found = 0
        for note in sent:
            found |= note["found"]
        if found & self.wanted:
            self.report(index - 1, found)
            if not self.limits.keep_going:
                shutil.rmtree(self.folder / name, ignore_errors=True)
                self.publish_ways()
                return False
        states = {n["owner"]: n["states"] for n in kept}
        acts = np.sum([n["fired"] for n in sent], axis=0)
        by_act = dict(zip(self.kernel.acts, acts.tolist(), strict=True))
        rules = {
            rule: {"fired": counts["fired"] + by_act[rule]}
            for rule, counts in self.levels[-1].rules.items()
        }
        parts = parts_of(self.folder, name, states, {n["owner"]: n["rows"] for n in kept})
        from checkers.native.checkpoint import Level

        level = Level(
            states=sum(states.values()),
            generated=self.levels[-1].generated + int(acts.sum()),
            rules=rules,
            parts=tuple(parts),
        )
        self.levels.append(level)
        self.counts = tuple(states[owner] for owner in range(self.owners))
        self.bytes = max(self.bytes, sum(n["bytes"] for n in kept))
        self.manifest.levels.append(level)
        self.publish_ways()
        return True

    def run_level(self, job: Job, name: str) -> list[dict[str, Any]]:
        """The job of a level; answers what its tasks have noted."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        from spark_check import tasks

        owners = self.spark.range(self.owners, numPartitions=self.owners)
        candidates = owners.mapInArrow(partial(tasks.expand, job), tasks.ROWS)
        exchanged = candidates.repartitionById(self.owners, "owner")
        found = exchanged.mapInArrow(partial(tasks.drop_known, job), tasks.LEVEL_ROWS)
        observed = Observation()
        states = found.observe(observed, f.collect_list("note").alias("notes"))
        writer = states.where("note is null").select("shard", "codes", "highs").write
        writer.option("compression", "none").option("parquet.enable.dictionary", "false").parquet(
            (self.folder / name).as_uri()
        )
        return [json.loads(note) for note in observed.get["notes"]]

    def publish_ways(self) -> None:
        """Replace the manifest."""
        from checkers.native import checkpoint

        checkpoint.write_manifest(self.folder, self.manifest)

    def settle(self) -> None:
        """After a limit ended it: check what was found and not expanded."""
        for level in range(max(0, len(self.levels) - 2), len(self.levels)):
            if self.levels[level].states:
                self.report(level, self.wanted)
            if self.violations and not self.limits.keep_going:
                break
        self.publish_ways()

    # -- counterexamples ------------------------------------------------------------------------

    def report(self, level: int, found: int) -> None:
        """Find the way to each property that is violated in a level, and was not before."""
        from checkers.native.checkpoint import Way
        from spark_check.tasks import Wanted

        for name in self.kernel.names(found & self.wanted):
            words = self.least(level, Wanted(bit=self.kernel.mask([name])), name)
            if words is None:
                continue
            way = [words]
            for before in reversed(range(level)):
                words = self.least(before, Wanted(leads_to=words), name)
                assert words is not None, "a state that was found has a predecessor"
                way.append(words)
            self.take_violation(name, way[::-1])
            self.manifest.violations.append(Way(name, way[::-1]))

    def take_violation(self, name: str, words: Sequence[Sequence[int]]) -> None:
        """A violation that need not be looked for any more."""
        from checkers.native.behaviour import behaviour
        from checkers.native.search import Violation

        if self.kernel.mask([name]) & self.wanted:
            self.wanted &= ~self.kernel.mask([name])
            states, steps = behaviour(self.system, self.kernel.pack, [tuple(w) for w in words])
            self.violations.append(Violation(name, states, steps))

    def least(self, level: int, wanted: Wanted, name: str) -> tuple[int, ...] | None:
        """Of the states of a level that are wanted, the one with the least words."""
        from spark_check import tasks

        job = self.job()
        if self.levels[level].states < self.worth:
            return tasks.least(job, level, wanted, 0, 1)
        owners = self.spark.range(self.owners, numPartitions=self.owners)
        rows = owners.mapInArrow(partial(tasks.look_back, job, level, wanted), "words array<long>")
        answers = self.on_spark(f"level {level + 1}: search back for {name}", rows.collect)
        return tasks.least_of_all([tuple(answer.words) for answer in answers or ()])

    # -- Spark ----------------------------------------------------------------------------------

    def on_spark(self, what: str, work: Callable[[], T]) -> T | None:
        """Have Spark do something, and tell progress meanwhile; None if somebody ends it."""
        context = self.spark.sparkContext
        name, variant = self.system.model.name, self.system.variant.name

        def described() -> T:
            context.setJobGroup(self.name, f"{name}, {variant}: {what}", True)
            return work()

        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(described)
            while True:
                try:
                    return future.result(0.2)
                except TimeoutError:
                    if future.done():
                        raise
                except Exception:
                    if self.stopped == INTERRUPTED:
                        return None
                    raise
                self.tell_progress()
                if self.interrupted() and self.stopped != INTERRUPTED:
                    self.stopped = INTERRUPTED
                    context.cancelJobGroup(self.name)

    def tell_progress(self) -> None:
        """Tell how far it is."""
        if self.on_progress:
            found = sum(level.states for level in self.levels)
            seconds = time.perf_counter() - self.begun
            self.on_progress(Progress(len(self.levels), found, self.levels[-1].states, seconds))

    def account(self, notes: Sequence[dict[str, Any]]) -> None:
        """Add up where the tasks spent their time."""
        for note in notes:
            for name, seconds in note["seconds"].items():
                self.spent[name] = self.spent.get(name, 0.0) + seconds / self.owners
