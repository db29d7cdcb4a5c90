"""Record real clients before real brokers: members join, one is killed, and the others leave.

`python -m tests.impl.recording.record FOLDER [CLIENT…]` writes two traces for each client, assignor
and broker: what the proxy saw, and what the consumers did. Those in `tests/cases/recorded` were
made so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kspec.impl.recording import Recording
from kspec.impl.recording.proxy import RecordingProxy
from tests.impl.recording.consumers import CLIENTS, GROUP, TOPIC, Consume
from tests.real_broker import real_broker

PARTITIONS = 4
KILLED = "killed"
"""The client id of the consumer that is killed."""


def wait_until(holds: Callable[[], bool], what: str, seconds: float = 600) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)


@contextmanager
def kafka() -> Iterator[str]:
    """A Kafka broker, with the topic."""
    with real_broker() as address:
        create_topic(address)
        yield address


@contextmanager
def mock_cluster() -> Iterator[str]:
    """A mock cluster of librdkafka with three brokers, with the topic."""
    from confluent_kafka import Producer

    host = Producer({"bootstrap.servers": "ignored:1", "test.mock.num.brokers": 3, "log_level": 0})
    brokers = host.list_topics(timeout=600).brokers
    first = brokers[min(brokers)]
    address = f"{first.host}:{first.port}"
    produce(address, PARTITIONS)  # it creates the topic, with four partitions
    yield address
    host.flush()


def create_topic(address: str) -> None:
    """Create the topic."""
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for future in admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)]).values():
        future.result(timeout=600)


BROKERS = {"kafka": kafka, "mock": mock_cluster}


def produce(address: str, count: int) -> None:
    """Produce records to every partition."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "log_level": 0})
    for number in range(count):
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(600) == 0


class Members:
    """Consumers in threads, before a proxy."""

    def __init__(self, bootstrap: str, consume: Consume, assignor: str, done: Recording) -> None:
        self._run = lambda name, stop: consume(bootstrap, assignor, name, done, stop)
        self._running: dict[str, tuple[threading.Thread, threading.Event]] = {}

    def start(self, name: str) -> None:
        """Start a consumer."""
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(name, stop), daemon=True)
        self._running[name] = thread, stop
        thread.start()

    def stop(self, name: str) -> None:
        """Let a consumer leave."""
        thread, stop = self._running.pop(name)
        stop.set()
        thread.join(300)


def synced(seen: list[str]) -> dict[int, set[int]]:
    """The connections whose SyncGroup was answered without error, by generation."""
    found: dict[int, set[int]] = {}
    generations = {}
    for line in list(seen):
        event = json.loads(line)
        if event.get("api") != "SyncGroup":
            continue
        key = event["connection"], event["correlation"]
        if event["event"] == "request":
            generations[key] = event["fields"]["generationId"]
        elif not event["fields"]["errorCode"] and key in generations:
            found.setdefault(generations[key], set()).add(event["connection"])
    return found


def record(address: str, client: str, assignor: str, seen: Recording, done: Recording) -> None:
    """Record what a proxy sees and what the consumers do."""
    with RecordingProxy(address, seen) as proxy:
        members = Members(proxy.bootstrap, CLIENTS[client][1], assignor, done)

        def stable(count: int, above: int) -> int:
            def holds() -> bool:
                found = synced(seen.lines)
                return max(found, default=0) > above and len(found[max(found)]) == count

            wait_until(holds, f"{count} members of {client}, {assignor}, are stable")
            return max(synced(seen.lines))

        members.start("one")
        generation = stable(1, 0)
        members.start("two")
        generation = stable(2, generation)
        produce(address, 40)
        command = [sys.executable, "-m", "tests.impl.recording.consumers"]
        arguments = [client, proxy.bootstrap, assignor, KILLED]
        killed = subprocess.Popen([*command, *arguments], stderr=subprocess.DEVNULL)
        try:
            generation = stable(3, generation)
            produce(address, 40)
        finally:
            killed.kill()
            killed.wait()
        generation = stable(2, generation)
        produce(address, 40)
        members.stop("two")
        stable(1, generation)
        members.stop("one")


def main(folder: str, *names: str) -> None:
    """Record all, or the clients and brokers of these names."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    clients = [client for client in CLIENTS if client in names] or list(CLIENTS)
    brokers = [broker for broker in BROKERS if broker in names] or list(BROKERS)
    for client in clients:
        for assignor in CLIENTS[client][2]:
            for broker in brokers:
                began = time.monotonic()
                seen = Recording("coordinator", group=GROUP)
                done = Recording("consumer", group=GROUP)
                problem = ""
                try:
                    with BROKERS[broker]() as address:
                        record(address, client, assignor, seen, done)
                except TimeoutError as late:
                    problem = f", but not in time: {late}"
                for recording in (seen, done):
                    name = f"{recording.mapping}-{broker}-{client}-{assignor}.ndjson"
                    Path(folder, name).write_text("".join(f"{line}\n" for line in recording.lines))
                took = time.monotonic() - began
                events = f"{len(seen.lines)} and {len(done.lines)} lines"
                print(
                    f"{client} {assignor} {broker}: {events} in {took:.0f} s{problem}", flush=True
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
