"""Which models have a kernel, and the code of the rules it was compared with."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from kspec.impl.packed.kernel import Kernel, NoKernel
from kspec.impl.packed.layout import LayoutError
from kspec.spec.core import Model, Reachable, System

Make: TypeAlias = Callable[[System[Any]], Kernel[Any]]
"""Makes the kernel of a system of its model."""


@attrs.frozen
class WrittenFor:
    """The code of the rules that a kernel was compared with."""

    files: Sequence[str]
    """The files with the rules and properties."""
    variants: Sequence[str]
    """The variants that it supports."""
    fingerprint: str
    """The `fingerprint` of those files when kernel and rules were last found equal."""


KERNELS: Mapping[str, WrittenFor] = {
    "replication": WrittenFor(
        files=(
            "spec/log.py",
            "spec/replication/controller.py",
            "spec/replication/first_try.py",
            "spec/replication/follower.py",
            "spec/replication/leader.py",
            "spec/replication/properties.py",
            "spec/replication/state.py",
            "spec/replication/truncation.py",
            "spec/replication/unfenced.py",
            "spec/replication/variants.py",
            "spec/watermarks/updates.py",
        ),
        variants=("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320"),
        fingerprint="e73b28bc540ef3b5",
    ),
}
"""The models with a kernel. After an edit of a rule the fingerprints differ, and the rules are
explored instead of the outdated kernel; docstrings and comments do not count."""


class Edited(NoKernel):
    """The rules have changed since the kernel was compared with them."""


def fingerprint(files: Sequence[str]) -> str:
    """A short digest of the code of some files of this project, without comments and docstrings."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for name in files:
        code = ast.parse((root / name).read_text("utf-8"))
        digest.update(f"{name} {list(parts_of(code))}".encode())
    return digest.hexdigest()[:16]


def parts_of(node: Any) -> Iterator[object]:
    """A syntax tree as plain values, the same in every version of Python."""
    if isinstance(node, list):
        yield [list(parts_of(one)) for one in node if not is_text(one)]
    elif isinstance(node, ast.AST):
        yield type(node).__name__
        for name, value in ast.iter_fields(node):
            if value not in (None, []) and name not in ("type_comment", "kind"):
                yield name, list(parts_of(value))
    else:
        yield repr(node)


def is_text(statement: Any) -> bool:
    """Whether a statement is only a string, such as a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def kernel_for(system: System[Any]) -> Kernel[Any]:
    """The kernel of a system; NoKernel gives the reason in a line if there is none.

    A reachability property needs no kernel: the specification is asked about one state after the
    other, until one is a witness.
    """
    name = system.model.name
    if name not in KERNELS:
        raise NoKernel(f"{name} has no kernel for the native engine")
    own_model, make = own(name)
    if not is_same(system.model, own_model):
        raise NoKernel(f"only kspec's own {name} has a kernel")
    if system.rules != system.variant.rules:
        raise NoKernel("a kernel cannot explore mutants")
    written_for = KERNELS[name]
    if fingerprint(written_for.files) != written_for.fingerprint:
        raise Edited(f"the rules of {name} were edited since its kernel was compared with them")
    if system.variant.name not in written_for.variants:
        raise NoKernel(f"the kernel of {name} does not know the variant {system.variant.name}")
    try:
        kernel = make(system)
    except LayoutError as error:
        raise NoKernel(f"these bounds are too large for the kernel: {error}") from error
    for p in system.properties:
        by_kernel = p in own_model.properties and p.name in kernel.properties
        if not by_kernel and not isinstance(p, Reachable):
            raise NoKernel(f"the native engine cannot check {p.name}")
    return kernel


def is_same(model: Model[Any], own_model: Model[Any]) -> bool:
    """Whether two models behave alike, apart from what is attached to them."""
    behaviour = (f.name for f in attrs.fields(Model) if f.name not in ("picture", "baseline"))
    return all(getattr(model, name) == getattr(own_model, name) for name in behaviour)


def own(name: str) -> tuple[Model[Any], Make]:
    """The one model that a kernel is for, however other models are named, and the function that
    makes it.

    Imported on demand.
    """
    assert name == "replication", "the one model that has a kernel"
    from kspec.impl.packed.replication import replication_kernel
    from kspec.spec.replication import REPLICATION

    return REPLICATION, replication_kernel
