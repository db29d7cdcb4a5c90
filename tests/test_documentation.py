"""The documentation is accurate: every command in it is run as written.

README.md and the pages under docs/ follow these conventions:

- A ```console block is a session. A line `$ command` is run; the lines after it are its output,
  including errors. An exit code other than 0 follows the command: `$ command  # exit 12`.
- `…` is omitted output: any lines if it is alone on a line, otherwise any text. So figures that
  vary, such as seconds, need not be shown.
- Any other block has a title: the file to which it is saved or, for a second block of the same
  title, appended. If the file is one of this project, the block quotes from it.
- `<!-- slow -->` above a block leaves its page to the slow tests; `<!-- slow, needs NAME -->` also
  skips the block if there is neither a Python module nor a command of this name.

Each page is run in a new folder, block by block.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import click
import pytest

from kspec.checkers.cli.main import kspec, summaries
from kspec.checkers.cli.main import run as run_kspec
from kspec.checkers.cli.options import Asked
from kspec.checkers.engine import verdict
from kspec.checkers.engine.run import simulate
from kspec.checkers.engine.simulate import Sampling
from kspec.checkers.models.find import find_model, registered_models
from kspec.checkers.models.stories import STORIES
from kspec.checkers.mutation.equivalent import equivalent_mutants
from kspec.examples import COUNTER
from kspec.start import EXIT_INTERRUPTED

REPLICATION = find_model("replication")
GROUP = find_model("group")

ROOT = Path(__file__).parent.parent
KAFKAS = [name for name, at in registered_models().items() if at.module.startswith("kspec.spec.")]
MADE = {
    "commands.md",
    *(f"rules-{name}.md" for name in KAFKAS),
    *(f"stories/{name}.html" for name in STORIES),
    *(
        f"images/{name}.png"
        for name in re.findall(
            r'"(?:\w+ / ")?([a-z-]+)', (ROOT / "docs" / "tools" / "pictures.py").read_text()
        )
    ),
}
"""What the build of the site makes (docs/tools/build.py)."""
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE),
]
WIDTH = "100"
"""Columns of the terminal that the pages show."""


@attrs.frozen
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str
    slow: bool
    lines: list[str]

    def __str__(self) -> str:
        """The page and the line."""
        return f"{self.page.name}:{self.line}"

    @property
    def text(self) -> str:
        """Its content."""
        return "\n".join(self.lines) + "\n"


def is_installed(name: str) -> bool:
    """Whether there is a Python module or a command of this name."""
    return importlib.util.find_spec(name) is not None or shutil.which(name) is not None


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in their order."""
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    above = ""
    for number, line in lines:
        fence = re.fullmatch(r'```(\w*)(?: title="(.+)")?', line)
        if fence:
            inside = []
            for _, inner in lines:
                if inner == "```":
                    break
                inside.append(inner)
            note = re.fullmatch(r"<!-- slow(?:, needs (\w+))? -->", above)
            slow = note is not None
            if note and note[1] and not is_installed(note[1]):
                continue
            yield Block(page, number, fence[1], fence[2] or "", slow, inside)
        above = line


@attrs.frozen
class Command:
    """A command of a session, with its documented output and exit code."""

    text: str
    exit_code: int
    output: list[str]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for line in block.lines:
        prompt = re.fullmatch(r"\$ (.+?)(?:\s+# exit (\d+))?", line)
        if prompt:
            found.append(Command(prompt[1], int(prompt[2] or 0), []))
        else:
            found[-1].output.append(line)
    yield from found


# -- running them -----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new folder and a terminal of a known width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for name in ("FORCE_COLOR", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Run one command: kspec in this process, which is faster, and any other in a shell."""
    if not command.startswith("kspec "):
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.returncode, done.stdout
    arguments = shlex.split(command)
    monkeypatch.setattr(sys, "argv", arguments)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run_kspec(arguments[1:])
    return code, said.getvalue()


def as_pattern(shown: list[str]) -> str:
    """The documented output as a pattern for the actual one."""
    return "".join(
        r"(?:.*\n)*" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r" *\n"
        for line in shown
    )


