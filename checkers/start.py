"""The entry point of the scripts: the errors that occur before a command can be imported.

Ctrl-C during the imports is reported in one line, without a traceback. So is an unsupported
platform, and another package with the name of one of kspec's.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

EXIT_INTERRUPTED, EXIT_CANNOT_START = 130, 151

PACKAGES = ("spec", "examples", "impl", "checkers", "traces", "spark_check")
"""The packages of kspec."""

ROOT = Path(__file__).resolve().parents[1]
"""The folder that they are in."""


def kspec() -> None:
    """`kspec`."""
    begin("checkers.cli.main")


def begin(module: str) -> None:
    """Import a command and run its `main`, which handles Ctrl-C itself."""
    obstacle = what_prevents_a_start()
    if obstacle:
        print(f"kspec: {obstacle}", file=sys.stderr)
        sys.exit(EXIT_CANNOT_START)
    try:
        main = importlib.import_module(module).main
    except KeyboardInterrupt:
        print("kspec: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    main()


def what_prevents_a_start() -> str:
    """Why kspec cannot run here, in a line; empty if it can."""
    if sys.platform == "win32":
        return "Windows is not supported; kspec runs on Linux and macOS, and in WSL"
    for package in PACKAGES:
        found = find_spec(package)
        place = found.origin if found else None
        if place is None:
            return f"the package {package} of kspec is missing: install kspec again"
        if ROOT not in Path(place).resolve().parents:
            return (
                f"{place} is in the way of kspec's own package {package}: "
                "run kspec from another folder, or take that one off PYTHONPATH"
            )
    return ""
