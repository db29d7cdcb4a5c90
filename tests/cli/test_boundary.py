"""Untrusted input: no content of a file, a stream or an argument breaks a command.

The command answers, or refuses the input in one line with an exit code; and it prints no control
characters.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kspec import start
from kspec.checkers.cli.main import summaries
from kspec.checkers.cli.output import IN_ASCII
from kspec.checkers.models.find import FROM_FILES, free_name
from kspec.traces.source import MOST_LEVELS
from tests.cli.conftest import Kspec, Ran

ROOT = Path(__file__).parents[2]
fuzz = settings(max_examples=30, suppress_health_check=list(HealthCheck))


def assert_refused(ran: Ran) -> None:
    """One line on standard error, nothing on standard output, and the code for bad input."""
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert ran.err.startswith("kspec: ")


def assert_shows_text_only(ran: Ran) -> None:
    """The output contains no control characters."""
    for printed in (ran.out, ran.err):
        obeyed = [c for c in printed if not c.isprintable() and c != "\n"]
        assert {unicodedata.category(c) for c in obeyed} <= {"Zs"}, repr(printed)  # spaces


def an_itf_trace(**texts: str) -> str:
    """An ITF trace of a model that kspec does not know."""
    about = {"model": "m", "property": "p"} | texts
    return json.dumps({"#meta": {"kspec": about}, "vars": ["x"], "states": [{"x": 1}, {"x": 2}]})


DESCRIBED = (
    "Topic: __consumer_offsets\tTopicId: pKbJgQ\tPartitionCount: 12\tConfigs: x=y\n"
    + "".join(
        f"\tTopic: __consumer_offsets\tPartition: {index}\tLeader: {10 + index}\tReplicas: 1,2\n"
        for index in range(12)
    )
)
GROUP = json.dumps({"topics": {"t": 3, "u": None}, "members": {"a": ["t"], "b": {"topics": []}}})


# -- depth and size ------------------------------------------------------------------------------

READERS = [
    ["show", "file.json"],
    ["assign", "range", "file.json"],
    ["assign", "range", "file.yaml"],
    ["coordinator", "g", "--leaders", "file.json"],
]


@pytest.mark.slow
@fuzz
@given(
    reader=st.sampled_from(READERS),
    opening=st.sampled_from(["[", '{"x":', '[0,{"x":']),
    depth=st.integers(MOST_LEVELS + 1, 2000),
)
def test_deeply_nested_documents_are_refused(
    kspec: Kspec, reader: list[str], opening: str, depth: int
) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(c, "") for c in reversed(opening))
    nested = '{"vars": ["x"], "states": [{"x": ' + opening * depth + "1" + closing * depth + "}]}"
    Path(reader[2] if reader[0] == "assign" else "file.json").write_text(nested)
    ran = kspec(*reader)
    assert_refused(ran)
    assert "nested" in ran.err


@pytest.mark.slow
def test_documents_nested_up_to_the_limit_are_shown(kspec: Kspec) -> None:
    for depth in range(MOST_LEVELS):
        value = "[" * depth + "]" * depth if depth else "1"
        Path("t.json").write_text('{"vars": ["x"], "states": [{"x": ' + value + "}]}")
        ran = kspec("show", "t.json", "--html", "t.html")
        assert (ran.code == 0) == (depth + 3 <= MOST_LEVELS), depth


def test_large_files_are_refused(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.traces.source.MOST_BYTES", 100)
    Path("t.json").write_text(" " * 101)
    for reader in (["show"], ["assign", "range"], ["coordinator", "--file"]):
        assert_refused(kspec(*reader, "t.json"))
    assert_refused(kspec("show", "/dev/zero"))


def test_a_yaml_file_whose_aliases_expand_to_many_values_is_refused(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kspec.traces.source.MOST_VALUES", 100_000)
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    for level in range(1, 20):
        aliases = ", ".join([f"*a{level - 1}"] * 8)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    Path("g.yaml").write_text("\n".join(lines))
    ran = kspec("assign", "range", "g.yaml")
    assert_refused(ran)
    assert "more than 100,000 values" in ran.err


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "9" * 5000, '{"a": 1, "a": 2}', "\ud800"]
)
def test_pythons_extensions_of_json_are_refused(kspec: Kspec, value: str) -> None:
    Path("t.json").write_bytes(
        b'{"vars": ["x"], "states": [{"x": %b}]}' % value.encode(errors="replace")
    )
    assert_refused(kspec("show", "t.json"))


# -- cut short -----------------------------------------------------------------------------------


@pytest.mark.slow
@fuzz
@given(cut=st.integers(0, len(DESCRIBED) - 1))
def test_a_truncated_list_of_leaders_is_refused_or_complete(kspec: Kspec, cut: int) -> None:
    Path("leaders.txt").write_text(DESCRIBED)
    whole = kspec("coordinator", "g", "--leaders", "leaders.txt", "--json")
    Path("leaders.txt").write_text(DESCRIBED[:cut])
    ran = kspec("coordinator", "g", "--leaders", "leaders.txt", "--json")
    if ran.code == 0:
        assert ran == whole
    else:
        assert_refused(ran)


def test_fewer_leaders_than_the_header_counts_are_refused(kspec: Kspec) -> None:
    lines = DESCRIBED.splitlines(keepends=True)
    Path("cut.txt").write_text("".join(lines[:6]))
    ran = kspec("coordinator", "payments", "--leaders", "cut.txt")
    assert_refused(ran)
    assert "has 12 partitions, and 5 are listed" in ran.err
    Path("cut.txt").write_text("".join(lines[1:6]))
    assert "PartitionCount, is missing" in kspec("coordinator", "g", "--leaders", "cut.txt").err
    known = kspec("coordinator", "g", "--leaders", "cut.txt", "--partitions", "5")
    assert known.code == 0, "without a header, the number can be given"
    assert_refused(kspec("coordinator", "g", "--leaders", "cut.txt", "--partitions", "6"))


@pytest.mark.parametrize(
    ("content", "arguments"),
    [
        (an_itf_trace(), ["show"]),
        (GROUP, ["assign", "range"]),
        ('{"0": 1, "1": 2}', ["coordinator", "g", "--leaders"]),
    ],
)
def test_truncated_json_is_refused(kspec: Kspec, content: str, arguments: list[str]) -> None:
    for cut in range(len(content)):
        Path("t.json").write_text(content[:cut])
        assert_refused(kspec(*arguments, "t.json"))


# -- encodings -----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
def test_text_in_another_encoding_is_refused(kspec: Kspec, encoding: str) -> None:
    readers = {
        an_itf_trace(): ["show"],
        GROUP: ["assign", "range"],
        "groupe-é\n": ["coordinator", "--file"],
        DESCRIBED: ["coordinator", "g", "--leaders"],
    }
    for content, reader in readers.items():
        raw = content.encode(encoding)
        if raw != content.encode():
            Path("t.json").write_bytes(raw)
            assert_refused(kspec(*reader, "t.json"))


def test_a_byte_order_mark_is_ignored(kspec: Kspec) -> None:
    answers = []
    for encoding in ("utf-8", "utf-8-sig"):
        Path("groups").write_text("payments\n", encoding=encoding)
        answers.append(kspec("coordinator", "--file", "groups"))
    assert answers[0] == answers[1]


@pytest.mark.slow
@fuzz
@given(st.binary(max_size=60).map(lambda raw: raw + b"\0"))
def test_a_binary_file_is_refused_as_a_model(kspec: Kspec, raw: bytes) -> None:
    Path("own.py").write_bytes(raw)
    assert_refused(kspec("check", "own.py"))


# -- what a terminal would obey ------------------------------------------------------------------

control_characters = st.sampled_from("\x00\x07\x08\t\x1b\x7f\x9b\x9d\u2028\u202e\u2066\ufeff\ud800")
hostile = st.lists(control_characters | st.characters(), min_size=1, max_size=6).map("".join)


@pytest.mark.slow
@fuzz
@given(words=hostile)
def test_control_characters_never_reach_the_terminal(kspec: Kspec, words: str) -> None:
    value = {"vars": [words], "states": [{words: words, "mbt::actionTaken": words}, {words: 2}]}
    Path("t.json").write_text(
        json.dumps({"#meta": {"kspec": {"model": words, "property": words}}} | value)
    )
    Path("g.json").write_text(
        json.dumps({"topics": {words: 2}, "members": {words: [words, words + "2"]}})
    )
    for arguments in (
        ["show", "t.json"],
        ["show", "t.json", "--json"],
        ["show", "t.json", "--model", "counter"],
        ["assign", "range", "g.json"],
        ["assign", "cooperative-sticky", "g.json", "--after", "g.json", "--json"],
        ["coordinator", words],
        ["coordinator", words, "--json"],
        ["coordinator", "g", "--rule", words],
        ["check", words],
        ["check", "counter", "--set", f"{words}=1"],
        ["check", "counter", "--property", words],
        ["assign", "range", "--topic", f"{words}=x"],
    ):
        if words.startswith("-") or "\0" in words or words == "help":
            continue
        ran = kspec(*arguments)
        assert ran.code in (0, 2, 3, 151), arguments
        assert_shows_text_only(ran)


@fuzz
@given(words=hostile)
def test_json_output_preserves_names(kspec: Kspec, words: str) -> None:
    assume(words.strip() == words)
    Path("g.json").write_text(json.dumps({"topics": {words: 1}, "members": {"m": [words]}}))
    (answer,) = json.loads(kspec("assign", "range", "g.json", "--json").out)["rounds"]
    assert answer["members"]["m"]["assigned"] == [[words, 0]]


# -- streams that are closed, narrow, or only ASCII ----------------------------------------------


@pytest.mark.parametrize("arguments", [["show"], ["coordinator"], ["assign", "range"]])
def test_a_closed_standard_input_is_refused(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    ran = kspec(*arguments, "-")
    assert_refused(ran)
    assert "standard input: it is closed" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed",
    [
        "<&- >&- 2>&-",
        "<&-",
        ">&-",
        "2>&-",
    ],
)
def test_closed_streams_do_not_change_the_exit_code(
    shell: Callable[[str], subprocess.CompletedProcess[str]], closed: str
) -> None:
    for line, code in (
        ("check die-hard", 12),
        ("check die-hard --json", 12),
        ("check nothing", 151),
        ("show -", 151),
        ("coordinator a", 0),
        ("models --help", 0),
    ):
        ran = shell(f"kspec {line} {closed} < /dev/null; code=$?; exec 1<&0; exit $code")
        assert ran.returncode == code, line
        assert "Traceback" not in ran.stdout + ran.stderr


def in_a_terminal(columns: int, *arguments: str) -> str:
    """The output of a command on a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    running = subprocess.Popen(
        [sys.executable, "-m", "kspec", *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment | {"TERM": "dumb", "NO_COLOR": "1"},
    )
    os.close(theirs)
    printed = b""
    while True:
        try:
            some = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not some:
            break
        printed += some
    running.wait(timeout=1800)
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 70])
def test_lines_are_folded_on_a_narrow_terminal(columns: int) -> None:
    for arguments in (
        ["models", "replication"],
        ["check", "replication", "--set", "brokers=1"],
        ["check", "replication", "--variant", "truncate-to-hw", "--engine", "reference"],
        ["assign", "range", "--topic", "t=99", "--topic", "u=9", "--member", "m=t,u"],
    ):
        printed = in_a_terminal(columns, *arguments)
        commands = ": kspec ", "example: kspec "  # to copy, so they stay whole
        lines = [
            line
            for line in printed.splitlines()
            if not any(command in line for command in commands)
        ]
        assert max(map(len, lines)) <= columns, printed


