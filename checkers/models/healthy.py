"""Stories in which nothing goes wrong, or nothing is lost although something does."""

from __future__ import annotations

from kspec.checkers.models.script import Script

ONE_ID = {"crashes": 0, "failovers": 0, "ids": 1}
"""A group without failures, whose consumers need one member id each."""

HEALTHY = {
    "first-join": Script(
        about=(
            "A consumer joins an empty group: it is issued a member id, joins with it, leads the "
            "first generation, and assigns the partitions to itself."
        ),
        model="group",
        variant="eager",
        bounds={**ONE_ID, "consumers": 1},
        property="OneOwnerPerGeneration",
        steps="""
            consumer_finds_coordinator consumer=0
            consumer_joins consumer=0
            coordinator_issues_member_id request=consumer 0
            consumer_receives_member_id consumer=0
            coordinator_adds_member request=consumer 0
            coordinator_ends_initial_delay
            consumer_receives_generation consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_assignment consumer=0
            consumer_applies_assignment consumer=0
        """,
    ),
    "rolling-restart-static": Script(
        about=(
            "Two static members restart, one after the other. The coordinator knows them by their "
            "group.instance.id, answers with the generation they had, and nothing is rebalanced."
        ),
        model="group",
        variant="eager",
        bounds={**ONE_ID, "static": 2, "crashes": 2, "ids": 3},
        property="OneOwnerPerGeneration",
        steps="""
            consumer_finds_coordinator consumer=0
            consumer_joins consumer=0
            consumer_finds_coordinator consumer=1
            consumer_joins consumer=1
            coordinator_adds_member request=consumer 0
            coordinator_adds_member request=consumer 1
            coordinator_extends_initial_delay
            coordinator_ends_initial_delay
            consumer_receives_generation consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_assignment consumer=0
            consumer_receives_generation consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_applies_assignment consumer=1
            consumer_applies_assignment consumer=0
            consumer_crashes consumer=0
            consumer_restarts consumer=0
            consumer_finds_coordinator consumer=0
            consumer_joins consumer=0
            coordinator_replaces_static_member request=consumer 0
            consumer_receives_generation consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_assignment consumer=0
            consumer_applies_assignment consumer=0
            consumer_crashes consumer=1
            consumer_restarts consumer=1
            consumer_finds_coordinator consumer=1
            consumer_joins consumer=1
            coordinator_replaces_static_member request=consumer 1
            consumer_receives_generation consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_applies_assignment consumer=1
        """,
    ),
    "rolling-restart-dynamic": Script(
        about=(
            "Two dynamic members are replaced, one after the other. Each departure and each "
            "arrival is a rebalance: four, in which every member revokes its partitions."
        ),
        model="group",
        variant="eager",
        bounds={**ONE_ID, "consumers": 4, "leaves": 2, "generations": 8},
        property="OneOwnerPerGeneration",
        steps="""
            consumer_finds_coordinator consumer=0
            consumer_joins consumer=0
            coordinator_issues_member_id request=consumer 0
            consumer_finds_coordinator consumer=1
            consumer_joins consumer=1
            coordinator_issues_member_id request=consumer 1
            consumer_receives_member_id consumer=1
            consumer_receives_member_id consumer=0
            coordinator_adds_member request=consumer 0
            coordinator_adds_member request=consumer 1
            coordinator_extends_initial_delay
            coordinator_ends_initial_delay
            consumer_receives_generation consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_assignment consumer=0
            consumer_receives_generation consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_applies_assignment consumer=1
            consumer_applies_assignment consumer=0
            consumer_closes consumer=0
            consumer_heartbeats consumer=1
            consumer_learns_of_rebalance consumer=1
            consumer_joins consumer=1
            coordinator_accepts_rejoin request=consumer 1
            consumer_receives_generation consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_applies_assignment consumer=1
            consumer_finds_coordinator consumer=2
            consumer_joins consumer=2
            coordinator_issues_member_id request=consumer 2
            consumer_receives_member_id consumer=2
            coordinator_adds_member request=consumer 2
            consumer_heartbeats consumer=1
            consumer_learns_of_rebalance consumer=1
            consumer_joins consumer=1
            coordinator_accepts_rejoin request=consumer 1
            consumer_receives_generation consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_receives_generation consumer=2
            coordinator_accepts_sync request=consumer 2
            consumer_receives_assignment consumer=2
            consumer_applies_assignment consumer=2
            consumer_applies_assignment consumer=1
            consumer_closes consumer=1
            consumer_heartbeats consumer=2
            consumer_learns_of_rebalance consumer=2
            consumer_joins consumer=2
            coordinator_accepts_rejoin request=consumer 2
            consumer_receives_generation consumer=2
            coordinator_accepts_sync request=consumer 2
            consumer_receives_assignment consumer=2
            consumer_applies_assignment consumer=2
            consumer_finds_coordinator consumer=3
            consumer_joins consumer=3
            coordinator_issues_member_id request=consumer 3
            consumer_receives_member_id consumer=3
            coordinator_adds_member request=consumer 3
            consumer_heartbeats consumer=2
            consumer_learns_of_rebalance consumer=2
            consumer_joins consumer=2
            coordinator_accepts_rejoin request=consumer 2
            consumer_receives_generation consumer=2
            coordinator_accepts_sync request=consumer 2
            consumer_receives_generation consumer=3
            coordinator_accepts_sync request=consumer 3
            consumer_receives_assignment consumer=2
            consumer_receives_assignment consumer=3
            consumer_applies_assignment consumer=2
            consumer_applies_assignment consumer=3
        """,
    ),
    "cooperative-handover": Script(
        about=(
            "A second consumer joins a cooperative group. The first keeps reading, revokes only "
            "the partition that moves, and a second rebalance gives it to the other."
        ),
        model="group",
        variant="cooperative",
        bounds=ONE_ID,
        property="OneOwnerPerGeneration",
        steps="""
            consumer_finds_coordinator consumer=0
            consumer_joins_keeping_partitions consumer=0
            coordinator_issues_member_id request=consumer 0
            consumer_receives_member_id_keeping_partitions consumer=0
            coordinator_adds_member request=consumer 0
            coordinator_ends_initial_delay
            consumer_receives_generation_keeping_partitions consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_assignment consumer=0
            consumer_applies_assignment_incrementally consumer=0
            consumer_finds_coordinator consumer=1
            consumer_joins_keeping_partitions consumer=1
            coordinator_issues_member_id request=consumer 1
            consumer_receives_member_id_keeping_partitions consumer=1
            coordinator_adds_member request=consumer 1
            consumer_heartbeats consumer=0
            consumer_learns_of_rebalance consumer=0
            consumer_joins_keeping_partitions consumer=0
            coordinator_accepts_rejoin request=consumer 0
            consumer_receives_generation_keeping_partitions consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_generation_keeping_partitions consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=0
            consumer_receives_assignment consumer=1
            consumer_applies_assignment_incrementally consumer=0
            consumer_joins_keeping_partitions consumer=0
            coordinator_accepts_rejoin request=consumer 0
            consumer_applies_assignment_incrementally consumer=1
            consumer_heartbeats consumer=1
            consumer_learns_of_rebalance consumer=1
            consumer_joins_keeping_partitions consumer=1
            coordinator_accepts_rejoin request=consumer 1
            consumer_receives_generation_keeping_partitions consumer=0
            coordinator_accepts_sync request=consumer 0
            consumer_receives_generation_keeping_partitions consumer=1
            coordinator_accepts_sync request=consumer 1
            consumer_receives_assignment consumer=1
            consumer_applies_assignment_incrementally consumer=1
            consumer_receives_assignment consumer=0
            consumer_applies_assignment_incrementally consumer=0
        """,
    ),
    "leader-change": Script(
        about=(
            "The leader crashes, and an in-sync follower is elected: every acknowledged record "
            "stays, the producer goes on, and the old leader catches up and rejoins the ISR."
        ),
        model="partition",
        variant="kafka-4.1",
        bounds={"brokers": 3, "records": 2, "min_insync": 2, "crashes": 1},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends_at_effective_min_isr leader=0
            follower_fetches_from_kraft_leader leader=0 follower=2
            leader_counts_kraft_fetch leader=0 follower=2
            follower_fetches_from_kraft_leader leader=0 follower=1
            leader_counts_kraft_fetch leader=0 follower=1
            follower_fetches_from_kraft_leader leader=0 follower=2
            follower_fetches_from_kraft_leader leader=0 follower=1
            broker_crashes broker=0
            controller_fences_broker_with_elr broker=0 successor=1
            broker_becomes_kraft_leader broker=1 epoch=1
            broker_becomes_fetching_follower broker=2 epoch=1
            leader_appends_at_effective_min_isr leader=1
            follower_fetches_from_kraft_leader leader=1 follower=2
            leader_counts_kraft_fetch leader=1 follower=2
            broker_restarts_ineligible broker=0 hw=1
            broker_becomes_fetching_follower broker=0 epoch=1
            follower_fetches_from_kraft_leader leader=1 follower=0
            leader_counts_kraft_fetch leader=1 follower=0
            controller_commits_isr_and_elr leader=1
        """,
    ),
}
"""The stories, by name."""
