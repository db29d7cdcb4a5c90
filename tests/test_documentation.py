"""What the documentation shows is what happens: every command in it is run, as it is written.

This is how README.md and the pages under docs/ say it:

- A ```console block is a session. A line `$ command` is run; what follows is what it prints, the
  errors included. Its exit code, where that is not 0, stands behind it: `$ command  # exit 12`.
- `…` stands for whatever is left out: for any lines where it stands alone, for any text within
  a line. So figures that vary, such as seconds, need not be shown.
- Any other block has a title: the file under which it is saved, or, for a second block of the
  same title, added. If it names a file of this project, the block quotes from that file.
- `<!-- slow -->` above a block leaves it to the slow tests; `<!-- slow, needs MODULE -->` leaves
  it out where that Python module is not installed.

Each page has a folder of its own, and its blocks are taken in their order.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
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

from checkers import verdict
from checkers.cli.main import COMMANDS, EXIT_INTERRUPTED, kspec
from checkers.cli.main import run as run_kspec
from checkers.cli.options import find_system
from checkers.models import BUILT_IN, find_model
from checkers.simulate import Sampling, simulate
from spec.core import Model
from spec.group import GROUP
from spec.replication import REPLICATION
from spec.toys import COUNTER

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
        """Where it is."""
        return f"{self.page.name}:{self.line}"

    @property
    def text(self) -> str:
        """What stands in it."""
        return "\n".join(self.lines) + "\n"


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
            if note and note[1] and importlib.util.find_spec(note[1]) is None:
                continue
            yield Block(page, number, fence[1], fence[2] or "", slow, inside)
        above = line


@attrs.frozen
class Command:
    """A command of a session, with what it is said to do."""

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
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own, a terminal of a known width, and nothing that stays behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", WIDTH)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    for name in ("FORCE_COLOR", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    path, modules = sys.path.copy(), sys.modules.copy()
    yield tmp_path
    sys.path[:] = path
    for added in sys.modules.keys() - modules.keys():
        if (getattr(sys.modules[added], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[added]


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
    """What is shown as a pattern for what is printed."""
    return "".join(
        r"(?:.*\n)*" if line.strip() == "…" else re.escape(line).replace("…", ".*") + r" *\n"
        for line in shown
    )


def does_what_it_says(page: Path, slow: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the page from top to bottom; without its slow blocks, unless they are asked for."""
    for block in blocks(page):
        if block.title and not (ROOT / block.title).exists():
            file = Path(block.title)
            before = file.read_text(encoding="utf-8") + "\n\n" if file.exists() else ""
            file.write_text(before + block.text, encoding="utf-8")
        if block.language != "console" or (block.slow and not slow):
            continue
        for command in commands(block):
            code, said = run(command.text, monkeypatch)
            there = f"{block}: $ {command.text}\n{said}"
            assert code == command.exit_code, there
            assert re.fullmatch(as_pattern(command.output), said), there


def with_sessions(*, slow: bool) -> list[Any]:
    """The pages that have such console blocks."""
    sessions = [b for page in PAGES for b in blocks(page) if b.language == "console"]
    pages = dict.fromkeys(b.page for b in sessions if b.slow == slow)
    return [pytest.param(page, id=page.name) for page in pages]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", with_sessions(slow=False))
def test_page_does_what_it_says(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does_what_it_says(page, slow=False, monkeypatch=monkeypatch)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", with_sessions(slow=True))
def test_page_does_what_it_says_slowly(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    does_what_it_says(page, slow=True, monkeypatch=monkeypatch)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["one"], "two\n"),
        (["one"], "one\ntwo\n"),
        (["one", "…", "three"], "three\none\n"),
        (["… s, 7 states"], "0.1 s, 8 states\n"),
    ],
)
def test_what_is_not_printed_is_noticed(shown: list[str], printed: str) -> None:
    assert not re.fullmatch(as_pattern(shown), printed)


# -- what is not run is checked otherwise -------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_that_looks_like_code_goes_unchecked(page: Path) -> None:
    for block in blocks(page):
        if block.title:
            source = ROOT / block.title
            if source.exists():  # a quotation
                assert block.text in source.read_text(encoding="utf-8"), f"{block} misquotes"
        elif block.language == "bash":
            assert page.name == "README.md", f"{block}: only the README's two commands are bash"
        else:
            assert block.language == "console", f"{block} is {block.language}, without a title"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)", prose):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_two_commands_name_what_there_is() -> None:
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
    system = find_system(chosen["model"], chosen["variant"], chosen["settings"])
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
    assert re.findall(r"^## `kspec (\w+)", text, flags=re.MULTILINE) == list(COMMANDS)


@pytest.fixture(scope="module")
def lists() -> ModuleType:
    """The script that puts lists from the code into the pages."""
    spec = importlib.util.spec_from_file_location("lists", ROOT / "docs" / "tools" / "lists.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("page", "model"), [("rules", REPLICATION), ("rules-group", GROUP)])
def test_the_pages_of_rules_have_every_rule_with_its_guards(
    lists: ModuleType, page: str, model: Model[Any]
) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    made = lists.on_page_markdown(text)
    assert made != text
    for variant in model.variants:
        assert f"## {variant.name}\n" in made
        for rule in variant.rules:
            assert rule.doc in made
            assert all(f"\n- {guard}" in made for guard, _ in rule.guard_names())
        assert all(reason in made for reason in variant.survivors.values())
    assert all(f"*(else {error})*" in made for error in model.answers.values())


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_rules_of_every_model_can_be_listed(lists: ModuleType, name: str) -> None:
    model = find_model(name)
    made = lists.on_page_markdown(f"<!-- rules of {name} -->\n…\n<!-- end -->")
    assert "…" not in made
    for rule in model.variant().rules:
        assert f"### `{rule.name}(" in made


def test_the_page_about_groups_lists_what_the_code_says(lists: ModuleType) -> None:
    made = lists.on_page_markdown((ROOT / "docs" / "group.md").read_text(encoding="utf-8"))
    assert all(f"- **{p.name}**: {p.summary}" in made for p in GROUP.properties)
    assert all(f"| `{b.name}` | {b.default} |" in made for b in GROUP.bound_ranges())
    assert "- `successor_loads`: it loads in one step; nobody is told" in made
    for variant in GROUP.variants:
        for name, expected in variant.violates.items():
            assert f"| `{variant.name}` | {name} | {expected.states} |" in made
            assert not variant.violates or f"--variant {variant.name} " in made


def test_a_list_that_does_not_exist_is_left_as_it_is(lists: ModuleType) -> None:
    songs = "<!-- songs of group -->\nLa la la.\n<!-- end -->"
    assert lists.on_page_markdown(songs) == songs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_where_a_list_will_stand_the_page_says_which_command_prints_it(
    lists: ModuleType, page: Path
) -> None:
    text = page.read_text(encoding="utf-8")
    told = {(what, of): instead for what, of, instead in lists.PLACE.findall(text)}
    for what, of in re.findall(r"^<!-- ([a-z ]+) of (\S+) -->$", text, flags=re.MULTILINE):
        assert what not in lists.LISTS or f"`kspec models {of}" in told[what, of]
