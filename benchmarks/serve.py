"""The embedded broker beside a real one: start-up time, records and group requests a second.

    python -m benchmarks.serve [--seconds 3] [--no-kafka] [--json]

Both brokers run in processes of their own on this machine, one after the other, and answer the
same bytes, sent by the same client: one record batch after the other for one partition, and the
requests of a hundred members, each on its own connection. The client waits for each answer of a
connection, up to five at a time, as a producer does. The figures are by the clock, and by the
processor time of the broker where the system tells it.

The real broker is Apache Kafka, from Maven's jars; it is left out where Java or Maven is missing.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from rich.console import Console
from rich.table import Table

from benchmarks.measuring import options_of, print_json
from kspec.impl.wire import decode_response, encode_request
from tests.impl.broker.scene import batch, message
from tests.real_broker import KAFKA, real_broker

TOPIC = "orders"
IN_FLIGHT = 5
"""How many requests of a connection are open at a time."""
MEMBERS = 100
"""How many members send group requests."""
VALUE = b"x" * 100
"""A record's value."""


@attrs.frozen
class Figure:
    """One measured figure of a broker."""

    what: str
    unit: str
    value: float
    by_processor: float | None
    """The same by the broker's processor time."""


class Connection:
    """A connection that sends prepared bytes."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()

    def ask(self, request: Any) -> Any:
        """One request and its response."""
        self.socket.sendall(encode_request(request, 1, "benchmark"))
        while True:
            for frame in self.frames():
                return decode_response(frame, request)[1]

    def frames(self) -> Iterator[bytes]:
        """The responses that have arrived completely, after waiting for more bytes."""
        self._received += self.socket.recv(2**20)
        while len(self._received) >= 4:
            end = 4 + int.from_bytes(self._received[:4])
            if end > len(self._received):
                return
            frame = bytes(self._received[4:end])
            del self._received[:end]
            yield frame


def processor_time(process: int) -> float | None:
    """The seconds of processor time of a process; None where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rate(
    connections: list[Connection], requests: list[bytes], seconds: float, process: int
) -> tuple[float, float | None]:
    """How many requests are answered in a second, and in one of the broker's processor time."""
    with selectors.DefaultSelector() as selector:
        for connection, request in zip(connections, requests, strict=True):
            selector.register(connection.socket, selectors.EVENT_READ, (connection, request))
            connection.socket.sendall(request * IN_FLIGHT)
        answered, used = 0, processor_time(process)
        start = time.perf_counter()
        while not answered or time.perf_counter() - start < seconds:
            for key, _ in selector.select(1):
                connection, request = key.data
                number = sum(1 for _ in connection.frames())
                if number:
                    connection.socket.sendall(request * number)
                    answered += number
        elapsed = time.perf_counter() - start
        later = processor_time(process)
        left = len(connections) * IN_FLIGHT
        while left:  # the responses to the requests that are still open
            for key, _ in selector.select(1):
                left -= sum(1 for _ in key.data[0].frames())
    spent = None if used is None or later is None else answered / max(later - used, 0.01)
    return answered / elapsed, spent


# -- the requests -----------------------------------------------------------------------------


def create_topic(connection: Connection) -> None:
    """Create the topic, and wait until it has a leader."""
    topic = {"name": TOPIC, "num_partitions": 1, "replication_factor": 1}
    connection.ask(message("create_topics", 4, topics=[topic], timeout=10_000))
    asked = message("metadata", 5, topics=[{"name": TOPIC}])
    while connection.ask(asked).topics[0].error_code.name != "none":
        time.sleep(0.05)


def produce(records: int) -> Any:
    """A request with one batch of so many records."""
    data = {"index": 0, "records": batch([VALUE] * records)}
    topics = [{"name": TOPIC, "partition_data": [data]}]
    return message("produce", 8, acks=-1, timeout=30_000, topic_data=topics)


def fetch(connection: Connection) -> Any:
    """A request for a megabyte of records from the first on."""
    partition = {"partition_index": 0, "timestamp": -2, "current_leader_epoch": -1}
    topics = [{"name": TOPIC, "partitions": [partition]}]
    found = connection.ask(message("list_offsets", 4, replica_id=-1, topics=topics))
    partition = {"partition": 0, "fetch_offset": found.topics[0].partitions[0].offset,
                 "partition_max_bytes": 2**20, "current_leader_epoch": -1}  # fmt: skip
    topics = [{"topic": TOPIC, "partitions": [partition]}]
    limits = {"min_bytes": 1, "max_bytes": 2**20, "max_wait": 500}
    return message("fetch", 11, session_epoch=-1, replica_id=-1, topics=topics, **limits)


def answered(connection: Connection, request: Any) -> Any:
    """The first response without an error: the coordinator may be loading."""
    while (found := connection.ask(request)).error_code.name != "none":
        time.sleep(0.1)
    return found


