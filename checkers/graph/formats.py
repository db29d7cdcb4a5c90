"""A diagram as GraphML, for Gephi, yEd and networkx, and as DOT, for Graphviz."""

from __future__ import annotations

import json
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from kspec.checkers.graph.diagram import Box, Diagram
from kspec.traces.text import printable

KEYS = {
    "level": ("node", "int"),
    "states": ("node", "long"),
    "initial": ("node", "boolean"),
    "fails": ("node", "string"),
    "rules": ("edge", "string"),
    "steps": ("edge", "long"),
}
"""The attributes of nodes and edges that every file has, and their types."""


def graphml(diagram: Diagram) -> Iterator[str]:
    """The lines of a GraphML file. A field of the state is an attribute of its name."""
    fields = list(dict.fromkeys(name for box in diagram.boxes for name in box.values))
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for name, (kind, type_) in KEYS.items():
        yield f'  <key id="{name}" for="{kind}" attr.name="{name}" attr.type="{type_}"/>'
    for number, name in enumerate(fields):
        yield f'  <key id="f{number}" for="node" attr.name={quoted(name)} attr.type="string"/>'
    yield f'  <graph id={quoted(diagram.title)} edgedefault="directed">'
    ids = {name: f"f{number}" for number, name in enumerate(fields)}
    for number, box in enumerate(diagram.boxes):
        values = {
            "level": str(box.level),
            "states": str(box.states),
            "initial": "true" if box.is_initial else "false",
            **({"fails": box.fails} if box.fails else {}),
            **{ids[name]: value for name, value in box.values.items()},
        }
        yield f'    <node id="n{number}">{data(values)}</node>'
    for number, arrow in enumerate(diagram.arrows):
        values = {"rules": "\n".join(arrow.steps), "steps": str(sum(arrow.steps.values()))}
        yield (
            f'    <edge id="e{number}" source="n{arrow.source}" target="n{arrow.target}">'
            f"{data(values)}</edge>"
        )
    yield "  </graph>"
    yield "</graphml>"


def data(values: dict[str, str]) -> str:
    """Attributes of a node or an edge."""
    return "".join(
        f'<data key="{key}">{escape(harmless(value))}</data>' for key, value in values.items()
    )


def harmless(value: str) -> str:
    """Text without control characters but for line breaks: XML forbids the others."""
    return "\n".join(map(printable, value.split("\n")))


def quoted(value: str) -> str:
    """An attribute of XML."""
    return quoteattr(printable(value))


def dot(diagram: Diagram) -> Iterator[str]:
    """The lines of a DOT file."""
    yield f"digraph {string(diagram.title)} {{"
    yield "  node [shape=box, style=rounded, fontname=sans]; edge [fontname=sans, fontsize=10];"
    for number, box in enumerate(diagram.boxes):
        yield f"  n{number} [label={string(label(number, box))}{style(box)}];"
    for arrow in diagram.arrows:
        rules = string("\n".join(arrow.steps))
        yield f"  n{arrow.source} -> n{arrow.target} [label={rules}];"
    yield "}"


def string(value: str) -> str:
    """A string of DOT: JSON's escapes are those that DOT knows, once each is printable."""
    return json.dumps(harmless(value), ensure_ascii=False)


def style(box: Box) -> str:
    """How a box looks that is initial, or in which a property fails."""
    return (", penwidth=2" if box.is_initial else "") + (", color=red" if box.fails else "")


def label(number: int, box: Box) -> str:
    """The text in a box: its values where it is folded, else its number and its state."""
    lines = [f"{name}: {value}" for name, value in box.values.items()]
    if box.states > 1:
        lines.append(f"{box.states:,} states")
    if box.fails:
        lines.append(f"{box.fails} fails")
    return "\n".join(lines) or str(number)
