"""A running Kafka broker as the tests of transactions reach it: requests, a topic and a group."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kspec.field.conform.connection import Connection, Lost, wait
from kspec.field.conform.security import Security
from kspec.impl.background import Address
from kspec.impl.wire import API_KEYS, create, request_type

DEADLINE = 300
"""Seconds until a condition that does not come true fails a test."""
LONGEST = 900_000
"""Milliseconds: `transaction.max.timeout.ms`; no transaction times out during a test."""
INPUTS = "inputs"
"""The topic whose offsets are committed."""
OFFSETS_TOPIC = "__consumer_offsets"
VERSION_1 = {"produce": 11, "txn_offset_commit": 4, "end_txn": 4}
"""The last versions of the requests before transactions version 2."""
VERSION_2 = {"produce": 12, "txn_offset_commit": 5, "end_txn": 5}
"""The versions that ask for transactions version 2: the leader adds partitions."""
VERSIONS = {
    "add_offsets_to_txn": 4,
    "add_partitions_to_txn": 3,
    "create_topics": 5,
    "describe_producers": 0,
    "describe_transactions": 0,
    "find_coordinator": 3,
    "init_producer_id": 5,
    "join_group": 5,
    "leave_group": 3,
    "list_offsets": 6,
    "metadata": 8,
    "offset_fetch": 7,
    "sync_group": 3,
    "write_txn_markers": 1,
}

T = TypeVar("T")


def awaited(look: Callable[[], T | None], what: str) -> T:
    """What is found, as soon as it is."""
    deadline = time.monotonic() + DEADLINE
    while (found := look()) is None:
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
    return found


class Wire:
    """A connection to the broker, with requests of fixed versions."""

    def __init__(self, address: str, versions: Mapping[str, int]) -> None:
        self.versions = {**VERSIONS, **versions}
        self.connection = Connection(Address.parse(address), Security())

    def send(self, api: str, **values: Any) -> None:
        """Send a request."""
        request = create(request_type(API_KEYS[api], self.versions[api]), **values)
        self.connection.send(request, "kspec")

    def receive(self) -> Any:
        """The response, however long it takes within the deadline."""
        deadline = time.monotonic() + DEADLINE
        while (response := self.connection.poll()) is None:
            if time.monotonic() > deadline:
                raise Lost("no response")
            wait([self.connection], 1)
        return response

    def call(self, api: str, **values: Any) -> Any:
        """Send a request and wait for its response."""
        self.send(api, **values)
        return self.receive()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def create_topic(self, name: str) -> None:
        """Create a topic of one partition, and wait until its leader answers."""
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1}
        created = self.call("create_topics", topics=[topic], timeout=60_000).topics[0].error_code
        assert named(created) in ("NONE", "TOPIC_ALREADY_EXISTS", "REQUEST_TIMED_OUT"), created
        awaited(lambda: self.offset(name, 0), f"the topic {name} has no leader")

    def offset(self, topic: str, isolation: int) -> int | None:
        """The end of a partition, or for 1 (`read_committed`) its last stable offset."""
        asked = {"partition_index": 0, "timestamp": -1, "current_leader_epoch": -1}
        topics = [{"name": topic, "partitions": [asked]}]
        response = self.call(
            "list_offsets", replica_id=-1, isolation_level=isolation, topics=topics
        )
        found = response.topics[0].partitions[0]
        return None if found.error_code.value else found.offset

    def await_coordinators(self, group: str, tids: Sequence[str]) -> None:
        """Wait until a group and transactional ids have coordinators, which have loaded them."""

        def look() -> bool | None:
            keys = [(group, 0), *((tid, 1) for tid in tids)]
            found = [self.call("find_coordinator", key=key, key_type=kind) for key, kind in keys]
            fetched = self.call("offset_fetch", group_id=group, topics=[], require_stable=True)
            described = self.call("describe_transactions", transactional_ids=tids)
            errors = {named(one.error_code) for one in [*found, fetched]}
            errors |= {named(one.error_code) for one in described.transaction_states}
            return True if errors <= {"NONE", "TRANSACTIONAL_ID_NOT_FOUND"} else None

        awaited(look, f"{group} or {tids} has no coordinator")


def named(error: Any) -> str:
    """The name of an error code."""
    return str(error.name.upper())


# -- the group ------------------------------------------------------------------------------------


class Group:
    """A group of the classic protocol, in which each instance may be a member."""

    def __init__(self, address: str, name: str) -> None:
        self.name = name
        self.wires = [Wire(address, {}) for _ in range(2)]
        self.members = ["", ""]
        self.generations = {0: -1}
        """The group's generation, by that of the model."""

    def close(self) -> None:
        """Close the connections."""
        for wire in self.wires:
            wire.close()

    def assign(self, instance: int, generation: int) -> None:
        """A rebalance: the members join again, this instance among them, and it owns the input.

        A previous owner stays a member, as a consumer whose processing of records lags behind.
        """
        wire = self.wires[instance]
        if not self.members[instance]:
            joined = self.join(wire, instance)
            assert named(joined.error_code) == "MEMBER_ID_REQUIRED"
            self.members[instance] = joined.member_id
        joining = [i for i, member in enumerate(self.members) if member]
        joining.sort(key=lambda i: i != instance)
        for i in joining:
            self.wires[i].send("join_group", **self.join_fields(i))
        answers = {i: self.wires[i].receive() for i in joining}
        assert {named(answer.error_code) for answer in answers.values()} == {"NONE"}, answers
        number = answers[instance].generation_id
        for i in joining:
            self.wires[i].send("sync_group", **self.sync_fields(i, number, answers[i].leader))
        for i in joining:
            assert named(self.wires[i].receive().error_code) == "NONE"
        self.generations[generation] = number

    def join(self, wire: Wire, instance: int) -> Any:
        """The response to JoinGroup."""
        return wire.call("join_group", **self.join_fields(instance))

    def join_fields(self, instance: int) -> dict[str, Any]:
        """A JoinGroup of this instance, whose session does not expire during a test."""
        return {
            "group_id": self.name,
            "session_timeout": 1_800_000,
            "rebalance_timeout": 1_800_000,
            "member_id": self.members[instance],
            "protocol_type": "consumer",
            # New metadata make the group rebalance whoever joins.
            "protocols": [{"name": "range", "metadata": b"%d" % len(self.generations)}],
        }

    def sync_fields(self, instance: int, generation: int, leader: str) -> dict[str, Any]:
        """A SyncGroup of this instance; the leader assigns nothing that the broker reads."""
        member = self.members[instance]
        assigned = [{"member_id": m, "assignment": b""} for m in self.members if m]
        return {
            "group_id": self.name,
            "generation_id": generation,
            "member_id": member,
            "assignments": assigned if member == leader else [],
        }
