"""The group coordinator: what one request, one timer or one failover does to one group.

`group` is what is remembered. `rebalance` is how a generation ends and the next one begins;
`joining`, `syncing`, `heartbeats`, `leaving` and `committing` handle the requests, `timers` what
happens when nobody asks, and `loading` what a new coordinator makes of the offsets topic.
`handle` answers any request: the oracle for an implementation.
"""

from __future__ import annotations

from spec.group.coordinator.group import HUNG_UP, Caller, Group, GroupMember, Outcome
from spec.group.coordinator.handling import handle, handle_unknown, refusal

__all__ = [
    "HUNG_UP",
    "Caller",
    "Group",
    "GroupMember",
    "Outcome",
    "handle",
    "handle_unknown",
    "refusal",
]
