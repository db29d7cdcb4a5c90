"""The variants: versions of Kafka, each derived from the one before."""

from __future__ import annotations

from collections.abc import Mapping

from kspec.spec.core import Variant, Violated
from kspec.spec.partition import (
    alter_partition,
    controller,
    elr,
    failures,
    faults,
    follower,
    kraft,
    leader,
    unfenced,
)

MOVE = {"crashes": 1, "leader_moves": 1}
"""One crash, and one election that replaces a live leader."""
TWO_BROKERS = {"brokers": 2, "crashes": 0, "leader_moves": 2, "records": 2}
"""Two brokers that take turns as leader, without any failure."""
THREE_RECORDS = {**TWO_BROKERS, "records": 3}
"""The same with three records."""
THREE_MOVES = {**TWO_BROKERS, "leader_moves": 3, "min_insync": 1}
"""Two brokers that take turns once more; either suffices to commit."""
MISSED_EPOCH = {"crashes": 1, "leader_moves": 2}
"""Enough for a leader that misses the epoch of another leader."""
CUT_OFF = {"crashes": 0, "cut_offs": 1}
"""One broker that is cut off from the controller."""
POWER_LOSS = {"crashes": 0, "power_losses": 1}
"""One machine that loses power."""
DISK_LOSS = {"crashes": 0, "disk_losses": 1, "leader_moves": 1}
"""One broker that loses its log, and one election that replaces a live leader."""

ONE_IN_SYNC = {"brokers": 2, "min_insync": 1}
"""Two brokers, of which one suffices to commit."""

UNCOMMITTED = Violated(9, ONE_IN_SYNC)
"""A refused proposal leaves the high watermark behind, and the follower does not come back."""
NO_WRITES = Violated(4, {"brokers": 2})
"""With as many replicas as min.insync.replicas, one crash stops all writes, in every version."""

BEFORE_2_7 = {
    "ListedEndNeverGoesBack": Violated(10),
    "FencedBrokerNotInIsr": Violated(4, CUT_OFF),
    "WritesAccepted": NO_WRITES,
}
UNTIL_3_9 = {"FencedBrokerNotInIsr": Violated(8), "WritesAccepted": NO_WRITES}
SINCE_3_9 = {
    "HwKeepsUpWithIsr": Violated(11),
    "RecordsAreCommitted": UNCOMMITTED,
    "WritesAccepted": NO_WRITES,
}


def lost(states: int, bounds: Mapping[str, int]) -> dict[str, Violated]:
    """What fails when a leader lacks a record that was acknowledged, and could be read."""
    loss = Violated(states, bounds)
    return {"AcknowledgedRecordsKept": loss, "ReadableRecordsStay": loss}


KAFKA_0_10 = Variant(
    "kafka-0.10",
    rules=(
        unfenced.broker_becomes_leader_without_epoch_entry,
        leader.leader_appends,
        leader.record_is_dropped,
        unfenced.leader_lists_lower_end_at_once,
        unfenced.leader_counts_any_fetch,
        leader.leader_shrinks_isr,
        unfenced.broker_becomes_follower_and_truncates_to_hw,
        unfenced.follower_truncates_to_leader_end,
        unfenced.follower_fetches_in_any_epoch,
        controller.controller_fences_broker,
        controller.controller_unfences_broker,
        controller.controller_moves_leadership,
        failures.broker_crashes,
        failures.broker_loses_power,
        failures.broker_loses_disk,
        failures.broker_restarts,
    ),
    why=(
        "Kafka up to 0.10: a follower of a new leader truncates to its own high watermark, which "
        "may be one fetch old. Records that were committed are lost, and logs diverge (KAFKA-3919)."
    ),
    violates={
        **lost(11, MOVE),
        "CountedRecordsAgree": Violated(10, TWO_BROKERS),
        "LogsAgreeBelowHw": Violated(10, TWO_BROKERS),
        **BEFORE_2_7,
    },
)

KAFKA_0_11 = KAFKA_0_10.derive(
    "kafka-0.11",
    replace={
        unfenced.broker_becomes_follower_and_truncates_to_hw: (
            unfenced.broker_becomes_follower_of_new_leader
        ),
    },
    add=(unfenced.follower_truncates_to_epoch_end,),
    why=(
        "A high watermark does not show which records the new leader has. KIP-101: a follower asks "
        "it where the leader epoch of its last record ended, and truncates there."
    ),
    violates={
        **lost(12, MOVE),
        "CountedRecordsAgree": Violated(11, THREE_RECORDS),
        "LogsAgreeBelowHw": Violated(12, THREE_RECORDS),
        **BEFORE_2_7,
    },
)

KAFKA_2_0 = KAFKA_0_11.derive(
    "kafka-2.0",
    replace={unfenced.follower_truncates_to_epoch_end: unfenced.follower_truncates_to_agreed_epoch},
    why=(
        "An offset without its epoch misleads a follower that has an epoch unknown to the leader. "
        "KIP-279: the response names the epoch, and the follower asks again."
    ),
    violates=KAFKA_0_11.violates,
)

