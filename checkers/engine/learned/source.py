"""Fingerprints of code, which are equal unless something changes that an answer can depend on.

A fingerprint covers a function's instructions and constants, and everything that these refer to
through global names, attributes of modules, defaults and closures: functions, classes and
constants, recursively. It does not cover docstrings, comments, annotations and line numbers. Of
the standard library, installed packages and the core it covers names and versions only. It does
not follow methods called on a parameter: they belong to the classes of values, which have
fingerprints of their own.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import importlib.metadata
import sys
import sysconfig
import types
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from inspect import getattr_static
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from kspec import HOME
from kspec.spec.core.sets import Entries

OURS = ("kspec",)
"""Packages whose code is followed, wherever they are installed."""
CORE = ("kspec.spec.core", "kspec.checkers.engine.learned")
"""Except for these, whose text is part of `environment`."""

REACHING = frozenset(
    {
        "ctypes", "gc", "importlib", "inspect", "io", "marshal", "os", "pathlib", "pkgutil",
        "random", "runpy", "secrets", "socket", "subprocess", "sys", "tempfile", "threading",
        "time",
    }
)  # fmt: skip
"""Modules that lead to code or data that cannot be followed."""
REACHING_BUILTINS = frozenset(
    {
        "__import__", "breakpoint", "compile", "eval", "exec", "globals", "id", "input", "locals",
        "open",
    }
)  # fmt: skip

PLACES = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    type(vars(NamedTuple("Pair", [("one", int)]))["one"]),
)
"""The attributes with which Python and attrs implement fields."""

ATOMS = (int, str, bool, float, complex, bytes, range, type(None), type(...), type(NotImplemented))
"""Classes whose `repr` shows the complete value."""

IGNORED = frozenset(
    {
        "__abstractmethods__", "__annotations__", "__attrs_attrs__", "__attrs_own_setattr__",
        "__attrs_props__", "__dict__", "__doc__", "__firstlineno__", "__match_args__",
        "__module__", "__orig_bases__", "__parameters__", "__qualname__", "__slots__",
        "__static_attributes__", "__weakref__", "_abc_impl",
    }
)  # fmt: skip
"""Attributes of classes that belong to Python and attrs."""

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")

MISSING = object()


class Unkeyable(Exception):
    """A value has no fingerprint."""


@attrs.frozen(eq=False)
class Node:
    """A function, class or value that code refers to."""

    thing: Any
    """Referenced, so that no other object gets its `id`."""
    label: bytes
    children: tuple[Any, ...]
    shared: bool
    """Whether it may refer to itself through others."""


class Sources:
    """Computes fingerprints, visiting each object once."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}

    def fingerprint_of(self, thing: Any) -> str | None:
        """The fingerprint of a function, class or value; None if it has none."""
        try:
            return self.digest(thing)
        except (Unkeyable, RecursionError, ValueError):  # for example an int of too many digits
            return None

    def digest(self, thing: Any) -> str:
        """The same as `fingerprint_of`, but raises Unkeyable."""
        digest = hashlib.sha256()
        seen: dict[int, int] = {}
        todo = [thing]
        while todo:
            one = todo.pop()
            node = self.nodes.get(id(one)) or self.visit(one)
            if node.shared:
                if id(one) in seen:
                    digest.update(b"again %d;" % seen[id(one)])
                    continue
                seen[id(one)] = len(seen)
            digest.update(b"%d %d " % (len(node.label), len(node.children)))
            digest.update(node.label)
            todo.extend(reversed(node.children))
        return digest.hexdigest()[:32]

    def visit(self, thing: Any) -> Node:
        """Describe one object, and find its references."""
        label, children, shared = self.described(thing)
        node = Node(thing, label.encode("utf-8", "surrogatepass"), tuple(children), shared)
        self.nodes[id(thing)] = node
        return node

    def described(self, thing: Any) -> tuple[str, list[Any], bool]:
        """A text for an object, its references, and whether these may lead back to it."""
        cls = type(thing)
        if cls in ATOMS:
            return f"{cls.__name__} {thing!r}", [], False
        if cls is tuple or cls is list:
            return cls.__name__, list(thing), cls is list
        if isinstance(thing, frozenset) or cls is set:
            return f"{cls.__name__} {sorted(map(self.digest, thing))}", [], False
        if cls is dict or cls is types.MappingProxyType:
            return "dict", [part for item in thing.items() for part in item], True
        if isinstance(thing, type):
            return self.described_class(thing)
        if isinstance(thing, types.FunctionType):
            return self.described_function(thing)
        if isinstance(thing, types.ModuleType):
            return f"module {library(thing.__name__)}", [], False
        wrapped = parts_of_wrapper(thing)
        if wrapped is not None:
            return cls.__name__, wrapped, True
        if isinstance(thing, types.BuiltinFunctionType):
            owner = thing.__self__
            if not isinstance(owner, types.ModuleType | None):
                return f"method {thing.__name__}", [owner], False
            return f"builtin {library(thing.__module__)} {thing.__qualname__}", [], False
        if isinstance(thing, types.MethodDescriptorType | types.WrapperDescriptorType):
            return f"method {thing.__name__}", [thing.__objclass__], False
        if typing.get_args(thing):
            return "typed", [typing.get_origin(thing), *typing.get_args(thing)], False
        if cls.__module__ == "typing":
            return f"typing {thing!r}", [], False
        return self.described_instance(thing)

    def described_instance(self, thing: Any) -> tuple[str, list[Any], bool]:
        """Describe an instance whose parts are known: attrs, a named tuple, an enumeration."""
        cls = type(thing)
        if isinstance(thing, Enum):
            return f"member {thing.name}", [cls], False
        if thing is attrs.NOTHING:
            return "nothing", [], False
        if isinstance(thing, attrs.Factory):  # type: ignore[arg-type]
            return f"factory {thing.takes_self}", [thing.factory], False
        if attrs.has(cls):
            fields = [getattr(thing, field.name, MISSING) for field in attrs.fields(cls)]
            return "instance", [cls, *fields], True
        if isinstance(thing, Entries):
            return "entries", [cls, *thing.pairs()], False
        if isinstance(thing, tuple) and hasattr(cls, "_fields"):
            return "named tuple", [cls, *thing], False
        for base in (int, str, float, bytes):
            if isinstance(thing, base) and not getattr(thing, "__dict__", None):
                return f"of {base.__name__} {base.__repr__(thing)}", [cls], False
        if thing is MISSING:
            return "missing", [], False
        raise Unkeyable(f"a {cls.__qualname__}")

    # -- classes --------------------------------------------------------------------------------

    def described_class(self, cls: type) -> tuple[str, list[Any], bool]:
        """Describe a class: bases, fields, members, methods and other attributes."""
        known = library_of(cls, cls.__module__)
        if known is not None:
            return f"class {known} {cls.__qualname__}", [], False
        label = [f"class {cls.__module__} {cls.__qualname__}"]
        children: list[Any] = [type(cls), *cls.__bases__]
        if "__attrs_attrs__" in vars(cls):
            for field in attrs.fields(cls):
                flags = field.eq, field.order, field.hash, field.init, field.kw_only
                label.append(f"field {field.name} {field.alias} {flags}")
                children += [field.default, field.converter, field.validator]
                children += [field.eq_key, field.order_key, field.on_setattr]
        is_enum = issubclass(cls, Enum)
        members: Mapping[str, Any] = vars(cls).get("_member_map_", {}) if is_enum else {}
        for name, member in members.items():
            label.append(f"member {name} {member.name}")
            children.append(member.value)
        for name, value in sorted(vars(cls).items()):
            if name in IGNORED or name in members:
                continue
            if is_enum and name.startswith("_") and not isinstance(value, types.FunctionType):
                continue
            if isinstance(value, PLACES):
                continue
            label.append(f"has {name}")
            if not is_generated(value):
                children.append(value)
        return "\n".join(label), children, True

    # -- functions ------------------------------------------------------------------------------

    def described_function(self, function: types.FunctionType) -> tuple[str, list[Any], bool]:
        """Describe a function: its instructions, and their references."""
        known = library_of(function, function.__module__)
        if known is not None:
            return f"function {known} {function.__qualname__}", [], False
        label: list[str] = []
        children: list[Any] = [function.__defaults__, function.__kwdefaults__]
        for cell in function.__closure__ or ():
            try:
                children.append(cell.cell_contents)
            except ValueError:
                children.append(MISSING)
        children += [part for item in sorted(vars(function).items()) for part in item]
        self.read_code(function.__code__, function.__globals__, label, children)
        return "\n".join(label), children, True

    def read_code(
        self, code: types.CodeType, space: Mapping[str, Any], label: list[str], to: list[Any]
    ) -> None:
        """Add the instructions of a function and of its nested functions."""
        arguments = code.co_argcount + code.co_kwonlyargcount
        label.append(
            f"code {code.co_argcount} {code.co_posonlyargcount} {code.co_kwonlyargcount} "
            f"{code.co_flags} {code.co_varnames[:arguments]} {code.co_freevars} "
            f"{code.co_exceptiontable!r}"
        )
        instructions = list(dis.get_instructions(code))
        for at, instruction in enumerate(instructions):
            name, value = instruction.opname, instruction.argval
            if instruction.opcode in dis.hasconst:
                label.append(name)
                value = code.co_consts[instruction.arg or 0]
                if isinstance(value, types.CodeType):
                    self.read_code(value, space, label, to)
                else:
                    to.append(value)
                continue
            label.append(f"{name} {value if isinstance(value, int | str) else instruction.arg}")
            if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                raise Unkeyable(f"{value}, which is written")
            if name in GLOBAL:
                to.append(self.named(value, space, instructions[at + 1 :]))
            elif name == "IMPORT_NAME":
                if instructions[at - 2].argval != 0:
                    raise Unkeyable(f"import of {value}")
                label.append(library(value))

    def named(self, name: str, space: Mapping[str, Any], following: list[dis.Instruction]) -> Any:
        """The object that a global name refers to; for a module, the attribute that is read."""
        if name not in space:
            if name in REACHING_BUILTINS:
                raise Unkeyable(name)
            return getattr(builtins, name, MISSING)
        found = space[name]
        for instruction in following:
            if not isinstance(found, types.ModuleType) or is_library(found.__name__):
                break
            if instruction.opname not in ATTRIBUTE:
                break
            found = getattr(found, instruction.argval, MISSING)
        return found


