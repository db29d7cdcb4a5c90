"""A broker without network, clients that send it requests, and record batches."""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from crc32c import crc32c

from kspec.impl.broker.broker import Broker
from kspec.impl.broker.calls import Call
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.wire import API_KEYS, Received, create, request_type

ADDRESS = "127.0.0.1", 9092


def batch(
    values: Sequence[bytes],
    *,
    times: Sequence[int] = (),
    producer: tuple[int, int, int] = (-1, -1, -1),
    attributes: int = 0,
    data: bytes | None = None,
) -> bytes:
    """A record batch as a producer sends it; `data` stands in for its records."""
    at = times or [0] * len(values)
    covered = struct.pack(
        ">hiqqqhii", attributes, len(values) - 1, at[0], max(at), *producer, len(values)
    ) + (records(values, at) if data is None else data)
    head = struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered))
    return head + covered


def records(values: Sequence[bytes], times: Sequence[int]) -> bytes:
    """The records of a batch."""
    encoded = b""
    for delta, (value, time) in enumerate(zip(values, times, strict=True)):
        body = b"\0" + varint(time - times[0]) + varint(delta) + varint(-1)
        body += varint(len(value)) + value + varint(0)
        encoded += varint(len(body)) + body
    return encoded


def varint(value: int) -> bytes:
    """A signed integer in zigzag encoding."""
    left, encoded = (value << 1) ^ (value >> 63), b""
    while left > 0x7F:
        encoded += bytes([left & 0x7F | 0x80])
        left >>= 7
    return encoded + bytes([left])


def message(api: str, version: int, **values: Any) -> Any:
    """A request's message."""
    return create(request_type(API_KEYS[api], version), **values)


class Scene:
    """A broker, and a clock for the waits of Fetch."""

    def __init__(self, **settings: Any) -> None:
        settings = {"initial_rebalance_delay": 0, **settings}
        self.now = 0
        self._waits: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()
        self.broker = Broker(BrokerSettings(**settings), 0, self._later)
        self.answers: dict[Call, Any] = {}

    def _later(self, delay: int, function: Callable[[], None]) -> Callable[[], None]:
        number = next(self._numbers)
        heapq.heappush(self._waits, (self.now + delay, number, function))

        def cancel() -> None:
            self._waits = [wait for wait in self._waits if wait[1] != number]
            heapq.heapify(self._waits)

        return cancel

    def wait(self, duration: int) -> None:
        """Let real time pass for the waits of Fetch."""
        self.now += duration
        while self._waits and self._waits[0][0] <= self.now:
            self._waits[0][2]()

    def send(self, api: str, version: int, client: str = "me", **values: Any) -> Call:
        """Send a request; its answer, if there is one yet, is in `answers`."""
        request = Received(API_KEYS[api], version, 0, client, message(api, version, **values))
        call = Call(request, ADDRESS, "127.0.0.1", self.answers.__setitem__)
        self.broker.handle(call)
        self.pass_time(0)
        return call

    def pass_time(self, duration: int) -> None:
        """Let time pass for the coordinator."""
        self.broker.groups.advance(self.broker.groups.now + duration)

    def ask(self, api: str, version: int, **values: Any) -> Any:
        """The answer to a request, which the broker has to give at once."""
        return self.answers[self.send(api, version, **values)]

    # -- records ---------------------------------------------------------------------------

    def produce(self, records: bytes | None, topic: str = "orders", acks: int = -1) -> Any:
        """The answer for one batch."""
        answer = self.ask(
            "produce", 9, acks=acks, timeout=1_000,
            topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": records}]}],
        )  # fmt: skip
        return answer and answer.responses[0].partition_responses[0]

    def fetch(self, offset: int, *, wait: int = 0, version: int = 12, **values: Any) -> Call:
        """Fetch from one partition."""
        partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 2**20}
        partition["current_leader_epoch"] = values.pop("epoch", -1)
        values = {"min_bytes": 1, "max_bytes": 2**20, "max_wait": wait, **values}
        if version >= 13:
            topic: dict[str, Any] = {"topic_id": self.broker.topics.named("orders").id}
        else:
            topic = {"topic": "orders"}
        topics = [{**topic, "partitions": [partition]}]
        return self.send("fetch", version, topics=topics, **values)

    def fetched(self, call: Call) -> Any:
        """The answer for the partition, or None if the request is still parked."""
        answer = self.answers.get(call)
        return answer and answer.responses[0].partitions[0]

    def list_offset(self, timestamp: int) -> tuple[int, int]:
        """The offset and time that ListOffsets names."""
        asked = {"partition_index": 0, "timestamp": timestamp, "current_leader_epoch": -1}
        topics = [{"name": "orders", "partitions": [asked]}]
        found = self.ask("list_offsets", 7, topics=topics, replica_id=-1)
        partition = found.topics[0].partitions[0]
        return partition.offset, partition.timestamp

    # -- groups ----------------------------------------------------------------------------

    def join(self, member: str = "", version: int = 9, **values: Any) -> Call:
        """JoinGroup."""
        values = {
            "group_id": "readers", "protocol_type": "consumer", "session_timeout": 10_000,
            "rebalance_timeout": 60_000, "member_id": member,
            "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\1\0\6orders"}], **values,
        }  # fmt: skip
        return self.send("join_group", version, **values)

    def member(self, version: int = 9, **values: Any) -> tuple[str, int]:
        """The member id and generation of a member that has joined alone."""
        member = self.answers[self.join(**values)].member_id
        answer = self.answers[self.join(member, version, **values)]
        return answer.member_id, answer.generation_id

    def sync(self, member: str, generation: int, version: int = 5, **values: Any) -> Call:
        """SyncGroup."""
        values = {
            "group_id": "readers", "generation_id": generation, "member_id": member,
            "protocol_type": "consumer", "protocol_name": "range", **values,
        }  # fmt: skip
        return self.send("sync_group", version, **values)

    def commit(self, offset: int, version: int = 9, **values: Any) -> str:
        """The error of a commit for one partition."""
        partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
        topics = [{"name": "orders", "partitions": [partition]}]
        values = {"group_id": "readers", "topics": topics, **values}
        answer = self.ask("offset_commit", version, **values)
        return str(answer.topics[0].partitions[0].error_code.name)
