"""The producer client, and the producer state of a broker, as pure functions of plain values.

The client:

- `partitioners`: the partition of a record, by the class that chooses it.
- `adaptive`: the built-in partitioner of 3.3 and later, and its weights.
- `batching`: when a batch is sent, and why not yet.
- `settings`: which settings a release accepts, and what it makes of them.

The broker, and the consumer of transactions:

- `entries`: the state of one producer, and the batches that producers and coordinators append.
- `sequences`: the checks of a batch and of a marker.
- `producer_state`: what a partition keeps of all producers: expiry, truncation, verification.
- `snapshots`: the file in which a broker keeps it.
- `stable_offset`: the last stable offset, and the index of aborted transactions.
- `read_committed`: what a consumer delivers of a fetch.
- `broker_rules`: what of this changed from release to release.

Both: `releases`, releases as numbers.

The partition of a key is `spec.placement.key_partition`. Random numbers and times are inputs. All
of it is compared with Kafka's own classes: `tests/spec/producer/kafka`.
"""

from __future__ import annotations
