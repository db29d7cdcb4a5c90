"""The variants: versions of Kafka, faults that it had, and what each ingredient prevents."""

from __future__ import annotations

from kspec.spec.core import Variant, Violated
from kspec.spec.transactions import (
    application,
    coordinator,
    kip_447,
    late,
    omissions,
    verification,
    version_1,
    version_2,
)

ALONE = {"rebalances": 0, "failovers": 0}
"""One instance, whose Produce may be late, and no failure."""
LATE_COMMIT = {**ALONE, "late_produces": 0, "late_commits": 1}
"""The same with a late TxnOffsetCommit instead."""
LATE_END = {**ALONE, "late_produces": 0, "late_ends": 1}
"""The same with a late EndTxn instead."""
LATE_MARKER = {**ALONE, "late_produces": 0, "late_markers": 1}
"""The same with a late marker instead."""
FAILOVER = {"rebalances": 0, "transactions": 1, "late_produces": 0, "late_markers": 1}
"""One transaction, whose coordinator may fail, and one late marker."""
ZOMBIE = {"failovers": 0, "late_produces": 0}
"""Two instances, and neither late requests nor failures."""

PARTLY_COMMITTED = {
    "OnlyCommittedTransactionsAreVisible": Violated(17, LATE_MARKER),
    "CommittedTransactionIsWhole": Violated(17, LATE_MARKER),
}
"""Up to 3.9, a late marker ends the next transaction of its epoch in one partition."""
ENDED_EARLY = {"NoInputIsSkipped": Violated(20, LATE_END)}
"""Up to 3.9, a late EndTxn ends the next transaction between its result and its offset."""
OFFSETS_HANG = {
    "OpenTransactionIsCoordinated": Violated(13, LATE_COMMIT),
    "StableOffsetReachesLogEnd": Violated(13, LATE_COMMIT),
    "FencedProducerWritesNothing": Violated(14, LATE_COMMIT),
}
"""Up to 3.6, a late TxnOffsetCommit opens a transaction that nobody ends."""
KAFKA_2_5 = Variant(
    "kafka-2.5",
    rules=(*application.RULES, *version_1.RULES, *coordinator.RULES, *late.RULES),
    why=(
        "Kafka 2.5 to 3.5, transactions version 1 with the clients of KIP-360: a partition appends "
        "any record with a current epoch. A late Produce opens a transaction that the coordinator "
        "does not know and nobody ends: the last stable offset is stuck (KAFKA-12671, KAFKA-14402)."
    ),
    violates={
        "OpenTransactionIsCoordinated": Violated(10, ALONE),
        "StableOffsetReachesLogEnd": Violated(10, ALONE),
        "FencedProducerWritesNothing": Violated(11, ALONE),
        "EachResultReadOnce": Violated(20, ALONE),
        **PARTLY_COMMITTED,
        **ENDED_EARLY,
    },
)

KAFKA_3_6 = KAFKA_2_5.derive(
    "kafka-3.6",
    replace={
        version_1.producer_produces: verification.producer_produces_verified,
        late.late_produce_arrives: verification.late_produce_arrives_verified,
    },
    why=(
        "KIP-890, part 1: before the first record of a transaction, the leader of the partition "
        "asks the coordinator whether there is one. Up to 3.6, not for offsets."
    ),
    violates={
        **OFFSETS_HANG,
        **PARTLY_COMMITTED,
        **ENDED_EARLY,
    },
)

KAFKA_3_7 = KAFKA_3_6.derive(
    "kafka-3.7",
    replace={
        version_1.producer_sends_offsets: verification.producer_sends_offsets_verified,
        late.late_offset_commit_arrives: verification.late_offset_commit_arrives_verified,
    },
    why=(
        "Since 3.7 offsets are verified as well. As all transactions of a producer have one epoch, "
        "a late EndTxn or a late marker may still end the next transaction."
    ),
    violates={
        **PARTLY_COMMITTED,
        **ENDED_EARLY,
    },
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
    why=(
        "KIP-890, part 2 (transactions version 2): each end of a transaction bumps the epoch, so "
        "late requests are fenced. A marker has the epoch of the next transaction, and a late one "
        "still ends it (KAFKA-19446; 4.0 and 4.1)."
    ),
    violates={
        "OnlyCommittedTransactionsAreVisible": Violated(14, LATE_MARKER),
        "CommittedTransactionIsWhole": Violated(15, LATE_MARKER),
        "NoInputIsSkipped": Violated(16, LATE_MARKER),
    },
)