def join(connection: Connection, group: str) -> str:
    """The member id of the only member of a stable group."""
    answered(connection, message("find_coordinator", 0, key=group))
    values = {"group_id": group, "protocol_type": "consumer", "protocols": [{"name": "range"}]}
    request = message("join_group", 3, session_timeout=300_000, rebalance_timeout=300_000, **values)
    joined = answered(connection, request)
    request = message(
        "sync_group", 2, group_id=group, member_id=joined.member_id,
        generation_id=joined.generation_id,
        assignments=[{"member_id": joined.member_id, "assignment": b"all"}],
    )  # fmt: skip
    assert connection.ask(request).error_code.name == "none"
    return str(joined.member_id)


def measure(bootstrap: str, process: int, seconds: float) -> list[Figure]:
    """The rates of a broker."""
    connection = Connection(bootstrap)
    create_topic(connection)
    figures = []

    def records(what: str, request: Any, each: int) -> None:
        frame = encode_request(request, 1, "benchmark")
        by_clock, spent = rate([connection], [frame], seconds, process)
        figures.append(
            Figure(what, "records/s", each * by_clock, None if spent is None else each * spent)
        )

    for number in (1, 100, 1_000):
        records(f"produce, batches of {number:,}", produce(number), number)
    request = fetch(connection)
    fetched = connection.ask(request).responses[0].partitions[0].records
    records("fetch", request, count_records(fetched))

    members = [Connection(bootstrap) for _ in range(MEMBERS)]
    ids = [join(member, f"group-{number}") for number, member in enumerate(members)]
    offsets = [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 1,
                                               "committed_metadata": ""}]}]  # fmt: skip
    requests: dict[str, Callable[[str, str], Any]] = {
        "heartbeats": lambda group, member: message(
            "heartbeat", 3, group_id=group, generation_id=1, member_id=member
        ),
        "offset commits": lambda group, member: message(
            "offset_commit", 7, group_id=group, generation_id_or_member_epoch=1,
            member_id=member, topics=offsets,
        ),
        "offset fetches": lambda group, member: message(
            "offset_fetch", 5, group_id=group,
            topics=[{"name": TOPIC, "partition_indexes": [0]}],
        ),
    }  # fmt: skip
    for what, make in requests.items():
        frames = [
            encode_request(make(f"group-{number}", member), 1, "benchmark")
            for number, member in enumerate(ids)
        ]
        by_clock, spent = rate(members, frames, seconds, process)
        figures.append(Figure(f"{what} of {MEMBERS} members", "requests/s", by_clock, spent))
    for each in (connection, *members):
        each.socket.close()
    return figures


def count_records(batches: bytes) -> int:
    """How many records there are in some batches."""
    position = found = 0
    while position + 61 <= len(batches):
        end = position + 12 + int.from_bytes(batches[position + 8 : position + 12])
        if end <= len(batches):
            found += int.from_bytes(batches[position + 57 : position + 61])
        position = end
    return found


# -- the brokers ------------------------------------------------------------------------------


@contextmanager
def embedded() -> Iterator[tuple[str, int]]:
    """`kspec serve` in a process of its own: its address and process id."""
    command = [sys.executable, "-m", "kspec", "serve", "--port", "0", "--json"]
    command += ["--set", "group.initial.rebalance.delay.ms=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["bootstrap"], process.pid
        finally:
            process.kill()


@contextmanager
def kafka() -> Iterator[tuple[str, int]]:
    """Apache Kafka in a process of its own: its address and process id."""
    with real_broker() as bootstrap:
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        names = children.read_text().split() if children.exists() else []
        yield bootstrap, int(names[-1]) if names else -1


def run(broker: Callable[[], Any], seconds: float) -> list[Figure]:
    """The figures of a broker, from the start of its process on."""
    start = time.perf_counter()
    with broker() as (bootstrap, process):
        connection = Connection(bootstrap)
        connection.ask(message("api_versions", 0))
        started = 1_000 * (time.perf_counter() - start)
        connection.socket.close()
        return [Figure("start-up", "ms", started, None), *measure(bootstrap, process, seconds)]


def main() -> None:
    """Measure, and print."""
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="for each figure (3)")
    parser.add_argument("--no-kafka", action="store_true", help="without the real broker")
    options = parser.parse_args()
    results = {"kspec serve": run(embedded, options.seconds)}
    if not options.no_kafka:
        try:
            results[f"Kafka {KAFKA}"] = run(kafka, options.seconds)
        except pytest.skip.Exception as missing:
            print(missing, file=sys.stderr)
    if options.json:
        print_json(results)
        return
    table = Table("", *results, "ratio", *(f"{name}, by processor" for name in results), "")
    for figures in zip(*results.values(), strict=True):
        values = [f"{figure.value:,.0f}" for figure in figures]
        spent = [f"{f.by_processor:,.0f}" if f.by_processor else "" for f in figures]
        ratio = f"{figures[0].value / figures[-1].value:.2f}" if len(figures) > 1 else ""
        table.add_row(figures[0].what, *values, ratio, *spent, figures[0].unit)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
