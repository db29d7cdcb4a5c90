"""The requests of the model `transactions`, as Kafka's messages."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from kspec.checkers.models.find import find_model
from kspec.impl.storage.writer import encode_batch
from kspec.spec.transactions.log import NO_EPOCH
from kspec.spec.transactions.state import DATA, Application
from tests.spec.transactions.wire import (
    INPUTS,
    LONGEST,
    OFFSETS_TOPIC,
    VERSION_1,
    VERSION_2,
    Group,
    Wire,
    named,
)

TRANSACTIONS = find_model("transactions")
BOUNDS = {"inputs": 3, "transactions": 4, "rebalances": 3, "failovers": 0, "late_produces": 1}
BOUNDS |= {"late_commits": 1, "late_ends": 1, "late_markers": 2}

"""The bounds of every game."""
NUMBERS = itertools.count()
"""The numbers of games: each has its own topic, group and transactional ids."""


class Requests:
    """A state of the model, and the requests that its rules stand for."""

    def __init__(
        self, address: str, variant: str, *, in_group: bool = False, adds_two: bool = False
    ) -> None:
        self.system = TRANSACTIONS.system(variant, BOUNDS)
        self.rules = {rule.name: rule for rule in self.system.rules}
        self.is_version_2 = "producer_adds_partition" not in self.rules
        self.adds_two = adds_two
        """Whether fencing adds 2 to the epoch: 4.0.0 with transactions version 2 (KAFKA-19367)."""
        self.wire = Wire(address, VERSION_2 if self.is_version_2 else VERSION_1)
        number = next(NUMBERS)
        self.topic, self.ids = f"results-{number}", (f"{number}-one", f"{number}-two")
        self.producers: dict[int, int] = {}
        """The producer id of each transactional id."""
        self.epochs = {(tid, NO_EPOCH): -1 for tid in range(2)}
        """The broker's epoch by that of the model, which differs where fencing adds 2."""
        self.group = Group(address, f"group-{number}")
        self.in_group = in_group
        """Whether the application sends the group's generation (KIP-447)."""
        self.state: Application = self.system.initial()[0]
        for name in (INPUTS, self.topic):
            self.wire.create_topic(name)
        self.wire.await_coordinators(self.group.name, self.ids)
        if in_group:
            self.group.assign(0, 1)

    def close(self) -> None:
        """Close the connections."""
        self.wire.close()
        self.group.close()

    def epoch(self, tid: int, epoch: int) -> int:
        """The broker's epoch; each end of a transaction adds 1 to it, as in the model."""
        if (tid, epoch) not in self.epochs:
            self.epochs[tid, epoch] = self.epochs[tid, epoch - 1] + 1
        return self.epochs[tid, epoch]

    def fenced_id(self, instance: int) -> int:
        """The transactional id with which an instance calls initTransactions."""
        return instance if "coordinator_initializes_own_id" in self.rules else 0

    # -- requests ---------------------------------------------------------------------------------

    def producer(self, tid: int, epoch: int) -> dict[str, Any]:
        """The fields that name a producer in a request of transactions."""
        return {
            "transactional_id": self.ids[tid],
            "producer_id": self.producers[tid],
            "producer_epoch": self.epoch(tid, epoch),
        }

    def initialize(self, s: Application, choice: tuple[int, ...]) -> str:
        """InitProducerId of a producer that starts."""
        return self.init_producer_id(self.fenced_id(choice[0]), -1, -1)

    def bump(self, s: Application, choice: tuple[int, ...]) -> str:
        """InitProducerId of a producer that continues after a failure (KIP-360)."""
        own = s.instances[choice[0]]
        return self.init_producer_id(own.id, self.producers[own.id], self.epoch(own.id, own.epoch))

    def init_producer_id(self, tid: int, producer: int, epoch: int) -> str:
        """InitProducerId; notes the producer id, which stays."""
        answer = self.wire.call(
            "init_producer_id", transactional_id=self.ids[tid],
            transaction_timeout=LONGEST, producer_id=producer, producer_epoch=epoch,
        )  # fmt: skip
        if not answer.error_code.value:
            assert self.producers.setdefault(tid, answer.producer_id) == answer.producer_id
            assert answer.producer_epoch == self.epoch(tid, self.state.transactions[tid].epoch)
        return named(answer.error_code)

    def add_partition(self, s: Application, choice: tuple[int, ...]) -> str:
        """AddPartitionsToTxn."""
        own = s.instances[choice[0]]
        producer = {f"v3_and_below_{k}": v for k, v in self.producer(own.id, own.epoch).items()}
        topics = [{"name": self.topic, "partitions": [0]}]
        answer = self.wire.call("add_partitions_to_txn", v3_and_below_topics=topics, **producer)
        (topic,) = answer.results_by_topic_v3_and_below
        return named(topic.results_by_partition[0].partition_error_code)

    def add_offsets(self, s: Application, choice: tuple[int, ...]) -> str:
        """AddOffsetsToTxn."""
        own = s.instances[choice[0]]
        producer = self.producer(own.id, own.epoch)
        answer = self.wire.call("add_offsets_to_txn", group_id=self.group.name, **producer)
        return named(answer.error_code)

    def produce(self, s: Application, choice: tuple[int, ...]) -> str:
        """Produce of the result of the input that an instance has polled."""
        own = s.instances[choice[0]]
        sequence = s.logs[DATA].count(own.id, own.epoch)
        return self.send_result(own.id, own.epoch, sequence, own.position)

    def produce_late(self, s: Application, choice: tuple[int, ...]) -> str:
        """Produce that its producer gave up."""
        late = s.late.produce
        assert late is not None
        return self.send_result(late.id, late.record.epoch, late.sequence, late.record.value)

    def send_result(self, tid: int, epoch: int, sequence: int, value: int) -> str:
        """Produce of one record."""
        batch = encode_batch(
            [(0, None, b"%d" % value)], producer_id=self.producers[tid],
            producer_epoch=self.epoch(tid, epoch), base_sequence=sequence, attributes=0x10,
        )  # fmt: skip
        data = [{"name": self.topic, "partition_data": [{"index": 0, "records": batch}]}]
        answer = self.wire.call(
            "produce", transactional_id=self.ids[tid], acks=-1, timeout=60_000, topic_data=data
        )
        return named(answer.responses[0].partition_responses[0].error_code)

    def send_offsets(self, s: Application, choice: tuple[int, ...]) -> str:
        """TxnOffsetCommit of the offset after the input that an instance has polled."""
        own = s.instances[choice[0]]
        return self.txn_offset_commit(own.id, own.epoch, own.generation, own.position + 1)

    def send_offsets_late(self, s: Application, choice: tuple[int, ...]) -> str:
        """TxnOffsetCommit that its producer gave up."""
        late = s.late.commit
        assert late is not None
        return self.txn_offset_commit(
            late.id, late.record.epoch, late.generation, late.record.value
        )

    def txn_offset_commit(self, tid: int, epoch: int, generation: int, offset: int) -> str:
        """TxnOffsetCommit, with the generation of the group if the application knows it."""
        member = {}
        if self.in_group:  # each instance has its own transactional id
            member["member_id"] = self.group.members[tid]
            member["generation_id"] = str(self.group.generations[generation])
        partition = {"partition_index": 0, "committed_offset": offset, "committed_leader_epoch": -1}
        answer = self.wire.call(
            "txn_offset_commit",
            group_id=self.group.name,
            member_id=member.get("member_id", ""),
            generation_id=int(member.get("generation_id", -1)),
            topics=[{"name": INPUTS, "partitions": [partition]}],
            **self.producer(tid, epoch),
        )
        return named(answer.topics[0].partitions[0].error_code)

    def end(self, s: Application, choice: tuple[int, ...], name: str) -> str:
        """EndTxn; since version 5 the response has the epoch of the next transaction."""
        tid, epoch, commits = ending(name, s, choice)
        answer = self.wire.call("end_txn", committed=commits, **self.producer(tid, epoch))
        if self.is_version_2 and not answer.error_code.value:
            assert answer.producer_epoch == self.epoch(tid, self.state.transactions[tid].epoch)
        return named(answer.error_code)

    def mark_late(self, s: Application, choice: tuple[int, ...]) -> str:
        """WriteTxnMarkers to the results that was repeated."""
        late = s.late.marker
        assert late is not None
        pid, epoch = self.producers[late.marker.id], self.epoch(late.marker.id, late.marker.epoch)
        marker = {
            "producer_id": pid,
            "producer_epoch": epoch,
            "transaction_result": late.marker.commits,
            "topics": [
                {"name": (self.topic, OFFSETS_TOPIC)[late.partition], "partition_indexes": [0]}
            ],
            "coordinator_epoch": late.marker.coordinator_epoch,
        }
        (answer,) = self.wire.call("write_txn_markers", markers=[marker]).markers
        return named(answer.topics[0].partitions[0].error_code)

    def fetch_offset(self, s: Application, choice: tuple[int, ...]) -> str:
        """OffsetFetch of a consumer that was assigned the input."""
        found = self.committed()
        if isinstance(found, str):
            return found
        assert found == s.committed_offset
        return "NONE"

    def assign(self, s: Application, choice: tuple[int, ...]) -> None:
        """A rebalance, where the application sends its generation."""
        if self.in_group:
            self.group.assign(choice[0], s.generation + 1)

    def nothing(self, s: Application, choice: tuple[int, ...]) -> None:
        """No request: the client alone, or a request that is not yet sent."""

    def committed(self) -> int | str:
        """The committed offset; 0 if there is none, as where a consumer then begins."""
        topics = [{"name": INPUTS, "partition_indexes": [0]}]
        fetched = self.wire.call(
            "offset_fetch", group_id=self.group.name, topics=topics, require_stable=True
        )
        (partition,) = fetched.topics[0].partitions
        if partition.error_code.value:
            return named(partition.error_code)
        return max(partition.committed_offset, 0)