KAFKA_4_2 = KAFKA_4_0.derive(
    "kafka-4.2",
    replace={
        coordinator.partition_appends_marker: version_2.partition_appends_later_marker,
        late.late_marker_arrives: version_2.late_marker_arrives_v2,
    },
    why=(
        "A partition rejects a marker unless its epoch is later than that of the open transaction "
        "(KAFKA-19446)."
    ),
)

# -- history --------------------------------------------------------------------------------------

BEFORE_KAFKA_9144 = KAFKA_2_5.derive(
    "before-kafka-9144",
    add=(omissions.partition_expires_producer,),
    why=(
        "Up to 2.4.0 a partition forgot a producer once a marker had bumped its epoch, and with it "
        "the epochs of producer and coordinator: a zombie opened a transaction again, and a late "
        "marker of an earlier coordinator was appended (KAFKA-9144, repaired in 2.4.1)."
    ),
    violates={
        "CoordinatorEpochsAscend": Violated(11, FAILOVER),
        "OpenTransactionIsCoordinated": Violated(10, ZOMBIE),
        "StableOffsetReachesLogEnd": Violated(10, ZOMBIE),
        "FencedProducerWritesNothing": Violated(12, ZOMBIE),
        "EachResultReadOnce": Violated(20, ALONE),
        **PARTLY_COMMITTED,
        **ENDED_EARLY,
    },
)

BEFORE_KIP_360 = KAFKA_3_7.derive(
    "before-kip-360",
    replace={version_1.producer_aborts: omissions.producer_aborts_and_keeps_epoch},
    remove=(version_1.producer_bumps_epoch,),
    why=(
        "A client without KIP-360 (before 2.5) keeps its epoch after a failed request. Its late "
        "Produce passes verification as part of the next transaction, and is committed with it. "
        "Each epoch of transactions version 2 has one transaction only."
    ),
    violates={
        "OnlyCommittedTransactionsAreVisible": Violated(18, ALONE),
        "EachResultReadOnce": Violated(19, ALONE),
        "CommittedTransactionIsWhole": Violated(17, LATE_MARKER),
        **ENDED_EARLY,
    },
)

BEFORE_KAFKA_19999 = KAFKA_4_2.derive(
    "before-kafka-19999",
    replace={
        version_2.partition_appends_later_marker: omissions.partition_appends_only_later_marker
    },
    why=(
        "The first form of KAFKA-19446, in no release: a marker that was written already is "
        "rejected as well. A coordinator that sends it again never completes the transaction."
    ),
    violates={
        "EndsAreCompleted": Violated(8, LATE_MARKER),
    },
)

OPEN_IN_ANY_EPOCH = KAFKA_4_2.derive(
    "open-in-any-epoch",
    replace={version_2.producer_produces_v2: omissions.producer_produces_to_any_open},
    why=(
        "In no release: a partition with an open transaction of an earlier epoch does not ask the "
        "coordinator. A record of the next transaction joins the one that is being ended, and its "
        "marker has no later epoch any more."
    ),
    violates={
        "StableOffsetReachesLogEnd": Violated(9, ALONE),
        "EndsAreCompleted": Violated(9, ALONE),
    },
)

OWN_IDS = KAFKA_4_2.derive(
    "own-ids",
    replace={
        coordinator.coordinator_initializes_producer: kip_447.coordinator_initializes_own_id,
        coordinator.coordinator_fences_producer: kip_447.coordinator_fences_own_id,
    },
    why=(
        "Each instance has its own transactional id, but sends offsets without the group's "
        "generation, as before KIP-447 (2.5): nothing fences a zombie, and an input is processed "
        "twice."
    ),
    violates={
        "EachResultReadOnce": Violated(17, ZOMBIE),
    },
)

KIP_447 = OWN_IDS.derive(
    "kip-447",
    replace={
        version_2.producer_sends_offsets_v2: kip_447.producer_sends_offsets_in_generation,
        version_2.late_offset_commit_arrives_v2: kip_447.late_offset_commit_arrives_in_generation,
    },
    why=(
        "The group refuses offsets of an earlier generation, and the next owner of the input waits "
        "until no transaction with an offset is open (KIP-447): "
        "`sendOffsetsToTransaction(offsets, consumer.groupMetadata())`."
    ),
)

