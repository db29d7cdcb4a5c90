"""How the members of a group share its partitions: the classic rebalance protocol.

`coordinator` says what one request, timer or failover does to a group; it is the oracle for an
implementation. `world` puts consumers and a network around it; `coordinating`, `consuming` and
`faults` are what happens there, and `properties` says what all of it is for.
"""

from __future__ import annotations

from spec.core import Model, Variant
from spec.group import consuming, coordinating, faults
from spec.group.properties import PROPERTIES
from spec.group.world import Bounds, everybody_is_gone, initial

EAGER = Variant(
    name="eager",
    rules=(
        coordinating.coordinator_gives_id,
        coordinating.coordinator_adds_member,
        coordinating.coordinator_takes_rejoin,
        coordinating.coordinator_replaces_member,
        coordinating.coordinator_takes_sync,
        coordinating.coordinator_cannot_store,
        coordinating.coordinator_refuses,
        coordinating.coordinator_takes_commit,
        coordinating.coordinator_takes_commit_of_outsider,
        coordinating.initial_delay_is_over,
        coordinating.join_timer_fires,
        coordinating.sync_timer_fires,
        coordinating.session_times_out,
        coordinating.pending_id_times_out,
        coordinating.coordinator_resigns,
        coordinating.successor_loads,
        consuming.consumer_finds_coordinator,
        consuming.consumer_joins,
        consuming.consumer_takes_join_answer,
        consuming.consumer_takes_sync_answer,
        consuming.consumer_takes_assignment,
        consuming.leader_sees_partitions,
        consuming.consumer_gives_up,
        consuming.consumer_heartbeats,
        consuming.commit_is_refused,
        consuming.consumer_hears_error,
        faults.consumer_crashes,
        faults.consumer_restarts,
        faults.consumer_closes,
        faults.consumer_stalls,
        faults.consumer_polls_again,
        faults.poll_interval_passes,
        faults.network_loses,
        faults.topic_grows,
    ),
    why="The protocol as Kafka's Java coordinator and client run it, with eager rebalances.",
)

GROUP = Model(
    name="group",
    doc="A consumer group, its coordinator and its members: joining, assigning, committing.",
    bounds=Bounds,
    initial=initial,
    properties=PROPERTIES,
    variants=(EAGER,),
    final=everybody_is_gone,
)
