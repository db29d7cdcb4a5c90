"""The variant that Kafka runs by default: rebalances in which everybody gives up everything."""

from __future__ import annotations

from spec.core import Variant
from spec.group import consuming, coordinating, faults
from spec.group.survivors import SEEN_ONLY_IN, SURVIVORS

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
    survivors=SURVIVORS,
    seen_only_in=SEEN_ONLY_IN,
    why="The protocol as Kafka's Java coordinator and client run it, with eager rebalances.",
)
