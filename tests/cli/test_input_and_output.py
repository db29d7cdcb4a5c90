"""Files at the prompt: what cannot be read, cannot be written, or is no file at all."""

from __future__ import annotations

from pathlib import Path

import pytest

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
