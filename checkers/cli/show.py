"""`kspec show`: draw a recorded trace, or one of kspec's stories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import click

from kspec.checkers.cli.options import (
    FILE,
    Asked,
    json_option,
    names_or_files,
    option,
    parse_settings,
    set_option,
    writes,
)
from kspec.checkers.cli.output import OutputFile, complain, say, say_json, say_trace
from kspec.checkers.engine.verdict import DEADLOCK, DEADLOCK_SAYS, EXIT_REJECTED, fails
from kspec.checkers.models.find import find_model, registered_models
from kspec.spec.core import Reachable, SpecError
from kspec.traces.itf import BadTrace
from kspec.traces.source import name_of, read_text

if TYPE_CHECKING:
    from kspec.checkers.models.script import Script
    from kspec.traces.itf import Document
    from kspec.traces.story import Story
    from kspec.traces.trace import Trace


def stories() -> Mapping[str, Script]:
    """Kspec's stories, by name."""
    from kspec.checkers.models.stories import STORIES

    return STORIES


complete_story = names_or_files(stories)


class UnknownSystem(BadTrace):
    """The trace names a variant or bounds that its model does not have."""


@click.command()
@click.argument("file", type=FILE, metavar="TRACE", shell_complete=complete_story)
@option(
    "--model",
    "Replay the trace under this model of your own. Its code is executed.",
    metavar="MODEL",
)
@option(
    "--variant",
    "Replay the trace under another variant, to see which guard blocks it.",
    metavar="V",
)
@set_option
@writes("--html", "Write the trace as an HTML page to step through.")
@json_option
def show(
    file: Path,
    model: str | None,
    variant: str | None,
    settings: tuple[str, ...],
    html: Path | None,
    as_json: bool,
) -> int:
    """Draw the ITF trace in the file TRACE (`-`: standard input), whichever tool wrote it.

    TRACE may also be the name of a story, such as lost-after-restart; the page "Stories" of the
    documentation lists them.

    A trace of one of kspec's models is replayed step by step under the model's rules. If they
    do not allow it, the reason is printed and the exit code is 3. `kspec validate` checks traces in
    which variables, rule names or steps are missing. A trace of any other model is shown as its
    variables.

    \b
    kspec check replication --variant kip-101 --out-itf lost.itf.json
    kspec show lost.itf.json --html lost.html
    kspec show lost.itf.json --variant kip-320
    """
    from kspec.traces.story import tell_plainly

    target = OutputFile(html) if html else None
    document, script = read_story(file)
    rejected, trace, drawn = "", None, True
    try:
        trace = replayed(document, model, variant, settings)
    except BadTrace as error:
        rejected, drawn = f"{name_of(file)}: {error}", not isinstance(error, UnknownSystem)
    if trace:
        story = told(trace, script)
    else:
        story = tell_plainly(document, name_of(Path(file.name)))
        verdict = f"Rejected: {rejected}" if rejected else unchecked(story)
        story = attrs.evolve(story, verdict=verdict)
    if target:
        from kspec.traces.page import page

        target.write(page(story))
    if as_json:
        say_json({**as_record(document, trace), "rejected": rejected or None})
    elif drawn:
        say(", ".join(part for part in (story.title, story.subtitle) if part))
        say()
        say_trace(story)
        if story.verdict and not rejected:
            say()
            say(f"{story.verdict}.")
    if rejected:
        complain(rejected)
        known = model or document.about.get("model")
        if drawn and known:
            complain(f"`kspec validate {known} {file}` checks traces with gaps, and says more")
        return EXIT_REJECTED
    return 0


def told(trace: Trace, script: Script | None = None) -> Story:
    """A trace, or one of kspec's stories, ready to be drawn."""
    from kspec.traces.story import tell

    violated = is_violation(trace)
    story = tell(trace, what_it_shows(trace, violated=violated), violated=violated)
    if script is None:
        return story
    kept = f"{script.property} holds in every state"
    return attrs.evolve(story, why=script.about, verdict=story.verdict if violated else kept)


def read_story(file: Path) -> tuple[Document, Script | None]:
    """The trace in a file, or the story of that name if there is no such file."""
    from kspec.traces.itf import parse, to_itf

    script = None if file.exists() else stories().get(str(file))
    text = read_text(file) if script is None else json.dumps(to_itf(script.played()))
    return parse(text, name_of(file)), script


def unchecked(story: Story) -> str:
    """What a trace of an unknown model shows, and how to check it."""
    shown = f"Recorded for {story.verdict}. " if story.verdict else ""
    return (
        f"{shown}The steps were not checked against rules: kspec has no model "
        f"{story.subtitle or 'for this trace'}. If it is yours, --model FILE.py checks them"
    )


def replayed(
    document: Document, model: str | None, variant: str | None, settings: Sequence[str] = ()
) -> Trace | None:
    """The trace under the rules of its model; None if kspec does not have that model."""
    from kspec.traces.replay import replay

    name = model or document.about.get("model")
    if not isinstance(name, str) or (model is None and name not in registered_models()):
        return None
    if variant:  # an error in an option is none of the file
        find_model(name).variant(variant)
    parse_settings(settings, find_model(name))
    try:
        system = Asked(name, variant, tuple(settings)).system(document.about)
    except SpecError as error:
        if model:
            raise
        raise UnknownSystem(str(error)) from None
    return replay(system, document)


def is_violation(trace: Trace) -> bool:
    """Whether the trace is a counterexample; if not, it is a witness or any behaviour."""
    model = trace.system.model
    asked = {p.name: p for p in model.all_properties}.get(trace.property)
    return bool(trace.property) and not isinstance(asked, Reachable)


def what_it_shows(trace: Trace, *, violated: bool) -> str:
    """What the trace shows, in a sentence."""
    if trace.property == DEADLOCK:
        return DEADLOCK_SAYS
    if not violated:
        return f"{trace.property} is reached" if trace.property else "a behaviour"
    return fails(trace.property, trace.where)


def as_record(document: Document, trace: Trace | None) -> dict[str, object]:
    """The trace, for a machine."""
    from kspec.checkers.engine.verdict import steps_to_json

    return {
        **{name: document.about.get(name) for name in ("model", "variant", "bounds", "property")},
        "states": len(document.states),
        "steps": steps_to_json(trace.steps if trace else ()),
        "loop": document.loop,
        "replayed": trace is not None,
    }
