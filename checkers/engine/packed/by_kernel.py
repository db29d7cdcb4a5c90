"""Exploration by a hand-written kernel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.packed.behaviour import behaviour
from kspec.checkers.engine.packed.codes import Coding, coding_of
from kspec.checkers.engine.packed.expander import Expander, KernelExpander
from kspec.checkers.engine.packed.search import PackedBackend, assert_pyarrow, warm_up
from kspec.checkers.engine.search import Search
from kspec.checkers.engine.verdict import Verdict
from kspec.impl.packed.compiled import made_ready
from kspec.impl.packed.kernel import Kernel, up_to_symmetry
from kspec.impl.packed.kernels import kernel_for
from kspec.spec.core import System
from kspec.traces.trace import Trace

if TYPE_CHECKING:
    from kspec.checkers.engine.packed.keep import Keeper


def explore_by_kernel(system: System[Any], options: Options | None = None) -> Verdict:
    """Explore with a hand-written kernel; NoKernel if the system has none."""
    options = options or Options()
    with packed_by_kernel(system, options) as backend:
        return Search(system, backend, options).run()


@contextmanager
def packed_by_kernel(system: System[Any], options: Options) -> Iterator[PackedBackend]:
    """The backend of a system with a kernel."""
    begun = time.perf_counter()
    kernel = kernel_for(system)
    if options.symmetry:
        kernel = up_to_symmetry(kernel)
    coding = coding_of(kernel.layout)
    with ExitStack() as stack:
        keeper = stack.enter_context(kept_by_kernel(system, kernel, options))
        kinds = f"{'-symmetry' * options.symmetry}{'-coverage' * options.coverage}"
        with made_ready(f"{system.model.name}{kinds}", options.on_compiling):
            warm_up(KernelExpander(kernel, system, coverage=options.coverage), coding)
        pool = stack.enter_context(ThreadPoolExecutor(options.cores))
        backend = KernelBackend(system, options, kernel, coding, pool)
        backend.keeper = keeper
        backend.spent["compile"] = time.perf_counter() - begun
        yield backend


@contextmanager
def kept_by_kernel(
    system: System[Any], kernel: Kernel[Any], options: Options
) -> Iterator[Keeper | None]:
    """The keeper of a kernel run's checkpoint, if there is one."""
    if options.checkpoint is None:
        yield None
        return
    assert_pyarrow()
    from kspec.checkers.engine.packed.keep import PackedWords, keeping, opened, run_of

    with (
        opened(options, run_of(system, kernel)) as manifest,
        keeping(options.checkpoint, manifest, PackedWords(kernel)) as keeper,
    ):
        yield keeper


class KernelBackend(PackedBackend):
    """A backend that uses a hand-written kernel."""

    engine = "kernel"

    def __init__(
        self,
        system: System[Any],
        options: Options,
        kernel: Kernel[Any],
        coding: Coding,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.kernel = kernel
        bits = {name: bit for bit, name in enumerate(kernel.properties)}
        super().__init__(system, options, coding, bits, pool)

    def expander(self) -> Expander:
        return KernelExpander(self.kernel, self.system, coverage=self.options.coverage)

    def initial(self) -> list[tuple[int, ...]]:
        return list(dict.fromkeys(self.kernel.pack(state) for state in self.system.initial()))

    def state(self, words: Sequence[int]) -> Any:
        return self.kernel.unpack(words)

    def as_trace(self, way: list[tuple[int, ...]], mark: str) -> Trace:
        states, steps = behaviour(self.system, self.kernel.pack, way)
        return Trace(self.system, tuple(states), tuple(steps), mark)

    def stands_for(self) -> int | None:
        if not self.options.symmetry:
            return None
        represent = self.kernel.representatives
        assert represent is not None
        return self.count_orbits(represent)
