"""What `docs/assignors.md` shows is what the commands print."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from checkers.cli.main import run

ROOT = Path(__file__).parents[2]

SHOWN = re.findall(
    r"```console\n\$ kspec (.+)\n((?:.*\n)*?)```",
    (ROOT / "docs" / "assignors.md").read_text(encoding="utf-8"),
)


@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(
    command: str,
    printed: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "kafka-python" in command and find_spec("kafka") is None:
        pytest.skip("kafka-python is not installed: pip install '.[clients]'")
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    run(shlex.split(command))
    beginning, _, cut = printed.partition("…\n")
    out = capsys.readouterr().out
    assert out.startswith(beginning)
    assert cut == ""
    assert "…\n" in printed or out.rstrip() == beginning.rstrip()
