"""The latest record of each key, wherever it was read."""

from __future__ import annotations

import attrs

from kspec.spec.storage.coordinator_records import CoordinatorRecord


@attrs.frozen
class Entry:
    """The latest record of a key."""

    record: CoordinatorRecord
    """The record."""
    partition: int | None = None
    """The partition of `__consumer_offsets` that it was read from; None in printed text."""
    offset: int = -1
    """Its offset there."""
    live_bytes: int | None = None
    """Its bytes, its share of the batch included; None in printed text."""
    dead_bytes: int | None = None
    """The bytes of the earlier records of its key, which compaction would remove."""
    producer_id: int | None = None
    """The producer in whose open transaction it was written, if any."""

    @property
    def group(self) -> str:
        """The group id."""
        key = self.record.key
        name: str = key["group"] if "group" in key else key["groupId"]
        return name
