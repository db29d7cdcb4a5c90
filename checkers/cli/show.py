"""`kspec show`: draw a recorded trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from checkers.cli.options import FILE, json_option
from checkers.cli.output import OutputFile, complain, say, say_json, say_story
from checkers.models import BUILT_IN, find_model
from checkers.textfile import name_of, read_text
from checkers.verdict import DEADLOCK, DEADLOCK_SAYS, EXIT_BAD_INPUT, EXIT_REJECTED, fails
from spec.core import Reachable, SpecError

if TYPE_CHECKING:
    from traces.itf import Document
    from traces.trace import Trace


@click.command()
@click.argument("file", type=FILE, metavar="TRACE")
@click.option(
    "--model",
    metavar="MODEL",
    help="The model it is a trace of, if that is your own; its code is then executed.",
)
@click.option(
    "--variant",
    metavar="V",
    help="Take it again under another variant, to see which guard stops it there.",
)
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Write it as a page to step through.",
)
@json_option
def show(
    file: Path, model: str | None, variant: str | None, html: Path | None, as_json: bool
) -> int:
    """Draw the ITF trace in the file TRACE (`-` is standard input), whichever tool wrote it.

    A trace of a model that kspec knows is taken again, step by step, under the model's rules;
    if they do not allow it, that is said, and the exit code is 3. Any other is shown as a
    table of its variables.

    \b
    kspec check replication --variant kip-101 --out-itf lost.itf.json
    kspec show lost.itf.json --html lost.html
    kspec show lost.itf.json --variant kip-320
    """
    from traces.itf import BadTrace, parse
    from traces.story import tell, tell_plainly

    target = OutputFile(html) if html else None
    try:
        document = parse(read_text(file), name_of(file))
    except BadTrace as error:
        complain(str(error))
        return EXIT_BAD_INPUT
    rejected, trace = "", None
    try:
        trace = retake(document, model, variant)
    except BadTrace as error:
        rejected = f"{name_of(file)}: {error}"
    if trace:
        violated = is_violation(trace)
        story = tell(trace, what_it_shows(trace, violated=violated), violated=violated)
    else:
        story = tell_plainly(document, name_of(Path(file.name)))
    if target:
        from traces.page import page

        target.write(page(story))
    if as_json:
        say_json({**as_record(document, trace), "rejected": rejected or None})
    else:
        say(", ".join(part for part in (story.title, story.subtitle) if part))
        say()
        say_story(story)
        if story.verdict:
            say()
            say(f"{story.verdict}.")
    if rejected:
        complain(rejected)
        return EXIT_REJECTED
    return 0


def retake(document: Document, model: str | None, variant: str | None) -> Trace | None:
    """The trace under the rules of its model; None if that model is not known here."""
    from traces.replay import replay

    name = model or document.about.get("model")
    if not isinstance(name, str) or (model is None and name not in BUILT_IN):
        return None
    said, bounds = document.about.get("variant"), document.about.get("bounds")
    if variant:
        find_model(name).variant(variant)
    try:
        system = find_model(name).system(
            variant or (said if isinstance(said, str) else None),
            bounds if isinstance(bounds, dict) else None,
        )
    except SpecError as error:
        if model:
            raise
        from traces.itf import BadTrace

        raise BadTrace(str(error)) from None
    return replay(system, document)


def is_violation(trace: Trace) -> bool:
    """Whether the trace shows a property to fail; if not, it shows a state to be reachable."""
    model = trace.system.model
    asked = {p.name: p for p in (*model.properties, *model.sanity)}.get(trace.property)
    return bool(trace.property) and not isinstance(asked, Reachable)


def what_it_shows(trace: Trace, *, violated: bool) -> str:
    """What the trace is evidence of, in a sentence."""
    if trace.property == DEADLOCK:
        return DEADLOCK_SAYS
    if not violated:
        return f"{trace.property} is reached" if trace.property else "a behaviour"
    return fails(trace.property, trace.where)


def as_record(document: Document, trace: Trace | None) -> dict[str, object]:
    """What was read, for a machine."""
    from checkers.verdict import steps_to_json

    return {
        "model": document.about.get("model"),
        "variant": document.about.get("variant"),
        "bounds": document.about.get("bounds"),
        "property": document.about.get("property"),
        "states": len(document.states),
        "steps": steps_to_json(trace),
        "loop": document.loop,
        "replayed": trace is not None,
    }
