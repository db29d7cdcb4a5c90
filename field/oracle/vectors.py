"""Test vectors: requests to an oracle at random, with its answers.

The vectors of a seed are the same on every machine and with every version of Python. A vector has
the fields of a request and of its answer; one of `group` is a history, a list of such steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import (
    ORACLES,
    RAISES,
    Oracle,
    as_line,
    definitions_of,
    find_oracle,
    module_of,
    object_of,
    request_schema,
    result_of,
)
from kspec.field.shapes import Schema
from kspec.spec.core import SpecError

VERSION = 1
"""The version of the file."""

MOST = 100_000
"""The most vectors of a file."""


def vectors(name: str, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """The first vectors of a seed."""
    oracle = find_oracle(name)
    if name == "group":
        from kspec.field.oracle.histories import history

        for number in range(count):
            yield {"id": number, "steps": history(Draw(seed, number))}
        return
    drawn = module_of(name).drawn
    for number in range(count):
        method, params = drawn(Draw(seed, number))
        asked = {"id": number, "method": method, "params": params}
        yield {**asked, **result_of(oracle, asked, number)}


def document(name: str, count: int, seed: int) -> str:
    """The file, with each vector on a line of its own."""
    head = {"oracle": name, "version": VERSION, "seed": seed, "count": count}
    lines = ",\n".join(map(as_line, vectors(name, count, seed)))
    return f'{as_line(head)[:-1]},"vectors":[\n{lines}\n]}}\n'


# -- someone's results ----------------------------------------------------------------------------


def differences(name: str, document: Any) -> Iterator[dict[str, Any]]:
    """The vectors whose result is not that of the specification, each with the right one.

    A history is compared up to its first difference.
    """
    if not isinstance(document, dict) or not isinstance(document.get("vectors"), list):
        raise SpecError("not a file of vectors: it has no list of vectors")
    if (document.get("oracle"), document.get("version")) != (name, VERSION):
        raise SpecError(f"not vectors of {name} in version {VERSION}")
    for place, vector in enumerate(document["vectors"]):
        try:
            steps = vector["steps"] if name == "group" else [vector]
            oracle = find_oracle(name)
            for step in steps:
                asked = {key: step[key] for key in ("id", "method", "params")}
                expected = result_of(oracle, asked, place)
                if comparable(step) != comparable(expected):
                    yield {
                        "vector": vector["id"],
                        **asked,
                        **outcome(expected),
                        "was": outcome(step),
                    }
                    break
        except (KeyError, TypeError):
            raise SpecError(f"vectors[{place}]: not a vector of {name}") from None
        except SpecError as error:
            raise SpecError(f"vectors[{place}]: {error}") from None


def outcome(answer: dict[str, Any]) -> dict[str, Any]:
    """The result of an answer, or the exception that it names."""
    return {key: answer[key] for key in ("result", "raises") if key in answer}


def comparable(answer: dict[str, Any]) -> Any:
    """What is compared: not the reason of an exception, nor the order of responses."""
    if "raises" in answer:
        return answer["raises"]["exception"]
    result = answer["result"]
    if isinstance(result, dict) and isinstance(result.get("responses"), list):
        return {**result, "responses": sorted(result["responses"], key=as_line)}
    return result


# -- the schema -----------------------------------------------------------------------------------


def json_schema(name: str) -> Schema:
    """The schema of a file of vectors."""
    oracle = find_oracle(name)
    item: Schema = {"$ref": "#/$defs/step"}
    if name == "group":
        item = object_of({"id": {"type": "integer"}, "steps": {"type": "array", "items": item}})
    head: Schema = {
        "oracle": {"const": name},
        "version": {"const": VERSION},
        "seed": {"type": "integer"},
        "count": {"type": "integer"},
        "vectors": {"type": "array", "items": item},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:kspec:vectors:{name}:{VERSION}",
        "title": f"Test vectors of kspec oracle {name}",
        "description": ORACLES[name],
        **object_of(head),
        "$defs": {"step": {"oneOf": list(steps_of(oracle))}, **definitions_of(oracle)},
    }


def steps_of(oracle: Oracle) -> Iterator[Schema]:
    """The schemas of requests with their answers."""
    for each in oracle.questions.values():
        yield request_schema(each, result=each.result.schema)
        yield request_schema(each, raises=RAISES)
