"""Models for benchmarks, in many styles, written as users write them: plain, and without types."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kspec.spec.core import Model, NoBounds, Property, Rule, Variant


def model(
    name: str,
    doc: str,
    initial: Callable[[Any], Iterable[Any]],
    rules: Iterable[Rule[Any]],
    properties: Iterable[Property[Any]] = (),
    *,
    final: Callable[[Any], bool] | None = lambda s: True,
    bounds: type = NoBounds,
) -> Model[Any]:
    """A model with one variant, in which any state may be the last."""
    variants = (Variant("only", rules=tuple(rules), why="There is no other."),)
    return Model(
        name=name,
        doc=doc,
        initial=initial,
        properties=tuple(properties),
        variants=variants,
        final=final,
        bounds=bounds,
    )
