"""The variants."""

from __future__ import annotations

from spec.core import Variant
from spec.transactions import (
    application,
    coordinator,
    kip_447,
    late,
    omissions,
    verification,
    version_1,
    version_2,
)

KAFKA_2_5 = Variant(
    "kafka-2.5",
    rules=(*application.RULES, *version_1.RULES, *coordinator.RULES, *late.RULES),
    why="x",
)

KAFKA_3_6 = KAFKA_2_5.derive(
    "kafka-3.6",
    replace={
        version_1.producer_produces: verification.producer_produces_verified,
        late.late_produce_arrives: verification.late_produce_arrives_verified,
    },
    why="x",
)

KAFKA_3_7 = KAFKA_3_6.derive(
    "kafka-3.7",
    replace={
        version_1.producer_sends_offsets: verification.producer_sends_offsets_verified,
        late.late_offset_commit_arrives: verification.late_offset_commit_arrives_verified,
    },
    why="x",
)

KAFKA_4_0 = KAFKA_3_7.derive(
    "kafka-4.0",
    replace={
        verification.producer_produces_verified: version_2.producer_produces_v2,
        verification.late_produce_arrives_verified: version_2.late_produce_arrives_v2,
        verification.producer_sends_offsets_verified: version_2.producer_sends_offsets_v2,
        verification.late_offset_commit_arrives_verified: version_2.late_offset_commit_arrives_v2,
        version_1.producer_commits: version_2.producer_commits_v2,
        version_1.producer_aborts: version_2.producer_aborts_v2,
        late.produce_is_delayed: version_2.produce_is_delayed_v2,
        late.offset_commit_is_delayed: version_2.offset_commit_is_delayed_v2,
        late.end_txn_is_repeated: version_2.end_txn_is_repeated_v2,
    },
    remove=(
        version_1.producer_adds_partition,
        version_1.producer_adds_offsets,
        version_1.producer_bumps_epoch,
    ),
    why="x",
)

KAFKA_4_2 = KAFKA_4_0.derive(
    "kafka-4.2",
    replace={
        coordinator.partition_appends_marker: version_2.partition_appends_later_marker,
        late.late_marker_arrives: version_2.late_marker_arrives_v2,
    },
    why="x",
)

# -- history --------------------------------------------------------------------------------------

BEFORE_KAFKA_9144 = KAFKA_2_5.derive(
    "before-kafka-9144",
    add=(omissions.partition_expires_producer,),
    why="x",
)

BEFORE_KIP_360 = KAFKA_3_7.derive(
    "before-kip-360",
    replace={version_1.producer_aborts: omissions.producer_aborts_and_keeps_epoch},
    remove=(version_1.producer_bumps_epoch,),
    why="x",
)

BEFORE_KAFKA_19999 = KAFKA_4_2.derive(
    "before-kafka-19999",
    replace={
        version_2.partition_appends_later_marker: omissions.partition_appends_only_later_marker
    },
    why="x",
)

OPEN_IN_ANY_EPOCH = KAFKA_4_2.derive(
    "open-in-any-epoch",
    replace={version_2.producer_produces_v2: omissions.producer_produces_to_any_open},
    why="x",
)

OWN_IDS = KAFKA_4_2.derive(
    "own-ids",
    replace={
        coordinator.coordinator_initializes_producer: kip_447.coordinator_initializes_own_id,
        coordinator.coordinator_fences_producer: kip_447.coordinator_fences_own_id,
    },
    why="x",
)

KIP_447 = OWN_IDS.derive(
    "kip-447",
    replace={
        version_2.producer_sends_offsets_v2: kip_447.producer_sends_offsets_in_generation,
        version_2.late_offset_commit_arrives_v2: kip_447.late_offset_commit_arrives_in_generation,
    },
    why="x",
)

# -- one ingredient missing -----------------------------------------------------------------------

UNSTABLE_FETCH = KIP_447.derive(
    "unstable-fetch",
    replace={application.consumer_fetches_stable_offset: kip_447.consumer_fetches_offset},
    why="x",
)

NO_TRANSACTIONS = KAFKA_4_2.derive(
    "no-transactions",
    remove=tuple(r for r in KAFKA_4_2.rules if r.by in ("producer", "coordinator", "network")),
    add=(
        omissions.producer_starts_without_id,
        omissions.producer_produces_at_once,
        omissions.consumer_commits_offset,
    ),
    why="x",
)

OFFSETS_AFTER = KAFKA_4_2.derive(
    "offsets-after-commit",
    replace={
        version_2.producer_sends_offsets_v2: omissions.producer_commits_result,
        version_2.producer_commits_v2: omissions.consumer_commits_offset_after,
    },
    why="x",
)

OFFSETS_BEFORE = KAFKA_4_2.derive(
    "offsets-before-commit",
    replace={version_2.producer_sends_offsets_v2: omissions.consumer_commits_offset_before},
    why="x",
)

READ_UNCOMMITTED = KAFKA_4_2.derive(
    "read-uncommitted",
    replace={application.reader_reads_committed: omissions.reader_reads_uncommitted},
    why="x",
)

KEEPS_POSITION = KAFKA_4_2.derive(
    "keeps-position",
    replace={version_2.producer_aborts_v2: omissions.producer_aborts_and_keeps_position},
    why="x",
)

IGNORES_FAILURES = KAFKA_4_2.derive(
    "ignores-failures",
    replace={version_2.producer_sends_offsets_v2: omissions.producer_sends_offsets_after_failure},
    why="x",
)

NO_FENCING = KAFKA_4_2.derive(
    "no-fencing",
    replace={coordinator.coordinator_initializes_producer: omissions.coordinator_keeps_epoch},
    remove=(coordinator.coordinator_fences_producer,),
    why="x",
)

NO_TIMEOUT = KAFKA_4_2.derive(
    "no-timeout",
    remove=(coordinator.coordinator_times_out,),
    why="x",
)

VARIANTS = (
    KAFKA_2_5,
    KAFKA_3_6,
    KAFKA_3_7,
    KAFKA_4_0,
    KAFKA_4_2,
    BEFORE_KAFKA_9144,
    BEFORE_KIP_360,
    BEFORE_KAFKA_19999,
    OPEN_IN_ANY_EPOCH,
    OWN_IDS,
    KIP_447,
    UNSTABLE_FETCH,
    NO_TRANSACTIONS,
    OFFSETS_AFTER,
    OFFSETS_BEFORE,
    READ_UNCOMMITTED,
    KEEPS_POSITION,
    IGNORES_FAILURES,
    NO_FENCING,
    NO_TIMEOUT,
)