def test_lines_are_not_folded_in_a_pipe(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ran = kspec("check", "replication", "--set", "brokers=1")
    assert any(
        line.startswith("Not modelled: ") and len(line) > 100 for line in ran.out.splitlines()
    )


@pytest.mark.slow
def test_an_ascii_terminal_gets_replacements(
    shell: Callable[[str], subprocess.CompletedProcess[str]],
) -> None:
    line = "kspec check replication --variant truncate-to-hw --engine reference"
    shown = shell(line).stdout
    in_ascii = shell(f"PYTHONIOENCODING=ascii {line}").stdout
    assert not shown.isascii()
    assert in_ascii.isascii()
    assert "?" not in in_ascii
    trace, _, _ = in_ascii.partition("WeakIsr fails")
    shown = shown.replace("–→", "- -> ").replace("→–", " -> -")
    assert "".join(IN_ASCII.get(c, c) for c in shown).startswith(trace)
    assert "-->" not in in_ascii
    ran = shell("PYTHONIOENCODING=ascii kspec coordinator groupe-é-中 --json")
    assert json.loads(ran.stdout)["groups"][0]["group"] == "groupe-é-中"


@pytest.mark.slow
def test_every_character_that_kspec_prints_has_an_ascii_replacement(kspec: Kspec) -> None:
    printed = kspec("models", "--rules").out
    for command in summaries():
        printed += kspec(command, "--help").out
    for model in ("delivery", "group --variant before-kip-394", "offsets-topic", "watermarks"):
        printed += kspec("simulate", *model.split(), "--walks", "3").out
    assert {c for c in printed if not c.isascii()} <= IN_ASCII.keys()


# -- models of one's own -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["random", "json", "traces", "spec", "click", "numpy", "encodings", "__main__", "a.b", "a-b"],
)
def test_a_model_file_does_not_replace_a_module(kspec: Kspec, name: str) -> None:
    before = dict(sys.modules)
    Path(f"{name}.py").write_text("from examples import COUNTER\nimport random\nrandom.random()\n")
    assert kspec("check", f"./{name}.py").code == 0
    assert {n: m for n, m in sys.modules.items() if n in before} == before


