"""What an engine is given to explore a model with: its states and steps as words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs
import numpy as np

from impl.packed.layout import Layout
from spec.core import Taken

if TYPE_CHECKING:
    from impl.packed.compiled import Words

S = TypeVar("S")

MOST_GUARDS = 8
"""As many columns `stops` writes; the last counts those that nothing stops."""


class NoKernel(Exception):
    """There is no kernel for this system, and why, in one line."""


@attrs.frozen(eq=False)
class Kernel(Generic[S]):
    """One model, variant and bounds, compiled.

    States go in and out as columns of a table of words, with a row for each word of the layout.
    """

    layout: Layout
    fanout: int
    """No state has more successors than this."""
    acts: tuple[str, ...]
    """The rule behind each of the things that the kernel counts by themselves."""
    properties: tuple[str, ...]
    """What the bits of a mask of violated properties stand for, lowest first."""
    expand: Callable[[Words, int, int, Words, Words, Words, Words], tuple[int, int]]
    """Write the successors of a range of states.

    Given states, begin and end, room for lists of work (a row for each act), for successors and
    for their origins, and counts by act. Answers how many states it had room for, and how many
    successors there are. An origin is the index of a state, above 16 bits of what happened.
    """
    check: Callable[[Words, int, int, Words], int]
    """Write the mask of what each of a range of states violates; answers all masks together."""
    pack: Callable[[S], tuple[int, ...]]
    unpack: Callable[[Sequence[int]], S]
    taken: Callable[[int, S], Taken]
    """What the lower 16 bits of an origin say, in the words of the specification."""
    stops: Callable[[Words, int, Words], None] | None = None
    """Count what stops each act in the first so many states: a row for each act, and in it a
    column for each guard of the rule, in its order. None where a kernel does not count this."""
    ends: Callable[[Words, Words], int] | None = None
    """Of states without successors, given by their places: in how many a behaviour may end for
    good, where limits alone block all others. None where a kernel leaves that to the
    specification; only then can there be a deadlock."""
    representatives: Callable[[Words, int], int] | None = None
    """Replace the first so many states by the representatives of their orbits, and answer how
    many states these orbits have; None where a model has no symmetry."""

    def mask(self, names: Sequence[str]) -> int:
        """The mask of some properties."""
        return sum(1 << self.properties.index(name) for name in names)

    def names(self, mask: int) -> list[str]:
        """The properties of a mask."""
        return [name for bit, name in enumerate(self.properties) if mask >> bit & 1]


def up_to_symmetry(kernel: Kernel[S]) -> Kernel[S]:
    """The kernel of the orbits: every state that it answers is the representative of its orbit."""
    represent = kernel.representatives
    if represent is None:
        raise NoKernel("this model has no symmetry that the native engine knows of")

    def expand(
        words: Words, begin: int, end: int, todo: Words, succ: Words, origins: Words, counts: Words
    ) -> tuple[int, int]:
        stop, n = kernel.expand(words, begin, end, todo, succ, origins, counts)
        represent(succ, n)
        return stop, n

    def pack(s: S) -> tuple[int, ...]:
        words = np.array(kernel.pack(s), np.int64)[:, None]
        represent(words, 1)
        return tuple(words[:, 0].tolist())

    return attrs.evolve(kernel, expand=expand, pack=pack)
