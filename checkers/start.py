"""What the scripts begin with: importing a command takes a moment, in which Ctrl-C is a line."""

from __future__ import annotations

import importlib
import sys

EXIT_INTERRUPTED = 130


def kspec() -> None:
    """`kspec`."""
    begin("checkers.cli.main")


def begin(module: str) -> None:
    """Import a command, and run its `main`, which says itself what becomes of Ctrl-C."""
    try:
        main = importlib.import_module(module).main
    except KeyboardInterrupt:
        print("kspec: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    main()
