"""Bring the lists in the pages up to date with the code: `python docs/tools/lists.py`.

The text between a line `<!-- bounds of MODEL -->` and the next `<!-- end -->` is the bounds of that
model; `properties`, `simplifications`, `failing variants` and `guarantees` work alike. A test
compares, and fails until this was run. `rules_of` makes the pages of rules (`build.py`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from kspec.checkers.cli.models import remark
from kspec.checkers.models.find import find_model
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.spec.core import Model, Rule, Violated
from tests.exactly_once import ROWS

PLACE = re.compile(r"^<!-- ([a-z ]+) of (\S+) -->\n((?:(?!<!-- ).*\n)*)<!-- end -->$", re.MULTILINE)
SIMPLIFICATION = re.compile(r"Simplification: (.+?\.)(?= Kafka:|$)", re.DOTALL)


def with_current_lists(page: str) -> str:
    """The text of a page, with each list as the code has it now."""

    def current(place: re.Match[str]) -> str:
        make = LISTS.get(place[1])
        if not make:
            return place[0]
        made = "\n".join(make(find_model(place[2]))).strip()
        return f"<!-- {place[1]} of {place[2]} -->\n\n{made}\n\n<!-- end -->"

    return PLACE.sub(current, page)


# -- rules ------------------------------------------------------------------------------------


def rules_of(model: Model[Any]) -> Iterator[str]:
    """Every variant: its reason, the rules in which it differs, and those that it keeps."""
    shown: dict[Rule[Any], str] = {}
    for variant in model.variants:
        yield f"## {variant.name}\n"
        yield f"{variant.why}\n"
        if variant.parent:
            yield f"Derived from `{variant.parent}`.\n"
        kept = [rule for rule in variant.rules if rule in shown]
        for rule in variant.rules:
            if rule not in shown:
                yield from described(model, rule)
                shown[rule] = variant.name
        if kept:
            names = ", ".join(f"`{rule.name}` (see {shown[rule]})" for rule in kept)
            yield f"Rules that stay as they are: {names}.\n"
        equivalent = equivalent_mutants(model, variant)
        if equivalent:
            yield "Equivalent mutants, and why no property can detect them:\n"
            yield from (f"- *{mutant}*: {reason}" for mutant, reason in equivalent.items())
            yield ""


def described(model: Model[Any], rule: Rule[Any]) -> Iterator[str]:
    """One rule: its actor, its docstring and its guards."""
    yield f"### `{rule.name}({', '.join(rule.choices)})`, by the {rule.by}\n"
    yield f"{rule.doc}\n"
    for guard, is_limit in rule.guard_names():
        aside = remark(model, guard, is_limit)
        yield f"- {guard}" + (f" *{aside}*" if aside else "")
    yield ""


# -- what a model is about ----------------------------------------------------------------------


def properties_of(model: Model[Any]) -> Iterator[str]:
    """Each property with its docstring."""
    for prop in model.all_properties:
        yield f"- **{prop.name}**: {' '.join((inspect.getdoc(prop.body) or '').split())}"


def bounds_of(model: Model[Any]) -> Iterator[str]:
    """Each bound: what it limits, its default and its range."""
    yield "| bound | default | may be | |"
    yield "|---|---|---|---|"
    for bound in model.bound_ranges():
        yield f"| `{bound.name}` | {bound.default} | {bound.low} to {bound.high} | {bound.doc} |"


def simplifications_of(model: Model[Any]) -> Iterator[str]:
    """The simplifications in the rules' docstrings, each once, with its rule."""
    rules = [rule for variant in model.variants for rule in variant.rules]
    yield from dict.fromkeys(
        f"- `{rule.name}`: {said}"
        for rule in rules
        for said in SIMPLIFICATION.findall(" ".join(rule.doc.split()))
    )


def failing_variants_of(model: Model[Any]) -> Iterator[str]:
    """The properties that each failing variant violates, and after how many states."""
    yield "| variant | violates | states | bounds, where they are not the default |"
    yield "|---|---|---|---|"
    for variant in model.variants:
        for name, expected in variant.violates.items():
            bounds = " ".join(f"{bound}={value}" for bound, value in expected.bounds.items())
            yield f"| `{variant.name}` | {name} | {expected.states} | {bounds} |"


def guarantees_of(model: Model[Any]) -> Iterator[str]:
    """The table of its variants by its properties: which holds, and which is violated."""
    yield "| variant | " + " | ".join(f"`{prop.name}`" for prop in model.properties) + " |"
    yield "|---" * (len(model.properties) + 1) + "|"
    for variant in model.variants:
        cells = (guarantee(variant.violates.get(prop.name)) for prop in model.properties)
        yield f"| `{variant.name}` | " + " | ".join(cells) + " |"


def guarantee(expected: Violated | None) -> str:
    """Whether a property holds, or the number of states of the shortest counterexample."""
    if expected is None:
        return "holds"
    return f"violated in {expected.states}" if expected.states else "never true"


def ingredients_of(model: Model[Any], part: str) -> Iterator[str]:
    """The ingredients of exactly once that runs of a model show, of clients or of the cluster."""
    yield "| ingredient | without it | variant and bounds | violates | states |"
    yield "|---|---|---|---|---|"
    for row in ROWS:
        if (row.model, row.part) == (model.name, part):
            bounds = " ".join(f"{bound}={value}" for bound, value in row.bounds.items())
            run = f"`{row.without}`" + (f", {bounds}" if bounds else "")
            yield f"| {row.ingredient} | {row.prevents} | {run} | `{row.violates}` | {row.states} |"


LISTS: Mapping[str, Callable[[Model[Any]], Iterator[str]]] = {
    "properties": properties_of,
    "bounds": bounds_of,
    "simplifications": simplifications_of,
    "failing variants": failing_variants_of,
    "client ingredients": partial(ingredients_of, part="client"),
    "cluster ingredients": partial(ingredients_of, part="cluster"),
    "guarantees": guarantees_of,
}


if __name__ == "__main__":
    for path in sorted(Path(__file__).parents[1].glob("*.md")):
        text = path.read_text(encoding="utf-8")
        path.write_text(with_current_lists(text), encoding="utf-8")
