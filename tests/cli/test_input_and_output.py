"""Files at the prompt that cannot be read or written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from pyarrow.parquet import ParquetWriter

from kspec import start
from kspec.start import EXIT_INTERRUPTED
from tests.cli.conftest import Kspec


def test_an_unreadable_file_is_not_wrong_usage(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    kspec("check", "die-hard", "--out-itf", "t.itf.json")
    monkeypatch.setattr("os.access", lambda *asked, **more: False)  # as root, all can be read
    assert kspec("show", "t.itf.json").code == 0


def test_a_model_that_cannot_be_read_is_reported_by_name(kspec: Kspec) -> None:
    Path("own.py").symlink_to("/proc/self/mem")  # reading it from its beginning fails
    ran = kspec("check", "own.py")
    assert (ran.code, ran.err) == (151, "kspec: cannot read own.py: Input/output error\n")


def test_an_os_error_in_a_model_is_reported_with_its_line(kspec: Kspec) -> None:
    Path("own.py").write_text("\nopen('nowhere')")
    assert "own.py, line 2: FileNotFoundError" in kspec("check", "own.py").err


@pytest.mark.parametrize("arguments", [["bundle"], ["check", "die-hard", "--html"]])
def test_a_directory_cannot_be_written(kspec: Kspec, arguments: list[str]) -> None:
    Path("there.zip").mkdir()
    ran = kspec(*arguments, "there.zip")
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert "cannot write there.zip: " in ran.err


@pytest.mark.parametrize("option", ["--html", "--out-itf"])
def test_a_counterexample_cannot_be_written_to_standard_output(kspec: Kspec, option: str) -> None:
    ran = kspec("check", "die-hard", option, "-")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == "kspec: standard output carries the report: name a file\n"
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
        ("bad.json", "bad.json is not a Python file"),
        ("there", "there is not a Python file"),
        ("./there", "./there is a directory"),
        ("own.py/", "no file own.py/"),
    ],
)
def test_other_files_are_refused_as_models(kspec: Kspec, reference: str, says: str) -> None:
    Path("bad.json").write_text("{}")
    Path("there").mkdir()
    Path("own.py").write_text("from examples import COUNTER")
    ran = kspec("check", reference)
    assert (ran.code, ran.out, ran.err.count("\n")) == (151, "", 1)
    assert says in ran.err


def test_ctrl_c_during_an_import_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.__import__", interrupted)
    with pytest.raises(SystemExit) as end:
        start.kspec()
    assert end.value.code == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "kspec: interrupted\n"


def test_the_script_imports_little_before_it_guards_against_ctrl_c() -> None:
    script = "import sys; import kspec.start; print('click' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.stdout == "False\n"


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_bundle_is_written_whole_or_not_at_all(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("kspec.zip").write_text("the one before")
    monkeypatch.setattr(ZipFile, "write", full)
    ran = kspec("bundle", "kspec.zip")
    assert (ran.code, ran.err) == (151, "kspec: cannot write kspec.zip: No space left on device\n")
    assert [path.read_text() for path in Path().iterdir()] == ["the one before"]


@pytest.mark.parametrize(
    ("kind", "method", "file"),
    [
        (ParquetWriter, "write_table", "vectors/states.parquet"),
        (Path, "write_text", "vectors/itf/000000000.itf.json"),
    ],
)
def test_a_full_disk_is_reported_with_the_file_of_the_traces(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch, kind: type, method: str, file: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(kind, method, full)
        ran = kspec("traces", "die-hard", "--out", "vectors", "--itf")
    assert (ran.code, ran.err) == (151, f"kspec: {file}: No space left on device\n")
