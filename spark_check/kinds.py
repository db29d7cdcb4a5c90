"""The two kinds of run: by a model's kernel, and by its rules."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Mapping
from typing import Any

import attrs

from checkers.native import checkpoint
from checkers.native.blocks import write_rows
from checkers.native.checkpoint import Level
from checkers.native.keep import run_of
from checkers.native.search import Exploration
from impl.packed.kernel import DEADLOCK
from impl.packed.kernels import kernel_for
from spark_check import by_kernel, by_rules
from spark_check.levels import folder_of
from spark_check.run import Run
from spec.core import Always, Reachable, SpecError, System


class KernelRun(Run):
    """A run of a model that has a kernel."""

    tasks = by_kernel

    @staticmethod
    def what_is_run(system: System[Any]) -> Mapping[str, Any]:
        """The same as for the native engine."""
        return run_of(system, kernel_for(system))

    def begin(self) -> None:
        """The native engine has begun."""

    def pack(self, state: Any) -> tuple[int, ...]:
        """The words of a state."""
        words: tuple[int, ...] = by_kernel.kernel_of(self.model)[0].pack(state)
        return words


class RulesRun(Run):
    """A run of a model without one, on the rules themselves."""

    tasks = by_rules

    @staticmethod
    def what_is_run(system: System[Any]) -> Mapping[str, Any]:
        """The model, the text of its rules, and how states are written."""
        modules = {rule.body.__module__ for rule in system.rules}
        texts = [inspect.getsource(sys.modules[name]) for name in sorted(modules)]
        return {
            "model": system.model.name,
            "variant": system.variant.name,
            "bounds": attrs.asdict(system.bounds),
            "properties": sorted(p.name for p in system.properties),
            "rules": hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16],
            "layout": by_rules.LAYOUT,
        }

    def begin(self) -> None:
        """Write the initial states, if nobody did."""
        if self.manifest.levels:
            return
        _, codec = by_rules.system_of(self.model)
        states = [codec.encode(state) for state in self.system.initial()]
        name = folder_of(0, self.name)
        (self.folder / name).mkdir()
        rows = by_rules.as_table(states)
        part = write_rows(self.folder, f"{name}/part-00000-here.parquet", rows, len(states))
        rules = {rule.name: {"fired": 0} for rule in self.system.rules}
        self.manifest.levels.append(Level(len(states), len(states), rules, (part,)))
        checkpoint.write_manifest(self.folder, self.manifest)

    def counts_level(self) -> bool:
        """As with the reference engine, that of a deadlock does: it is noticed on the way."""
        return all(violation.property == DEADLOCK for violation in self.found.violations)

    def pack(self, state: Any) -> tuple[int, ...]:
        """The bytes of a state."""
        return tuple(by_rules.system_of(self.model)[1].encode(state))


def nothing_yet() -> Exploration[Any]:
    """What another engine has found where none has begun."""
    return Exploration([], 0, {}, {}, [], [], None, 1, 0.0, 0.0, 0.0, 0)


def assert_can(system: System[Any]) -> None:
    """SpecError where this cannot be asked without the whole graph."""
    for prop in system.properties:
        if not isinstance(prop, Always | Reachable):
            raise SpecError(f"the spark engine cannot check {prop.name}; use --engine reference")
    if system.rules != system.variant.rules:
        raise SpecError("the spark engine explores rules as they are, and no mutants")
