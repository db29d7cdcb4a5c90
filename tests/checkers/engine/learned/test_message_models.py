"""The learned engine agrees with the reference engine on random protocols with messages."""

from __future__ import annotations

from random import Random

import pytest

from tests.checkers.engine.learned.message_models import compared, text_of


@pytest.mark.parametrize(
    "first",
    [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(8, 208, 8))],
)
def test_engines_agree(first: int) -> None:
    for seed in range(first, first + 8):
        says = compared(seed).says
        assert not says, f"seed {seed}: {says}\n{text_of(seed)}"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_engines_agree_on_many_models(part: int, chance: Random) -> None:
    for seed in chance.sample(range(10**6), 25):
        says = compared(seed, thorough=True).says
        assert not says, f"seed {seed}: {says}\n{text_of(seed)}"


def test_equal_seeds_generate_equal_models() -> None:
    assert text_of(3) == text_of(3) != text_of(4)
