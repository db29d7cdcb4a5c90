"""Models by name: kspec's own, and a user's own by module or by file.

A user's module or file is code, and is executed. It never takes the place of a module that
kspec or Python needs, and whatever is wrong with it is reported in one line.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

from kspec.checkers.models.blame import folder_imported
from kspec.checkers.registered import MODELS, load, registered
from kspec.spec.core import Model, SpecError, Variant, look_up
from kspec.spec.core.errors import line_to_blame


@cache
def registered_models() -> Mapping[str, EntryPoint]:
    """The models that have a name at the prompt: the specification's, and then examples."""
    found = registered(MODELS)
    return dict(sorted(found.items(), key=lambda item: not item[1].module.startswith(SPEC)))


SPEC = "kspec.spec."


def built_in(name: str) -> Model[Any]:
    """A model by its name; imported now."""
    model: Model[Any] = load(MODELS, name)
    return model


def find_model(reference: str) -> Model[Any]:
    """A model by its name, by `module:attribute`, or by the path of a file (`file.py:attribute`).

    A module or file is code, and is executed.
    """
    if reference in registered_models():
        return built_in(reference)
    place, _, attribute = reference.rpartition(":")
    if reference.startswith(":"):
        raise SpecError(f"{reference} names no module: type module:attribute or file.py:attribute")
    if not place:
        place, attribute = attribute, ""
    if place.endswith(".py") or "/" in place:
        module = load_code(place, from_file)
    elif ":" in reference:
        module = load_code(place, from_name)
    else:
        if Path(f"{reference}.py").is_file():
            raise SpecError(f"no model named {reference!r}: did you mean {reference}.py?")
        if Path(reference).exists():
            own = "give a model of your own as file.py or module:attribute"
            raise SpecError(f"{reference} is not a Python file: {own}")
        look_up("model", reference, registered_models())
        raise AssertionError("look_up raises where there is no such name")
    return model_in(module, place, attribute)


def model_in(module: ModuleType, place: str, attribute: str) -> Model[Any]:
    """The model of a user's module that has this attribute; without one, its only model."""
    models = {name: value for name, value in vars(module).items() if isinstance(value, Model)}
    if attribute:
        if attribute in vars(module) and attribute not in models:
            raise SpecError(f"{attribute} in {place} is not a Model")
        found: Model[Any] = look_up(f"model in {place}", attribute, models)
        return found
    # A file that derives a model from kspec's own imports that one, and does not mean it.
    own = {name: model for name, model in models.items() if not is_built_in(model)}
    if not own:
        refuse_lone_variant(module, place, list(models))
    models = own or models
    if len(models) != 1:
        if not models:
            raise SpecError(f"{place} defines no Model")
        names = " or ".join(f"{place}:{name}" for name in models)
        raise SpecError(f"{place} defines {len(models)} models: choose {names}")
    return next(iter(models.values()))


def refuse_lone_variant(module: ModuleType, place: str, models: list[str]) -> None:
    """Raise SpecError if the module derives a variant that is in no model.

    Otherwise kspec's own model would be checked, without that variant.
    """
    known = {id(v) for name in models for v in getattr(module, name).variants}
    for variant in vars(module).values():
        if isinstance(variant, Variant) and id(variant) not in known:
            base = models[0] if models else "MODEL"
            how = f"evolve({base}, variants=(*{base}.variants, …))"
            raise SpecError(f"{place}: the variant {variant.name} is in no Model; add it: {how}")


def is_built_in(model: Model[Any]) -> bool:
    """Whether this is one of kspec's models itself."""
    points = registered_models().values()
    return any(getattr(sys.modules.get(p.module), p.attr, None) is model for p in points)


def find_object(reference: str) -> Any:
    """Anything by `module:attribute`, or by `file.py:attribute`; the code is executed."""
    place, _, attribute = reference.rpartition(":")
    if not place:
        raise SpecError(f"{reference} is neither module:attribute nor file.py:attribute")
    module = load_code(place, from_file if place.endswith(".py") or "/" in place else from_name)
    return look_up(f"object in {place}", attribute, vars(module))


def load_code(place: str, how: Any) -> ModuleType:
    """Import a user's module; SpecError with one line if that fails.

    What the module prints goes to standard error: standard output is for the answer.
    """
    try:
        with redirect_stdout(sys.stderr):
            module: ModuleType = how(place)
    except (SpecError, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise SpecError(f"{error.filename or place}{line}: {error.msg}") from error
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise SpecError(f"no module {place}; it must be here, or on PYTHONPATH") from error
        raise SpecError(f"{place} imports {error.name}, which is not installed") from error
    except BaseException as error:  # SystemExit as well: its code would become kspec's
        folder = folder_imported(error)
        if isinstance(error, OSError) and not folder:
            raise SpecError(f"cannot read {place}: {error.strerror}") from error
        if not folder:
            raise SpecError(f"{place} is not Python: {error}") from error
        frame = line_to_blame(error, folder)
        what = f"{type(error).__name__}: {error}"
        raise SpecError(f"{frame.filename}, line {frame.lineno}: {what}") from error
    return module


def from_name(name: str) -> ModuleType:
    """Import by name; the current folder is searched last."""
    search_last(Path.cwd())
    return importlib.import_module(name)


def from_file(name: str) -> ModuleType:
    """Import a file, which may import its neighbours."""
    path = Path(name)
    if path.is_dir():
        raise SpecError(f"{name} is a directory")
    if path.exists() and not path.is_file():
        raise SpecError(f"{name} is a device or a pipe, not a Python file")
    if not path.is_file() or name.endswith("/"):
        raise SpecError(f"no file {name}")
    known_as = free_name(path)
    search_last(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(known_as, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[known_as] = module
    FROM_FILES.add(known_as)
    spec.loader.exec_module(module)
    return module


FROM_FILES: set[str] = set()
"""The names of modules that were imported from files."""


def free_name(path: Path) -> str:
    """A name for the module in a file: the file's, unless another module has it.

    A file `random.py` must not become Python's own `random`. A file that was loaded before may
    be loaded again.
    """
    name = path.stem
    if name.isidentifier() and (name in FROM_FILES or is_free(name, path)):
        return name
    digest = hashlib.sha256(str(path.resolve()).encode(errors="surrogateescape")).hexdigest()
    return f"{name.replace('.', '_')}_{digest[:8]}"


def is_free(name: str, path: Path) -> bool:
    """Whether no module has the name, or only the one in this file."""
    if name in sys.modules or name in sys.stdlib_module_names:
        return False
    found = importlib.util.find_spec(name)
    return found is None or Path(found.origin or "").resolve() == path.resolve()


def search_last(folder: Path) -> None:
    """Let modules in a folder be imported, after all others of the same names."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
