"""Whether events are missing from a trace, by the `sequence` that recorders give each event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.field.recorded.mapping import BadEvent, Content

IN_ORDER = "events are in the order of their sequence"
"""The guard of an event that comes after a later one."""


@attrs.frozen
class Progress:
    """How far a trace has come."""

    is_whole: bool
    """Whether no event is missing so far: by the header for events without a sequence."""
    latest: int = 0
    """The sequence of the latest event."""

    def follows(self, sequence: int | None) -> bool:
        """Whether an event may come next; one that was recorded earlier may not."""
        return sequence is None or sequence > self.latest

    def after(self, sequence: int | None) -> Progress:
        """With another event; the first sequence decides by itself whether events are missing."""
        if sequence is None:
            return self
        is_whole = sequence == 1 if not self.latest else self.is_whole
        return Progress(is_whole and sequence == self.latest + 1, sequence)


def nothing_seen(header: Mapping[str, Any]) -> Progress:
    """Before the first event."""
    return Progress(header.get("observed") == "all")


def sequence_of(content: Content) -> int | None:
    """The sequence of an event, if it has one."""
    sequence = content.get("sequence")
    if sequence is not None and (type(sequence) is not int or sequence < 1):
        raise BadEvent(f"sequence is a positive number, not {sequence!r:.60}")
    return sequence