KAFKA_2_1 = KAFKA_2_0.derive(
    "kafka-2.1",
    replace={
        unfenced.broker_becomes_leader_without_epoch_entry: leader.broker_becomes_leader,
        unfenced.leader_counts_any_fetch: leader.leader_counts_fetch,
        unfenced.broker_becomes_follower_of_new_leader: follower.broker_becomes_follower,
        unfenced.follower_truncates_to_agreed_epoch: follower.follower_truncates,
        unfenced.follower_fetches_in_any_epoch: leader.follower_fetches,
    },
    remove=(unfenced.follower_truncates_to_leader_end,),
    why=(
        "A follower of 2.0 does not know where an epoch ended that is older than its first one, "
        "so its log can still diverge. A replica with an old leader epoch was served, and a "
        "follower whose leader stayed the same never truncated. KIP-320: requests carry the "
        "leader epoch, and a follower truncates in each new one. A leader notes at once where its "
        "epoch begins (KAFKA-7415), and a follower joins the ISR only once it has reached that "
        "offset (KAFKA-7128). No fetch offset is beyond the leader's log any more."
    ),
    violates={
        **lost(13, MISSED_EPOCH),
        **BEFORE_2_7,
    },
)

KAFKA_2_7 = KAFKA_2_1.derive(
    "kafka-2.7",
    replace={
        unfenced.leader_lists_lower_end_at_once: leader.leader_lists_lower_end,
        leader.leader_counts_fetch: alter_partition.leader_counts_agreeing_fetch,
        leader.leader_shrinks_isr: alter_partition.leader_proposes_shrink,
        follower.broker_becomes_follower: alter_partition.broker_becomes_fetching_follower,
        follower.follower_truncates: alter_partition.follower_truncates_on_divergence,
        leader.follower_fetches: alter_partition.follower_fetches_what_agrees,
    },
    add=(alter_partition.controller_commits_isr, alter_partition.leader_learns_isr),
    why=(
        "A new leader listed a lower end offset than its predecessor (KIP-207, repaired in 2.2). "
        "Since 2.7 each fetch detects whether the follower's log diverges (KIP-595), and the "
        "controller, not the leader, writes the ISR (KIP-497)."
    ),
    violates={
        **lost(13, MISSED_EPOCH),
        "ListedEndNeverGoesBack": Violated(14, MISSED_EPOCH),
        **UNTIL_3_9,
    },
)

KAFKA_3_9 = KAFKA_2_7.derive(
    "kafka-3.9",
    replace={
        leader.broker_becomes_leader: kraft.broker_becomes_kraft_leader,
        leader.leader_appends: kraft.leader_appends_at_effective_min_isr,
        alter_partition.leader_counts_agreeing_fetch: kraft.leader_counts_kraft_fetch,
        alter_partition.follower_fetches_what_agrees: kraft.follower_fetches_from_kraft_leader,
        alter_partition.controller_commits_isr: kraft.controller_commits_eligible_isr,
        alter_partition.leader_learns_isr: kraft.leader_applies_isr,
        controller.controller_fences_broker: kraft.controller_fences_kraft_broker,
        failures.broker_restarts: kraft.broker_restarts_with_new_epoch,
    },
    add=(kraft.controller_refuses_isr,),
    why=(
        "A leader could return a fenced broker, or one that had lost its log, to the ISR. "
        "With KRaft the controller refuses both (KIP-841, KIP-903), and since 3.7 nothing is "
        "committed while the ISR is smaller than min.insync.replicas."
    ),
    violates={
        **lost(13, POWER_LOSS),
        "ListedEndNeverGoesBack": Violated(14, POWER_LOSS),
        **SINCE_3_9,
    },
)

KAFKA_4_1 = KAFKA_3_9.derive(
    "kafka-4.1",
    replace={
        kraft.controller_commits_eligible_isr: elr.controller_commits_isr_and_elr,
        kraft.controller_fences_kraft_broker: elr.controller_fences_broker_with_elr,
        controller.controller_unfences_broker: elr.controller_unfences_eligible_broker,
        kraft.broker_restarts_with_new_epoch: elr.broker_restarts_ineligible,
    },
    why=(
        "The last member stayed in the ISR, and was elected again after a failure in which it lost "
        "records that another replica still had. KIP-966: the controller remembers which replicas "
        "hold every committed record, and elects one of them."
    ),
    violates={
        **lost(13, MISSED_EPOCH),
        "ListedEndNeverGoesBack": Violated(14, MISSED_EPOCH),
        **SINCE_3_9,
    },
)

# -- faults ---------------------------------------------------------------------------------------

