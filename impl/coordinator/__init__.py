"""A coordinator of classic consumer groups for real use: mutable, and fast.

It is written from Kafka's behaviour, not from `spec.coordinator`, and shares only the message
types (`spec.messages`) with it, so that comparing the two means something.

- `coordinator`: what a broker calls.
- `shard`: the groups of one partition of the offsets topic; `state`: one group.
- `joining`, `membership` (SyncGroup, Heartbeat, LeaveGroup), `offsets`: the handlers of requests.
- `rebalance`: how a rebalance begins and ends.
- `timers`, `storage`: time, and the offsets topic.

Kafka: `GroupMetadataManager` and `OffsetMetadataManager`, tag 4.0.0; with
`Settings(variant=SCALA)`, `GroupCoordinator`, tag 3.9.0.
"""

from kspec.impl.coordinator.coordinator import GroupCoordinator, random_member_id
from kspec.impl.coordinator.shard import Outcome
from kspec.impl.coordinator.storage import compact
from kspec.impl.coordinator.timers import Deadlines, TimerKey, TimerKind

__all__ = [
    "Deadlines",
    "GroupCoordinator",
    "Outcome",
    "TimerKey",
    "TimerKind",
    "compact",
    "random_member_id",
]
