"""A second name for a package, under which its modules are the same objects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class Alias(MetaPathFinder, Loader):
    """Finds `alias.a.b` as `package.a.b`."""

    def __init__(self, alias: str, package: str) -> None:
        self.alias = alias
        self.package = package

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Any module below the alias, as long as that still stands for the package."""
        if not fullname.startswith(f"{self.alias}."):
            return None
        if sys.modules.get(self.alias) is not sys.modules[self.package]:
            return None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, under its own name."""
        module = import_module(self.package + spec.name.removeprefix(self.alias))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own description back, which the import replaced by the alias's."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def stand_for(alias: str, package: str) -> None:
    """From now on, `import alias` and `import alias.module` give the modules of the package."""
    sys.modules[alias] = import_module(package)
    sys.meta_path.insert(0, Alias(alias, package))
