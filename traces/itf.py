"""Traces as files in ITF, the Informal Trace Format of Apalache (its ADR-015).

Integers are `{"#bigint": "3"}`, sets `#set`, maps `#map`. The rule taken is in
`mbt::actionTaken` and its choices in `mbt::nondetPicks`, under the names that Quint gives
them, so that existing viewers open the files. Quint wraps each choice as `Some` or `None`;
here the choices of the rule that was taken stand as they are and no others, because itf-py
reads neither a wrapped number nor a `None`. What is read is data: it is checked, never
executed.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from kspec.spec.core import Bag, SpecError, System, Taken
from kspec.spec.core.schema import evident_classes, names_of
from kspec.traces.source import name_of, parse_json, read_text
from kspec.traces.trace import Trace, settings

ACTION, PICKS = "mbt::actionTaken", "mbt::nondetPicks"
NONE: dict[str, Any] = {"#tup": []}
"""Python's None: the empty tuple, which no state has otherwise (tuples are written as lists)."""


class BadTrace(SpecError):
    """A file that is not an ITF trace, or not a behaviour of the system that it names."""


# -- values ---------------------------------------------------------------------------------


def encode(value: Any, evident: Container[type] | None = None) -> Any:
    """A value of a state as ITF writes it.

    Given the classes that are evident, a record of another class has its class as a tag, as
    variants have: this is for readers, and not in files, whose records have only fields.
    """
    if isinstance(value, Enum):
        return value.name
    if value is None:
        return NONE
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if names_of(type(value)) is not None:
        fields = variables(value, evident)
        tagged = evident is not None and type(value) not in evident
        return {"tag": type(value).__name__, "value": fields} if tagged else fields
    if isinstance(value, tuple | list | range):
        return [encode(item, evident) for item in value]
    if isinstance(value, frozenset | set):
        return {"#set": in_order([encode(item, evident) for item in value])}
    if isinstance(value, Mapping | Bag):
        pairs = [[encode(k, evident), encode(v, evident)] for k, v in value.items()]
        return {"#map": in_order(pairs)}
    raise SpecError(f"a {type(value).__name__} in a state cannot be written as ITF: {value!r}")


def in_order(items: list[Any]) -> list[Any]:
    """Encoded items in a fixed order, numbers by size, so that equal sets look equal."""

    def key(item: Any) -> tuple[int, int, str]:
        if isinstance(item, dict) and "#bigint" in item:
            return 0, int(item["#bigint"]), ""
        return 1, 0, json.dumps(item, sort_keys=True)

    return sorted(items, key=key)


def variables(state: Any, evident: Container[type] | None = None) -> dict[str, Any]:
    """A state as variables: its fields without constants, or `state` if it has none."""
    names = names_of(type(state))
    if names is None:
        return {"state": encode(state, evident)}
    return {name: encode(getattr(state, name), evident) for name in names}


def for_readers(state: Any) -> dict[str, Any]:
    """The same, where records say their class if it is not evident."""
    return variables(state, evident_classes(state))


def is_list_of_pairs(value: Any) -> bool:
    """Whether this is the content of a map; anybody may have written the file."""
    return isinstance(value, list) and all(isinstance(p, list) and len(p) == 2 for p in value)


