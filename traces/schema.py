"""JSON Schema for the traces of a model: what its ITF files hold, field by field.

The types and the descriptions come from the state classes (`spec.core.schema`), so a field is
declared once. `kspec models MODEL --schema` prints the schema.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from kspec.spec.core import Model, SpecError
from kspec.spec.core.schema import (
    Anything,
    Field,
    Items,
    Mapped,
    Members,
    OneOf,
    Product,
    Record,
    Scalar,
    Type,
    fields_of,
    names_of,
    type_of_class,
)
from kspec.spec.core.text import first_paragraph
from kspec.traces.itf import ACTION, NONE, PICKS

VERSION = 1
"""The version of how states are written; it is the end of a schema's `$id`."""

Schema = dict[str, Any]

INTEGER: Schema = {
    "type": "object",
    "properties": {"#bigint": {"type": "string", "pattern": "^-?[0-9]+$"}},
    "required": ["#bigint"],
    "additionalProperties": False,
}


def json_schema(model: Model[Any]) -> Schema:
    """The schema of a model's traces, in all its variants."""
    definitions = Definitions()
    state = state_schema(model, definitions)
    rules = dict.fromkeys(rule.name for variant in model.variants for rule in variant.rules)
    step = {
        ACTION: {"description": "The rule that was taken.", "enum": ["init", *rules]},
        PICKS: {"description": "What it chose, by parameter.", "type": "object"},
    }
    taken = {"type": "object", "properties": step, "required": [ACTION, PICKS]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kspec:trace:{model.name}:{VERSION}",
        "title": f"A trace of {model.name} in ITF",
        "description": model.doc,
        "type": "object",
        "properties": {
            "#meta": {"type": "object"},
            "vars": {"type": "array", "items": {"type": "string"}},
            "states": {"type": "array", "items": {"allOf": [state, taken]}},
            "loop": {"type": "integer"},
        },
        "required": ["vars", "states"],
        "$defs": definitions.found,
    }


def state_schema(model: Model[Any], definitions: Definitions) -> Schema:
    """The schema of a model's states, given where its definitions go."""
    first = model.system().initial()
    if not first:
        raise SpecError(f"{model.name} has no initial state")
    states = [definitions.state(cls) for cls in dict.fromkeys(type(state) for state in first)]
    return states[0] if len(states) == 1 else {"anyOf": states}


class Definitions:
    """The definitions of records, each once: in ITF, or as plain JSON values."""

    def __init__(self, *, plain: bool = False) -> None:
        self.plain = plain
        self.found: dict[str, Schema] = {}
        self.names: dict[type, str] = {}

    def state(self, cls: type) -> Schema:
        """A state: its fields, beside which stands the step that led to it."""
        if names_of(cls) is None:
            value = self.schema(type_of_class(cls))
            return {"type": "object", "properties": {"state": value}, "required": ["state"]}
        return self.record(cls, is_state=True)

    def schema(self, of: Type) -> Schema:
        """The schema of the values of a type."""
        if isinstance(of, Scalar):
            return scalar(of, plain=self.plain)
        if isinstance(of, Items):
            items = {"type": "array", "items": self.schema(of.item)}
            return items if of.by is None else {**items, "title": f"by {of.by.__name__}"}
        if isinstance(of, Product):
            parts = [self.schema(part) for part in of.parts]
            return {"type": "array", "prefixItems": parts, "items": False, "minItems": len(parts)}
        if isinstance(of, Members):
            members = {"type": "array", "items": self.schema(of.member)}
            if self.plain:
                return {**members, "uniqueItems": True}
            return {"type": "object", "properties": {"#set": members}, "required": ["#set"]}
        if isinstance(of, Mapped):
            pair = self.schema(Product((of.key, of.value)))
            entries = {"type": "array", "items": pair}
            if self.plain:
                return entries
            return {"type": "object", "properties": {"#map": entries}, "required": ["#map"]}
        if isinstance(of, OneOf):
            return {"anyOf": [self.schema(option) for option in of.options]}
        if isinstance(of, Record):
            return self.record(of.cls)
        assert isinstance(of, Anything)
        return {}

    def record(self, cls: type, *, is_state: bool = False) -> Schema:
        """A reference to the definition of a record."""
        if cls not in self.names:
            name = cls.__name__
            if name in self.names.values():
                name = f"{cls.__module__}.{cls.__qualname__}"
            self.names[cls] = name
            self.found[name] = {}  # it may refer to itself
            fields = [field for field in fields_of(cls) if field.compared]
            self.found[name] = {
                "description": first_paragraph(cls),
                "type": "object",
                "properties": {field.name: self.field(field) for field in fields},
                "required": [field.name for field in fields],
                **({} if is_state else {"additionalProperties": False}),
            }
        return {"$ref": f"#/$defs/{self.names[cls]}"}

    def field(self, field: Field) -> Schema:
        """The schema of a field, with the sentence under it."""
        schema = self.schema(field.type)
        return {"description": field.doc, **schema} if field.doc else schema


def scalar(of: Scalar, *, plain: bool = False) -> Schema:
    """The schema of a value without parts."""
    named = {} if of.name is None else {"title": of.name.__name__}
    if issubclass(of.cls, Enum):
        return {"enum": [member.name for member in of.cls], **named}
    if of.cls is type(None):
        return {"const": None if plain else NONE, **named}
    if issubclass(of.cls, bool):
        return {"type": "boolean", **named}
    if issubclass(of.cls, int):
        return {**({"type": "integer"} if plain else INTEGER), **named}
    if issubclass(of.cls, str):
        return {"type": "string", **named}
    return named
