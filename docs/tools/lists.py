"""Lists in the pages that are made from the code when the pages are built.

A line `<!-- rules of MODEL -->` in a page becomes the rules of that model, variant by variant,
with what each says of itself and with its guards. Nothing needs to be copied, so nothing can
go stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from checkers.models import find_model
from spec.core import Model, Rule

PLACE = re.compile(r"^<!-- rules of (\S+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What MkDocs calls for each page."""
    return PLACE.sub(lambda place: "\n".join(rules_of(find_model(place[1]))), markdown)


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
                yield from described(rule)
                told[rule] = variant.name
        if kept:
            names = ", ".join(f"`{rule.name}` (see {told[rule]})" for rule in kept)
            yield f"Rules that stay as they are: {names}.\n"
        if variant.survivors:
            yield "What changes nothing that matters, and why:\n"
            yield from (f"- *{mutant}*: {reason}" for mutant, reason in variant.survivors.items())
            yield ""


def described(rule: Rule[Any]) -> Iterator[str]:
    """One rule: who does it, what it says of itself, and its guards."""
    yield f"### `{rule.name}({', '.join(rule.choices)})`, by the {rule.by}\n"
    yield f"{rule.doc}\n"
    for guard, is_limit in rule.guard_names():
        yield f"- {guard}{' *(a limit of the bounds)*' if is_limit else ''}"
    yield ""