def parts_of_wrapper(thing: Any) -> list[Any] | None:
    """The parts of a method, a property or the like."""
    if isinstance(thing, staticmethod | classmethod):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget, thing.fset, thing.fdel]
    if isinstance(thing, functools.cached_property):
        return [thing.func]
    if isinstance(thing, types.MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, functools.partial):
        return [thing.func, thing.args, thing.keywords]
    if isinstance(thing, type(CACHED)):
        return [thing.__wrapped__]
    return None


@cache
def CACHED() -> None:
    """A function whose results are cached."""


def resolved(module: str, qualname: str) -> Any:
    """A class by name, in a module that is already imported."""
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found


def is_generated(method: Any) -> bool:
    """Whether a method is a function that attrs or namedtuple generated."""
    if not isinstance(method, types.FunctionType):
        return False
    by_attrs = method.__code__.co_filename.startswith("<attrs generated")
    return by_attrs or str(method.__globals__.get("__name__")).startswith("namedtuple_")


# -- libraries ------------------------------------------------------------------------------------


def library_of(thing: Any, module: str | None) -> str | None:
    """The library of a function or class, or None if its code is to be followed."""
    if not module or not is_library(module):
        return None
    owner: Any = sys.modules[module]
    if isinstance(thing, types.FunctionType):
        return library(module) if thing.__globals__ is vars(owner) else None
    for name in thing.__qualname__.split("."):
        owner = getattr_static(owner, name, None)
    heap = thing.__flags__ & 1 << 9
    return library(module) if owner is thing or not heap else None


