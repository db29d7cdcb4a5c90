"""The rows of docs/exactly-once.md: each ingredient, with a run without it and one with it.

`python docs/tools/lists.py` writes them into the page, and `tests/spec/test_exactly_once.py` runs
them. To add a row, add it here; rows of one model and part make one table.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kspec.spec.transactions.variants import (
    ALONE,
    FAILOVER,
    LATE_COMMIT,
    LATE_END,
    LATE_MARKER,
    ZOMBIE,
)


@attrs.frozen
class Row:
    """An ingredient of exactly once: a run of a model without it fails, and one with it holds."""

    model: str
    """The model."""
    part: str
    """Whether the application has the ingredient (`client`), or the cluster (`cluster`)."""
    ingredient: str
    """The setting, call or version, as a reader would look for it."""
    prevents: str
    """What happens without it."""
    without: str
    """The variant without it."""
    violates: str
    """The property that this variant violates."""
    states: int
    """The length of the shortest counterexample."""
    variant: str
    """The variant with it, in which the property holds."""
    bounds: Mapping[str, int]
    """The bounds of both runs, where they are not the default."""


ROWS = (
    # -- transactions: the application --
    Row(
        "transactions",
        "client",
        "a transaction around result and offset (`transactional.id`)",
        "after a crash between them, the result is produced again",
        "no-transactions",
        "EachResultReadOnce",
        11,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "the offset is in the transaction (`sendOffsetsToTransaction`), not committed after it",
        "after a crash in between, the result is committed twice",
        "offsets-after-commit",
        "EachResultReadOnce",
        16,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "the offset is not committed before the transaction (auto-commit, `commitSync`)",
        "an abort skips the input",
        "offsets-before-commit",
        "NoInputIsSkipped",
        8,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "`isolation.level=read_committed` of the consumers of the results",
        "they read the result of an aborted transaction, and later the one that replaces it",
        "read-uncommitted",
        "EachResultReadOnce",
        12,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "seek to the committed offset after an abort",
        "the input of the aborted transaction is skipped",
        "keeps-position",
        "NoInputIsSkipped",
        13,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "abort after a failed `send`",
        "the input is skipped, and has no result",
        "ignores-failures",
        "NoInputIsSkipped",
        8,
        "kafka-4.2",
        ALONE,
    ),
    Row(
        "transactions",
        "client",
        "`initTransactions` fences a zombie with the same `transactional.id`",
        "both process the input, in one transaction",
        "no-fencing",
        "EachResultReadOnce",
        14,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "`consumer.groupMetadata()`, with a `transactional.id` for each instance (KIP-447, 2.5)",
        "a zombie with another `transactional.id` processes the input as well",
        "own-ids",
        "EachResultReadOnce",
        17,
        "kip-447",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "client",
        "a consumer that waits for pending offsets (require_stable, clients since 2.5)",
        "the next owner begins at the previous offset, which a zombie then advances",
        "unstable-fetch",
        "EachResultReadOnce",
        17,
        "kip-447",
        ZOMBIE,
    ),
    # -- transactions: the brokers --
    Row(
        "transactions",
        "cluster",
        "`transaction.timeout.ms`",
        "after a crash, consumers of the results wait forever",
        "no-timeout",
        "StableOffsetReachesLogEnd",
        5,
        "kafka-4.2",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 2.4.1 (KAFKA-9144)",
        "a partition forgets the epoch of a fenced zombie, which opens a transaction again",
        "before-kafka-9144",
        "OpenTransactionIsCoordinated",
        10,
        "kafka-2.5",
        ZOMBIE,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 2.4.1 (KAFKA-9144)",
        "a marker of an earlier coordinator is appended after one of a later coordinator",
        "before-kafka-9144",
        "CoordinatorEpochsAscend",
        11,
        "kafka-2.5",
        FAILOVER,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 3.6 (KIP-890, part 1)",
        "a late Produce opens a transaction that nobody ends; consumers wait forever",
        "kafka-2.5",
        "StableOffsetReachesLogEnd",
        10,
        "kafka-3.6",
        ALONE,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 3.6 (KIP-890, part 1)",
        "a late Produce is committed with a later transaction",
        "kafka-2.5",
        "EachResultReadOnce",
        20,
        "kafka-3.6",
        ALONE,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 3.7",
        "a late TxnOffsetCommit opens a transaction that nobody ends; the group is stuck",
        "kafka-3.6",
        "StableOffsetReachesLogEnd",
        13,
        "kafka-3.7",
        LATE_COMMIT,
    ),
    Row(
        "transactions",
        "cluster",
        "clients since 2.5 (KIP-360), or `transaction.version=2`",
        "a late Produce passes verification in the next transaction, and is committed",
        "before-kip-360",
        "EachResultReadOnce",
        19,
        "kafka-3.7",
        ALONE,
    ),
    Row(
        "transactions",
        "cluster",
        "`transaction.version=2` (brokers and clients since 4.0; KIP-890, part 2)",
        "a late EndTxn ends the next transaction between its result and its offset",
        "kafka-3.7",
        "NoInputIsSkipped",
        20,
        "kafka-4.0",
        LATE_END,
    ),
    Row(
        "transactions",
        "cluster",
        "brokers since 4.2 (KAFKA-19446)",
        "a late marker ends the next transaction in one partition, before it is whole",
        "kafka-4.0",
        "NoInputIsSkipped",
        16,
        "kafka-4.2",
        LATE_MARKER,
    ),
    # -- idempotence and delivery --
    Row(
        "idempotence",
        "client",
        "`retries` above 0, the default since 2.1",
        "an election or a lost connection fails a record that could be sent again",
        "no-retries",
        "OnlyTimeoutsReported",
        3,
        "no-idempotence",
        {},
    ),
    Row(
        "idempotence",
        "client",
        "`enable.idempotence=true`, the default since 3.0.1",
        "a retry writes a record twice",
        "no-idempotence",
        "RecordsWrittenOnce",
        6,
        "kafka-4.5",
        {},
    ),
    Row(
        "idempotence",
        "client",
        "`enable.idempotence=true`, the default since 3.0.1",
        "a record that is retried is written after its successor",
        "no-idempotence",
        "OrderKept",
        9,
        "kafka-4.5",
        {},
    ),
    Row(
        "idempotence",
        "client",
        "`max.in.flight.requests.per.connection` of at most 5",
        "the leader takes an old batch for a gap, and it is written again",
        "six-in-flight",
        "RecordsWrittenOnce",
        14,
        "kafka-4.5",
        {},
    ),
    Row(
        "idempotence",
        "client",
        "`acks=all`, the default since 3.0",
        "the next leader lacks an acknowledged record",
        "acks-1",
        "AcknowledgedRecordsWritten",
        5,
        "kafka-4.5",
        {},
    ),
    Row(
        "idempotence",
        "cluster",
        "clients and brokers since 2.5 (KIP-360)",
        "a sequence number is used twice, and an acknowledged record is not written",
        "kafka-1.0",
        "AcknowledgedRecordsWritten",
        11,
        "kafka-2.5",
        {},
    ),
    Row(
        "idempotence",
        "cluster",
        "brokers since 4.5 (KAFKA-15591)",
        "after an election, a batch is written twice",
        "kafka-2.5",
        "RecordsWrittenOnce",
        18,
        "kafka-4.5",
        {},
    ),
    Row(
        "delivery",
        "client",
        "results and offsets in one transaction of the store",
        "a crash between both repeats a record",
        "store-apart",
        "RecordsAreProcessedAtMostOnce",
        8,
        "store-conditional",
        {},
    ),
    Row(
        "delivery",
        "client",
        "which also compares the stored offset with that of the record",
        "a member that was removed from the group continues, and repeats a record",
        "store-together",
        "RecordsAreProcessedAtMostOnce",
        8,
        "store-conditional",
        {},
    ),
)
