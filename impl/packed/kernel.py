"""A kernel: a model's states and steps as words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import attrs
import numpy as np

from kspec.impl.packed.layout import Layout
from kspec.spec.core import Taken

if TYPE_CHECKING:
    from kspec.impl.packed.compiled import Words

S = TypeVar("S")

MOST_GUARDS = 8
"""The number of columns that `stops` writes; the last one counts enabled instances."""


class NoKernel(Exception):
    """The system has no kernel; the message is one line with the reason."""


@attrs.frozen(eq=False)
class Kernel(Generic[S]):
    """One model, variant and bounds, compiled.

    Functions take and return states as columns of a table of words, with a row for each word of
    the layout.
    """

    layout: Layout
    fanout: int
    """The most successors of any state."""
    acts: tuple[str, ...]
    """The rule of each act, for which the kernel keeps a separate count."""
    properties: tuple[str, ...]
    """The properties of the bits of a mask, lowest bit first."""
    expand: Callable[[Words, int, int, Words, Words, Words, Words], tuple[int, int]]
    """Write the successors of a range of states.

    Arguments: states, begin and end; room for work lists (a row for each act), for successors and
    for their origins; and counts by act. Returns how many states it had room for, and the number
    of successors. An origin is the index of a state, above 16 bits that identify the step.
    """
    check: Callable[[Words, int, int, Words], int]
    """Write the masks of violated properties for a range of states; returns their union."""
    pack: Callable[[S], tuple[int, ...]]
    unpack: Callable[[Sequence[int]], S]
    taken: Callable[[int, S], Taken]
    """The rule and choices that the lower 16 bits of an origin stand for."""
    stops: Callable[[Words, int, Words], None] | None = None
    """Count which guards block each act in the first states: a row for each act, with a column for
    each guard of the rule, in order. None if the kernel does not count this."""
    ends: Callable[[Words, Words], int] | None = None
    """Given the indexes of states without successors, the number of final ones; in all others,
    limits alone block every rule. None if the specification has to decide; only then can there be
    a deadlock."""
    representatives: Callable[[Words, int], int] | None = None
    """Replace the first states by the representatives of their orbits; returns the number of
    states in these orbits. None if the model has no symmetry."""

    def mask(self, names: Sequence[str]) -> int:
        """The mask of some properties."""
        return sum(1 << self.properties.index(name) for name in names)

    def names(self, mask: int) -> list[str]:
        """The properties of a mask."""
        return [name for bit, name in enumerate(self.properties) if mask >> bit & 1]


def up_to_symmetry(kernel: Kernel[S]) -> Kernel[S]:
    """The kernel of the orbits: all its states are representatives."""
    represent = kernel.representatives
    if represent is None:
        raise NoKernel("the kernel of this model does not support symmetry")

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
