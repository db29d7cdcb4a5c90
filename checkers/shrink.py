"""Delta debugging: leave out what a failure does not need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrink(steps: Sequence[T], retry: Callable[[Sequence[T]], Sequence[T] | None]) -> Sequence[T]:
    """Leave out runs of steps, long ones first and then single ones, while the failure remains.

    `retry` tries fewer steps and returns those that it needed to fail again, or None if it did
    not. The result need not be the shortest failure.
    """
    size = len(steps)
    while size:
        start = len(steps) - size
        while start >= 0:
            needed = retry([*steps[:start], *steps[start + size :]])
            if needed is not None:
                steps = needed
            start = min(start, len(steps)) - size
        size //= 2
    return steps
