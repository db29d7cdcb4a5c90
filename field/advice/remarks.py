"""Remarks on settings: what is wrong, what to do, and what shows it. Their wordings are data."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache

import attrs

from kspec.field.shapes import some_fields
from kspec.traces.page.html import asset


@attrs.frozen
class Remark:
    """Something that Kafka ignores or refuses, or that a reader may have meant otherwise."""

    setting: str
    problem: str
    fix: str
    because: str
    refused_by: str = ""
    """`broker`, `producer` or `consumer`, if it does not start because of this."""
    meant: Sequence[str] = ()
    """The settings that this one may be a misspelling of."""

    def to_json(self) -> dict[str, str]:
        """What `--json` prints."""
        return some_fields(self, "setting", "problem", "fix", "because")


@cache
def wordings() -> dict[str, dict[str, str]]:
    """The file."""
    return tomllib.loads(asset(__package__, "remarks.toml"))


def remark(wording: str, /, **values: object) -> Remark:
    """The remark of a wording, with values in it."""
    return Remark(**{part: text.format(**values) for part, text in wordings()[wording].items()})
