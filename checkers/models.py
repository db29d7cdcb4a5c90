"""The models that kspec brings, and anyone's own, by name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from checkers.blame import folder_imported, line_to_blame
from spec.core import Model, SpecError, look_up

BUILT_IN = {
    "replication": "spec.replication:REPLICATION",
    "group": "spec.group:GROUP",
    "offsets-topic": "spec.offsets_topic:OFFSETS_TOPIC",
    "delivery": "spec.delivery:DELIVERY",
    "watermarks": "spec.watermarks:WATERMARKS",
    "counter": "spec.toys:COUNTER",
    "die-hard": "spec.toys:DIE_HARD",
    "two-phase-lock": "spec.toys:TWO_PHASE_LOCK",
    "corridor": "spec.toys:CORRIDOR",
}
"""Each model's name at the prompt, and where it is; imported when it is asked for."""


def find_model(reference: str) -> Model[Any]:
    """A model by its name, by `module:attribute`, or by the path of a file (`file.py:attribute`).

    A module or file is code, and is executed.
    """
    if reference in BUILT_IN:
        place, _, attribute = BUILT_IN[reference].partition(":")
        built_in: Model[Any] = getattr(importlib.import_module(place), attribute)
        return built_in
    place, _, attribute = reference.rpartition(":")
    if not place:
        place, attribute = attribute, ""
    if place.endswith(".py") or "/" in place:
        module = load(place, from_file)
    elif ":" in reference:
        module = load(place, from_name)
    else:
        if Path(f"{reference}.py").is_file():
            raise SpecError(f"no model named {reference!r}: did you mean {reference}.py?")
        if Path(reference).exists():
            ours = "a model of your own is file.py, or module:attribute"
            raise SpecError(f"{reference} is no Python file: {ours}")
        look_up("model", reference, BUILT_IN)
        raise AssertionError("look_up raises where there is no such name")
    models = {name: value for name, value in vars(module).items() if isinstance(value, Model)}
    if attribute:
        if attribute in vars(module) and attribute not in models:
            raise SpecError(f"{attribute} in {place} is no Model")
        found: Model[Any] = look_up(f"model in {place}", attribute, models)
        return found
    if len(models) != 1:
        names = ", ".join(f"{place}:{name}" for name in models) or "none"
        raise SpecError(f"{place} does not have one model but {len(models)}: {names}")
    return next(iter(models.values()))


def find_object(reference: str) -> Any:
    """Anything by `module:attribute`, or by `file.py:attribute`; the code is executed."""
    place, _, attribute = reference.rpartition(":")
    if not place:
        raise SpecError(f"{reference} names nothing: say module:attribute, or file.py:attribute")
    module = load(place, from_file if place.endswith(".py") or "/" in place else from_name)
    return look_up(f"object in {place}", attribute, vars(module))


def load(place: str, how: Any) -> ModuleType:
    """Import a module of somebody's own; what goes wrong in it is told in one line."""
    try:
        module: ModuleType = how(place)
    except SpecError:
        raise
    except SyntaxError as error:
        raise SpecError(f"{error.filename}, line {error.lineno}: {error.msg}") from error
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise SpecError(f"no module {place}: is its folder here, or on PYTHONPATH?") from error
        raise SpecError(f"{place} imports {error.name}, which is not installed") from error
    except Exception as error:
        folder = folder_imported(error)
        if isinstance(error, OSError) and not folder:
            raise SpecError(f"cannot read {place}: {error.strerror}") from error
        frame = line_to_blame(error, folder)
        what = f"{type(error).__name__}: {error}"
        raise SpecError(f"{frame.filename}, line {frame.lineno}: {what}") from error
    return module


def from_name(name: str) -> ModuleType:
    """Import by name, from this folder as well."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # at the end: nothing here may stand before our own
    return importlib.import_module(name)


def from_file(name: str) -> ModuleType:
    """Import a file, which may import its neighbours."""
    path = Path(name)
    if not path.is_file() or name.endswith("/"):
        raise SpecError(f"{name} is a directory" if path.is_dir() else f"no file {name}")
    sys.path.append(str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
