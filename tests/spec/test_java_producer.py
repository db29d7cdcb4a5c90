"""Java's own idempotent producer sends what the model `idempotence` says, in two of its stories.

The brokers are three sockets that answer as the story does; the producer decides what it sends.
Skipped with a reason where Java or Maven is missing.
"""

from __future__ import annotations

import contextlib
import queue
import socketserver
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kspec.checkers.models.stories import STORIES
from kspec.impl.wire import (
    API_KEYS,
    create,
    decode_request,
    encode_response,
    response_type,
)
from kspec.spec.core import Taken
from kspec.spec.idempotence.state import Answer, Exchange, Phase, Request
from tests.real_broker import classpath
from tests.spec.test_java_consumer import java

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

DEADLINE = 240
"""Seconds until a condition that does not come true fails a test."""
IDLE = 2
"""The broker that leads nothing of interest, so that it can always answer Metadata."""
APIS = {"api_versions": (0, 3), "metadata": (4, 9), "init_producer_id": (0, 2), "produce": (3, 9)}
"""What the brokers know, with the versions."""
SETTINGS = (
    "linger.ms=0",
    "retry.backoff.ms=1",
    "retry.backoff.max.ms=1",
    "reconnect.backoff.ms=1",
    "reconnect.backoff.max.ms=1",
    "metadata.max.age.ms=100",
    "request.timeout.ms=300000",
    "delivery.timeout.ms=900000",
)
"""The producer soon learns of another leader; nothing times out."""
NUMBERS = struct.Struct(">qhi")
"""Producer id, epoch and base sequence, at this place in a record batch:"""
NUMBERS_AT = 43


@attrs.define
class Pending:
    """A Produce request to the partition of interest, which the test answers."""

    node: int
    epoch: int
    sequence: int
    record: int
    result: tuple[str, int] | None = None
    """The error and the offset; none closes the connection."""
    done: threading.Event = attrs.field(factory=threading.Event)

    def end(self, result: tuple[str, int] | None) -> None:
        """Answer, or close the connection."""
        self.result = result
        self.done.set()


class Cluster:
    """Three brokers: 0 or 1 leads partition 0; 1 and 2 lead partitions 1 and 2."""

    def __init__(self) -> None:
        self.requests: queue.Queue[Pending] = queue.Queue()
        self.ports: list[int] = []
        self.leader = 0
        self.listed = 0
        """How often the current leader was listed in a Metadata response."""
        self.changed = threading.Condition()

    def elect(self, leader: int) -> None:
        """Another broker leads partition 0; returns when the producer knows it.

        The producer has handled a response when it asks again.
        """
        with self.changed:
            self.leader, self.listed = leader, 0
            assert self.changed.wait_for(lambda: self.listed >= 2, DEADLINE)

    def metadata(self) -> dict[str, Any]:
        """The brokers, and the topic."""
        with self.changed:
            leaders = {0: self.leader, 1: 1, IDLE: IDLE}
            self.listed += 1
            self.changed.notify_all()
        nodes = range(len(self.ports))
        partitions = [
            {
                "partition_index": partition,
                "leader_id": leader,
                "leader_epoch": leader if partition == 0 else 0,
                "replica_nodes": nodes,
                "isr_nodes": nodes,
            }
            for partition, leader in leaders.items()
        ]
        brokers = [
            {"node_id": node, "host": "127.0.0.1", "port": port}
            for node, port in enumerate(self.ports)
        ]
        topics = [{"name": "orders", "partitions": partitions}]
        return {"brokers": brokers, "cluster_id": "c", "controller_id": IDLE, "topics": topics}

    def produced(self, node: int, message: Any) -> dict[str, Any] | None:
        """The response to Produce; for partition 0 as the test decides."""
        (topic,) = message.topic_data
        (data,) = topic.partition_data
        error, offset = "NONE", 0
        if data.index == 0:
            raw = bytes(data.records)
            _, epoch, sequence = NUMBERS.unpack_from(raw, NUMBERS_AT)
            record = next(number for number in range(9) if b"r%d" % number in raw)
            pending = Pending(node, epoch, sequence, record)
            self.requests.put(pending)
            if not pending.done.wait(DEADLINE) or pending.result is None:
                return None
            error, offset = pending.result
        answer = {"index": data.index, "error_code": error, "base_offset": offset}
        return {"responses": [{"name": topic.name, "partition_responses": [answer]}]}

    def answer(self, node: int, key: int, message: Any) -> dict[str, Any] | None:
        """The fields of a response; None closes the connection."""
        if key == API_KEYS["api_versions"]:
            known = [
                {"api_key": API_KEYS[api], "min_version": low, "max_version": high}
                for api, (low, high) in APIS.items()
            ]
            return {"api_keys": known}
        if key == API_KEYS["metadata"]:
            return self.metadata()
        if key == API_KEYS["init_producer_id"]:
            return {"producer_id": 7, "producer_epoch": 0}
        assert key == API_KEYS["produce"], key
        return self.produced(node, message)


