"""A system by name, for other processes to look up."""

from __future__ import annotations

from typing import Any

import attrs

from kspec.checkers.models.find import find_model
from kspec.spec.core import System


@attrs.frozen
class Named:
    """Model, variant, bounds and properties."""

    model: str
    """As commands accept it."""
    variant: str
    bounds: tuple[tuple[str, int], ...]
    properties: tuple[str, ...]

    @classmethod
    def of(cls, model: str, system: System[Any]) -> Named:
        """The name of a system of this model."""
        bounds = attrs.asdict(system.bounds, recurse=False)
        properties = tuple(p.name for p in system.properties)
        return cls(model, system.variant.name, tuple(bounds.items()), properties)

    def system(self) -> System[Any]:
        """The system."""
        system = find_model(self.model).system(self.variant, dict(self.bounds))
        return system.with_properties(self.properties)
