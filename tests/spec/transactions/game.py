"""Plays the model `transactions` against a running Kafka broker, request by request.

Each rule of the model that handles a request is sent as Kafka's message. The broker's response must
be the one of the model: the error of the guard that blocks the rule, or none. After each request,
what the broker shows of the coordinator, the partitions and the committed offset must be the
model's state (`Shown`).

What is left out, with the reason:

- `coordinator_times_out`, `coordinator_fails_over`: they are Kafka's, and no request causes them.
- `before-…` variants and omissions: no release runs them.
- Where a transaction begins in the partition of offsets: `__consumer_offsets` has records of groups
  as well. Its last stable offset is compared by UNSTABLE_OFFSET_COMMIT.
- The coordinator's epoch: the broker is the only one, so that it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from kspec.spec.core import Blocked
from kspec.spec.transactions.log import NO_EPOCH, NO_OFFSET
from kspec.spec.transactions.state import COMPLETE, DATA, OFFSETS, PREPARED, Application, TxnState
from tests.spec.transactions.requests import Requests, ending, sender_of
from tests.spec.transactions.wire import OFFSETS_TOPIC, awaited, named

ANSWERS: Mapping[tuple[str, str], str] = {
    # request and the guard that fails: the error
    ("AddPartitionsToTxn", "producer epoch is the coordinator's"): "PRODUCER_FENCED",
    ("AddOffsetsToTxn", "producer epoch is the coordinator's"): "PRODUCER_FENCED",
    ("EndTxn", "producer epoch is the coordinator's"): "PRODUCER_FENCED",
    ("InitProducerId", "producer epoch is the coordinator's"): "PRODUCER_FENCED",
    ("EndTxn", "transaction to end is ongoing"): "INVALID_TXN_STATE",
    ("Produce", "producer epoch is the coordinator's"): "INVALID_PRODUCER_EPOCH",
    ("Produce", "producer epoch is not older"): "INVALID_PRODUCER_EPOCH",
    ("Produce", "sequence number is the next"): "OUT_OF_ORDER_SEQUENCE_NUMBER",
    ("Produce", "coordinator verifies the epoch"): "INVALID_PRODUCER_EPOCH",
    ("Produce", "coordinator verifies the partition"): "TRANSACTION_ABORTABLE",
    ("TxnOffsetCommit", "producer epoch is the coordinator's"): "INVALID_PRODUCER_EPOCH",
    ("TxnOffsetCommit", "producer epoch is not older"): "INVALID_PRODUCER_EPOCH",
    ("TxnOffsetCommit", "coordinator verifies the epoch"): "INVALID_PRODUCER_EPOCH",
    ("TxnOffsetCommit", "coordinator verifies the partition"): "TRANSACTION_ABORTABLE",
    ("TxnOffsetCommit", "generation is current"): "ILLEGAL_GENERATION",
    ("OffsetFetch", "no transactional offset is pending"): "UNSTABLE_OFFSET_COMMIT",
    ("WriteTxnMarkers", "marker has no older producer epoch"): "INVALID_PRODUCER_EPOCH",
}
"""What a request is answered if a guard of its rule fails. `Model.answers` has it by guard."""

AGAIN = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS")
"""What says nothing of transactions: a broker that has just started has no producer ids yet, or
cannot yet reach the coordinator to verify a partition."""


@attrs.frozen
class Shown:
    """What a broker shows of a state of the model."""

    transactions: tuple[tuple[str, int, frozenset[int]], ...]
    """Of each transactional id: state, epoch and partitions. DescribeTransactions."""
    producers: tuple[tuple[int, int], ...]
    """Of each producer: its epoch in the results, and where its transaction begins there.
    DescribeProducers."""
    end: int | None
    """The log end offset of the results. ListOffsets."""
    stable: int | None
    """Their last stable offset. ListOffsets with `read_committed`."""
    committed: int | str
    """The committed offset, or UNSTABLE_OFFSET_COMMIT. OffsetFetch with require_stable."""


UNINITIALIZED = ("Empty", NO_EPOCH, frozenset[int]())
"""What is shown of a transactional id that has no producer yet."""


class Game(Requests):
    """A state of the model and a broker, which have handled the same requests."""

    def __init__(self, address: str, variant: str, **options: bool) -> None:
        super().__init__(address, variant, **options)
        self.refused: set[int] = set()
        """The transactional ids whose offsets the group has refused (`expected`)."""
        self.seen: set[tuple[str, str]] = set()
        """The requests that were answered with an error, each with its guard."""

    # -- steps ------------------------------------------------------------------------------------

    def play(self, *steps: str) -> None:
        """Play rules, each with its choices: `producer_produces_v2 0`."""
        for step in steps:
            name, *choice = step.split()
            self.step(name, tuple(map(int, choice)))

    def step(self, name: str, choice: tuple[int, ...]) -> None:
        """Play a rule: the response and what the broker shows afterwards are the model's."""
        request, send = sender_of(name)
        if request is not None:
            self.settle()
        before, after = self.state, self.rules[name].attempt(self.state, choice)
        if request is None:
            assert not isinstance(after, Blocked), (name, after)
            send(self, before, choice)
            self.state = after
            return
        if isinstance(after, Blocked):
            assert (request, after.guard) in ANSWERS, (name, choice, after)
            expected = ANSWERS[request, after.guard]
            if request == "EndTxn" and self.has_ended(*ending(name, before, choice)):
                expected = "NONE"
            self.seen.add((request, after.guard))
            if after.guard == "generation is current":
                self.refused.add(refused_id(before, choice))
        else:
            expected = "CONCURRENT_TRANSACTIONS" if "fences" in name else "NONE"
            self.state = after
        answer = awaited(lambda: self.ask(name, before, choice), f"{name}: retries do not end")
        why = after.guard if isinstance(after, Blocked) else "every guard holds"
        assert answer == expected, f"{name} {choice}: {answer}, but {why}: {expected}"
        if "fences" in name:
            self.note_fencing(choice[0])

    def ask(self, name: str, s: Application, choice: tuple[int, ...]) -> str | None:
        """The response, or None if Kafka's clients send the request again."""
        request, send = sender_of(name)
        which = (name,) if request == "EndTxn" else ()
        answer = send(self, s, choice, *which)
        return None if answer in AGAIN else answer

    def settle(self) -> None:
        """The model writes all markers, and the broker comes to show its state."""
        for tid, transaction in enumerate(self.state.transactions):
            if transaction.state in PREPARED:
                for partition in sorted(transaction.unmarked):
                    self.attempt("partition_appends", tid, partition)
                self.attempt("coordinator_completes_transaction", tid)
        wanted = self.expected()
        found = [self.shown()]

        def look() -> bool | None:
            if found[-1] != wanted:
                found.append(self.shown())
            return True if found[-1] == wanted else None

        awaited(look, f"the model's state is not shown: {wanted}")

    def attempt(self, prefix: str, *choice: int) -> None:
        """A step that Kafka takes by itself."""
        (rule,) = [rule for name, rule in self.rules.items() if name.startswith(prefix)]
        after = rule.attempt(self.state, choice)
        assert not isinstance(after, Blocked), after
        self.state = after

    def note_fencing(self, instance: int) -> None:
        """The broker's epoch after it fenced a producer."""
        tid = self.fenced_id(instance)
        epoch = self.state.transactions[tid].epoch
        added = 2 if self.adds_two else 1
        self.epochs[tid, epoch] = self.epochs[tid, epoch - 1] + added

    def has_ended(self, tid: int, epoch: int, commits: bool) -> bool:
        """Whether an EndTxn was handled before: then the response is NONE, and nothing changes.

        The model has no response to a late request. Kafka: `TransactionCoordinator.endTransaction`
        in the states CompleteCommit and CompleteAbort.
        """
        transaction = self.state.transactions[tid]
        ended = self.epoch(tid, epoch) + (1 if self.is_version_2 else 0)
        is_of_it = self.epoch(tid, transaction.epoch) == ended
        return is_of_it and transaction.state is COMPLETE[0 if commits else 1]

    # -- comparison -------------------------------------------------------------------------------

    def expected(self) -> Shown:
        """What the broker should show of the model's state.

        The broker adds the partition of offsets before the group compares the generation: a refused
        TxnOffsetCommit leaves it in the transaction, and nothing in it (`kip_447`).
        """
        s = self.state
        data, offsets = s.logs[DATA], s.logs[OFFSETS]
        unstable = offsets.stable < offsets.end
        producers = tuple(
            (self.epoch(tid, known.epoch), known.first) for tid, known in enumerate(data.producers)
        )
        return Shown(
            tuple(
                (str(t.state), self.epoch(tid, t.epoch), t.partitions | self.joined(tid))
                for tid, t in enumerate(s.transactions)
            ),
            producers,
            data.end,
            data.stable,
            "UNSTABLE_OFFSET_COMMIT" if unstable else s.committed_offset,
        )

    def joined(self, tid: int) -> set[int]:
        """The partition of offsets, if the group refused those of the ongoing transaction."""
        if self.state.transactions[tid].state is not TxnState.ONGOING:
            self.refused.discard(tid)
        return {OFFSETS} if tid in self.refused else set()

    def shown(self) -> Shown:
        """What the broker shows."""
        described = self.wire.call("describe_transactions", transactional_ids=self.ids)
        transactions = {t.transactional_id: t for t in described.transaction_states}
        asked = [{"name": self.topic, "partition_indexes": [0]}]
        (topic,) = self.wire.call("describe_producers", topics=asked).topics
        active = {p.producer_id: p for p in topic.partitions[0].active_producers}
        known = [active.get(self.producers.get(tid, -1)) for tid in range(2)]
        return Shown(
            tuple(self.transaction_shown(transactions[tid]) for tid in self.ids),
            tuple(
                (p.producer_epoch, p.current_txn_start_offset) if p else (NO_EPOCH, NO_OFFSET)
                for p in known
            ),
            self.wire.offset(self.topic, 0),
            self.wire.offset(self.topic, 1),
            self.committed(),
        )

    def transaction_shown(self, found: Any) -> tuple[str, int, frozenset[int]]:
        """State, epoch and partitions of a transactional id, from DescribeTransactions."""
        if named(found.error_code) == "TRANSACTIONAL_ID_NOT_FOUND":
            return UNINITIALIZED
        assert named(found.error_code) == "NONE", found
        names = {self.topic: DATA, OFFSETS_TOPIC: OFFSETS}
        partitions = frozenset(names[topic.topic] for topic in found.topics)
        return found.transaction_state, found.producer_epoch, partitions


def refused_id(s: Application, choice: tuple[int, ...]) -> int:
    """The transactional id of offsets that the group refuses: an instance's, or late ones."""
    if choice:
        return s.instances[choice[0]].id
    assert s.late.commit is not None
    return s.late.commit.id
