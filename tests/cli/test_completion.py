"""Shell completion: commands, options, models, and their variants, bounds and properties."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from kspec.checkers.cli.main import kspec, summaries
from kspec.checkers.models.find import find_model, registered_models

ROOT = Path(__file__).parents[2]
Shell = Callable[[str], subprocess.CompletedProcess[str]]


def completions(*words: str) -> list[str]:
    """The completions of the last word."""
    *before, incomplete = words
    found = ShellComplete(kspec, {}, "kspec", "_KSPEC_COMPLETE").get_completions(before, incomplete)
    return [item.value for item in found if item.type == "plain"]


def test_commands_are_completed() -> None:
    assert completions("") == [name for name in summaries() if " " not in name]
    assert completions("co") == ["coordinator", "conform"]
    assert "--version" in completions("--")


@pytest.mark.parametrize("command", ["check", "simulate", "mutate", "refine", "traces"])
def test_models_variants_and_bounds_are_completed(command: str) -> None:
    assert completions(command, "") == [*registered_models()]
    assert completions(command, "repl") == ["replication"]
    model = find_model("replication")
    assert completions(command, "replication", "--variant", "") == [v.name for v in model.variants]
    assert completions(command, "replication", "--set", "max_r") == ["max_records="]
    assert "--variant" in completions(command, "replication", "--v")


def test_properties_are_completed() -> None:
    assert completions("check", "replication", "--property", "Weak") == ["WeakIsr"]


def test_completion_executes_no_user_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("open('executed', 'w')")
    assert completions("check", "own.py", "--variant", "") == []
    assert not Path("executed").exists()


def test_an_unknown_word_has_no_completions() -> None:
    assert completions("chekc", "repl") == []
    assert completions("check", "nothing", "--set", "") == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_after_the_documented_line(shell: Shell) -> None:
    line = 'eval "$(_KSPEC_COMPLETE=bash_source kspec)"'
    assert f"`{line}`" in (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    ran = shell(
        f"{line}; "
        "COMP_WORDS=(kspec check replication --variant kip-3); COMP_CWORD=4; "
        "_kspec_completion kspec; echo ${COMPREPLY[@]}"
    )
    assert (ran.stdout, ran.stderr) == ("kip-320-first-try kip-320\n", "")
    for name in ("zsh", "fish"):
        assert "_KSPEC_COMPLETE" in shell(f"_KSPEC_COMPLETE={name}_source kspec").stdout
