"""How things are said: lines, JSON, progress, and files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checkers.verdict import EXIT_BAD_INPUT
from spec.core import SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from checkers.limits import OnProgress
    from traces.story import Story


def complain(message: str) -> None:
    """One line about what is wrong."""
    print(f"kspec: {' '.join(message.split())}", file=sys.stderr)


def say(line: str = "") -> None:
    """A line of the answer."""
    try:
        print(line)
    except BrokenPipeError:
        stop_talking()


def say_wrapped(line: str) -> None:
    """A line of the answer, folded under its own indent where it is too long."""
    indent = " " * (len(line) - len(line.lstrip()))
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    say(textwrap.fill(line, width, subsequent_indent=indent, break_on_hyphens=False))


def say_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    """A table, for any number of rows; which columns are flush right is told by their places."""
    from rich.cells import cell_len

    def extra(cell: str) -> int:
        """By how much a cell is wider than it is long, as Chinese is."""
        return 0 if cell.isascii() else cell_len(cell) - len(cell)

    padded = []
    for place, column in enumerate(zip(columns, *rows, strict=True)):
        width = max(len(cell) + extra(cell) for cell in column)
        pad = str.rjust if place in right else str.ljust
        padded.append([pad(cell, width - extra(cell)) for cell in column])
    for line in zip(*padded, strict=True):
        say("  ".join(line).rstrip())


def printable(name: str) -> str:
    """A name from a file, with what a terminal would take for a command written out."""
    return name if name.isprintable() else repr(name)[1:-1]


def say_json(record: object) -> None:
    """The answer as one JSON object."""
    say(json.dumps(record, ensure_ascii=False, indent=2))


def stop_talking() -> None:
    """Nobody listens any more (`| head`): say the rest to nobody, and finish the work."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish_output(code: int) -> int:
    """Say what is left to say, and leave with this code even if nobody listens any more."""
    if sys.stdout is None:  # closed from the beginning
        return code
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_talking()
    except OSError as error:
        complain(f"cannot write the answer: {error.strerror}")
        stop_talking()
        return EXIT_BAD_INPUT
    return code


def console() -> Console:
    """Where coloured text and tables go; plain text where no terminal is."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            stop_talking()

    width = None if sys.stdout.isatty() else 160  # a table in a file need not be narrow
    return Patient(highlight=False, soft_wrap=True, width=width)


def say_story(story: Story) -> None:
    """Draw a trace, step by step."""
    from traces.terminal import draw

    out = console()
    for line in draw(story):
        out.print(line)


@contextmanager
def progress_line(what: str) -> Iterator[OnProgress | None]:
    """A line that moves while something long goes on; nothing where no terminal is."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from checkers.limits import Progress

    with Live(Text(what), console=Console(stderr=True), transient=True) as live:

        def show(p: Progress) -> None:
            live.update(
                Text(
                    f"{what}: level {p.level}, {p.distinct:,} distinct, {p.queue:,} queued, "
                    f"{p.rate:,.0f}/s, {p.seconds:.0f} s"
                )
            )

        yield show


class OutputFile:
    """A file that will be written: whether it can be is found out before the work begins."""

    def __init__(self, path: Path) -> None:
        """Make sure that the file can be written, and leave an existing one as it is."""
        self.path = path
        self.written = False
        if str(path) == "-":
            raise SpecError("standard output is for what is said: name a file")
        if path.is_dir():
            raise SpecError(f"cannot write {path}: it is a directory")
        try:
            if path.exists() and not path.is_file():
                path.open("w").close()  # a device or a pipe
            else:
                self.temporary().unlink()
                if path.exists():
                    path.open("a").close()
        except OSError as error:
            raise SpecError(f"cannot write {path}: {error.strerror}") from None

    def temporary(self) -> Path:
        """A new file beside it."""
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        os.close(handle)
        return Path(name)

    def write(self, content: str) -> None:
        """Write all of it or nothing."""
        self.written = True
        try:
            if self.path.exists() and not self.path.is_file():
                self.path.write_text(content, encoding="utf-8")
                return
            beside = self.temporary()
            try:
                beside.write_text(content, encoding="utf-8")
                beside.chmod(0o666 & ~current_umask())
                beside.replace(self.path)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise SpecError(f"cannot write {self.path}: {error.strerror}") from None


def current_umask() -> int:
    """What a new file's permissions leave out."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def as_json_text(record: Any) -> str:
    """A JSON file's content."""
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