# -- one ingredient missing -----------------------------------------------------------------------

UNSTABLE_FETCH = KIP_447.derive(
    "unstable-fetch",
    replace={application.consumer_fetches_stable_offset: kip_447.consumer_fetches_offset},
    why=(
        "The generation alone is not enough. A zombie sent its offset before the rebalance, and "
        "commits after its successor has fetched the previous offset."
    ),
    violates={
        "EachResultReadOnce": Violated(17, ZOMBIE),
    },
)

NO_TRANSACTIONS = KAFKA_4_2.derive(
    "no-transactions",
    remove=tuple(r for r in KAFKA_4_2.rules if r.by in ("producer", "coordinator", "network")),
    add=(
        omissions.producer_starts_without_id,
        omissions.producer_produces_at_once,
        omissions.consumer_commits_offset,
    ),
    why=(
        "A producer without transactions, and an offset committed after the result: after a crash "
        "between them, the result is produced again (at least once)."
    ),
    violates={
        "EachResultReadOnce": Violated(11, ZOMBIE),
    },
)

OFFSETS_AFTER = KAFKA_4_2.derive(
    "offsets-after-commit",
    replace={
        version_2.producer_sends_offsets_v2: omissions.producer_commits_result,
        version_2.producer_commits_v2: omissions.consumer_commits_offset_after,
    },
    why=(
        "Results in transactions, and the offset committed by the consumer afterwards: after a "
        "crash between them, the result is committed twice."
    ),
    violates={
        "EachResultReadOnce": Violated(16, ZOMBIE),
    },
)

OFFSETS_BEFORE = KAFKA_4_2.derive(
    "offsets-before-commit",
    replace={version_2.producer_sends_offsets_v2: omissions.consumer_commits_offset_before},
    why=(
        "The offset committed by the consumer before the transaction: if that is aborted, the "
        "input is skipped."
    ),
    violates={
        "NoInputIsSkipped": Violated(8, ZOMBIE),
    },
)

READ_UNCOMMITTED = KAFKA_4_2.derive(
    "read-uncommitted",
    replace={application.reader_reads_committed: omissions.reader_reads_uncommitted},
    why=(
        "The consumer of the results has the default isolation.level, `read_uncommitted`, and "
        "reads results of aborted transactions."
    ),
    violates={
        "ReaderReadsOnlyCommitted": Violated(6, ZOMBIE),
        "EachResultReadOnce": Violated(12, ZOMBIE),
    },
)

KEEPS_POSITION = KAFKA_4_2.derive(
    "keeps-position",
    replace={version_2.producer_aborts_v2: omissions.producer_aborts_and_keeps_position},
    why=(
        "After an abort, the application does not seek to the committed offset: it processes the "
        "next input, and commits the offset after it."
    ),
    violates={
        "NoInputIsSkipped": Violated(13, ZOMBIE),
    },
)

IGNORES_FAILURES = KAFKA_4_2.derive(
    "ignores-failures",
    replace={version_2.producer_sends_offsets_v2: omissions.producer_sends_offsets_after_failure},
    remove=(version_2.offset_commit_is_delayed_v2, version_2.late_offset_commit_arrives_v2),
    why=("The application commits although a Produce has failed. The Java producer refuses that."),
    violates={
        "NoInputIsSkipped": Violated(8, ALONE),
    },
)

NO_FENCING = KAFKA_4_2.derive(
    "no-fencing",
    replace={coordinator.coordinator_initializes_producer: omissions.coordinator_keeps_epoch},
    remove=(coordinator.coordinator_fences_producer,),
    why=(
        "initTransactions neither bumps the epoch nor aborts the transaction in progress: a zombie "
        "and its successor write to one transaction."
    ),
    violates={
        "FencedProducerWritesNothing": Violated(11, ZOMBIE),
        "OnlyCommittedTransactionsAreVisible": Violated(13, ZOMBIE),
        "EachResultReadOnce": Violated(14, ZOMBIE),
    },
)

NO_TIMEOUT = KAFKA_4_2.derive(
    "no-timeout",
    remove=(coordinator.coordinator_times_out,),
    why=(
        "Without `transaction.timeout.ms`, the transaction of a crashed producer stays open, and "
        "hides all later records from `read_committed` consumers."
    ),
    violates={
        "StableOffsetReachesLogEnd": Violated(5, ZOMBIE),
        "EndsAreCompleted": Violated(5, ZOMBIE),
    },
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
