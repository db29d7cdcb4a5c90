"""Faults planted in `kspec.impl.producer_state`: random histories find each of them."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import pytest

from kspec.impl.producer_state import state, transactions
from tests.impl.producer_state.histories import EXPIRATION, Differs, Pair, dense

FAULTS = {
    "four batches are remembered": ("RETAINED = 5", "RETAINED = 4"),
    "a repetition in an older epoch counts": (
        "producer is not None and epoch == known:",
        "producer is not None:",
    ),
    "a repetition need not end alike": ("== first and batch.last_sequence == last:", "== first:"),
    "a new epoch keeps the batches": (
        "producer.batches = (batch,)",
        "producer.batches += (batch,)",
    ),
    "an older epoch is accepted": (
        "REPLICATION and epoch < known:",
        "REPLICATION and epoch < known - 1:",
    ),
    "a new epoch begins anywhere": (
        "return first == 0",
        "return epoch != producer.epoch or first == 0",
    ),
    "sequence numbers do not wrap around": (
        "(batches[-1].last_sequence + 1) % _WRAP",
        "batches[-1].last_sequence + 1",
    ),
    "a replica checks epochs": (
        "if origin is not REPLICATION and epoch < known:",
        "if epoch < known:",
    ),
    "a coordinator needs sequence numbers": (
        "if origin is CLIENT and not",
        "if origin is not REPLICATION and not",
    ),
    "verification is not needed": ("verification.guard == guard", "True"),
    "an older verification is enough": ("verification.guard == guard", "guard is not None"),
    "the transaction of an older epoch is open": (
        "producer.start >= 0 and producer.epoch == epoch",
        "producer.start >= 0",
    ),
    "a verified batch may overtake": ("if first > verification.lowest_sequence:", "if False:"),
    "a bumping producer begins anywhere": (
        "if verification.bumps_epochs and first",
        "if False and first",
    ),
    "the lowest sequence number is the last": (
        "min(sequence, verification.lowest_sequence)",
        "sequence",
    ),
    "an older epoch begins a verification": (
        "        if producer is not None and epoch < producer.epoch:\n            return",
        "        if False:\n            return",
    ),
    "a marker ends the next verification": ("verified.bumps_epochs and", "False and"),
    "a marker keeps the batches of its old epoch": (
        "producer.epoch = epoch\n            producer.batches = ()",
        "producer.epoch = epoch",
    ),
    "a late marker of version 2 is accepted": (
        "if transaction_version >= 2 and is_late:",
        "if False:",
    ),
    "a late marker of version 1 is rejected": (
        "if transaction_version >= 2 and",
        "if transaction_version >= 1 and",
    ),
    "an older coordinator is accepted": (
        "if coordinator_epoch < producer.coordinator_epoch:",
        "if False:",
    ),
    "a batch outside of the transaction is accepted": (
        "producer.start >= 0 and not is_transactional:",
        "False:",
    ),
    "commits are in the index": ("if is_abort and not is_replayed:", "if not is_replayed:"),
    "producers with a transaction expire": (
        "if p.timestamp <= limit and p.start < 0]",
        "if p.timestamp <= limit]",
    ),
    "producers expire late": ("if p.timestamp <= limit and", "if p.timestamp < limit and"),
    "verifications do not expire": ("if v.started <= limit]", "if False]"),
    "a marker is no activity": (
        "producer.timestamp = timestamp\n        if producer.start",
        "if producer.start",
    ),
    "a snapshot loads expired producers": (
        "row.transaction_start < 0 and row.timestamp <= limit",
        "False",
    ),
    "a snapshot forgets transactions": (
        "started.append((row.transaction_start, row.producer))",
        "pass",
    ),
    "a snapshot at the log start is loaded": (
        "if not log_start < offset <=",
        "if not log_start <= offset <=",
    ),
    "the index keeps what is truncated": ("self.aborted.truncate(log_end)", "pass"),
    "the log start is no limit of the LSO": (
        "min(max(first, log_start), high_watermark)",
        "min(first, high_watermark)",
    ),
}
"""What is wrong: what stands in `state`, and what stands there instead."""

IN_TRANSACTIONS = {
    "a marker at the high watermark is replicated": ("[0][0] < offset", "[0][0] <= offset"),
    "what waits for replication is stable": ("heappush(self._firsts, first_offset)", "pass"),
    "what is replicated stays unstable": ("not in self._waiting", "is None"),
    "loaded transactions are not in order": ("sorted(transactions)", "transactions"),
    "the index names the offset of the marker": ("marker + 1)", "marker)"),
    "the search ends too early": (">= upper_bound:", ">= fetch_offset:"),
    "a transaction that ends at the fetch offset is left out": (
        "range(bisect_left(self._ends, fetch_offset)",
        "range(bisect_left(self._ends, fetch_offset + 1)",
    ),
}
"""The same in `transactions`."""


def module_with(original: ModuleType, old: str, new: str) -> dict[str, Any]:
    """The names of a module in whose source something else stands."""
    source = inspect.getsource(original)
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
    names: dict[str, Any] = {"__name__": original.__name__}
    exec(compile(source.replace(old, new), "fault", "exec", dont_inherit=True), names)
    return names


def differs(made: Any) -> bool:
    """Whether one of the first histories finds a difference."""
    for seed in range(400):
        pair = Pair(made(expiration=EXPIRATION))
        try:
            for step in dense(seed):
                pair.take(step)
        except (Differs, KeyError):  # KeyError: a transaction ends that is not open
            return True
    return False


@pytest.mark.parametrize("fault", FAULTS)
def test_histories_find_a_fault(fault: str) -> None:
    assert differs(module_with(state, *FAULTS[fault])["ProducerState"])


@pytest.mark.parametrize("fault", IN_TRANSACTIONS)
def test_histories_find_a_fault_of_transactions(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = module_with(transactions, *IN_TRANSACTIONS[fault])
    for name in ("Transactions", "TransactionIndex"):
        monkeypatch.setattr(state, name, names[name])
    assert differs(state.ProducerState)
