"""What could not be read in a trace: counted by kind, with samples."""

from __future__ import annotations

from typing import Any

import attrs

MOST_SAMPLES = 5
"""How many problems of a kind are kept; all of them are counted."""

FATAL = frozenset({"malformed line", "line too long", "unknown event", "malformed event"})
"""Kinds that leave an event unread: the trace can neither be accepted nor rejected after it."""


@attrs.define
class Problems:
    """Problems of one trace."""

    counts: dict[str, int] = attrs.field(factory=dict)
    """By kind."""
    samples: dict[str, list[dict[str, Any]]] = attrs.field(factory=dict)

    def add(self, kind: str, file: str, line: int, text: str) -> None:
        """Count a problem."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        kept = self.samples.setdefault(kind, [])
        if len(kept) < MOST_SAMPLES:
            kept.append({"file": file, "line": line, "problem": text})

    @property
    def unread(self) -> int:
        """How many events could not be read."""
        return sum(count for kind, count in self.counts.items() if kind in FATAL)

    def to_json(self) -> list[dict[str, Any]]:
        """The kinds, each with its count and samples."""
        return [
            {"kind": kind, "count": count, "samples": self.samples[kind]}
            for kind, count in self.counts.items()
        ]
