"""`kspec graph`: the state graph as a picture or a file, whole or folded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from kspec.checkers.cli.options import (
    Asked,
    json_option,
    names_system,
    number_option,
    option,
    repeated,
    writes,
)
from kspec.checkers.cli.output import OutputFile, progress_line, say, say_json, say_table
from kspec.checkers.cli.report import title
from kspec.checkers.graph.diagram import Diagram, folded, in_words, values_of, whole
from kspec.checkers.graph.drawing import MOST_BOXES, svg
from kspec.checkers.graph.formats import dot, graphml
from kspec.checkers.graph.graph import MAX_STATES, Graph, graph_of, states_of
from kspec.checkers.graph.passages import Passages, passages
from kspec.spec.core import Always, Liveness, Reachable, SpecError, System
from kspec.traces.trace import settings as bounds_of

FORMATS: Mapping[str, Callable[[Diagram], Iterator[str]]] = {
    ".svg": lambda diagram: iter([svg(diagram)]),
    ".dot": lambda diagram: (f"{line}\n" for line in dot(diagram)),
    ".graphml": lambda diagram: (f"{line}\n" for line in graphml(diagram)),
}
"""By the end of a file's name: how a diagram is written."""

MOST_ROWS = 60
"""More arrows than this are not listed in the terminal."""


@click.command()
@names_system()
@option(
    "--by",
    "fields",
    "Fold the graph: one box for all states with the same values of these fields, such as "
    "group.state or quorum.leader,quorum.isr. A number is a place in a sequence: views.0.hw.",
    metavar="FIELD[,FIELD…]",
)
@repeated(
    "--property",
    "names",
    "Mark the states in which P fails, and say what every shortest counterexample passes "
    "through; for a reachability property, every shortest witness. Repeatable.",
    metavar="P",
)
@writes(
    "--out",
    "Write FILE.svg (a picture), FILE.dot (for Graphviz) or FILE.graphml (for Gephi, yEd or "
    "networkx).",
)
@number_option("--max-states", "Refuse a larger graph.", low=1, default=MAX_STATES)
@json_option
def graph(
    asked: Asked,
    fields: str | None,
    names: tuple[str, ...],
    out: Path | None,
    max_states: int,
    as_json: bool,
) -> int:
    """Draw the state graph of MODEL within its bounds.

    Whole, every state is a box and every step an arrow. Folded by some fields, a box stands for
    all states in which they have the same values. `kspec models MODEL --schema` lists the fields.

    \b
    kspec graph watermarks --out watermarks.svg
    kspec graph group --by group.state --set consumers=1 --out group.svg
    kspec graph replication --by quorum.leader,quorum.isr --out leaders.graphml
    kspec graph replication --variant kip-101 --property StrongIsr
    """
    if out is not None and out.suffix not in FORMATS:
        raise click.UsageError(f"--out takes {', '.join(FORMATS)}, not {out.suffix or out}")
    parts = [field.strip() for field in fields.split(",")] if fields else []
    file = OutputFile(out) if out else None
    system = asked.system()
    explained = [
        able(prop) for prop in system.with_all_properties().with_properties(names).properties
    ]
    check_early(system, parts, out)
    begun = time.perf_counter()
    with progress_line(f"{system.model.name}, {system.variant.name}") as on_progress:
        found = graph_of(system, max_states=max_states, on_progress=on_progress)
        shared = [
            passages(system, prop, max_states=max_states, on_progress=on_progress)
            for prop in explained
        ]
    named = zip(explained, shared, strict=True)
    records = [as_record(prop.name, one, parts) for prop, one in named]
    fails = failing(found, [prop for prop in explained if isinstance(prop, Always)])
    name = title(system)
    diagram = folded(found, parts, name, fails) if parts else whole(found, name, fails)
    if file is not None:
        file.write("".join(FORMATS[out.suffix](diagram)))  # type: ignore[union-attr]
    seconds = time.perf_counter() - begun
    about = {
        "model": asked.model,
        "variant": system.variant.name,
        "bounds": bounds_of(system.bounds),
        "states": len(found.keys),
        "steps": len(found.to),
        "out": str(out) if out else None,
    }
    if as_json:
        record = {**about, **diagram.to_json(), "passages": records}
        say_json(record | {"seconds": round(seconds, 3)})
        return 0
    say(name)
    say()
    say(f"{len(found.keys):,} states, {len(found.to):,} steps between them.")
    show(diagram)
    if not (parts or out or explained):
        say("--out FILE.svg draws them; --by FIELD folds them; --property P explains a violation.")
    for prop, shared_by_all in zip(explained, records, strict=True):
        say()
        tell(prop, shared_by_all, parts)
    if out:
        say()
        say(f"Written: {out}.")
    return 0


