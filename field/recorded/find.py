"""Mappings by name: kspec's own, and any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.registered import load, registered
from kspec.field.recorded.mapping import TraceMapping
from kspec.field.recorded.models import ModelMapping
from kspec.spec.core import SpecError, look_up

MAPPINGS = "kspec.mappings"
"""The entry points of mappings, by their names in a header; each is called with the header."""

VERSION = 1
"""The version of recorded traces: the `kspec_trace` of a header."""


def find_mapping(header: Mapping[str, Any], *, runs_code: bool = False) -> TraceMapping:
    """The mapping that a header names; SpecError if there is none, or its settings are bad.

    A model given by path or module is code: it is executed only if `runs_code`, because a header
    is data.
    """
    version, name = header.get("kspec_trace", VERSION), header.get("mapping")
    if version != VERSION:
        raise SpecError(f"version {version!r:.40} of recorded traces is not known, only {VERSION}")
    if not isinstance(name, str):
        raise SpecError('the header names no "mapping"')
    if name in registered(MAPPINGS):
        kind = load(MAPPINGS, name)
        refuse_unknown_settings(name, kind.setting_names, header.get("settings") or {})
        mapping: TraceMapping = kind(header)
        return mapping
    if not (runs_code and is_code(name)):
        look_up("model or mapping", name, {**registered_models(), **registered(MAPPINGS)})
    return model_mapping(name, header)


def refuse_unknown_settings(mapping: str, known: Sequence[str], given: Any) -> None:
    """SpecError for settings that a mapping does not have: they would change nothing."""
    if not isinstance(given, dict):
        raise SpecError('"settings" in the header is not an object')
    for name in given:
        look_up(f"setting of {mapping}", str(name), dict.fromkeys(known))


def is_code(name: str) -> bool:
    """Whether a name is the module or the file of a user's model."""
    return name.endswith(".py") or "/" in name or ":" in name


def model_mapping(name: str, header: Mapping[str, Any]) -> ModelMapping:
    """The mapping of a model, with the variant, bounds and hidden rules of a header."""
    variant, bounds = header.get("variant"), header.get("bounds") or {}
    start, hidden, most = header.get("initial"), header.get("hidden", ()), header.get("most_hidden")
    if variant is not None and not isinstance(variant, str):
        raise SpecError('"variant" in the header is not a name')
    if not isinstance(bounds, dict) or not all(type(v) is int for v in bounds.values()):
        raise SpecError('"bounds" in the header are not whole numbers by name')
    if start is not None and not isinstance(start, dict):
        raise SpecError('"initial" in the header is not an object')
    hidden = [hidden] if isinstance(hidden, str) else hidden
    if not isinstance(hidden, list | tuple) or not all(isinstance(n, str) for n in hidden):
        raise SpecError('"hidden" in the header is not a list of rules, or "all"')
    if most is not None and (type(most) is not int or most < 0):
        raise SpecError('"most_hidden" in the header is not a whole number')
    system = find_model(name).system(variant, bounds)
    return ModelMapping(
        system, name=name, start=start, hidden=hidden, most_hidden=most or (1 if hidden else 0)
    )
