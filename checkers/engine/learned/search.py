"""Exploration by rules that are learned during the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, TypeVar

from kspec.checkers.engine.interrupt import noted
from kspec.checkers.engine.learned.backend import LearnedBackend, warm_up_learning
from kspec.checkers.engine.learned.divided import Unfit
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.learning import Learning
from kspec.checkers.engine.memory import resident_bytes
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.checkpoint import CheckpointError, Manifest, opened
from kspec.checkers.engine.search import RuleFailed, Search, Stopped
from kspec.checkers.engine.symmetry import Symmetry
from kspec.checkers.engine.verdict import INCONCLUSIVE, RuleCount, Verdict
from kspec.checkers.needs import needs
from kspec.impl.compiled import made_ready
from kspec.spec.core import System

T = TypeVar("T")


def explore_by_learning(
    system: System[Any], options: Options | None = None, learned: Learnable | None = None
) -> Verdict:
    """Explore with what was learned before and what is learned during the run."""
    options = options or Options()
    learned = learned or Learnable(use_cache=options.use_cache)
    begun = time.perf_counter()
    symmetry = Symmetry(system) if options.symmetry else None
    with kept_levels(system, options) as manifest:
        trusted = len(manifest.levels) if manifest else 0  # by an earlier process

        def explore(learning: Learning) -> Verdict:
            with backend_for(learning, options, manifest) as backend:
                backend.kept_runs = learned.kept_runs
                backend.spent["prepare"] = time.perf_counter() - begun
                return Search(system, backend, options).run()

        again = partial(manifest.forget, trusted) if manifest else None
        try:
            return by_learning(
                system, learned, explore, options.on_compiling, symmetry, again,
                watch=within_memory(options),
            )  # fmt: skip
        except Stopped as stopped:  # before the search has begun
            return Verdict(
                system, LearnedBackend.engine, INCONCLUSIVE, str(stopped),
                rules={rule.name: RuleCount(0) for rule in system.rules},
                seconds={"explore": time.perf_counter() - begun},
            )  # fmt: skip


def within_memory(options: Options) -> Callable[[], None]:
    """A function that raises Stopped when more memory is in use than a run may use."""
    calls = count()

    def watch() -> None:
        if next(calls) % 4096 == 0 and resident_bytes() > options.max_memory:
            raise Stopped(options.limit("max_memory"))

    return watch


def by_learning(
    system: System[Any],
    learned: Learnable,
    run: Callable[[Learning], T],
    on_compiling: Callable[[], None] | None,
    symmetry: Symmetry | None = None,
    discarded: Callable[[], None] | None = None,
    watch: Callable[[], None] = lambda: None,
) -> T:
    """Run something with what is learned of a system.

    It runs again if components do not fit, and if the cache turns out to be wrong; then
    `discarded` is called first. `watch` is called for each initial state.
    """
    while True:
        try:
            kind = "-symmetry" * (symmetry is not None) + "-sets" * bool(learned.layout.divided)
            with made_ready(f"learned{kind}", on_compiling):
                learning = learned.of(system, symmetry, watch)
                warm_up_learning(learning)
            answer = run(learning)
        except Unfit as unfit:
            learned.lay_out_anew(unfit)
        except Stopped:
            raise
        except (RuleFailed, CheckpointError):
            learned.keep()
            raise
        except Exception:
            if not learned.discard_kept():
                raise
            if discarded:
                discarded()
        else:
            with noted():  # the answer is known: a signal does not discard it
                learned.keep()
            return answer


@contextmanager
def backend_for(
    learning: Learning, options: Options, manifest: Manifest | None
) -> Iterator[LearnedBackend]:
    """The backend of a system with what is known of it, and with its checkpoint, if any."""
    with ThreadPoolExecutor(options.cores) as pool, ThreadPoolExecutor(1) as writer:
        backend = LearnedBackend(learning, options, pool)
        if manifest is not None:
            from kspec.checkers.engine.learned.levels import Keeper  # it imports pyarrow

            assert options.checkpoint, "the manifest is in this folder"
            backend.keeper = Keeper(options.checkpoint, manifest, learning, writer)
        yield backend


@contextmanager
def kept_levels(system: System[Any], options: Options) -> Iterator[Manifest | None]:
    """The checkpoint of a learned run, if there is one."""
    if options.checkpoint is None:
        yield None
        return
    needs("a checkpoint", "checkpoint", "pyarrow")
    from kspec.checkers.engine.learned.levels import run_of

    with opened(options, run_of(system)) as manifest:
        yield manifest
