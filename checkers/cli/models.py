"""`kspec models`: the models, with their variants, bounds and properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import click

from kspec.checkers.cli.options import flag, json_option, option
from kspec.checkers.cli.output import say, say_json, say_wrapped
from kspec.checkers.engine.verdict import DEADLOCK
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import (
    Always,
    EventuallyAlways,
    InfinitelyOften,
    LeadsTo,
    Model,
    Rule,
    Variant,
    Violated,
)

KINDS = {
    Always: ("always", "invariant"),
    LeadsTo: ("leads to", "liveness property"),
    InfinitelyOften: ("infinitely often", "liveness property"),
    EventuallyAlways: ("eventually always", "liveness property"),
}
"""The kinds of properties, for a machine and for a reader; any other is `REACHABLE`."""

REACHABLE = "reachable", "reachability property"


@click.command()
@click.argument("names", metavar="[MODEL]…", nargs=-1)
@option("--variant", "only", "Describe only this variant of MODEL.", metavar="V")
@flag("--rules", "List the rules of each variant with their guards.")
@flag("--schema", "Print the JSON Schema of MODEL's traces.")
@json_option
def models(
    names: tuple[str, ...], only: str | None, rules: bool, schema: bool, as_json: bool
) -> int:
    """List the models, or describe MODEL: its variants, bounds and properties.

    Each variant is listed with the violations that are expected of it. With --rules, a variant
    is listed with the rules in which it differs from its parent; with --variant as well, with
    all of its rules.

    \b
    kspec models
    kspec models replication --rules
    kspec models group --variant cooperative --rules
    kspec models group --schema
    kspec models my_protocol.py
    """
    if only and len(names) != 1:
        raise click.UsageError("--variant requires one MODEL")
    if schema and (len(names) != 1 or only or rules):
        raise click.UsageError("--schema requires one MODEL, and takes no other option")
    found = {name: find_model(name) for name in names or registered_models()}
    if schema:
        from kspec.traces.schema import json_schema

        say_json(json_schema(found[names[0]]))
        return 0
    chosen = {
        name: [model.variant(only)] if only else model.variants for name, model in found.items()
    }
    if as_json:
        listed = [record(name, m, chosen[name], rules=rules) for name, m in found.items()]
        say_json({"models": listed})
        return 0
    for name, model in found.items():
        whole = names or rules
        lines = describe(name, model, chosen[name], rules=rules) if whole else brief(name, model)
        for line in lines:
            say_wrapped(line)
    if not names:
        say("`kspec models MODEL` describes a model.")
    return 0


def brief(name: str, model: Model[Any]) -> list[str]:
    """A model and the names of its variants."""
    default = model.variant().name
    variants = [v.name + (" (default)" if v.name == default else "") for v in model.variants]
    return [f"{name}: {model.doc}", f"  variants: {', '.join(variants)}", ""]


def describe(
    name: str, model: Model[Any], variants: Sequence[Variant[Any]], *, rules: bool
) -> list[str]:
    """A model, as lines for a reader."""
    default = model.variant().name
    lines = [f"{name}: {model.doc}", "", "  variants"]
    for variant in variants:
        star = " (default)" if variant.name == default else ""
        parent = f", derived from {variant.parent}" if variant.parent else ""
        lines += [f"    {variant.name}{star}{parent}", f"        {variant.why}"]
        before = next((v for v in variants if v.name == variant.parent), None)
        lines += [f"        {line}" for line in expectations(variant, before)]
        if rules:
            lines += [f"        {line}" for line in rules_of(model, variant, before)]
    if model.bound_ranges():
        lines += ["", "  bounds"]
        for b in model.bound_ranges():
            lines.append(f"    {b.name}={b.default}  ({b.low} to {b.high})  {b.doc}")
    lines += ["", "  properties"]
    for prop in model.all_properties:
        aside = "" if prop in model.properties else ", on request"
        lines += [
            f"    {prop.name}  ({KINDS.get(type(prop), REACHABLE)[1]}{aside})",
            f"        {prop.summary}",
        ]
    if model.not_modelled:
        lines += ["", f"  not modelled: {', '.join(model.not_modelled)}"]
    example = f"kspec check {name}"
    other = next((v.name for v in variants if v.name != default), None)
    lines += ["", f"  example: {example}" + (f" --variant {other}" if other else ""), ""]
    return lines


def rules_of(
    model: Model[Any], variant: Variant[Any], before: Variant[Any] | None
) -> Iterator[str]:
    """The rules of a variant; only those that differ, if its parent is listed too."""
    kept = before.rules if before else ()
    new = [rule for rule in variant.rules if rule not in kept]
    if before:
        still = {rule.name for rule in variant.rules}
        gone = ", ".join(rule.name for rule in kept if rule.name not in still)
        without = f", without {gone}" if gone else ""
        yield f"rules: those of {before.name}{without}" + ("; of its own:" if new else "")
    for rule in new:
        yield from rule_lines(model, rule)


def expectations(variant: Variant[Any], before: Variant[Any] | None) -> list[str]:
    """The violations that are expected of a variant; those of its parent too, by name only."""
    if not variant.violates:
        return ["expected: every property holds"]
    inherited = before.violates if before else {}
    same = [name for name, v in variant.violates.items() if inherited.get(name) == v]
    lines = [
        f"expected: {expectation(name, v)}"
        for name, v in variant.violates.items()
        if name not in same
    ]
    if before and same:
        lines.append(f"expected as in {before.name}: {', '.join(same)}")
    return lines


def expectation(name: str, violated: Violated) -> str:
    """One expected violation, in words."""
    what = name if name == DEADLOCK else f"{name} violated"
    bounds = "".join(f" --set {name}={value}" for name, value in violated.bounds.items())
    return f"{what} in {violated.states} states" + (f", with{bounds}" if bounds else "")


def rule_lines(model: Model[Any], rule: Rule[Any]) -> list[str]:
    """A rule: its docstring and its guards."""
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
    """What a guard's name does not say: that it is a limit, or the error if it fails."""
    if is_limit:
        return "(limit of the bounds)"
    return f"(else {model.answers[guard]})" if guard in model.answers else ""


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
        "not_modelled": list(model.not_modelled),
        "bounds": [attrs.asdict(bound) for bound in model.bound_ranges()],
        "properties": [
            {
                "name": p.name,
                "kind": KINDS.get(type(p), REACHABLE)[0],
                "by_name_only": p not in model.properties,
                "summary": p.summary,
            }
            for p in model.all_properties
        ],
    }
