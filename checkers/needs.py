"""What is not in the base installation: an extra of kspec installs it."""

from __future__ import annotations

from importlib.util import find_spec

from kspec.spec.core import SpecError


def needs(what: str, extra: str, *modules: str) -> None:
    """Raise SpecError, with the command that installs the extra, unless its modules are there."""
    for module in modules:
        if find_spec(module) is None:
            raise missing(what, extra, module)


def missing(what: str, extra: str, module: str) -> SpecError:
    """The error that says what to install."""
    package = module.replace("_", "-")
    return SpecError(f"{what} needs {package}: pip install -e '.[{extra}]' in a clone of kspec")
