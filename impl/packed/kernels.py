"""Which models have a kernel."""

from __future__ import annotations

from typing import Any

from impl.packed.kernel import Kernel, NoKernel
from impl.packed.layout import LayoutError
from spec.core import Always, System

MODELS = ("replication",)
"""The models that a kernel was written for."""


def kernel_for(system: System[Any]) -> Kernel[Any]:
    """The kernel of a system, or NoKernel, which says in a line why there is none."""
    model = system.model.name
    if model not in MODELS:
        raise NoKernel(f"{model} has no kernel for the native engine")
    if system.rules != system.variant.rules:
        raise NoKernel("the native engine explores rules as they are, and no mutants")
    from impl.packed.replication import replication_kernel

    try:
        kernel = replication_kernel(system)
    except LayoutError as error:
        raise NoKernel(f"the native engine has no room for these bounds: {error}") from error
    for p in system.properties:
        if not isinstance(p, Always) or p.name not in kernel.properties:
            raise NoKernel(f"the native engine cannot check {p.name}")
    return kernel
