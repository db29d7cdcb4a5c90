"""Findings on exactly once: what a producer with a transactional.id needs besides it.

Each names the run of the model `transactions` that shows what happens without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from kspec.field.advice.catalogue import TRANSACTIONS, order
from kspec.field.advice.remarks import Remark, remark
from kspec.field.advice.settings import Settings
from kspec.spec.durability import ALL, survives_writing


def on_transactions(s: Settings, *, consumer_too: bool) -> Iterator[Remark]:
    """What a transactional producer lacks, and its consumer if its settings are known too."""
    if not s.is_set("producer", "transactional.id"):
        return
    yield from on_release(s)
    yield from on_state_log(s)
    if consumer_too and s.truth("consumer", "enable.auto.commit"):
        yield remark("auto-commit-in-transactions")
    if consumer_too and s.text("consumer", "isolation.level") == "read_uncommitted":
        yield remark("read-uncommitted")


LATE_REQUESTS = {
    "own-ids": "producers with different ids in one group do not fence each other (KIP-447)",
    "kafka-2.5": "a Produce that arrives after its abort opens a transaction that nobody ends",
    "kafka-3.7": "an EndTxn that arrives late may end the next transaction before it is whole",
    "kafka-4.0": "a marker that arrives late ends the next transaction in one partition",
}
"""What may go wrong, by the variant of the model that shows it."""


def on_release(s: Settings) -> Iterator[Remark]:
    """What late requests do to transactions of this release."""
    release = order(s.known.release)
    has_feature = s.has("broker", TRANSACTIONS)
    is_lower = has_feature and s.number("broker", TRANSACTIONS) < 2
    if release < order("2.5"):
        variant = "own-ids"
    elif release < order("3.6"):
        variant = "kafka-2.5"
    elif is_lower or not has_feature:
        variant = "kafka-3.7"
    elif release < order("4.2"):
        variant = "kafka-4.0"
    else:
        variant = ""
    if variant:
        level = f" with {TRANSACTIONS}={s.text('broker', TRANSACTIONS)}" if is_lower else ""
        problem = LATE_REQUESTS[variant]
        yield remark(
            "late-requests", release=s.known.release, level=level, problem=problem, variant=variant
        )
    if has_feature and not s.is_set("broker", TRANSACTIONS):
        yield remark("transaction-version-assumed")


def on_state_log(s: Settings) -> Iterator[Remark]:
    """The replication of `__transaction_state`, which is where a commit is decided."""
    copies = s.number("broker", "transaction.state.log.replication.factor")
    min_isr = s.number("broker", "transaction.state.log.min.isr")
    factor = s.number("topic", "replication.factor")
    if copies < factor:
        yield remark("few-copies-of-transactions", copies=copies, factor=factor)
    if copies > 1 and min_isr == 1:
        yield remark("transactions-min-isr-is-1")
    if copies > 1 and survives_writing(copies, ALL, min_isr) == 0:
        fix = f"use {copies - 1}" if copies > 2 else "use 2 with a replication factor of 3"
        yield remark("transactions-min-isr-is-factor", copies=copies, fix=fix)
