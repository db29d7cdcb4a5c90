"""Questions and answers: requests and answers, one line of JSON each.

A request is `{"id": 7, "method": "endOffsetFor", "params": {…}}`. Its answer carries the `id` and
one of three: `result`; `raises`, where Kafka raises an exception; `error`, if the request is
invalid. A request without an id gets the number of its line.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import attrs

from kspec.field.oracle.names import KAFKA, camel_case
from kspec.field.shapes import (
    REQUIRED,
    SCALARS,
    Field,
    Schema,
    Shape,
    decode_at,
    record,
    shape_of,
)
from kspec.spec.consumer.errors import ConsumerError
from kspec.spec.core import SpecError, look_up
from kspec.spec.core.text import first_paragraph
from kspec.spec.vocabulary import KafkaRaises
from kspec.traces.source import parse_json

ORACLES: Mapping[str, str] = {
    "assignors": "the assignments of range, roundrobin, sticky and cooperative-sticky",
    "epochs": "the leader-epoch cache, and where a follower truncates its log",
    "group": "a group coordinator, with its timers: it keeps state between requests",
    "partitioner": "the partition that a producer chooses, by each partitioner",
    "placement": "the partition of a group, and of a record's key",
    "positions": "the fetch position of a consumer: reset, validation, truncation",
    "producer": "when a producer sends a batch, and which settings take effect",
    "reset": "the offsets that kafka-consumer-groups --reset-offsets chooses",
    "sequences": "whether a partition accepts a producer's batch, or a transaction marker",
    "stable-offset": "the last stable offset, aborted transactions, and what is read of them",
    "watermarks": "how high watermarks advance",
}
"""The oracles, each with a summary. Its module in this folder has the same name (`module_of`)."""

VERSION = 1
"""The version of requests and answers; it is the end of a schema's `$id`."""

MOST_BYTES = 1 << 20
"""The longest line that is read: 1 MiB."""


@attrs.frozen
class Question:
    """A method of an oracle."""

    name: str
    """The method's name, in camel case."""
    doc: str
    """What it answers."""
    params: Shape
    """Its parameters: an object."""
    result: Shape
    """Its result."""
    function: Callable[..., Any]


def question(function: Callable[..., Any], *, name: str = "", merged: str = "") -> Question:
    """The question that a function answers, read from its signature and docstring.

    The parameter named `merged` is a record whose fields stand among the other parameters.
    """
    hints = typing.get_type_hints(function)
    fields = []
    for each, parameter in inspect.signature(function).parameters.items():
        default = REQUIRED if parameter.default is parameter.empty else parameter.default
        key = "" if each == merged else camel_case(each)
        fields.append(Field(each, key, shape_of(hints[each], KAFKA), default))
    return Question(
        name or camel_case(function.__name__),
        first_paragraph(function),
        record(fields, lambda found: found, lambda found, each: found[each]),
        shape_of(hints["return"], KAFKA),
        function,
    )