def library(name: str) -> str:
    """The name and version of a module's library."""
    if not is_library(name):
        raise Unkeyable(f"module {name}")
    top = name.partition(".")[0]
    if top in REACHING:
        raise Unkeyable(f"module {name}")
    return f"{name} {version(top)}"


def is_library(name: str) -> bool:
    """Whether a module belongs to the standard library, an installed package, or the core."""
    module = sys.modules.get(name)
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    return is_from_library(name, getattr(module, "__file__", None) or origin)


@cache
def is_from_library(name: str, path: str | None) -> bool:
    """Whether a module that was loaded from this path belongs to a library."""
    top = name.partition(".")[0]
    if path is None:
        return False
    if path in ("built-in", "frozen"):
        return top in sys.stdlib_module_names
    if name.startswith(tuple(f"{core}." for core in CORE)) or name in CORE:
        return True
    if top in OURS:
        return False
    place = Path(path)
    if {"site-packages", "dist-packages"} & {*place.parts}:
        return True
    return top in sys.stdlib_module_names and any(map(place.is_relative_to, standard_places()))


@cache
def standard_places() -> tuple[Path, ...]:
    """The folders of the standard library."""
    paths = sysconfig.get_paths()
    return tuple(Path(paths[name]) for name in ("stdlib", "platstdlib"))


@cache
def version(top: str) -> str:
    """The version of a library."""
    if top in OURS or top in sys.stdlib_module_names:
        return ""  # as in `environment`
    try:
        return importlib.metadata.version({"attr": "attrs"}.get(top, top))
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(top)
        if not names:
            raise Unkeyable(f"package {top}") from None
        return " ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(names))


@cache
def environment() -> str:
    """A digest of Python, attrs, the learned engine and the core, which affect every result."""
    digest = hashlib.sha256(f"{sys.version} {sys.platform} {version('attrs')}".encode())
    for path in code_of_core():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:32]


def code_of_core() -> Iterator[Path]:
    """The files whose whole text counts."""
    for folder in CORE:
        yield from sorted((HOME.parent / folder.replace(".", "/")).glob("*.py"))