def text(value: Any) -> str:
    """An ITF value as a person would write it."""
    if isinstance(value, dict):
        if "#bigint" in value:
            return str(value["#bigint"])
        if isinstance(value.get("#set"), list):
            return "{" + ", ".join(map(text, value["#set"])) + "}"
        if is_list_of_pairs(value.get("#map")):
            return "{" + ", ".join(f"{text(k)}: {text(v)}" for k, v in value["#map"]) + "}"
        if value == NONE:
            return "none"
        if isinstance(value.get("#tup"), list):
            return "(" + ", ".join(map(text, value["#tup"])) + ")"
        if "#unserializable" in value:
            return str(value["#unserializable"])
        if value.keys() == {"tag", "value"}:
            inner = text(value["value"])
            return str(value["tag"]) + ("" if inner in ("none", "{}") else f" {inner}")
        return "{" + ", ".join(f"{name} {text(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    return str(value)


# -- writing ---------------------------------------------------------------------------------


def to_itf(trace: Trace) -> dict[str, Any]:
    """A trace as an ITF document."""
    steps = (None, *trace.steps)
    encoded = [(variables(s), encoded_step(t)) for s, t in zip(trace.states, steps, strict=False)]
    return in_one_document(trace.system, encoded, trace.property, trace.where, trace.loop)


Encoded: TypeAlias = dict[str, Any]


def encoded_step(taken: Taken | None) -> Encoded:
    """The rule taken and its choices; for an initial state, a marker of it."""
    if taken is None:
        return {ACTION: "init", PICKS: {}}
    return {ACTION: taken.rule, PICKS: {n: encode(v) for n, v in taken.choices.items()}}


def in_one_document(
    system: System[Any],
    states: Sequence[tuple[Encoded, Encoded]],
    prop: str = "",
    where: str = "",
    loop: int | None = None,
) -> dict[str, Any]:
    """An ITF document of encoded states, each with the step that led to it."""
    about = {
        "model": system.model.name,
        "variant": system.variant.name,
        "bounds": settings(system.bounds),
        "property": prop,
        "where": where,
    }
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": f"{system.model.name}, {system.variant.name}: {prop}",
            "kspec": about,
        },
        "vars": [*states[0][0], ACTION, PICKS],
        "states": [
            {"#meta": {"index": index}, **state, **step}
            for index, (state, step) in enumerate(states)
        ],
    }
    if loop is not None:
        document["loop"] = loop
    return document


# -- reading ---------------------------------------------------------------------------------


@attrs.frozen
class Document:
    """An ITF file of which only the shape was checked."""

    variables: tuple[str, ...]
    states: tuple[Mapping[str, Any], ...]
    """Each state's variables, as ITF values, with the rule taken and its choices."""
    about: Mapping[str, Any]
    """What kspec wrote about it: model, variant, bounds, property, where. Empty in files
    of other tools."""
    loop: int | None


def read(path: Path) -> Document:
    """Read an ITF file."""
    return parse(read_text(path), name_of(path))


def parse(content: str, name: str) -> Document:
    """Read the content of the ITF file of that name."""
    try:
        raw = parse_json(content)
    except SpecError as error:
        raise BadTrace(f"{name}: {error}") from None
    return document(raw, name)


def document(raw: Any, name: str) -> Document:
    """Check that this is an ITF trace in shape."""

    def need(good: bool, what: str) -> None:
        if not good:
            raise BadTrace(f"{name}: not an ITF trace: {what}")

    need(isinstance(raw, dict), "it is not a JSON object")
    need(isinstance(raw.get("states"), list), 'it has no list "states"')
    need(raw["states"] != [], 'its list "states" is empty')
    names = raw.get("vars")
    need(
        isinstance(names, list) and all(isinstance(n, str) for n in names),
        'it has no list "vars" of names',
    )
    for index, state in enumerate(raw["states"]):
        need(isinstance(state, dict), f"state {index} is not an object")
        for variable in names:
            lacks = f"state {index} has no variable {variable} (`kspec validate` needs not all)"
            need(variable in state, lacks)
        for variable, value in state.items():
            if not variable.startswith("#"):
                need(is_value(value), f"state {index} has no ITF value for {variable}")
    loop = raw.get("loop")
    need(
        loop is None or (type(loop) is int and 0 <= loop < len(raw["states"])),
        f"it loops to {loop!r:.40}, which is not a state",
    )
    meta = raw.get("#meta")
    about = meta.get("kspec") if isinstance(meta, dict) else None
    return Document(
        variables=tuple(names),
        states=tuple(raw["states"]),
        about=about if isinstance(about, dict) else {},
        loop=loop,
    )


def is_value(value: Any) -> bool:
    """Whether this is a value as ITF writes them, all the way down."""
    if isinstance(value, list):
        return all(map(is_value, value))
    if not isinstance(value, dict):
        return value is not None
    for mark in ("#set", "#tup"):
        if mark in value:
            return isinstance(value[mark], list) and is_value(value[mark])
    if "#map" in value:
        pairs = value["#map"]
        return isinstance(pairs, list) and all(
            isinstance(pair, list) and len(pair) == 2 and is_value(pair) for pair in pairs
        )
    for mark in ("#bigint", "#unserializable"):
        if mark in value:
            return isinstance(value[mark], str)
    return all(map(is_value, value.values()))
