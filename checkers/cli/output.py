"""Output: lines, tables, JSON, progress, and files that are written whole or not at all.

Every line passes through `say` or `complain`, which write control characters as escapes: what
a file, an argument or an exception holds is shown and never obeyed by the terminal. Lines are
folded where a terminal is too narrow for them; in a pipe or a file they stay whole.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from kspec.checkers.engine.verdict import EXIT_BAD_INPUT
from kspec.spec.core import SpecError
from kspec.traces.text import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kspec.checkers.engine.options import OnProgress, Progress
    from kspec.traces.story import Story


T = TypeVar("T")

IN_ASCII = {
    "–": "-", "—": "-", "→": "->", "←": "<-", "›": ">", "‹": "<", "…": "...", "✗": "x", "✓": "ok",
    "≤": "<=", "≥": ">=", "≠": "!=", "×": "x", "·": "-", "’": "'", "‘": "'", "“": '"', "”": '"',
}  # fmt: skip
"""What a terminal that only has ASCII shows for the characters that kspec uses itself."""


def in_its_encoding(error: UnicodeError) -> tuple[str, int]:
    """Replace a character that the terminal cannot show: by a like one, or by its number."""
    assert isinstance(error, UnicodeEncodeError)
    rest = error.object[error.start : error.end]
    if rest in ("–→", "→–"):  # `-->0` would read as one arrow
        return "- -> " if rest == "–→" else " -> -", error.end
    shown = (IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in rest)
    return "".join(shown), error.end


def prepare_streams() -> None:
    """Make standard output and error safe to print to, whatever the terminal can show."""
    codecs.register_error("kspec", in_its_encoding)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell: `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="kspec")


def complain(message: str) -> None:
    """Print one line about what is wrong on standard error."""
    line = printable(" ".join(message.split()))
    print(f"kspec: {line}", file=sys.stderr)


def say(text: str = "") -> None:
    """Print a line of the answer, or several; folded where the terminal is too narrow."""
    for line in text.split("\n"):
        shown = printable(line)
        say_raw(fold(shown, width()) if is_terminal() else shown)


def say_command(why: str, command: Sequence[str]) -> None:
    """Print a command to copy, with what it does. It is not folded, so that it can be copied."""
    say_raw(printable(f"{why}: {shlex.join(command)}"))


def say_wrapped(line: str) -> None:
    """Print a line of prose, folded in a pipe as well."""
    say_raw(fold(printable(line), min(100, width())))


def say_raw(text: str) -> None:
    """Print text that is known to be printable."""
    try:
        print(text)
    except BrokenPipeError:
        discard_output()


def is_terminal() -> bool:
    """Whether a person reads the answer as it comes."""
    return sys.stdout.isatty()


def width() -> int:
    """The columns of the terminal; 100 where there is none."""
    return max(20, shutil.get_terminal_size((100, 24)).columns)


def fold(line: str, columns: int) -> str:
    """A line in as many lines as it needs, the others under the indent of the first."""
    if len(line) <= columns:
        return line
    indent = line[: min(len(line) - len(line.lstrip()), columns // 2)]
    return textwrap.fill(line, columns, subsequent_indent=indent, break_on_hyphens=False)


def say_table(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    """Print a table of any number of rows; `right` has the indexes of right-aligned columns."""
    from rich.cells import cell_len

    def extra(cell: str) -> int:
        """How many more columns than characters a cell takes, for example in Chinese."""
        return 0 if cell.isascii() else cell_len(cell) - len(cell)

    padded = []
    for place, column in enumerate(zip(columns, *rows, strict=True)):
        widest = max(len(cell) + extra(cell) for cell in column)
        pad = str.rjust if place in right else str.ljust
        padded.append([pad(cell, widest - extra(cell)) for cell in column])
    for *cells, last in zip(*padded, strict=True):
        before = "".join(f"{cell}  " for cell in cells)
        room = width() - len(before) - extra(before)
        if is_terminal() and room >= LEAST_COLUMN and len(last.rstrip()) > room:
            first, *others = textwrap.wrap(last.rstrip(), room)
            say_raw(printable(before + first))
            for part in others:
                say_raw(printable(" " * (width() - room) + part))
        else:
            say_raw(printable((before + last).rstrip()))


LEAST_COLUMN = 20
"""A last column of fewer characters than this is not worth folding."""


def say_json(record: object) -> None:
    """Print the answer as one JSON object, in ASCII, so that any terminal can show it."""
    say_raw(json.dumps(record, indent=2))


def say_json_lines(head: Mapping[str, object], name: str, records: Sequence[object]) -> None:
    """Print one JSON object that ends with a list, with each of its items on a line of its own."""
    say(json.dumps(head)[:-1] + f', "{name}": [')
    for number, record in enumerate(records, 1):
        say(json.dumps(record) + ("," if number < len(records) else ""))
    say("]}")


def or_dash(value: object) -> str:
    """A value in a table, if it is known."""
    return "–" if value is None else str(value)


def discard_output() -> None:
    """Discard further output: the reader is gone (`| head`), and the work continues."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def finish_output(code: int) -> int:
    """Print what is still in the buffer; the exit code, even if the reader is gone."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as error:
        complain(f"cannot write the answer: {error.strerror}")
        discard_output()
        return EXIT_BAD_INPUT
    return code


@lru_cache(maxsize=1)
def console(stream: TextIO) -> Console:
    """A console with colours on a terminal, and plain text elsewhere."""
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            discard_output()

    return Patient(file=stream, highlight=False, soft_wrap=True)


def say_trace(story: Story) -> None:
    """Print a trace, step by step."""
    from kspec.traces.terminal import draw

    for line in draw(story):
        say_line(line)


def say_line(line: Text) -> None:
    """Print a line with its colours; folded where the terminal is too narrow."""
    from rich.text import Text

    out = console(sys.stdout)
    if is_terminal() and line.cell_len > width():
        first, *others = line.wrap(out, width() - HANGING)
        out.print(first)
        for part in others:
            out.print(Text(" " * HANGING).append_text(part))
    else:
        out.print(line)


HANGING = 8
"""How far the rest of a folded line of a trace is indented."""


@contextmanager
def progress_line(what: str) -> Iterator[OnProgress | None]:
    """A line that shows how far a run is; nothing where there is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    screen = Console(stderr=True)

    def line(text: str) -> Text:
        fitting = Text(text)
        fitting.truncate(screen.width - 1, overflow="crop")  # a folded line would leave traces
        return fitting

    with Live(line(what), console=screen, transient=True) as live:

        def show(p: Progress) -> None:
            live.update(line(f"{what}: {progress_text(p)}"))

        yield show


