"""The producer client, and what a broker keeps of producers, as pure functions of plain values.

- `partitioners`: the partition that a producer chooses, by the class that chooses it.
- `entries`: what a broker keeps of one producer, and what producers and coordinators append.
- `sequences`: the checks of a batch and of a marker.
- `producer_state`: what a partition keeps of all producers: expiry, truncation, verification.
- `snapshots`: the file in which a broker keeps it.
- `stable_offset`: the last stable offset, and the index of aborted transactions.
- `read_committed`: what a consumer delivers of a fetch.
- `releases`: what of this changed from release to release.
"""

from __future__ import annotations
