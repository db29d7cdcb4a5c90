"""The group coordinator as pure functions: what a request, a timer or a failover does to a group.

This is the oracle for an implementation, and the model `spec.group` takes its guards and effects
from it. Each function takes a `Group` and returns an `Outcome`: the group afterwards, the
responses, and what is written to the offsets topic.

- `requests`: `handle` answers any request; `handle_unknown` any request to an unknown group;
  `refuse` any request to a broker that does not coordinate the group.
- `membership`: JoinGroup and LeaveGroup.
- `rebalance`: how a rebalance begins and ends, and SyncGroup, which distributes assignments.
- `sessions`: Heartbeat, and the timers: which ones are armed, and what each does.
- `clock`: when the timers expire.
- `offsets`: OffsetCommit, OffsetFetch and OffsetDelete.
- `admin`: DescribeGroups and DeleteGroups.
- `failover`: what a coordinator answers when it unloads a group, and what its successor loads.
- `followed`: a group that is followed through time, wherever Kafka leaves a choice open.
- `state`: the group itself, and the checks that the handlers share.

Kafka: `GroupMetadataManager` and `ClassicGroup`, module group-coordinator, tag 4.0.0. "Scala" means
`GroupCoordinator.scala`, tag 3.9.0, which 4.0 removed: `Settings.variant` chooses between the two,
and `spec.messages.CoordinatorVariant` names each difference.
"""

from __future__ import annotations

from kspec.spec.coordinator.requests import first_error, handle, handle_unknown, refuse
from kspec.spec.coordinator.state import DISCONNECTED, Caller, Group, GroupMember, Outcome

__all__ = [
    "DISCONNECTED",
    "Caller",
    "Group",
    "GroupMember",
    "Outcome",
    "first_error",
    "handle",
    "handle_unknown",
    "refuse",
]
