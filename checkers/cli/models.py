"""`kspec models`: what there is to check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from checkers.cli.options import json_option
from checkers.cli.output import say, say_json, say_wrapped
from checkers.models import BUILT_IN, find_model
from checkers.verdict import DEADLOCK
from spec.core import Always, LeadsTo, Model, Property, Rule, Variant, Violated

KINDS = {Always: "always", LeadsTo: "leads to"}


@click.command()
@click.argument("names", metavar="[MODEL]…", nargs=-1)
@click.option("--variant", "only", metavar="V", help="Only this variant of MODEL.")
@click.option("--rules", is_flag=True, help="Each variant's rules with their guards, in words.")
@json_option
def models(names: tuple[str, ...], only: str | None, rules: bool, as_json: bool) -> int:
    """List the models; or say of MODEL what its variants, bounds and properties are.

    A variant comes with what is expected of it. With --rules, it has those rules in which it
    differs from the variant that it comes after; with --variant, all of its rules.

    \b
    kspec models
    kspec models replication --rules
    kspec models group --variant cooperative --rules
    kspec models my_protocol.py
    """
    if only and len(names) != 1:
        raise click.UsageError("--variant is one of a MODEL's: name that one")
    found = {name: find_model(name) for name in names or BUILT_IN}
    chosen = {
        name: [model.variant(only)] if only else model.variants for name, model in found.items()
    }
    if as_json:
        listed = [record(name, m, chosen[name], rules=rules) for name, m in found.items()]
        say_json({"models": listed})
        return 0
    for name, model in found.items():
        whole = names or rules
        told = describe(name, model, chosen[name], rules=rules) if whole else brief(name, model)
        for line in told:
            say_wrapped(line)
    if not names:
        say("kspec models MODEL says what its variants, bounds and properties are.")
    return 0


def brief(name: str, model: Model[Any]) -> list[str]:
    """A model and the names of its variants."""
    default = model.variant().name
    variants = [v.name + (" (default)" if v.name == default else "") for v in model.variants]
    return [f"{name}: {model.doc}", f"  variants: {', '.join(variants)}", ""]


def describe(
    name: str, model: Model[Any], variants: Sequence[Variant[Any]], *, rules: bool
) -> list[str]:
    """A model, as it is read."""
    default = model.variant().name
    lines = [f"{name}: {model.doc}", "", "  variants"]
    for variant in variants:
        star = " (default)" if variant.name == default else ""
        parent = f", after {variant.parent}" if variant.parent else ""
        lines += [f"    {variant.name}{star}{parent}", f"        {variant.why}"]
        lines += [f"        {line}" for line in expectations(variant)]
        if rules:
            before = next((v for v in variants if v.name == variant.parent), None)
            lines += [f"        {line}" for line in rules_of(model, variant, before)]
    if model.bound_ranges():
        lines += ["", "  bounds"]
        for b in model.bound_ranges():
            lines.append(f"    {b.name}={b.default}  ({b.low} to {b.high})  {b.doc}")
    lines += ["", "  properties"]
    for prop in (*model.properties, *model.sanity):
        sanity = ", a sanity property" if prop in model.sanity else ""
        lines += [f"    {prop.name}  ({kind(prop)}{sanity})", f"        {prop.summary}"]
    example = f"kspec check {name}"
    other = next((v.name for v in variants if v.name != default), None)
    lines += ["", f"  example: {example}" + (f" --variant {other}" if other else ""), ""]
    return lines


def rules_of(
    model: Model[Any], variant: Variant[Any], before: Variant[Any] | None
) -> Iterator[str]:
    """The rules of a variant; or, where the one before it is listed too, what differs."""
    kept = before.rules if before else ()
    new = [rule for rule in variant.rules if rule not in kept]
    if before:
        still = {rule.name for rule in variant.rules}
        gone = ", ".join(rule.name for rule in kept if rule.name not in still)
        without = f", without {gone}" if gone else ""
        yield f"rules: as {before.name}{without}" + (", with these of its own" if new else "")
    for rule in new:
        yield from rule_lines(model, rule)


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


def record(
    name: str, model: Model[Any], variants: Sequence[Variant[Any]], *, rules: bool
) -> dict[str, Any]:
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
            for v in variants
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
