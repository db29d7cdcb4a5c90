"""`kspec models`: what there is to check."""

from __future__ import annotations

from typing import Any

import click

from checkers.cli.options import json_option
from checkers.cli.output import say_json, say_wrapped
from checkers.models import BUILT_IN, find_model
from checkers.verdict import DEADLOCK
from spec.core import Always, LeadsTo, Model, Property, Rule, Variant, Violated

KINDS = {Always: "always", LeadsTo: "leads to"}


@click.command()
@click.argument("names", metavar="[MODEL]…", nargs=-1)
@click.option("--rules", is_flag=True, help="Each variant's rules with their guards, in words.")
@json_option
def models(names: tuple[str, ...], rules: bool, as_json: bool) -> int:
    """List models with their variants, bounds and properties, and what is expected of each.

    \b
    kspec models
    kspec models replication --rules
    kspec models my_protocol.py
    """
    found = {name: find_model(name) for name in names or BUILT_IN}
    if as_json:
        say_json({"models": [record(name, model, rules=rules) for name, model in found.items()]})
        return 0
    for name, model in found.items():
        for line in describe(name, model, rules=rules):
            say_wrapped(line)
    return 0


def describe(name: str, model: Model[Any], *, rules: bool) -> list[str]:
    """A model, as it is read."""
    default = model.variant().name
    lines = [f"{name}: {model.doc}", "", "  variants"]
    for variant in model.variants:
        star = " (default)" if variant.name == default else ""
        parent = f", after {variant.parent}" if variant.parent else ""
        lines += [f"    {variant.name}{star}{parent}", f"        {variant.why}"]
        lines += [f"        {line}" for line in expectations(variant)]
        if rules:
            for rule in variant.rules:
                lines += [f"        {line}" for line in rule_lines(model, rule)]
    if model.bound_ranges():
        lines += ["", "  bounds"]
        for b in model.bound_ranges():
            lines.append(f"    {b.name}={b.default}  ({b.low} to {b.high})  {b.doc}")
    lines += ["", "  properties"]
    for prop in (*model.properties, *model.sanity):
        sanity = ", asked by name and by mutate" if prop in model.sanity else ""
        lines += [f"    {prop.name}  ({kind(prop)}{sanity})", f"        {prop.summary}"]
    example = f"kspec check {name}"
    other = next((v.name for v in model.variants if v.name != default), None)
    lines += ["", f"  example: {example}" + (f" --variant {other}" if other else ""), ""]
    return lines


def expectations(variant: Variant[Any]) -> list[str]:
    """What a variant is expected to do to the properties."""
    if not variant.violates:
        return ["expected: every property holds"]
    return [f"expected: {expectation(name, v)}" for name, v in variant.violates.items()]


def expectation(name: str, violated: Violated) -> str:
    """One expected violation, in words."""
    what = name if name == DEADLOCK else f"{name} violated"
    bounds = "".join(f" --set {name}={value}" for name, value in violated.bounds.items())
    return f"{what} in {violated.states} states" + (f", with{bounds}" if bounds else "")


def rule_lines(model: Model[Any], rule: Rule[Any]) -> list[str]:
    """A rule: what it says of itself, and its guards."""
    chosen = ", ".join(rule.choices)
    first, *more = [" ".join(paragraph.split()) for paragraph in rule.doc.split("\n\n")]
    return [
        f"{rule.name}({chosen}), by the {rule.by}: {first}",
        *(f"    {paragraph}" for paragraph in more),
        *(
            f"    - {guard} {remark(model, guard, is_limit)}".rstrip()
            for guard, is_limit in rule.guard_names()
        ),
    ]


def remark(model: Model[Any], guard: str, is_limit: bool) -> str:
    """What a guard's name does not say: that it is a limit, or what is answered where it fails."""
    if is_limit:
        return "(a limit of the bounds)"
    return f"(else {model.answers[guard]})" if guard in model.answers else ""


def kind(prop: Property[Any]) -> str:
    """The kind of a property, in words."""
    return KINDS.get(type(prop), "reachable")


def record(name: str, model: Model[Any], *, rules: bool) -> dict[str, Any]:
    """A model, for a machine."""
    return {
        "model": name,
        "doc": model.doc,
        "default_variant": model.variant().name,
        "variants": [
            {
                "name": v.name,
                "parent": v.parent,
                "why": v.why,
                "violates": {
                    p: {"states": x.states, "bounds": dict(x.bounds)} for p, x in v.violates.items()
                },
                "rules": [
                    {
                        "name": r.name,
                        "by": r.by,
                        "choices": list(r.choices),
                        "summary": r.summary,
                        "guards": [guard for guard, _ in r.guard_names()],
                    }
                    if rules
                    else r.name
                    for r in v.rules
                ],
            }
            for v in model.variants
        ],
        "answers": dict(model.answers),
        "bounds": [
            {"name": b.name, "default": b.default, "low": b.low, "high": b.high, "doc": b.doc}
            for b in model.bound_ranges()
        ],
        "properties": [
            {
                "name": p.name,
                "kind": kind(p),
                "by_name_only": p in model.sanity,
                "summary": p.summary,
            }
            for p in (*model.properties, *model.sanity)
        ],
    }