def check_early(system: System[Any], fields: list[str], out: Path | None) -> None:
    """Refuse an unknown field, or a picture that is too large, before the whole exploration."""
    if fields:
        values_of(system.initial()[0], fields)
        return
    is_picture = out is not None and out.suffix == ".svg"
    if is_picture and len(list(islice(states_of(system), MOST_BOXES + 1))) > MOST_BOXES:
        raise SpecError(
            f"a picture of more than {MOST_BOXES} states cannot be read: fold it with --by, "
            "take smaller bounds, or write .graphml or .dot"
        )


def able(prop: Always[Any] | Reachable[Any] | Liveness[Any]) -> Always[Any] | Reachable[Any]:
    """A property that a single state decides; SpecError for a liveness property."""
    if isinstance(prop, Liveness):
        raise SpecError(f"{prop.name} is a liveness property: no single state violates it")
    return prop


def failing(graph: Graph[Any], invariants: Sequence[Always[Any]]) -> dict[int, str]:
    """By state: the first of these invariants that fails there."""
    found = {}
    for number in range(len(graph.keys)) if invariants else ():
        state = graph.state(number)
        for prop in invariants:
            if prop.failure(state) is not None:
                found[number] = prop.name
                break
    return found


def show(diagram: Diagram) -> None:
    """List a folded diagram, or say how large it is."""
    if not diagram.fields:
        return
    say(
        f"{len(diagram.boxes):,} boxes by {', '.join(diagram.fields)}, and "
        f"{len(diagram.arrows):,} arrows between them."
    )
    if len(diagram.arrows) > MOST_ROWS:
        say("They are listed by --json, and written by --out.")
        return
    named = [" ".join(box.values.values()) for box in diagram.boxes]
    rows = [
        [
            named[arrow.source],
            named[arrow.target],
            ", ".join(f"{rule} ({count:,})" for rule, count in arrow.steps.items()),
        ]
        for arrow in diagram.arrows
    ]
    say()
    say_table(["from", "to", "rules (steps)"], rows, ())


def tell(prop: Always[Any] | Reachable[Any], found: Mapping[str, Any], fields: list[str]) -> None:
    """What every shortest counterexample to a property passes through."""
    what = "counterexample" if isinstance(prop, Always) else "witness"
    paths = found["paths"]
    if not paths:
        none = "holds in every state" if isinstance(prop, Always) else "holds in no state"
        say(f"{prop.name} {none}, so it has no {what}.")
        return
    length = f"{found['states']:,} states"
    many = f"one of {length}" if paths == 1 else f"{paths:,}, of {length} each"
    say(f"{prop.name}: shortest {what}s: {many}.")
    if paths == 1 and not fields:
        return
    say(f"Every one of them takes {', '.join(times(*one) for one in found['rules'].items())}.")
    for values in found["values"]:
        say(f"Every one passes through {', '.join(f'{n}={v}' for n, v in values.items())}.")
    for step in found["steps"]:
        say(f"Every one has this as step {step['step']}: {step['rule']}.")
    others = [rule for rule in found["some_rules"] if rule not in found["rules"]]
    if others:
        say(f"Some of them take {', '.join(others)}.")


def times(rule: str, count: int) -> str:
    """A rule and how often it is taken at least."""
    return rule if count == 1 else f"{rule} ({count} times)"


def as_record(name: str, found: Passages | None, fields: list[str]) -> dict[str, object]:
    """What the shortest paths have in common, for a machine."""
    if found is None:
        return {"property": name, "paths": 0}
    graph = found.graph
    return {
        "property": name,
        "paths": found.paths,
        "states": found.length,
        "rules": found.rules,
        "some_rules": sorted(found.some_rules),
        "values": found.values(fields) if fields else [],
        "steps": [
            {
                "step": int(graph.levels[graph.to[step]]),
                "rule": in_words(graph, step),
            }
            for step in found.steps
        ],
    }
