"""The identity of what was learned: rules and properties by name and fingerprint.

It decides what of a file still applies: an answer does if its rule or property has the same key.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import attrs

from kspec.checkers.engine.learned.source import Sources, environment
from kspec.spec.core import Always, Reachable, Rule, System

FORMAT = 3
NOT_ASKED = ("name", "within")
"""Fields of properties that do not affect an answer."""


class Keys:
    """The keys of one system."""

    def __init__(self, system: System[Any]) -> None:
        self.system = system
        self.sources = Sources()

    @cached_property
    def file(self) -> str | None:
        """The key of the model, state class and bounds; None if they have no fingerprint."""
        first = self.system.initial()[:1]
        if not first:
            return None
        cls = type(first[0])
        code = self.sources.fingerprint_of((cls, self.system.bounds))
        if code is None:
            return None
        parts = FORMAT, environment(), self.system.model.name, cls.__qualname__, code
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    @cached_property
    def of(self) -> dict[Any, str]:
        """The keys of rules, properties and the model (for its `final`) that have a fingerprint.

        They are those of all variants, which share one file.
        """
        system, model = self.system, self.system.model
        rules = [*system.rules, *(rule for variant in model.variants for rule in variant.rules)]
        properties = [*system.properties, *model.all_properties]
        code: dict[Any, Any] = {rule: ("rule", code_of(rule)) for rule in rules}
        code |= {
            p: ("property", code_of(p)) for p in properties if isinstance(p, Always | Reachable)
        }
        code[model] = "final", model.final
        found = {}
        for asked, (kind, parts) in code.items():
            fingerprint = self.sources.fingerprint_of(parts)
            if fingerprint is not None:
                found[asked] = f"{kind} {asked.name} {fingerprint}"
        return found

    @cached_property
    def by_key(self) -> dict[str, Any]:
        """The rule, property or model of each key."""
        return {key: asked for asked, key in reversed(self.of.items())}


def code_of(asked: Any) -> tuple[Any, ...]:
    """Everything that the answers of a rule or property depend on."""
    if isinstance(asked, Rule):
        return tuple(asked.choices.items()), asked.body, asked.ignored, asked.effect
    fields = [f.name for f in attrs.fields(type(asked)) if f.name not in NOT_ASKED]
    return tuple(getattr(asked, name) for name in fields)
