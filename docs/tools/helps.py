"""Bring the help texts in docs/command-line.md up to date: `python docs/tools/helps.py`.

Each block that begins with `$ kspec … --help` shows what that command prints now. A test
compares, and fails until this was run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "command-line.md"


def current(block: re.Match[str]) -> str:
    """The block with what its command prints now."""
    command = block.group("command")
    line = [sys.executable, "-m", "checkers", *command.split()[1:]]
    printed = subprocess.run(line, capture_output=True, text=True, check=True).stdout.rstrip()
    return f"```console\n$ {command}\n{printed}\n```"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    pattern = r"```console\n\$ (?P<command>kspec[^\n]*--help)\n.*?\n```"
    PAGE.write_text(re.sub(pattern, current, text, flags=re.DOTALL), encoding="utf-8")