def does_what_it_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the page from top to bottom."""
    for block in blocks(page):
        if block.title and not (ROOT / block.title).exists():
            file = Path(block.title)
            before = file.read_text(encoding="utf-8") + "\n\n" if file.exists() else ""
            file.write_text(before + block.text, encoding="utf-8")
        if block.language != "console":
            continue
        for command in commands(block):
            code, said = run(command.text, monkeypatch)
            there = f"{block}: $ {command.text}\n{said}"
            assert code == command.exit_code, there
            assert re.fullmatch(as_pattern(command.output), said), there


def with_sessions(*, slow: bool) -> list[Any]:
    """The pages with sessions: those that have a slow block, or the others."""
    sessions = [b for page in PAGES for b in blocks(page) if b.language == "console"]
    slow_pages = {b.page for b in sessions if b.slow}
    pages = dict.fromkeys(b.page for b in sessions if (b.page in slow_pages) == slow)
    return [pytest.param(page, id=page.name) for page in pages]


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", with_sessions(slow=False))
def test_pages_run_as_documented(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does_what_it_says(page, monkeypatch)


@pytest.mark.slow
@pytest.mark.other_software
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", with_sessions(slow=True))
def test_slow_pages_run_as_documented(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does_what_it_says(page, monkeypatch)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["one"], "two\n"),
        (["one"], "one\ntwo\n"),
        (["one", "…", "three"], "three\none\n"),
        (["… s, 7 states"], "0.1 s, 8 states\n"),
    ],
)
def test_output_that_differs_is_detected(shown: list[str], printed: str) -> None:
    assert not re.fullmatch(as_pattern(shown), printed)


# -- what is not run is checked otherwise -------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_code_block_is_checked(page: Path) -> None:
    for block in blocks(page):
        if block.title:
            source = ROOT / block.title
            if source.exists():  # a quotation
                assert block.text in source.read_text(encoding="utf-8"), f"{block} misquotes"
        elif block.language == "bash":
            assert page.name == "README.md", f"{block}: only the README's two commands are bash"
        else:
            assert block.language == "console", f"{block} is {block.language}, without a title"


def test_every_page_is_in_the_navigation_once() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

    def named(entries: list[dict[str, Any]]) -> Iterator[str]:
        for entry in entries:
            for target in entry.values():
                yield from [target] if isinstance(target, str) else named(target)

    kept = {page.name for page in PAGES if page.parent != ROOT}
    assert sorted(named(site["nav"])) == sorted(kept | {name for name in MADE if ".md" in name})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if target not in MADE and "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_install_commands_name_existing_extras_and_variants() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bash = [b for b in blocks(ROOT / "README.md") if b.language == "bash"]
    assert [len(b.lines) for b in bash] == [1, 1]
    first, second = ([shlex.split(part) for part in b.lines[0].split(" && ")] for b in bash)
    venv = ["python3", "-m", "venv", ".venv"]
    assert first[:2] == [venv, [".venv/bin/pip", "install", "-e", "."]]
    install = [".venv/bin/pip", "install", "-e", ".[test]"]
    assert second == [venv, install, [".venv/bin/pytest", "-n", "auto"]]
    assert "test" in project["optional-dependencies"]
    check = first[2]
    assert check[0] == ".venv/bin/kspec"
    assert "kspec" in project["scripts"]
    command = kspec.get_command(click.Context(kspec), check[1])
    assert command is not None
    chosen = command.make_context("check", check[2:]).params
    system = Asked(chosen["model"], chosen["variant"], chosen["settings"]).system()
    assert system.variant.violates, "the README says that it ends with a violation"


# -- lists in the pages --------------------------------------------------------------------------


def first_cells(heading: str) -> list[str]:
    """The first column of the tables below a heading of the page about the command line."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)


def test_every_field_of_the_record_is_explained() -> None:
    record = simulate(COUNTER.system(), Sampling(walks=1)).to_json(1.0)
    assert first_cells("The record that `--json` prints") == list(record)


def test_every_exit_code_is_explained() -> None:
    codes = {code for name, code in vars(verdict).items() if name.startswith("EXIT_")}
    explained = first_cells("Exit codes")
    assert sorted(map(int, explained)) == sorted(codes | {EXIT_INTERRUPTED})


def test_every_command_is_explained() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    explained = re.findall(r"^## `kspec ([\w ]+)`$", text, flags=re.MULTILINE)
    assert explained == list(summaries())


def tool(name: str) -> ModuleType:
    """A script that makes parts of the pages."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_in_the_pages_are_current(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert tool("lists").with_current_lists(text) == text, "run python docs/tools/lists.py"


@pytest.mark.parametrize("name", registered_models())
def test_the_rules_of_every_model_are_listed_with_their_guards(name: str) -> None:
    model = find_model(name)
    made = "\n".join(tool("lists").rules_of(model))
    for variant in model.variants:
        assert f"## {variant.name}\n" in made
        for rule in variant.rules:
            assert f"### `{rule.name}(" in made
            assert rule.doc in made
            assert all(f"\n- {guard}" in made for guard, _ in rule.guard_names())
        assert all(reason in made for reason in equivalent_mutants(model, variant).values())
    assert all(f"*(else {error})*" in made for error in model.answers.values())


@pytest.mark.slow
def test_the_readmes_picture_shows_the_page_as_it_is(tmp_path: Path) -> None:
    image_of = pytest.importorskip("PIL.Image").open
    pictures = tool("pictures")
    page = pictures.page_of(pictures.IN_README, tmp_path)
    with image_of(ROOT / "docs" / "images" / "lost.png") as image:
        assert image.text["page"] == pictures.digest_of(page), "run python docs/tools/pictures.py"


def test_the_group_page_lists_properties_bounds_and_variants() -> None:
    made = (ROOT / "docs" / "group.md").read_text(encoding="utf-8")
    assert all(f"- **{p.name}**: {p.summary}" in made for p in GROUP.properties)
    assert all(f"| `{b.name}` | {b.default} |" in made for b in GROUP.bound_ranges())
    assert "- `successor_loads_group`: it loads in one step; no request is" in made
    for variant in GROUP.variants:
        for name, expected in variant.violates.items():
            assert f"| `{variant.name}` | {name} | {expected.states} |" in made
            assert not variant.violates or f"--variant {variant.name} " in made


def test_an_unknown_list_is_left_unchanged() -> None:
    songs = "<!-- songs of group -->\nLa la la.\n<!-- end -->"
    assert tool("lists").with_current_lists(songs) == songs
