"""A system by name: a few words that find it again in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from checkers.models import find_model
from spec.core import System


@attrs.frozen
class Named:
    """Model, variant and bounds."""

    model: str
    """As the commands take it."""
    variant: str
    bounds: tuple[tuple[str, int], ...]

    def system(self) -> System[Any]:
        """The system."""
        return find_model(self.model).system(self.variant, dict(self.bounds))


def named(model: str, variant: str | None, settings: Sequence[str]) -> Named:
    """The name of the system that a command's options speak of."""
    from checkers.cli.options import find_system

    system = find_system(model, variant, settings)
    bounds = tuple(attrs.asdict(system.bounds, recurse=False).items())
    return Named(model, system.variant.name, bounds)
