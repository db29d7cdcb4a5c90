"""Mutants of every rule that a variant of `delivery` adds: `python -m benchmarks.delivery_mutants`.

`tests/spec/test_delivery.py` has those of some variants. The exit code is 1 if a mutant survives,
or if one is killed that the baseline calls equivalent.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.mutate import mutate

DELIVERY = find_model("delivery")

ADDED: Mapping[str, Sequence[str]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)
"""The rules that each variant adds, by the variant in which their mutants are explored."""


def main() -> int:
    """Explore the mutants of each variant, and print a line for each."""
    totals = {"killed": 0, "equivalent": 0, "survived": 0}
    is_stale = False
    for name, rules in ADDED.items():
        report = mutate(
            DELIVERY,
            DELIVERY.variant(name),
            DELIVERY.baseline.bounds,
            rules=rules,
            workers=2,
        )
        counts = {fate: len(report.having(fate)) for fate in totals}
        totals = {fate: totals[fate] + counts[fate] for fate in totals}
        is_stale = is_stale or bool(report.stale)
        names = [*(o.mutant for o in report.having("survived")), *report.stale]
        print(f"{name:30}", *(f"{n:4} {fate}" for fate, n in counts.items()), *names)
    print(f"{'all':30}", *(f"{n:4} {fate}" for fate, n in totals.items()))
    return 1 if totals["survived"] or is_stale else 0


if __name__ == "__main__":
    sys.exit(main())
