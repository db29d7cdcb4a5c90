"""Findings on exactly once: what a producer with a transactional.id needs besides it.

Each names the run of the model `transactions` that shows what happens without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kspec.field.advice.catalogue import TRANSACTIONS, order
from kspec.field.advice.settings import Settings
from kspec.field.advice.sources import Remark as Finding
from kspec.spec.durability import ALL, survives_writing


def on_transactions(s: Settings, *, consumer_too: bool) -> Iterator[Finding]:
    """What a transactional producer lacks, and its consumer if its settings are known too."""
    if not s.is_set("producer", "transactional.id"):
        return
    yield from on_release(s)
    yield from on_state_log(s)
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
    elif not s.has("broker", TRANSACTIONS) or s.number("broker", TRANSACTIONS) < 2:
        problem = "an EndTxn that arrives late may end the next transaction before it is whole"
        variant = "kafka-3.7"
    elif release < order("4.2"):
        problem = "a marker that arrives late ends the next transaction in one partition"
        variant = "kafka-4.0"
    else:
        problem = ""
    if problem:
        level = f" with {TRANSACTIONS}={s.text('broker', TRANSACTIONS)}" if is_set_lower(s) else ""
        yield Finding(
            "transactional.id",
            f"in Kafka {s.known.release}{level}, {problem}",
            f"upgrade to 4.2, with the feature {TRANSACTIONS}=2",
            f"the model transactions, variant {variant}; KIP-890",
        )
    if s.has("broker", TRANSACTIONS) and not s.is_set("broker", TRANSACTIONS):
        yield Finding(
            TRANSACTIONS,
            "2 is assumed, which is the default of new clusters only: a cluster that was upgraded "
            "keeps its level, and with 0 or 1 a late EndTxn may end the next transaction",
            f"check it with kafka-features describe, and ask again with --set {TRANSACTIONS}=0 or "
            f"=2. To enable it: kafka-features upgrade --feature {TRANSACTIONS}=2",
            "the model transactions, variant kafka-3.7; TransactionVersion",
        )


def is_set_lower(s: Settings) -> bool:
    """Whether the cluster has the feature at a level that does not repair transactions."""
    return s.has("broker", TRANSACTIONS) and s.number("broker", TRANSACTIONS) < 2


def on_state_log(s: Settings) -> Iterator[Finding]:
    """The replication of `__transaction_state`, which is where a commit is decided."""
    copies = s.number("broker", "transaction.state.log.replication.factor")
    min_isr = s.number("broker", "transaction.state.log.min.isr")
    factor = s.number("topic", "replication.factor")
    existing = "a topic __transaction_state that exists keeps its own"
    if copies < factor:
        yield Finding(
            "transaction.state.log.replication.factor",
            f"the state of transactions has fewer copies ({copies}) than the topic's records "
            f"({factor}): if they are lost, an acknowledged commit may never reach them",
            f"use {factor}; {existing}, and is reassigned by kafka-reassign-partitions",
            "TransactionStateManager.appendTransactionToLog",
        )
    if copies > 1 and min_isr == 1:
        yield Finding(
            "transaction.state.log.min.isr",
            "a commit is acknowledged when one broker has it: if that broker is lost before the "
            "others fetch it, the transaction stays open, or is aborted",
            f"use 2 with transaction.state.log.replication.factor=3; {existing} "
            "min.insync.replicas, which kafka-configs changes",
            "TransactionStateManager.transactionTopicConfigs",
        )
    if copies > 1 and survives_writing(copies, ALL, min_isr) == 0:
        yield Finding(
            "transaction.state.log.min.isr",
            f"it is not below transaction.state.log.replication.factor={copies}: after one crash, "
            "transactions neither begin nor end until the broker is back",
            f"use {copies - 1}" if copies > 2 else "use 2 with a replication factor of 3",
            "TransactionStateManager.transactionTopicConfigs; spec.durability.survives_writing",
        )
