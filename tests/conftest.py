"""Every random choice of a test can be repeated: its seed is printed.

Hypothesis searches at random during development and deterministically in CI; a failure prints the
line that repeats it. Other random choices come from the fixture `chance`.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import settings

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
PROFILE = "ci" if os.environ.get("CI") else "dev"
settings.load_profile(PROFILE)

SEED = os.environ.get("KSPEC_SEED", "0")
"""Decides what `chance` chooses."""


def pytest_report_header() -> str:
    """Print the seed of this run's random choices."""
    return f"kspec: Hypothesis profile {PROFILE}, KSPEC_SEED={SEED}"


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """A separate generator for each test; a failure shows its seed."""
    seed = f"{SEED} {request.node.name}"
    print(f"seed: {seed}")  # pytest shows it if the test fails
    return random.Random(seed)