def ending(rule: str, s: Application, choice: tuple[int, ...]) -> tuple[int, int, bool]:
    """Transactional id, epoch and outcome of the EndTxn of a rule."""
    if rule.startswith("late"):
        late = s.late.end
        assert late is not None
        return late.id, late.epoch, late.commits
    own = s.instances[choice[0]]
    return own.id, own.epoch, rule.startswith("producer_commits")


SENDERS: tuple[tuple[str, str | None, Callable[..., Any]], ...] = (
    # the beginning of a rule's name, the request, and how it is sent
    ("coordinator_initializes", "InitProducerId", Requests.initialize),
    ("coordinator_fences", "InitProducerId", Requests.initialize),
    ("producer_bumps_epoch", "InitProducerId", Requests.bump),
    ("producer_adds_partition", "AddPartitionsToTxn", Requests.add_partition),
    ("producer_adds_offsets", "AddOffsetsToTxn", Requests.add_offsets),
    ("producer_produces", "Produce", Requests.produce),
    ("late_produce_arrives", "Produce", Requests.produce_late),
    ("producer_sends_offsets", "TxnOffsetCommit", Requests.send_offsets),
    ("late_offset_commit_arrives", "TxnOffsetCommit", Requests.send_offsets_late),
    ("producer_commits", "EndTxn", Requests.end),
    ("producer_aborts", "EndTxn", Requests.end),
    ("late_end_txn_arrives", "EndTxn", Requests.end),
    ("late_marker_arrives", "WriteTxnMarkers", Requests.mark_late),
    ("consumer_fetches", "OffsetFetch", Requests.fetch_offset),
    ("group_assigns_input", None, Requests.assign),
    ("consumer_polls", None, Requests.nothing),
    ("produce_is_delayed", None, Requests.nothing),
    ("offset_commit_is_delayed", None, Requests.nothing),
    ("end_txn_is_repeated", None, Requests.nothing),
    ("marker_is_repeated", None, Requests.nothing),
    ("reader_reads_committed", None, Requests.nothing),
)


def sender_of(rule: str) -> tuple[str | None, Callable[..., Any]]:
    """The request of a rule, and how it is sent."""
    for prefix, request, send in SENDERS:
        if rule.startswith(prefix):
            return request, send
    raise KeyError(rule)
