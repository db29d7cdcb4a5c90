"""Versions message by message: they check the model in which a fetch is one step.

`kafka-2.1` and `kafka-2.7` reach the same states as in `partition`: a test removes the messages in
flight from each state, and compares the two sets. The other variants have what both leave out.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kspec.spec.core import Rule, Violated, bound, evolve
from kspec.spec.partition import alter_partition, failures, follower, leader, messages, versions
from kspec.spec.partition.state import Bounds, Cluster


@attrs.frozen
class MessageBounds(Bounds):
    """The bounds of `partition`, with two brokers: messages in flight multiply its states."""

    brokers: int = bound(2, 1, 4, "brokers, each with one replica (replication.factor)")


# The parents of these variants are in the other model, where they have the same names.

WHY = "Each request and each response is in flight, and may be delayed or lost."

ONE_MOVE = {"leader_moves": 1}
CUT_OFF = {"crashes": 0, "cut_offs": 1}
ONE_DISK = {
    "crashes": 0,
    "disk_losses": 1,
    "leader_moves": 1,
    "slow_followers": 0,
    "min_insync": 1,
}

CLOSED: Mapping[Rule[Cluster], Rule[Cluster]] = {
    failures.broker_crashes: messages.broker_crashes_with_connections,
    failures.broker_loses_power: messages.broker_loses_power_and_connections,
    failures.broker_loses_disk: messages.broker_loses_disk_and_connections,
}

KAFKA_2_1 = evolve(
    versions.KAFKA_2_1.derive(
        "kafka-2.1",
        replace={
            leader.leader_counts_fetch: messages.leader_handles_fetch,
            leader.follower_fetches: messages.follower_handles_fetch_response,
            follower.follower_truncates: messages.follower_handles_epoch_end,
            **CLOSED,
        },
        add=(
            messages.follower_sends_request,
            messages.leader_answers_parked_fetch,
            messages.leader_answers_epoch_end,
            messages.request_is_lost,
            messages.response_is_lost,
        ),
        why=WHY,
        violates={
            "ListedEndNeverGoesBack": Violated(10, ONE_MOVE),
            "FencedBrokerNotInIsr": Violated(5, CUT_OFF),
            "WritesAccepted": Violated(4),
        },
    ),
    parent=None,
)

KAFKA_2_1_LATE_REQUESTS = KAFKA_2_1.derive(
    "kafka-2.1-late-requests",
    replace={
        messages.broker_crashes_with_connections: messages.broker_crashes_after_request,
        messages.broker_loses_power_and_connections: messages.broker_loses_power_after_request,
        messages.broker_loses_disk_and_connections: messages.broker_loses_disk_after_request,
    },
    add=(messages.leader_counts_late_fetch,),
    why=(
        "A fetch in the leader's queue outlives the process that sent it: the leader counts it "
        "when the broker is fenced, or has restarted without the records (KIP-903)."
    ),
    violates={
        "AcknowledgedRecordsKept": Violated(13, ONE_DISK),
        "FencedBrokerNotInIsr": Violated(6),
        "ListedEndNeverGoesBack": Violated(10, ONE_MOVE),
        "WritesAccepted": Violated(4),
    },
)

KAFKA_2_7 = evolve(
    versions.KAFKA_2_7.derive(
        "kafka-2.7",
        replace={
            alter_partition.leader_counts_agreeing_fetch: messages.leader_handles_agreeing_fetch,
            alter_partition.follower_fetches_what_agrees: messages.follower_handles_fetch_response,
            alter_partition.follower_truncates_on_divergence: messages.follower_handles_divergence,
            **CLOSED,
        },
        add=(
            messages.follower_sends_request,
            messages.leader_answers_parked_fetch,
            messages.leader_answers_diverging_fetch,
            messages.request_is_lost,
            messages.response_is_lost,
        ),
        why=WHY,
        violates={
            "FencedBrokerNotInIsr": Violated(9),
            "WritesAccepted": Violated(4),
        },
    ),
    parent=None,
)

KAFKA_2_7_LATE_RESPONSES = KAFKA_2_7.derive(
    "kafka-2.7-late-responses",
    replace={messages.follower_sends_request: messages.follower_sends_request_to_leader},
    add=(messages.follower_handles_late_response,),
    why=(
        "A follower handles a response to a request of an earlier leader epoch, if it fetches "
        "from the same leader again, and from the same offset (KAFKA-18723, repaired in 3.9.1, "
        "4.0.1 and 4.1)."
    ),
    violates={
        "FencedBrokerNotInIsr": Violated(9),
        "WritesAccepted": Violated(4),
    },
)

VARIANTS = (
    KAFKA_2_1,
    KAFKA_2_1_LATE_REQUESTS,
    KAFKA_2_7,
    KAFKA_2_7_LATE_RESPONSES,
)
