"""Baseline: what is known of a model's mutants before any of them is explored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kspec.spec.core.properties import Property


@attrs.frozen(eq=False)
class Baseline:
    """What mutation needs of a model besides its properties."""

    invariants: Sequence[Property[Any]] = ()
    """Consistency invariants: how states are built, in every variant. They detect a mutant that
    breaks no property of the protocol; a check leaves them out unless they are named."""
    bounds: Sequence[Mapping[str, int]] = ({},)
    """Bounds in which mutants are explored, one after the other while a mutant survives."""
    equivalent: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    """By variant: mutants that no property can detect, each with the reason. A derived variant
    inherits those of the rules that it shares with its parent."""
    bounds_for: Mapping[str, Mapping[str, Mapping[str, int]]] = attrs.field(factory=dict)
    """By variant: mutants that `bounds` are too small to detect, each with bounds that do."""
    left_out: Sequence[Property[Any]] = ()
    """Properties of the model that mutants are not checked for, such as liveness properties, which
    need the whole graph."""
