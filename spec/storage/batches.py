"""A record batch as the rules of storage see it: its header and its records, without bytes.

Kafka: `RecordBatch` and `Record`. Batches are of format 2 (since Kafka 0.11).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import TypeAlias

import attrs

NO_TIMESTAMP = -1
"""The timestamp of a batch or record without one. Kafka: `RecordBatch.NO_TIMESTAMP`."""
NO_PRODUCER = -1
"""The producer id of a producer that is not idempotent. Kafka: `RecordBatch.NO_PRODUCER_ID`."""


Content: TypeAlias = bytes | str
"""A key or a value: bytes, or a word in their place."""


class Marker(enum.Enum):
    """The outcome of a transaction, which the coordinator writes into each of its partitions."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"


@attrs.frozen
class StoredRecord:
    """A record at its offset."""

    offset: int
    """Its offset, which it keeps when compaction removes others."""
    timestamp: int = NO_TIMESTAMP
    """When it was created or appended (`message.timestamp.type`)."""
    key: Content | None = None
    """Its key; None for a record without one, which a compacted topic does not keep."""
    value: Content | None = ""
    """Its value; None makes it a tombstone, which deletes its key."""

    @property
    def is_tombstone(self) -> bool:
        """Whether the record deletes its key."""
        return self.value is None


@attrs.frozen
class Batch:
    """A batch in a segment."""

    base_offset: int
    """The offset of its first record, as it was appended."""
    last_offset: int
    """The offset of its last record, as it was appended; compaction changes neither."""
    size: int = 1
    """Its bytes, header included."""
    max_timestamp: int = NO_TIMESTAMP
    """The greatest timestamp of its records."""
    records: tuple[StoredRecord, ...] = ()
    """Its records. Empty in a batch that compaction emptied but kept."""
    leader_epoch: int = 0
    """The leader epoch in which it was appended."""
    producer_id: int = NO_PRODUCER
    """The id of its producer; NO_PRODUCER without idempotence."""
    producer_epoch: int = -1
    """The epoch of its producer."""
    is_transactional: bool = False
    """Whether it belongs to a transaction."""
    marker: Marker | None = None
    """The outcome that a control batch carries; None in a batch of data."""
    delete_horizon: int | None = None
    """From when its tombstones or its marker may be removed (KIP-534); None until cleaned."""
    is_valid: bool = True
    """Whether size and checksum are right. A crash may leave a batch that is not."""

    @property
    def next_offset(self) -> int:
        """The offset after its last one."""
        return self.last_offset + 1

    @property
    def is_control(self) -> bool:
        """Whether it is a control batch, with a marker instead of data."""
        return self.marker is not None


def size_of(batches: Iterable[Batch]) -> int:
    """The bytes of these batches."""
    return sum(batch.size for batch in batches)
