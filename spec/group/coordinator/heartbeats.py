"""Heartbeat: a member shows that it lives, and hears whether a rebalance goes on.

Kafka: `GroupMetadataManager.classicGroupHeartbeat`.
"""

from __future__ import annotations

from spec.group.coordinator.checks import Handling, is_a_member, is_alive
from spec.group.coordinator.group import Caller, Group, Outcome
from spec.messages import Beaten, GroupState, Heartbeat


def heartbeat(group: Group, request: Heartbeat, caller: Caller) -> Handling:
    """The member's session goes on; an error tells it to join again, or that it is out.

    A heartbeat restarts the session timer in a rebalance, too: only who is silent is put out.
    """
    yield from is_alive(group)
    yield from is_a_member(group, request.member, request.instance)
    yield "generation is current", request.generation == group.generation
    preparing = group.state is GroupState.PREPARING_REBALANCE
    yield "members are not waited for", not preparing
    return Outcome(group, ((caller, Beaten()),))
