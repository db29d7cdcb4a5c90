"""What a broker answers to Produce, Fetch, ListOffsets and OffsetForLeaderEpoch, and when.

- `produce`, `fetch`, `list_offsets`: the requests of clients to a partition's leader, each with a
  handler: its checks in Kafka's order, the error with which each fails, and the response.
- `parked`: which fetches wait in the *purgatory*, and what completes them.
- `partition`: the partition that the handlers are about.

    >>> from kspec.spec.serving import FetchIsolation, Offsets, readable
    >>> log = Offsets(start=2, end=9, hw=7, first_unstable=4)
    >>> readable(log, 3, FetchIsolation.HIGH_WATERMARK)
    range(3, 7)
    >>> readable(log, 3, FetchIsolation.TXN_COMMITTED)
    range(3, 4)
    >>> print(readable(log, 1, FetchIsolation.HIGH_WATERMARK))
    OFFSET_OUT_OF_RANGE

The functions are about one partition. A Fetch for several is answered at once if one of them has
an error, and otherwise when their bytes together reach its minimum, or its wait ends. Kafka:
`Partition`, `ReplicaManager`, `DelayedFetch` and `DelayedProduce` (4.0.0).
"""

from __future__ import annotations

from kspec.spec.serving.fetch import (
    FetchIsolation,
    Offsets,
    access_error,
    isolation_of,
    needs_leader,
    readable,
)
from kspec.spec.serving.parked import (
    Fetch,
    completes_parked_fetch,
    diverges,
    fetch_error,
    is_answered_at_once,
)
from kspec.spec.serving.partition import epoch_error
from kspec.spec.serving.produce import (
    Acknowledged,
    append_error,
    is_acknowledged,
    waits_for_replicas,
)

__all__ = [
    "Acknowledged",
    "Fetch",
    "FetchIsolation",
    "Offsets",
    "access_error",
    "append_error",
    "completes_parked_fetch",
    "diverges",
    "epoch_error",
    "fetch_error",
    "is_acknowledged",
    "is_answered_at_once",
    "isolation_of",
    "needs_leader",
    "readable",
    "waits_for_replicas",
]
