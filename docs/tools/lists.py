"""Lists in the pages that are made from the code when the pages are built.

What stands between a line `<!-- rules of MODEL -->` and the next `<!-- end -->` becomes the rules
of that model, variant by variant, with what each says of itself and with its guards; `properties`,
`bounds`, `simplifications` and `failing variants` work alike. Nothing needs to be copied, so
nothing can go stale. Whoever reads the page as it is in the tree finds there which command prints
the same.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from checkers.cli.models import remark
from checkers.models import find_model
from spec.core import Model, Rule

PLACE = re.compile(r"^<!-- ([a-z ]+) of (\S+) -->\n((?:(?!<!-- ).*\n)*)<!-- end -->$", re.MULTILINE)
SIMPLIFICATION = re.compile(r"Simplification: (.+?\.)(?= Kafka:|$)", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What MkDocs calls for each page."""

    def listed(place: re.Match[str]) -> str:
        made = LISTS.get(place[1])
        return "\n".join(made(find_model(place[2]))) if made else place[0]

    return PLACE.sub(listed, markdown)


# -- rules ------------------------------------------------------------------------------------


def rules_of(model: Model[Any]) -> Iterator[str]:
    """Every variant: why it exists, the rules in which it differs, and those that it keeps."""
    told: dict[Rule[Any], str] = {}
    for variant in model.variants:
        yield f"## {variant.name}\n"
        yield f"{variant.why}\n"
        if variant.parent:
            yield f"Derived from `{variant.parent}`.\n"
        kept = [rule for rule in variant.rules if rule in told]
        for rule in variant.rules:
            if rule not in told:
                yield from described(model, rule)
                told[rule] = variant.name
        if kept:
            names = ", ".join(f"`{rule.name}` (see {told[rule]})" for rule in kept)
            yield f"Rules that stay as they are: {names}.\n"
        if variant.survivors:
            yield "What changes nothing that matters, and why:\n"
            yield from (f"- *{mutant}*: {reason}" for mutant, reason in variant.survivors.items())
            yield ""


def described(model: Model[Any], rule: Rule[Any]) -> Iterator[str]:
    """One rule: who does it, what it says of itself, and its guards."""
    yield f"### `{rule.name}({', '.join(rule.choices)})`, by the {rule.by}\n"
    yield f"{rule.doc}\n"
    for guard, is_limit in rule.guard_names():
        aside = remark(model, guard, is_limit)
        yield f"- {guard}" + (f" *{aside}*" if aside else "")
    yield ""


# -- what a model is about ----------------------------------------------------------------------


def properties_of(model: Model[Any]) -> Iterator[str]:
    """What each property says of itself."""
    for prop in (*model.properties, *model.sanity):
        yield f"- **{prop.name}**: {' '.join((inspect.getdoc(prop.body) or '').split())}"


def bounds_of(model: Model[Any]) -> Iterator[str]:
    """Each bound, what it limits, and how far it can be set."""
    yield "| bound | default | may be | |"
    yield "|---|---|---|---|"
    for bound in model.bound_ranges():
        yield f"| `{bound.name}` | {bound.default} | {bound.low} to {bound.high} | {bound.doc} |"


def simplifications_of(model: Model[Any]) -> Iterator[str]:
    """What the rules say they leave out; each once, with the rule that says it."""
    rules = [rule for variant in model.variants for rule in variant.rules]
    yield from dict.fromkeys(
        f"- `{rule.name}`: {said}"
        for rule in rules
        for said in SIMPLIFICATION.findall(" ".join(rule.doc.split()))
    )


def failing_variants_of(model: Model[Any]) -> Iterator[str]:
    """What each variant that must fail is expected to violate, how soon, and in which bounds."""
    yield "| variant | violates | states | bounds, where they are not the default |"
    yield "|---|---|---|---|"
    for variant in model.variants:
        for name, expected in variant.violates.items():
            bounds = " ".join(f"{bound}={value}" for bound, value in expected.bounds.items())
            yield f"| `{variant.name}` | {name} | {expected.states} | {bounds} |"


LISTS: Mapping[str, Callable[[Model[Any]], Iterator[str]]] = {
    "rules": rules_of,
    "properties": properties_of,
    "bounds": bounds_of,
    "simplifications": simplifications_of,
    "failing variants": failing_variants_of,
}
