"""The notation of the oracles: names of fields in Kafka's words, from `names.toml`."""

from __future__ import annotations

import tomllib
from typing import Any

from kspec.field.shapes import Notation, choice
from kspec.spec.messages import GROUP_SETTINGS, JAVA, SCALA, CoordinatorVariant
from kspec.traces.page.html import asset


def camel_case(name: str) -> str:
    """A Python name as Kafka writes names."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


NAMES: dict[str, Any] = tomllib.loads(asset(__package__, "names.toml"))
ROWS = NAMES.pop("rows")
NAMES["Settings"] |= {field: name for name, field in GROUP_SETTINGS.items()}

KAFKA = Notation(
    camel_case,
    NAMES,
    ROWS,
    {CoordinatorVariant: choice({variant.name: variant for variant in (JAVA, SCALA)})},
)
"""The notation of requests and their answers: Kafka's names."""
