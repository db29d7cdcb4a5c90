"""A coordinator of classic consumer groups, for real sizes: mutable, and fast.

Written from what Kafka does, not from `spec.group`, with which it shares the words
(`spec.messages`) and nothing else; so comparing the two means something.

`coordinator` is what a broker calls, `desk` what the handlers share, `group` the state. The
handlers go by what is asked: `joining`, `membership` (sync, heartbeat, leave) and `offsets`;
`rounds` is the rebalance that they begin and end. `timers` and `storage` are time and the log.
"""

from impl.coordinator.coordinator import GroupCoordinator, random_member_id
from impl.coordinator.desk import Outcome
from impl.coordinator.storage import compact
from impl.coordinator.timers import Deadlines, TimerKey, TimerKind, Timers

__all__ = [
    "Deadlines",
    "GroupCoordinator",
    "Outcome",
    "TimerKey",
    "TimerKind",
    "Timers",
    "compact",
    "random_member_id",
]