class Oracle:
    """The methods of an oracle."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self.questions = {each.name: each for each in questions}

    def ask(self, number: int | str, method: str, params: Any) -> Any:
        """The result of a request, as JSON; SpecError where the request is wrong."""
        asked: Question = look_up("method", method, self.questions)
        given = decode_at("params", asked.params, params)
        return asked.result.encode(asked.function(**given))


def oracle_of(*functions: Callable[..., Any]) -> Oracle:
    """The oracle that these functions make up."""
    return Oracle(map(question, functions))


@cache
def shape_in_requests(kind: Any) -> Shape:
    """How requests have the records of a class."""
    return shape_of(kind, KAFKA)


def in_request(value: Any) -> Any:
    """A record as requests have it."""
    kind: Any = type(value)
    return shape_in_requests(kind).encode(value)


def find_oracle(name: str) -> Oracle:
    """A new oracle of this name."""
    look_up("oracle", name, ORACLES)
    made: Oracle = module_of(name).oracle()
    return made


def module_of(name: str) -> ModuleType:
    """The module of an oracle."""
    return import_module(f"{__package__}.{name.replace('-', '_')}")


# -- lines ----------------------------------------------------------------------------------------

FIELDS = ("id", "method", "params")


def answer(oracle: Oracle, line: bytes, number: int) -> dict[str, Any]:
    """The answer to the request on a line."""
    asked: Any = None
    try:
        if len(line) > MOST_BYTES:
            raise SpecError(f"longer than {MOST_BYTES >> 20} MiB")
        asked = parse_json(line.decode("utf-8"))
        return result_of(oracle, asked, number)
    except UnicodeDecodeError:
        return failure(asked, number, "not UTF-8")
    except SpecError as error:
        return failure(asked, number, str(error).removeprefix("line 1, "))


def result_of(oracle: Oracle, asked: Any, number: int) -> dict[str, Any]:
    """The answer to a request: its result, or the exception that Kafka raises."""
    if not isinstance(asked, dict):
        raise SpecError(f"a request is an object, not {asked!r:.60}")
    for name in asked:
        if name not in FIELDS:
            raise SpecError(f"unknown field {name!r:.60}: known are {', '.join(FIELDS)}")
    method = asked.get("method")
    if not isinstance(method, str):
        raise SpecError("method is the name of a method")
    given = asked.get("id")
    if given is not None and type(given) not in (int, str):
        raise SpecError("id is a whole number or a string")
    who = number if given is None else given
    try:
        return {"id": who, "result": oracle.ask(who, method, asked.get("params", {}))}
    except KafkaRaises as raised:
        return {"id": who, "raises": {"exception": raised.exception, "reason": raised.reason}}
    except ConsumerError as raised:
        return {"id": who, "raises": {"exception": java_name(raised), "reason": str(raised)}}


def java_name(raised: ConsumerError) -> str:
    """The Java class of a consumer's exception, which is the first word of its docstring."""
    return str(type(raised).__doc__).split()[0].rstrip(":")


def failure(asked: Any, number: int, message: str) -> dict[str, Any]:
    """The answer to a wrong request."""
    given = asked.get("id") if isinstance(asked, dict) else None
    who = given if type(given) in (int, str) else number
    return {"id": who, "error": {"line": number, "message": message}}


def as_line(value: Any) -> str:
    """JSON on one line, in ASCII."""
    return json.dumps(value, separators=(",", ":"))


# -- the schema -----------------------------------------------------------------------------------


def object_of(properties: Schema) -> Schema:
    """An object that has all these fields and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


RAISES: Schema = {
    "description": "The exception that Kafka raises here.",
    **object_of({"exception": {"type": "string"}, "reason": {"type": "string"}}),
}
ERROR: Schema = {
    "description": "Why the request is wrong.",
    **object_of({"line": {"type": "integer"}, "message": {"type": "string"}}),
}
ID = SCALARS[int | str].schema


def definitions_of(oracle: Oracle) -> Schema:
    """The definitions that the parameters and results refer to."""
    found: Schema = {"raises": RAISES, "error": ERROR}
    for each in oracle.questions.values():
        found |= {**each.params.definitions, **each.result.definitions}
    return found


def json_schema(name: str) -> Schema:
    """The schema of an oracle's requests and answers; `$defs` has that of either."""
    oracle = find_oracle(name)
    asked = list(oracle.questions.values())
    outcomes: dict[str, Schema] = {
        "result": {"anyOf": distinct(each.result.schema for each in asked)},
        "raises": {"$ref": "#/$defs/raises"},
        "error": {"$ref": "#/$defs/error"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kspec:oracle:{name}:{VERSION}",
        "title": f"Requests to kspec oracle {name}, and its answers",
        "description": ORACLES[name],
        "anyOf": [{"$ref": "#/$defs/request"}, {"$ref": "#/$defs/answer"}],
        "$defs": {
            "request": {"oneOf": [request_schema(each) for each in asked]},
            "answer": {
                "oneOf": [object_of({"id": ID, key: value}) for key, value in outcomes.items()]
            },
            **definitions_of(oracle),
        },
    }


def request_schema(asked: Question, **others: Schema) -> Schema:
    """The schema of a request by this method, with its result where that is given."""
    params = asked.params.schema
    properties = {"id": ID, "method": {"const": asked.name}, "params": params, **others}
    required = ["method", *(["params"] if params["required"] else []), *others]
    return {
        "title": asked.name,
        "description": asked.doc,
        **object_of(properties),
        "required": required,
    }


def distinct(schemas: Iterable[Schema]) -> list[Schema]:
    """Each schema once."""
    found: list[Schema] = []
    for schema in schemas:
        if schema not in found:
            found.append(schema)
    return found
