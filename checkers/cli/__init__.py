"""The command line: `kspec COMMAND …`.

Each command is a module of its own here, imported only when it is asked for. What they share,
the common options and the way in which things are said, is in `options` and `output`.
"""

from __future__ import annotations

from checkers.cli.main import main

__all__ = ["main"]
