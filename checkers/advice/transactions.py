"""Findings on exactly once: what a producer with a transactional.id needs besides it.

Each names the run of the model `transactions` that shows what happens without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.advice.catalogue import order
from checkers.advice.settings import Settings
from checkers.advice.sources import Remark as Finding


def on_transactions(s: Settings, *, consumer_too: bool) -> Iterator[Finding]:
    """What a transactional producer lacks, and its consumer if its settings are known too."""
    if not s.is_set("producer", "transactional.id"):
        return
    yield from on_release(s)
    if consumer_too and s.truth("consumer", "enable.auto.commit"):
        yield Finding(
            "enable.auto.commit",
            "offsets that poll commits are outside the transaction: if it is aborted, its inputs "
            "may be skipped",
            "use false, and sendOffsetsToTransaction(offsets, consumer.groupMetadata())",
            "the model transactions, variant offsets-before-commit",
        )
    if consumer_too and s.text("consumer", "isolation.level") == "read_uncommitted":
        yield Finding(
            "isolation.level",
            "a consumer of the producer's records reads those of aborted transactions too",
            "use read_committed for every consumer of the results",
            "the model transactions, variant read-uncommitted",
        )


def on_release(s: Settings) -> Iterator[Finding]:
    """What late requests do to transactions of this release."""
    release = order(s.known.release)
    if release < order("2.5"):
        problem = "producers with different ids in one group do not fence each other (KIP-447)"
        variant = "own-ids"
    elif release < order("3.6"):
        problem = "a Produce that arrives after its abort opens a transaction that nobody ends"
        variant = "kafka-2.5"
    elif release < order("4.0"):
        problem = "an EndTxn that arrives late may end the next transaction before it is whole"
        variant = "kafka-3.7"
    elif release < order("4.2"):
        problem = "a marker that arrives late ends the next transaction in one partition"
        variant = "kafka-4.0"
    else:
        return
    yield Finding(
        "transactional.id",
        f"in Kafka {s.known.release}, {problem}",
        "upgrade to 4.2, with the feature transaction.version=2",
        f"the model transactions, variant {variant}; KIP-890",
    )
