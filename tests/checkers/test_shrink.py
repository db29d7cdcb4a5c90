"""Delta debugging."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kspec.checkers.shrink import shrink


@pytest.mark.parametrize("needed", [{0}, {99}, {3, 50}, {10, 11, 12, 98}, set(range(0, 100, 7))])
def test_only_the_steps_that_the_failure_needs_remain(needed: set[int]) -> None:
    def retry(steps: Sequence[int]) -> Sequence[int] | None:
        return steps if needed <= {*steps} else None

    assert shrink(range(100), retry) == sorted(needed)


def test_a_failure_that_needs_no_step_ends_empty() -> None:
    assert shrink("abc", lambda steps: steps) == []


def test_a_failure_that_needs_every_step_stays_whole() -> None:
    assert shrink("abc", lambda steps: None) == "abc"


def test_steps_skipped_in_a_retry_are_removed() -> None:
    """Step n needs step n - 1, so leaving one out loses all that follow it."""

    def retry(steps: Sequence[int]) -> Sequence[int] | None:
        taken: list[int] = []
        for step in steps:
            if step == len(taken):
                taken.append(step)
            if len(taken) == 4:
                return taken
        return None

    assert shrink(range(9), retry) == [0, 1, 2, 3]


def test_most_steps_are_removed_in_long_runs() -> None:
    tries = []

    def retry(steps: Sequence[int]) -> Sequence[int] | None:
        tries.append(steps)
        return steps if 700 in steps else None

    assert shrink(range(1000), retry) == [700]
    assert len(tries) < 50
