"""kspec's stories: behaviours that explain something, longer than a counterexample."""

from __future__ import annotations

from kspec.checkers.models.healthy import HEALTHY
from kspec.checkers.models.script import Script

__all__ = ["STORIES", "Script"]

TWO_BROKERS = {"brokers": 2, "records": 3, "min_insync": 2}
THREE_BROKERS = {"brokers": 3, "records": 3, "min_insync": 2}

STORIES = {
    "four-moments": Script(
        about="How the high watermark and the log end offsets move when a record is written.",
        model="partition",
        variant="kafka-2.1",
        bounds={"brokers": 2, "records": 1, "min_insync": 2},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends leader=0
            follower_fetches leader=0 follower=1
            leader_counts_fetch leader=0 follower=1
            follower_fetches leader=0 follower=1
        """,
    ),
    "lost-after-restart": Script(
        about=(
            "Before leader epochs, a follower that restarts truncates to its high watermark. If it "
            "is then elected, an acknowledged record is lost."
        ),
        model="partition",
        variant="kafka-0.10",
        bounds={**TWO_BROKERS, "unclean": 1, "crashes": 2},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=1
            broker_crashes broker=1
            controller_fences_broker broker=1 successor=0
            broker_becomes_leader_without_epoch_entry broker=0 epoch=1
            broker_restarts broker=1 hw=1
            broker_becomes_follower_and_truncates_to_hw broker=1 epoch=1
            broker_crashes broker=0
            controller_fences_broker broker=0 successor=1
            broker_becomes_leader_without_epoch_entry broker=1 epoch=2
            broker_restarts broker=0 hw=1
            broker_becomes_follower_and_truncates_to_hw broker=0 epoch=2
        """,
    ),
    "kept-after-restart": Script(
        about=(
            "The same events with leader epochs: the follower asks where the leader's epoch ended, "
            "truncates nothing, and no record is lost."
        ),
        model="partition",
        variant="kafka-0.11",
        bounds={**TWO_BROKERS, "unclean": 1, "crashes": 2},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=1
            broker_crashes broker=1
            controller_fences_broker broker=1 successor=0
            broker_becomes_leader_without_epoch_entry broker=0 epoch=1
            broker_restarts broker=1 hw=1
            broker_becomes_follower_of_new_leader broker=1 epoch=1
            follower_truncates_to_epoch_end leader=0 follower=1
            broker_crashes broker=0
            controller_fences_broker broker=0 successor=1
            broker_becomes_leader_without_epoch_entry broker=1 epoch=2
            broker_restarts broker=0 hw=1
            broker_becomes_follower_of_new_leader broker=0 epoch=2
            follower_truncates_to_epoch_end leader=1 follower=0
            leader_counts_any_fetch leader=1 follower=0
            leader_appends leader=1
            follower_fetches_in_any_epoch leader=1 follower=0
            leader_counts_any_fetch leader=1 follower=0
        """,
    ),
    "lost-in-clean-elections": Script(
        about=(
            "Before leader epochs, clean elections and min.insync.replicas=2 were not enough: a "
            "member of the ISR truncates under a new leader, and is then elected."
        ),
        model="partition",
        variant="kafka-0.10",
        bounds={**THREE_BROKERS, "crashes": 2},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_counts_any_fetch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=2
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_counts_any_fetch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=2
            broker_crashes broker=0
            controller_fences_broker broker=0 successor=2
            broker_becomes_follower_and_truncates_to_hw broker=1 epoch=1
            broker_becomes_leader_without_epoch_entry broker=2 epoch=1
            broker_crashes broker=2
            controller_fences_broker broker=2 successor=1
            broker_becomes_leader_without_epoch_entry broker=1 epoch=2
            broker_restarts broker=0 hw=1
            broker_becomes_follower_and_truncates_to_hw broker=0 epoch=2
            broker_restarts broker=2 hw=1
            broker_becomes_follower_and_truncates_to_hw broker=2 epoch=2
        """,
    ),
    "kept-in-clean-elections": Script(
        about=(
            "The same events with leader epochs: no follower truncates, and the entry [epoch 1, "
            "offset 2] records where the second leader began."
        ),
        model="partition",
        variant="kafka-0.11",
        bounds={**THREE_BROKERS, "crashes": 2},
        property="AcknowledgedRecordsKept",
        steps="""
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_counts_any_fetch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=2
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_appends leader=0
            follower_fetches_in_any_epoch leader=0 follower=1
            follower_fetches_in_any_epoch leader=0 follower=2
            leader_counts_any_fetch leader=0 follower=1
            leader_counts_any_fetch leader=0 follower=2
            broker_crashes broker=0
            controller_fences_broker broker=0 successor=2
            broker_becomes_follower_of_new_leader broker=1 epoch=1
            broker_becomes_leader_without_epoch_entry broker=2 epoch=1
            follower_truncates_to_epoch_end leader=2 follower=1
            leader_appends leader=2
            follower_fetches_in_any_epoch leader=2 follower=1
            leader_counts_any_fetch leader=2 follower=1
            broker_crashes broker=2
            controller_fences_broker broker=2 successor=1
            broker_becomes_leader_without_epoch_entry broker=1 epoch=2
            broker_restarts broker=0 hw=1
            broker_becomes_follower_of_new_leader broker=0 epoch=2
            follower_truncates_to_epoch_end leader=1 follower=0
            follower_fetches_in_any_epoch leader=1 follower=0
        """,
    ),
    "written-twice": Script(
        about=(
            "From Kafka 2.5 to 4.4 an election can make an idempotent producer write a record "
            "twice: a new leader accepts a batch without the one before it."
        ),
        model="idempotence",
        variant="kafka-2.5",
        bounds={"records": 2, "timeouts": 0},
        property="RecordsWrittenOnce",
        steps="""
            producer_sends
            controller_elects_leader end=0
            producer_learns_leader
            producer_sends
            leader_appends_any_first late=False
            connection_is_lost term=1
            deposed_leader_refuses term=0
            producer_retries_batch term=0
            producer_sends
            leader_refuses_known_sequence
            producer_finds_gap term=1
            producer_bumps_epoch
            producer_sends
            leader_appends_any_first late=False
            producer_completes_batch term=1
            producer_sends
            leader_appends_any_first late=False
        """,
    ),
    "written-once": Script(
        about=(
            "The same events in 4.5, where an empty log accepts only sequence number 0: the second "
            "batch is refused, and sent again after the first."
        ),
        model="idempotence",
        variant="kafka-4.5",
        bounds={"records": 2, "timeouts": 0},
        property="RecordsWrittenOnce",
        steps="""
            producer_sends
            controller_elects_leader end=0
            producer_learns_leader
            producer_sends
            leader_refuses_sequence
            connection_is_lost term=1
            deposed_leader_refuses term=0
            producer_retries_batch term=0
            producer_sends
            leader_appends late=False
            producer_completes_batch term=1
            producer_sends
            leader_appends late=False
            producer_completes_batch term=1
        """,
    ),
    "late-produce": Script(
        about=(
            "Before Kafka 3.6 a Produce that arrives after its abort opens a transaction that the "
            "coordinator does not know. The next transaction commits it: the result counts twice."
        ),
        model="transactions",
        variant="kafka-2.5",
        bounds={"rebalances": 0, "failovers": 0},
        property="EachResultReadOnce",
        steps="""
            coordinator_initializes_producer instance=0
            consumer_fetches_stable_offset instance=0
            consumer_polls instance=0
            producer_adds_partition instance=0
            produce_is_delayed instance=0
            producer_aborts instance=0
            partition_appends_marker tid=0 partition=0
            coordinator_completes_transaction tid=0
            late_produce_arrives
            producer_bumps_epoch instance=0
            consumer_fetches_stable_offset instance=0
            consumer_polls instance=0
            producer_adds_partition instance=0
            producer_produces instance=0
            producer_adds_offsets instance=0
            producer_sends_offsets instance=0
            producer_commits instance=0
            partition_appends_marker tid=0 partition=0
            reader_reads_committed
        """,
    ),
    "late-produce-refused": Script(
        about=(
            "The same events since Kafka 4.0, where the abort bumps the epoch: the late Produce is "
            "fenced, and the result counts once."
        ),
        model="transactions",
        variant="kafka-4.2",
        bounds={"rebalances": 0, "failovers": 0},
        property="EachResultReadOnce",
        steps="""
            coordinator_initializes_producer instance=0
            consumer_fetches_stable_offset instance=0
            consumer_polls instance=0
            produce_is_delayed_v2 instance=0
            producer_aborts_v2 instance=0
            coordinator_completes_transaction tid=0
            consumer_fetches_stable_offset instance=0
            consumer_polls instance=0
            producer_produces_v2 instance=0
            producer_sends_offsets_v2 instance=0
            producer_commits_v2 instance=0
            partition_appends_later_marker tid=0 partition=0
            partition_appends_later_marker tid=0 partition=1
            coordinator_completes_transaction tid=0
            reader_reads_committed
        """,
    ),
    **HEALTHY,
}
"""kspec's stories, by name."""
