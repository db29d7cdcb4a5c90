"""Traces as one JSON document, with plain values: numbers, strings, lists and objects.

A state or step that many traces share is written once. A set is a list in a fixed order, a mapping
a list of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kspec.checkers.graph.graph import Graph
from kspec.checkers.graph.trace_sets import Piece
from kspec.spec.core import Model
from kspec.traces.itf import ACTION, NONE, PICKS, encoded_step, variables
from kspec.traces.schema import Definitions, Schema, state_schema

VERSION = 1
"""The version of the document."""


def document(graph: Graph[Any], pieces: Iterable[Piece], about: dict[str, Any]) -> str:
    """The document, with each state, step and trace on a line of its own."""
    tables = {"states": states(graph), "steps": steps(graph), "traces": traces(graph, pieces)}
    parts = [
        f'"{name}":[\n' + ",\n".join(map(as_text, rows)) + "\n]" for name, rows in tables.items()
    ]
    head = as_text({"version": VERSION, "about": about})
    return f"{head[:-1]},{','.join(parts)}}}\n"


def states(graph: Graph[Any]) -> Iterator[Any]:
    """The states: how far each is from an initial state, and its variables."""
    for number, level in enumerate(graph.levels.tolist()):
        yield {"level": level, "variables": plain(variables(graph.state(number)))}


def steps(graph: Graph[Any]) -> Iterator[Any]:
    """The steps: from which state to which, the rule and its choices."""
    for number, origin in enumerate(graph.origins.tolist()):
        taken = encoded_step(graph.taken(number))
        rule, choices = taken[ACTION], plain(taken[PICKS])
        yield {"from": origin, "to": int(graph.to[number]), "rule": rule, "choices": choices}


def traces(graph: Graph[Any], pieces: Iterable[Piece]) -> Iterator[Any]:
    """The traces: the state in which each begins, and its steps."""
    for piece in pieces:
        for _, initial, taken in piece.rows(graph):
            yield {"initial": initial, "steps": taken}


def plain(value: Any) -> Any:
    """An ITF value without ITF's marks."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value == NONE:
        return None
    if "#bigint" in value:
        return int(value["#bigint"])
    for mark in ("#set", "#map"):
        if mark in value:
            return plain(value[mark])
    return {name: plain(item) for name, item in value.items()}


def json_schema(model: Model[Any]) -> Schema:
    """The schema of the document, for all variants of a model."""
    definitions = Definitions(plain=True)
    state = state_schema(model, definitions)
    number: Schema = {"type": "integer", "minimum": 0}
    rules = dict.fromkeys(rule.name for variant in model.variants for rule in variant.rules)
    tables: dict[str, tuple[str, dict[str, Schema]]] = {
        "states": ("The states, by number.", {"level": number, "variables": state}),
        "steps": (
            "The steps between states, by number.",
            {
                "from": number,
                "to": number,
                "rule": {"enum": list(rules)},
                "choices": {"type": "object"},
            },
        ),
        "traces": (
            "The traces: the state in which each begins, and its steps, by their numbers.",
            {"initial": number, "steps": {"type": "array", "items": number}},
        ),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kspec:traces:{model.name}:{VERSION}",
        "title": f"Traces of {model.name}",
        "description": model.doc,
        **object_of(
            {
                "version": {"const": VERSION},
                "about": {"type": "object"},
                **{
                    name: {"description": doc, "type": "array", "items": object_of(fields)}
                    for name, (doc, fields) in tables.items()
                },
            }
        ),
        "$defs": definitions.found,
    }


def object_of(properties: dict[str, Schema]) -> Schema:
    """An object with all these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def as_text(value: object) -> str:
    """JSON without white space."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
