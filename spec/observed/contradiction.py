"""How an observation contradicts what is known."""

from __future__ import annotations

from typing import Any, NamedTuple


class Contradiction(NamedTuple):
    """The value that a check refuses."""

    variable: str
    """What was observed, by the name of its field in an observation."""
    expected: Any
    """What is known of it."""
    observed: Any
    relation: str = ""
    """How the observed value relates to the expected one, such as `at least`; empty: equal."""
