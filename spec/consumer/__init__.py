"""The consumer client, as pure functions of plain values.

- `subscription`: what a consumer reads, and which calls it refuses.
- `fetching`: the fetch state of one assigned partition, and where fetching begins.
- `listener`: the callbacks of a rebalance listener, eager and cooperative.
- `reset`: where `kafka-consumer-groups --reset-offsets` moves a group, and what it then skips.
- `lag`: how far a group is behind, and when retention overtakes it.
- `start`: where a group that was stopped begins again.
- `errors`: the exceptions, by the names that Java's client gives them.

The Kafka classes and methods named are those of Kafka 3.9 and 4.0, classic protocol
(`ClassicKafkaConsumer`).
"""

from __future__ import annotations
