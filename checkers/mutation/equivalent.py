"""Equivalent mutants: those that no property can detect, each with the reason."""

from __future__ import annotations

from typing import Any

from kspec.spec.core import Model, Variant


def equivalent_mutants(model: Model[Any], variant: Variant[Any]) -> dict[str, str]:
    """The equivalent mutants of a variant: its own, and its parent's where they share the rule."""
    inherited: dict[str, str] = {}
    if variant.parent is not None:
        parent = model.variant(variant.parent)
        shared = {rule.name for rule in variant.rules if rule in parent.rules}
        inherited = {
            mutant: reason
            for mutant, reason in equivalent_mutants(model, parent).items()
            if mutant.split()[0] in shared
        }
    return inherited | dict(model.baseline.equivalent.get(variant.name, {}))
