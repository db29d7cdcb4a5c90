"""Baseline: what mutation needs of a model besides its properties."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from kspec.spec.core.properties import Property


@attrs.frozen(eq=False)
class Baseline:
    """What mutation needs of a model besides its properties.

    Bounds and mutants that are not given are those of the file `mutants`, which is read when they
    are first asked for.
    """

    invariants: Sequence[Property[Any]] = ()
    """Consistency invariants: how states are built, in every variant. They detect a mutant that
    breaks no property of the protocol; a check leaves them out unless they are named."""
    left_out: Sequence[Property[Any]] = ()
    """Properties of the model that mutants are not checked for, such as liveness properties, which
    need the whole graph."""
    mutants: Path | None = None
    """A TOML file that has `bounds`, `bounds_for` and, by variant and by reason, `equivalent`."""
    _bounds: Sequence[Mapping[str, int]] | None = None
    _equivalent: Mapping[str, Mapping[str, str]] | None = None
    _bounds_for: Mapping[str, Mapping[str, Mapping[str, int]]] | None = None

    @cached_property
    def _stored(self) -> dict[str, Any]:
        """What the file has."""
        return tomllib.loads(self.mutants.read_text("utf-8")) if self.mutants else {}

    @property
    def bounds(self) -> Sequence[Mapping[str, int]]:
        """Bounds in which mutants are explored, one after the other while a mutant survives."""
        return self._stored.get("bounds", [{}]) if self._bounds is None else self._bounds

    @property
    def equivalent(self) -> Mapping[str, Mapping[str, str]]:
        """By variant: mutants that no property can detect, each with the reason.

        A derived variant inherits those of the rules that it shares with its parent.
        """
        if self._equivalent is not None:
            return self._equivalent
        return {
            variant: {mutant: reason for reason, names in reasons.items() for mutant in names}
            for variant, reasons in self._stored.get("equivalent", {}).items()
        }

    @property
    def bounds_for(self) -> Mapping[str, Mapping[str, Mapping[str, int]]]:
        """By variant: mutants that `bounds` are too small to detect, each with bounds that do."""
        return self._stored.get("bounds_for", {}) if self._bounds_for is None else self._bounds_for
