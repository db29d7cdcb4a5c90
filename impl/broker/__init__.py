"""A broker to embed in tests: real clients produce, consume and form groups with it.

It is a cluster of one broker in one process, with its logs in memory. Its group coordinator is
`kspec.impl.coordinator`, which tests compare with the specification; `kspec serve` runs it.

- `broker`: the handlers of requests, without a network; `groups`: those of the coordinator;
  `fetching`: that of Fetch; `calls`: a request and how to answer it.
- `batches`, `log`, `topics`: records in memory.
- `server`: connections, limits and the clock.
- `embedded`: the broker in a thread, with the faults to inject.

`kspec.field.pytest_plugin` has the fixture `kspec_broker`.

Not supported: replication, transactions, quotas, authorization, compaction, and the rebalance
protocol of KIP-848. Needs the extra `broker`.
"""

from kspec.impl.broker.embedded import EmbeddedBroker
from kspec.impl.broker.settings import BrokerSettings

__all__ = ["BrokerSettings", "EmbeddedBroker"]