class Connection(socketserver.StreamRequestHandler):
    """A connection: its requests are answered one after the other."""

    def handle(self) -> None:
        server: Any = self.server
        with contextlib.suppress(ConnectionError):
            while len(start := self.rfile.read(4)) == 4:
                got = decode_request(self.rfile.read(int.from_bytes(start)))
                fields = server.cluster.answer(server.node, got.key, got.message)
                if fields is None:
                    return
                kind = response_type(got.key, got.version)
                self.wfile.write(encode_response(create(kind, **fields), got.correlation))


@contextlib.contextmanager
def cluster() -> Iterator[Cluster]:
    """Three brokers that listen."""
    made = Cluster()
    with contextlib.ExitStack() as stack:
        for node in (0, 1, IDLE):
            server: Any = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection)
            server.daemon_threads, server.block_on_close = True, False
            server.cluster, server.node = made, node
            stack.enter_context(server)
            made.ports.append(server.server_address[1])
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        yield made


class Story:
    """A behaviour of the model, played with the brokers and a producer."""

    def __init__(self, brokers: Cluster, process: subprocess.Popen[str]) -> None:
        self.brokers, self.process = brokers, process
        self.flying: dict[int, Pending] = {}
        """By term: the request in flight."""
        self.told: queue.Queue[str] = queue.Queue()
        """What the application is told."""
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(ValueError):  # the end of the story closes the pipe
            for line in self.process.stdout:
                self.told.put(line.strip())

    def send(self, partition: int, value: str) -> None:
        """The application sends a record."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{partition} {value}\n")
        self.process.stdin.flush()

    def heard(self) -> str:
        """What the application is told next."""
        return self.told.get(timeout=DEADLINE)

    def play(self, before: Exchange, taken: Taken, after: Exchange) -> None:
        """A step: what brokers and network do is done, what the producer does is awaited."""
        if taken.rule.startswith("producer_sends"):
            self.sent(before, after.connections[after.producer.leader][-1], after.producer.leader)
        elif taken.rule == "producer_learns_leader":
            self.brokers.elect(after.producer.leader)
        elif taken.rule == "connection_is_lost":
            self.flying.pop(taken.choices["term"]).end(None)
        elif taken.rule.startswith("producer_") and "term" in taken.choices:
            self.received(before, taken.choices["term"])

    def sent(self, before: Exchange, expected: Request, term: int) -> None:
        """The producer sends this batch, with these numbers, to this leader."""
        assert expected.identity is not None
        if before.batches[expected.record].phase is Phase.QUEUED:
            self.send(0, f"r{expected.record}")
        request = self.brokers.requests.get(timeout=DEADLINE)
        found = (request.node, request.record, request.epoch, request.sequence)
        assert found == (term, expected.record, expected.identity.epoch, expected.sequence)
        self.flying[term] = request

    def received(self, before: Exchange, term: int) -> None:
        """The producer receives the response, and the application hears of a success."""
        request = before.connections[term][0]
        assert request.answer is not None
        self.flying.pop(term).end((request.answer.value, request.offset))
        if request.answer is Answer.SUCCESS:
            assert self.heard() == f"acknowledged r{request.record} {request.offset}"


@pytest.mark.parametrize(
    ("name", "version"),
    [("written-twice", "2.5.1"), ("written-twice", "4.0.0"), ("written-once", "4.0.0")],
)
def test_the_producer_sends_what_the_story_says(name: str, version: str) -> None:
    """Also with the numbers: in one of them the epoch is bumped, and a record is sent again."""
    trace = STORIES[name].played()
    program = Path(__file__).parent / "java" / "Producer.java"
    jars = classpath(version, "kafka-clients")
    with cluster() as brokers:
        arguments = (f"127.0.0.1:{brokers.ports[IDLE]}", "enable.idempotence=true", "acks=all")
        with java(jars, program, *arguments, *SETTINGS) as process:
            story = Story(brokers, process)
            for other in (1, IDLE):  # connect, so that Metadata never waits behind the story
                story.send(other, "other")
                assert story.heard() == "acknowledged other 0"
            steps = zip(trace.states, trace.steps, trace.states[1:], strict=False)
            for before, taken, after in steps:
                story.play(before, taken, after)
