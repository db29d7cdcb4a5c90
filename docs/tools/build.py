"""Make what the site shows and the tree does not keep: `python docs/tools/build.py`.

- `commands.md`: the help text of every command
- `rules-MODEL.md`: every rule of a model of Kafka with its guards, and its equivalent mutants
- `stories/NAME.html`: the page of each story
- `images/NAME.png`: pictures of pages (`pictures.py`, which needs Chromium)
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lists import rules_of
from pictures import take_pictures

from kspec.checkers.cli.main import summaries
from kspec.checkers.cli.show import told
from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.models.stories import STORIES
from kspec.traces.page import page

DOCS = Path(__file__).parents[1]

KAFKAS = [name for name, at in registered_models().items() if at.module.startswith("kspec.spec.")]
"""The models of Kafka."""


def help_of(command: str) -> str:
    """What `kspec COMMAND --help` prints, as a block of the page."""
    line = [sys.executable, "-m", "kspec", *command.split(), "--help"]
    ran = subprocess.run(line, capture_output=True, text=True, check=True)
    return f"```console\n$ kspec {command} --help\n{ran.stdout.rstrip()}\n```\n"


def commands() -> Iterator[str]:
    """The help text of kspec and of every command."""
    yield "# The help texts of all commands\n"
    yield "[The command line](command-line.md) explains what they have in common.\n"
    names = ["", *summaries()]
    with ThreadPoolExecutor() as together:
        for name, text in zip(names, together.map(help_of, names), strict=True):
            yield f"## `{f'kspec {name}'.rstrip()}`\n"
            yield text


def rules(name: str) -> Iterator[str]:
    """Every rule of a model, variant by variant."""
    model = find_model(name)
    yield f"# The rules of `{name}`\n"
    yield f"{model.doc}\n"
    yield (
        "Each variant has the rules in which it differs from its parent. A rule is blocked by its "
        "first guard that does not hold. Where a guard checks a request, the error that answers a "
        "failed check is named (*else ILLEGAL_GENERATION*). At the end of a variant are its "
        "equivalent mutants: changes that no property can detect, each with the reason.\n"
    )
    yield from rules_of(model)


def made_pages() -> Iterator[tuple[Path, str]]:
    """Each page, with its text."""
    yield DOCS / "commands.md", "\n".join(commands())
    for name in KAFKAS:
        yield DOCS / f"rules-{name}.md", "\n".join(rules(name))
    for name, script in STORIES.items():
        yield DOCS / "stories" / f"{name}.html", page(told(script.played(), script))


if __name__ == "__main__":
    for path, text in made_pages():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    take_pictures(DOCS / "images")
