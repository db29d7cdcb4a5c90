"""`kspec explore`: step through a model by hand, on a page or in a terminal."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from kspec.checkers.cli.options import FILE, Asked, flag, json_option, names_system, number_option
from kspec.checkers.cli.output import (
    OutputFile,
    complain,
    is_terminal,
    progress_line,
    say,
    say_line,
)
from kspec.checkers.cli.show import complete_story, read_story
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from kspec.checkers.explore.seek import Found, Seeker
    from kspec.checkers.explore.session import Session
    from kspec.checkers.explore.terminal import Lines
    from kspec.traces.itf import Document


@click.command()
@names_system()
@click.option(
    "--load",
    type=FILE,
    metavar="FILE",
    shell_complete=complete_story,
    help="Begin with the steps, variant and bounds of this ITF file or story.",
)
@flag("--terminal", "Explore in this terminal, by typed commands.")
@number_option(
    "--port",
    "The port of the page; any free one by default.",
    low=0,
    high=65_535,
    show_default=False,
    default=0,
)
@flag("--no-browser", "Print the address instead of opening a browser.")
@json_option
def explore(
    asked: Asked,
    load: Path | None,
    terminal: bool,
    port: int,
    no_browser: bool,
    as_json: bool,
) -> int:
    """Step through MODEL by hand: take rules, go back, branch, search, compare.

    A page in the browser draws each state, and lists every rule with its choices, as enabled or as
    blocked by a guard. It searches for the nearest state that satisfies a condition, repeats the
    steps under another variant, and saves them as ITF or as a page. The server behind it listens
    on this machine only, and ends with Ctrl-C. A model of your own is code, and is executed.

    \b
    kspec explore replication --variant kip-101
    kspec explore my_protocol.py --load counterexample.itf.json
    kspec explore partition --terminal

    With --json, one line gives the address of the page: {"address": "http://…"}.
    """
    from kspec.checkers.explore.session import Session

    if terminal and (as_json or no_browser or port):
        raise click.UsageError("--terminal has no page: omit --json, --no-browser and --port")
    document = read_story(load)[0] if load else None
    session = Session(asked.system(document.about if document else None))
    if terminal:
        return in_terminal(session, document)
    return on_page(session, document, port, opens=not (no_browser or as_json), as_json=as_json)


def on_page(
    session: Session, document: Document | None, port: int, *, opens: bool, as_json: bool
) -> int:
    """Serve the page until Ctrl-C."""
    from kspec.checkers.explore.protocol import Explorer
    from kspec.checkers.explore.server import ExplorerServer

    explorer = Explorer(session)
    if document:
        explorer.at = session.load(document)
    server = ExplorerServer(explorer, port)
    try:
        say(
            json.dumps({"address": server.address})
            if as_json
            else f"Open {server.address} in a browser. Ctrl-C ends it."
        )
        sys.stdout.flush()
        if opens:
            open_browser(server.address)
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0


def open_browser(address: str) -> None:
    """Open a browser that has a window of its own; one that would take this terminal is not."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if type(browser) is not webbrowser.GenericBrowser:
        browser.open(address)


def in_terminal(session: Session, document: Document | None) -> int:
    """Obey the commands of standard input until it ends."""
    from kspec.checkers.explore.terminal import Terminal

    explorer = Terminal(session, search, write)
    if document:
        explorer.at = session.load(document)
    show(explorer.begin())
    with_prompt = is_terminal() and sys.stdin is not None and sys.stdin.isatty()
    if with_prompt:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - `input` then edits lines and remembers them
    while not explorer.has_ended:
        line = next_line(with_prompt)
        if line is None:
            break
        try:
            show(explorer.do(line))
        except SpecError as error:
            complain(str(error))
    return 0


def next_line(with_prompt: bool) -> str | None:
    """The next line of standard input, which is repeated where nobody types it; None at its end."""
    if with_prompt:
        try:
            return input("> ")
        except EOFError:
            say()
            return None
    line = sys.stdin.readline(MOST_CHARACTERS) if sys.stdin is not None else ""
    if not line:
        return None
    say(f"> {line.rstrip()}")
    return line


MOST_CHARACTERS = 10_000
"""Characters of a line that are read."""


def show(lines: Lines) -> None:
    """Print lines, each when it is ready."""
    for line in lines:
        say_line(line) if isinstance(line, Text) else say(line)
    sys.stdout.flush()


def search(seeker: Seeker) -> Found:
    """Run a search, with its progress on the screen; Ctrl-C ends the search alone."""
    with progress_line(f"find {seeker.goal}") as report:
        return seeker.run(report)


def write(path: Path, content: str) -> None:
    """Write a file, whole or not at all."""
    OutputFile(path).write(content)
