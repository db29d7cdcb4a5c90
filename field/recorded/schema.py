"""JSON Schema of the lines of a recorded trace: one for each mapping, with a version.

The states of a model are described from its state classes, as in `traces.schema`, but any part of
one may be missing.
"""

from __future__ import annotations

from typing import Any

from kspec.checkers.models.find import find_model
from kspec.checkers.registered import load, registered
from kspec.field.recorded.find import MAPPINGS, VERSION
from kspec.field.recorded.mapping import Schemas, read_schemas
from kspec.spec.core import Model
from kspec.traces.schema import Definitions, Schema, state_schema


def event_schema(name: str) -> Schema:
    """The schema of the lines of a trace: of its header, or of an event."""
    if name in registered(MAPPINGS):
        known: Schemas = load(MAPPINGS, name).schema()
    else:
        known = model_schemas(find_model(name))
    every = read_schemas("trace")
    event = {
        "type": "object",
        "properties": {**every.event, **known.event},
        "not": {"required": ["kspec_trace"]},
    }
    first = {
        "type": "object",
        "properties": {**every.header, **known.header},
        "required": ["kspec_trace", "mapping"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kspec:recorded-trace:{name}:{VERSION}",
        "title": f"A line of a recorded trace of {known.title}: its header, or an event",
        "anyOf": [{"$ref": "#/$defs/Header"}, {"$ref": "#/$defs/Event"}],
        "$defs": {"Header": first, "Event": event, **known.definitions},
    }


def model_header(model: Model[Any]) -> dict[str, Schema]:
    """The keys of the header of a model's trace."""
    bounds = {
        b.name: {"type": "integer", "description": b.doc, "default": b.default}
        for b in model.bound_ranges()
    }
    return {
        "variant": {"enum": [v.name for v in model.variants], "default": model.variant().name},
        "bounds": {"type": "object", "properties": bounds, "additionalProperties": False},
        **read_schemas("model").header,
    }


def model_schemas(model: Model[Any]) -> Schemas:
    """The schemas of a model's keys."""
    definitions = Definitions(plain=True)
    state = state_schema(model, definitions)
    rules = dict.fromkeys(rule.name for variant in model.variants for rule in variant.rules)
    keys: dict[str, Schema] = {
        "rule": {"enum": list(rules), "description": "The rule that was taken, if it is known."},
        "choices": {
            "type": "object",
            "description": "What it chose, by parameter, as far as it is known.",
        },
        "state": {**partial(state), "description": "Any part of the state after the step."},
    }
    defined = {name: partial(found) for name, found in definitions.found.items()}
    return Schemas(model.name, keys, model_header(model), defined)


def partial(schema: Any) -> Any:
    """A schema of which records may lack fields, and lists may be given by index."""
    if isinstance(schema, list):
        return [partial(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: partial(value) for key, value in schema.items() if key != "required"}
    if schema.get("type") != "array":
        return inner
    item = inner.get("items") or {}
    by_index = {"type": "object", "patternProperties": {"^[0-9]+$": item}}
    described = {k: inner.pop(k) for k in ("description", "title") if k in inner}
    return {**described, "anyOf": [inner, by_index]}
