"""Sections of commands, as packages register them (`kspec.checkers.registered`)."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import attrs
import click


@attrs.frozen
class Section:
    """Commands that `kspec --help` lists together."""

    title: str
    """Its heading."""
    package: str
    """The package of its commands; the module of a command has its name."""
    commands: Mapping[str, str]
    """The commands, each with a summary, in the order in which a newcomer needs them. The module of
    `conform broker` is `conform_broker`."""

    def load(self, name: str) -> click.Command:
        """A command, whose module is imported now."""
        module = name.replace(" ", "_")
        command: click.Command = getattr(
            importlib.import_module(f"{self.package}.{module}"), module
        )
        return command
