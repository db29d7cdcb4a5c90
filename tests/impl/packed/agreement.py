"""Compare a kernel with the specification, state by state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from kspec.impl.packed.kernel import Kernel

from kspec.spec.core import Always, System


def reachable(system: System[Any]) -> Iterator[Any]:
    """Every reachable state, by the rules of the specification."""
    found = dict.fromkeys(system.initial())
    queue = list(found)
    for state in queue:
        yield state
        for _, _, after in system.steps(state):
            if after not in found:
                found[after] = None
                queue.append(after)


def steps_of_spec(system: System[Any], state: Any) -> list[tuple[str, str, Any]]:
    """Rule, choices and next state of everything that can happen."""
    return [
        (rule.name, repr(dict(zip(rule.choices, choice, strict=True))), after)
        for rule, choice, after in system.steps(state)
    ]


def steps_of_kernel(kernel: Kernel[Any], state: Any) -> list[tuple[str, str, Any]]:
    """The same, by the kernel."""
    words = np.array(kernel.pack(state), np.int64)[:, None]
    todo = np.empty((len(kernel.acts), kernel.fanout), np.int64)
    successors = np.empty((len(words), kernel.fanout), np.int64)
    origins = np.empty(kernel.fanout, np.int64)
    counts = np.empty(len(kernel.acts), np.int64)
    expanded, n = kernel.expand(words, 0, 1, todo, successors, origins, counts)
    assert expanded == 1
    assert counts.sum() == n
    steps = []
    for i in range(n):
        assert origins[i] >> 16 == 0, "the index of the only state"
        taken = kernel.taken(int(origins[i]) & 0xFFFF, state)
        after = kernel.unpack(successors[:, i].tolist())
        assert kernel.pack(after) == tuple(successors[:, i]), "one state, two sets of words"
        steps.append((taken.rule, repr(dict(taken.choices)), after))
    return steps


def rule_and_choices(step: tuple[str, str, Any]) -> tuple[str, str]:
    """What tells the steps from one state apart."""
    return step[:2]


def violated_by_spec(system: System[Any], state: Any) -> list[str]:
    """What fails in a state."""
    always = [p for p in system.properties if isinstance(p, Always)]
    return [p.name for p in always if p.failure(state) is not None]


def violated_by_kernel(kernel: Kernel[Any], state: Any) -> list[str]:
    """The same, by the kernel."""
    words = np.array(kernel.pack(state), np.int64)[:, None]
    masks = np.empty(1, np.int64)
    assert kernel.check(words, 0, 1, masks) == masks[0]
    return kernel.names(int(masks[0]))


def assert_same(system: System[Any], kernel: Kernel[Any], state: Any) -> None:
    """Kernel and specification agree on one state."""
    assert kernel.unpack(kernel.pack(state)) == state
    by_spec = sorted(steps_of_spec(system, state), key=rule_and_choices)
    by_kernel = sorted(steps_of_kernel(kernel, state), key=rule_and_choices)
    assert by_kernel == by_spec
    assert violated_by_kernel(kernel, state) == violated_by_spec(system, state)


def assert_same_everywhere(system: System[Any], kernel: Kernel[Any]) -> None:
    """Kernel and specification agree on every reachable state."""
    for state in reachable(system):
        assert_same(system, kernel, state)