BEFORE_KIP_279 = KAFKA_2_1.derive(
    "before-kip-279",
    replace={follower.follower_truncates: faults.follower_truncates_to_unnamed_epoch_end},
    why=(
        "A follower truncated at an offset without knowing which epoch ended there, so records of "
        "another epoch below it stayed."
    ),
    violates={
        "CountedRecordsAgree": Violated(10, TWO_BROKERS),
        "LogsAgreeBelowHw": Violated(11, TWO_BROKERS),
        **KAFKA_2_1.violates,
    },
)

BEFORE_KAFKA_7128 = KAFKA_2_1.derive(
    "before-kafka-7128",
    replace={
        leader.leader_counts_fetch: faults.leader_counts_fetch_at_hw,
        leader.follower_fetches: faults.follower_fetches_and_joins_at_hw,
    },
    why=(
        "A follower joined the ISR as soon as it had reached the high watermark of a new leader, "
        "which may be behind what its predecessor committed."
    ),
    violates={
        **lost(12, MOVE),
        **BEFORE_2_7,
    },
)

BEFORE_KAFKA_10706 = KAFKA_2_1.derive(
    "before-kafka-10706",
    replace={follower.follower_truncates: faults.follower_truncates_but_keeps_empty_epochs},
    why=(
        "A truncation at the log end left leader epochs without records in the cache. A follower "
        "could then ask for the same epoch forever, and never fetch again (up to 2.6.0)."
    ),
    violates={
        "FollowersCatchUp": Violated(10, THREE_MOVES),
        **KAFKA_2_1.violates,
    },
)

BEFORE_KAFKA_13141 = KAFKA_2_7.derive(
    "before-kafka-13141",
    add=(faults.leader_counts_diverging_fetch,),
    why="The leader counted the fetch offset of a follower whose log diverged below it.",
    violates={
        **lost(9, TWO_BROKERS),
        "CountedRecordsAgree": Violated(7, TWO_BROKERS),
        "LogsAgreeBelowHw": Violated(11, TWO_BROKERS),
        "ListedEndNeverGoesBack": Violated(11, TWO_BROKERS),
        **UNTIL_3_9,
    },
)

BEFORE_KAFKA_13091 = KAFKA_2_7.derive(
    "before-kafka-13091",
    replace={alter_partition.leader_learns_isr: faults.leader_learns_isr_and_keeps_hw},
    why="A leader that learned of a smaller ISR did not advance its high watermark.",
    violates={
        "HwKeepsUpWithIsr": Violated(7),
        "RecordsAreCommitted": Violated(6, ONE_IN_SYNC),
        **KAFKA_2_7.violates,
    },
)

BEFORE_KAFKA_14704 = KAFKA_2_7.derive(
    "before-kafka-14704",
    add=(faults.follower_takes_hw_before_truncation,),
    why="A follower adopted the leader's high watermark before it truncated what diverged.",
    violates={
        "LogsAgreeBelowHw": Violated(10, TWO_BROKERS),
        **KAFKA_2_7.violates,
    },
)

BEFORE_KIP_841 = KAFKA_4_1.derive(
    "before-kip-841",
    replace={
        kraft.leader_counts_kraft_fetch: faults.leader_counts_fetch_of_fenced,
        elr.controller_commits_isr_and_elr: faults.controller_commits_fenced_isr,
    },
    why="A fenced broker that continued to fetch rejoined the ISR.",
    violates={
        "FencedBrokerNotInIsr": Violated(5, CUT_OFF),
        **KAFKA_4_1.violates,
    },
)

BEFORE_KIP_903 = KAFKA_4_1.derive(
    "before-kip-903",
    replace={elr.controller_commits_isr_and_elr: faults.controller_commits_isr_of_old_broker_epoch},
    why=(
        "The controller committed a proposal from before a follower's restart, although the "
        "follower may have lost its log since."
    ),
    violates={
        **lost(15, DISK_LOSS),
        "ListedEndNeverGoesBack": Violated(16, DISK_LOSS),
        **SINCE_3_9,
    },
)

REPAIRED = KAFKA_4_1.derive(
    "kafka-4.1-repaired",
    replace={
        kraft.broker_becomes_kraft_leader: faults.broker_becomes_leader_and_forgets_ends,
    },
    why=(
        "A leader that missed another leader's epoch relies on offsets from before it. A repair "
        "that is in no release: the leader forgets them."
    ),
    violates=SINCE_3_9,
)

VARIANTS = (
    KAFKA_0_10,
    KAFKA_0_11,
    KAFKA_2_0,
    KAFKA_2_1,
    BEFORE_KIP_279,
    BEFORE_KAFKA_7128,
    BEFORE_KAFKA_10706,
    KAFKA_2_7,
    BEFORE_KAFKA_13141,
    BEFORE_KAFKA_13091,
    BEFORE_KAFKA_14704,
    KAFKA_3_9,
    KAFKA_4_1,
    BEFORE_KIP_841,
    BEFORE_KIP_903,
    REPAIRED,
)
