"""Which models have a kernel, and for which text of their rules it was written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from impl.packed.kernel import Kernel, NoKernel
from impl.packed.layout import LayoutError
from spec.core import Always, Model, Reachable, System

Make: TypeAlias = Callable[[System[Any]], Kernel[Any]]
"""What makes the kernel of a system of its model."""


@attrs.frozen
class WrittenFor:
    """The text of the rules that a kernel was compared with."""

    files: Sequence[str]
    """Where the rules and properties stand."""
    variants: Sequence[str]
    """The variants that it knows."""
    fingerprint: str
    """What `fingerprint` made of those files when kernel and rules were last found equal."""


KERNELS: Mapping[str, WrittenFor] = {
    "replication": WrittenFor(
        files=(
            "spec/log.py",
            "spec/replication/common.py",
            "spec/replication/kip_101.py",
            "spec/replication/kip_279.py",
            "spec/replication/kip_320.py",
            "spec/replication/kip_320_first_try.py",
            "spec/replication/properties.py",
            "spec/replication/state.py",
            "spec/replication/truncate_to_hw.py",
        ),
        variants=("truncate-to-hw", "kip-101", "kip-279", "kip-320-first-try", "kip-320"),
        fingerprint="650e3b7db6a60665",
    ),
}
"""The models with a kernel. Whoever edits a rule is answered by the rule, not by a kernel that
was written for another: then the fingerprints differ, and the native engine steps back."""


class Edited(NoKernel):
    """There is a kernel, but it was written for rules that read otherwise."""


def fingerprint(files: Sequence[str]) -> str:
    """The text of some files of this project, as a short name."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.encode() + b"\0" + (root / name).read_text("utf-8").encode())
    return digest.hexdigest()[:16]


def kernel_for(system: System[Any]) -> Kernel[Any]:
    """The kernel of a system, or NoKernel, which says in a line why there is none.

    A property that some state should show needs no kernel: an engine can ask the specification
    about one state after the other, until it is shown.
    """
    name = system.model.name
    if name not in KERNELS:
        raise NoKernel(f"{name} has no kernel for the native engine")
    if system.model is not own(name)[0]:
        raise NoKernel(f"no kernel for a model of one's own, only for kspec's {name}")
    if system.rules != system.variant.rules:
        raise NoKernel("the native engine explores rules as they are, and no mutants")
    written_for = KERNELS[name]
    if fingerprint(written_for.files) != written_for.fingerprint:
        raise Edited(f"the rules of {name} were edited since its kernel was compared with them")
    if system.variant.name not in written_for.variants:
        raise NoKernel(f"the kernel of {name} does not know the variant {system.variant.name}")
    _, make = own(name)
    try:
        kernel = make(system)
    except LayoutError as error:
        raise NoKernel(f"the native engine has no room for these bounds: {error}") from error
    for p in system.properties:
        by_kernel = isinstance(p, Always) and p.name in kernel.properties
        if not by_kernel and not isinstance(p, Reachable):
            raise NoKernel(f"the native engine cannot check {p.name}")
    return kernel


def own(name: str) -> tuple[Model[Any], Make]:
    """The model that a kernel is of, which no other of the same name is; and what makes it.

    Imported when it is asked for.
    """
    assert name == "replication", "the one model that has a kernel"
    from impl.packed.replication import replication_kernel
    from spec.replication import REPLICATION

    return REPLICATION, replication_kernel