def test_names_of_existing_modules_are_not_free(tmp_path: Path) -> None:
    for name in {*sys.stdlib_module_names, *sys.modules, "kspec", "spec"} - FROM_FILES:
        assert free_name(tmp_path / f"{name}.py") != name


@pytest.mark.parametrize(
    "source",
    ["raise SystemExit(3)", "import sys; sys.exit(0)", "exit('bye')", "raise BaseException"],
)
def test_a_model_that_ends_the_program_is_refused(kspec: Kspec, source: str) -> None:
    Path("own.py").write_text(source)
    ran = kspec("check", "own.py")
    assert_refused(ran)
    assert "own.py, line 1: " in ran.err


@pytest.mark.parametrize("engine", ["reference", "learned"])
def test_a_rule_that_ends_the_program_is_refused(kspec: Kspec, engine: str) -> None:
    Path("own.py").write_text(
        "from spec.core import Model, Variant, rule\n"
        "@rule(by='nobody')\n"
        "def step(s):\n"
        "    raise SystemExit(3)\n"
        "MODEL = Model(name='own', doc='', initial=lambda b: [0], properties=(),\n"
        "              variants=(Variant('own', (step,), why=''),))\n"
    )
    ran = kspec("check", "own.py", "--engine", engine, "--workers", "1")
    assert_refused(ran)