@contextmanager
def status_line(what: str) -> Iterator[Callable[[str], None]]:
    """A line on a terminal, which the caller updates."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield status.update


def counted(what: str, items: Sequence[T]) -> Iterator[T]:
    """The items, with a line on a terminal that shows how many are done."""
    with status_line(what) as update:
        for number, item in enumerate(items, 1):
            update(f"{what} {number} of {len(items)}")
            yield item


def progress_text(p: Progress) -> str:
    """The progress of a run, and whether it explores or still learns the rules."""
    text = f"level {p.level}, {p.distinct:,} states, {p.queue:,} queued, {p.rate:,.0f}/s"
    if p.learned is not None:
        text += f", learning {p.learned:,} paths"
    return f"{text}, {p.seconds:.0f} s"


def print_compiling() -> None:
    """Say on a terminal why the first run takes longer."""
    if sys.stderr.isatty():
        complain("compiling the native engine, once; later runs start at once")


class OutputFile:
    """A file to be written later; if it cannot be, the constructor raises."""

    def __init__(self, path: Path) -> None:
        """Check that the file can be written, without changing an existing one."""
        self.path = path
        self.written = False
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
    """The permissions that a new file does not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def as_json_text(record: Any) -> str:
    """The content of a JSON file."""
    return json.dumps(record, indent=1) + "\n"
