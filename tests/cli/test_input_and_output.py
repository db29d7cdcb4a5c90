"""Files at the prompt: what cannot be read, cannot be written, or is no file at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from checkers import start
from checkers.start import EXIT_INTERRUPTED
from tests.cli.conftest import Kspec


def test_whether_a_file_can_be_read_is_no_question_of_usage(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    monkeypatch.setattr("os.access", lambda *asked, **more: False)  # as root, all can be read
    assert kspec("show", "t.itf.json").code == 0


def test_a_model_that_cannot_be_read_is_told_by_its_name(kspec: Kspec) -> None:
    Path("own.py").symlink_to("/proc/self/mem")  # a file that nobody can read from its beginning
    ran = kspec("check", "own.py")
    assert (ran.code, ran.err) == (151, "kspec: cannot read own.py: Input/output error\n")


def test_what_a_model_cannot_read_itself_is_told_with_its_line(kspec: Kspec) -> None:
    Path("own.py").write_text("\nopen('nowhere')")
    assert "own.py, line 2: FileNotFoundError" in kspec("check", "own.py").err


@pytest.mark.parametrize("arguments", [["bundle"], ["check", "die-hard", "--html"]])
def test_a_directory_is_no_file_to_write(kspec: Kspec, arguments: list[str]) -> None:
    Path("there").mkdir()
    ran = kspec(*arguments, "there")
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert "cannot write there: " in ran.err


@pytest.mark.parametrize("option", ["--html", "--out-itf"])
def test_standard_output_is_no_place_for_a_counterexample(kspec: Kspec, option: str) -> None:
    ran = kspec("check", "die-hard", option, "-")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == "kspec: standard output is for what is said: name a file\n"
    assert list(Path().iterdir()) == []


def test_a_trace_is_shown_from_standard_input(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    with Path("t.itf.json").open() as trace:
        monkeypatch.setattr("sys.stdin", trace)
        piped = kspec("show", "-")
    assert (piped.code, piped.out) == (0, kspec("show", "t.itf.json").out)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("bad.json", "bad.json is no Python file"),
        ("there", "there is no Python file"),
        ("./there", "./there is a directory"),
        ("own.py/", "no file own.py/"),
    ],
)
def test_what_is_no_python_file_is_no_model(kspec: Kspec, reference: str, says: str) -> None:
    Path("bad.json").write_text("{}")
    Path("there").mkdir()
    Path("own.py").write_text("from spec.toys import COUNTER")
    ran = kspec("check", reference)
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert says in ran.err


def test_ctrl_c_is_a_line_also_while_a_command_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupted)
    with pytest.raises(SystemExit) as end:
        start.kspec()
    assert end.value.code == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "kspec: interrupted\n"


def test_the_scripts_begin_with_what_is_imported_at_once() -> None:
    """What comes before `begin` is not guarded, so it had better be little."""
    script = "import sys; import spark_check.start; print('click' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout == "False\n"
