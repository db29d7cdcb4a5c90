"""JSON Schema of traces: written traces are valid, malformed ones are not."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import Reference
from kspec.checkers.engine.search import Search
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import Model
from kspec.traces.itf import to_itf
from kspec.traces.schema import json_schema

Schema = Any
KEYWORDS = {
    "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required",
    "additionalProperties", "items", "prefixItems", "minItems", "enum", "const", "anyOf", "allOf",
    "pattern",
}  # fmt: skip
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}


def problems(value: Any, schema: Schema, defs: Schema, at: str = "") -> Iterator[str]:
    """Where a value is not valid; a validator for the keywords that schemas of kspec use."""
    if schema is False:
        yield f"{at}: too long"
        return
    assert schema.keys() <= KEYWORDS
    if "$ref" in schema:
        yield from problems(value, defs[schema["$ref"].removeprefix("#/$defs/")], defs, at)
    if "type" in schema and type(value) is not TYPES[schema["type"]]:
        yield f"{at}: no {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}: no {schema['pattern']}"
    for part in schema.get("allOf", ()):
        yield from problems(value, part, defs, at)
    if "anyOf" in schema and all([*problems(value, one, defs)] for one in schema["anyOf"]):
        yield f"{at}: none of several"
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name, part in known.items():
            if name in value:
                yield from problems(value[name], part, defs, f"{at}/{name}")
        yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
        if schema.get("additionalProperties") is False:
            yield from (f"{at}: {name}" for name in value.keys() - known.keys())
    if isinstance(value, list):
        parts = schema.get("prefixItems", [])
        if len(value) < schema.get("minItems", 0):
            yield f"{at}: too short"
        for number, item in enumerate(value):
            part = parts[number] if number < len(parts) else schema.get("items", {})
            yield from problems(item, part, defs, f"{at}/{number}")


def traces_of(model: Model[Any], states: int) -> Iterator[Any]:
    """Traces as ITF documents, to the last states of a small exploration of each variant."""
    for variant in model.variants:
        system = model.system(variant.name)
        backend = Reference(system)
        Search(system.with_properties([]), backend, Options(max_states=states)).run()
        for state in [*backend.came_from][-3:]:
            yield json.loads(json.dumps(to_itf(backend.way_to(state))))


@pytest.mark.slow
@pytest.mark.parametrize("name", registered_models())
def test_traces_of_every_variant_are_valid(name: str) -> None:
    model = find_model(name)
    schema = json.loads(json.dumps(json_schema(model)))
    for document in traces_of(model, 250):
        assert [*problems(document, schema, schema["$defs"])] == []


def test_malformed_traces_are_invalid() -> None:
    model = find_model("replication")
    schema = json_schema(model)
    good = next(traces_of(model, 100))

    def broken(**changes: Any) -> list[str]:
        document = copy.deepcopy(good)
        document["states"][1].update(changes)
        return [*problems(document, schema, schema["$defs"])]

    assert broken() == []
    assert any("/next_record" in problem for problem in broken(next_record=3))
    assert any("/next_record" in problem for problem in broken(next_record={"#bigint": "x"}))
    assert any("/views/0" in problem for problem in broken(views=[{"hw": {"#bigint": "0"}}]))
    view = copy.deepcopy(good["states"][1]["views"][0]) | {"more": True}
    assert any("/views/0: more" in problem for problem in broken(views=[view]))
    assert any("actionTaken" in p for p in broken(**{"mbt::actionTaken": "no_such_rule"}))
    assert any("no logs" in p for p in [*problems({"views": []}, *cluster(schema))])


def cluster(schema: Schema) -> tuple[Schema, Schema]:
    """The definition of a state of replication, and all definitions."""
    return schema["$defs"]["Cluster"], schema["$defs"]


def test_fields_are_described_by_the_sentences_under_them() -> None:
    definitions = json_schema(find_model("replication"))["$defs"]
    logs = definitions["Cluster"]["properties"]["logs"]
    assert logs["description"] == "Each broker's log, by broker id."
    assert logs["title"] == "by Broker"
    assert definitions["View"]["properties"]["leader"]["title"] == "Broker"
    assert "bounds" not in definitions["Cluster"]["properties"], "states are compared without it"
