"""The producer state of a partition, mutable and for millions of producers, as in Kafka 4.3.

- `state`: `ProducerState`: checks, appends, verification, expiry, truncation and recovery.
- `transactions`: the first unstable offset, and the index of aborted transactions.
- `snapshot`: Kafka's `.snapshot` files.

It is compared with `spec.producer` and shares only names with it. `kspec serve` uses it.
"""

from __future__ import annotations

from kspec.impl.producer_state.snapshot import CorruptSnapshot, SnapshotFiles, decode
from kspec.impl.producer_state.state import Producer, ProducerState
from kspec.impl.producer_state.transactions import Aborted

__all__ = [
    "Aborted",
    "CorruptSnapshot",
    "Producer",
    "ProducerState",
    "SnapshotFiles",
    "decode",
]
