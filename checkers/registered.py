"""What installed packages register for kspec by entry points: commands, models, jobs for Spark.

kspec's own are registered in the same way (`pyproject.toml`), so that nothing here names a module
of a layer above, and your package can add a command or a model.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from kspec.spec.core import SpecError

COMMANDS = "kspec.commands"
"""Sections of commands: each a `kspec.checkers.cli.sections.Section`."""
MODELS = "kspec.models"
"""Models by their names at the prompt."""
LEMMAS = "kspec.lemmas"
"""Modules that state lemmas."""
SPARK = "kspec.spark"
"""What runs on Spark: `explore`, `refine` and `traces`, and what they `need`."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """What is registered in a group, by name."""
    return {point.name: point for point in entry_points(group=group)}


def load(group: str, name: str) -> Any:
    """What a name in a group stands for, imported now."""
    found = registered(group).get(name)
    if found is None:
        raise SpecError(f"{name} of {group} is not registered: install kspec again")
    return found.load()
