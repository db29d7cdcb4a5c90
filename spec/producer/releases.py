"""Releases of Kafka, where a patch makes a difference."""

from __future__ import annotations

from typing import TypeAlias

from kspec.spec.core import SpecError
from kspec.spec.java import INT_MAX

Release: TypeAlias = tuple[int, ...]
"""A release with its patch number, such as (3, 0, 1) or (0, 11, 0, 3)."""


def parse_release(text: str) -> Release:
    """A release by its number; without a patch number, the newest patch."""
    try:
        parts = tuple(map(int, text.split(".")))
    except ValueError:
        parts = ()
    whole = 4 if parts[:1] == (0,) else 3
    if not 2 <= len(parts) <= whole or min(parts) < 0:
        raise SpecError(f"a release is a number such as 3.9 or 3.9.1, not {text!r}")
    return parts if len(parts) == whole else (*parts, INT_MAX)
