"""The producer client, and what a broker keeps of producers, as pure functions of plain values.

- `partitioners`: the partition of a record, by the class that chooses it.
- `adaptive`: the built-in partitioner of 3.3 and later, and its weights.
- `batching`: when a batch is sent, and why not yet.
- `settings`: which settings a release accepts, and what it makes of them.
- `releases`: releases as numbers.

The partition of a key is `spec.placement.key_partition`. Random numbers and times are inputs. All
of it is compared with Kafka's own classes: `tests/spec/producer/kafka`.
"""

from __future__ import annotations
