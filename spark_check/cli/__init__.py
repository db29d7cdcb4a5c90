"""What is typed at the prompt about Spark; the other jobs are options of other commands."""

from __future__ import annotations

from kspec.checkers.cli.sections import Section

COMMANDS = Section("Spark", __name__, {"bundle": "write the archive that Spark's workers need"})