def test_a_models_own_output_goes_to_standard_error(kspec: Kspec) -> None:
    Path("own.py").write_text("from examples import COUNTER\nprint('hello')")
    ran = kspec("check", "own.py", "--json")
    assert json.loads(ran.out)["verdict"] == "holds"
    assert ran.err == "hello\n"


# -- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "replication", "--set", "acks=all"], "no bound of replication named 'acks'"),
        (["check", "counter", "--set", "top=" + "9" * 5000], "top is a whole number"),
        (["coordinator", ""], "a group id is not empty"),
        (["coordinator", "\udcff"], "not UTF-8"),
        (["bundle", "kspec.txt"], "does not end in .zip"),
        (["bundle", "-"], "name a file"),
        (["check", "counter", "--html", "-"], "name a file"),
        (["check", "counter", "--out-itf", "-"], "name a file"),
        (["check", "counter", "--checkpoint", "-"], "name a file"),
        (["simulate", "counter", "--html", "-"], "name a file"),
        (["traces", "counter", "--out", "-"], "name a file"),
    ],
)
def test_invalid_arguments_are_refused(kspec: Kspec, arguments: list[str], says: str) -> None:
    ran = kspec(*arguments)
    assert_refused(ran)
    assert says in ran.err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("content", ["", "\n\n", "\r\n"])
def test_a_list_without_groups_is_refused(kspec: Kspec, content: str) -> None:
    Path("groups").write_text(content)
    ran = kspec("coordinator", "--file", "groups")
    assert_refused(ran)
    assert "groups lists no group" in ran.err


def test_help_is_a_command(kspec: Kspec) -> None:
    assert kspec("help") == kspec("--help")
    for command in summaries():
        assert kspec("help", command) == kspec(command, "--help")
    ran = kspec("help", "chekc")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "did you mean check" in ran.err


# -- the environment -----------------------------------------------------------------------------


def test_an_unsupported_platform_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as end:
        start.kspec()
    assert end.value.code == 151
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "Windows is not supported" in said.err
