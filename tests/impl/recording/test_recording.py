"""Recordings, and a proxy between a connection and kspec's own broker."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kspec.field.recorded import from_objects, validate_recordings
from kspec.impl.background import Address
from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from kspec.impl.recording import Recording
from kspec.impl.recording.proxy import RecordingProxy
from kspec.impl.wire import API_KEYS, create, decode_response, encode_request, request_type
from kspec.spec.core import SpecError

SETTINGS = BrokerSettings(initial_rebalance_delay=0)


JOIN = {
    "group_id": "g", "protocol_type": "consumer", "session_timeout": 600_000,
    "rebalance_timeout": 600_000, "protocols": [{"name": "range", "metadata": b"s"}],
}  # fmt: skip
"""Timeouts that no machine is slow enough to meet."""


class Client:
    """A connection that sends one request after the other."""

    def __init__(self, address: str) -> None:
        self._socket = socket.create_connection(Address.parse(address), timeout=600)
        self._sent = 0

    def ask(self, api: str, version: int, **values: Any) -> Any:
        """The response to a request."""
        self._sent += 1
        kind = request_type(API_KEYS[api], version)
        self._socket.sendall(encode_request(create(kind, **values), self._sent, "me"))
        frame = self._exactly(int.from_bytes(self._exactly(4)))
        return decode_response(frame, kind)[1]

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            more = self._socket.recv(count - len(received))
            assert more, "the connection was closed"
            received += more
        return received

    def join(self) -> str:
        """Become the only member of a group, and sync; the member id."""
        member: str = self.ask("join_group", 9, **JOIN).member_id
        joined = self.ask("join_group", 9, **JOIN, member_id=member)
        assert joined.leader == member
        self.ask(
            "sync_group", 5, group_id="g", generation_id=joined.generation_id, member_id=member,
            protocol_type="consumer", protocol_name="range",
            assignments=[{"member_id": member, "assignment": b"all"}],
        )  # fmt: skip
        return member

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """A broker with one topic."""
    with EmbeddedBroker(SETTINGS) as broker:
        broker.create_topic("orders")
        yield broker


def events_of(lines: list[str]) -> list[str]:
    """The events of a trace, each with its API."""
    events = [json.loads(line) for line in lines[1:]]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    return [f"{event['event']} {event.get('api', '')}".strip() for event in events]


def verdict_on(lines: list[str]) -> str:
    """The verdict on a trace."""
    return validate_recordings([from_objects("it", map(json.loads, lines))], {}).verdict


JOINED = [
    f"{event} {api}"
    for api in ("JoinGroup", "JoinGroup", "SyncGroup")
    for event in ("request", "response")
]


@pytest.mark.slow
def test_a_broker_records_its_groups(tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    recording = Recording("coordinator", file, **SETTINGS.for_trace())
    with EmbeddedBroker(SETTINGS, recording=recording) as broker:
        client = Client(broker.bootstrap)
        client.join()
        client.close()
    recording.close()
    lines = file.read_text(encoding="utf-8").splitlines()
    assert events_of(lines) == [*JOINED, "disconnect"]
    assert verdict_on(lines) == "accepted"
    assert json.loads(lines[0])["settings"]["group.initial.rebalance.delay.ms"] == 0


@pytest.mark.slow
def test_the_time_of_a_virtual_clock_is_recorded() -> None:
    """A member id that is not used expires after the session timeout, and not before."""
    recording = Recording("coordinator")
    with EmbeddedBroker(SETTINGS, virtual_clock=True, recording=recording) as broker:
        client = Client(broker.bootstrap)
        member = client.ask("join_group", 9, **JOIN).member_id
        broker.advance(600_001)
        refused = client.ask("join_group", 9, **JOIN, member_id=member)
        assert refused.error_code.name == "unknown_member_id"
        client.close()
    assert verdict_on(recording.lines) == "accepted"
    times = [json.loads(line)["time_ms"] for line in recording.lines[1:]]
    assert [time - times[0] for time in times[:4]] == [0, 0, 600_001, 600_001]


@pytest.mark.slow
def test_a_proxy_records_and_keeps_its_clients(broker: EmbeddedBroker) -> None:
    recording = Recording("coordinator")
    with RecordingProxy(broker.bootstrap, recording) as proxy:
        client = Client(proxy.bootstrap)
        metadata = client.ask("metadata", 9, topics=None)
        brokers = [f"{each.host}:{each.port}" for each in metadata.brokers]
        assert brokers == [proxy.bootstrap] != [broker.bootstrap]
        found = client.ask("find_coordinator", 4, coordinator_keys=["g"]).coordinators[0]
        assert f"{found.host}:{found.port}" == proxy.bootstrap
        member = client.join()
        client.close()
    assert events_of(recording.lines) == [*JOINED, "disconnect"]
    assert json.loads(recording.lines[4])["fields"]["memberId"] == member
    assert verdict_on(recording.lines) == "accepted"


@pytest.mark.slow
def test_a_proxy_outlives_a_broker_that_is_away() -> None:
    with socket.socket() as away:
        away.bind(("127.0.0.1", 0))  # nobody else takes the port, and nobody listens
        address = f"127.0.0.1:{away.getsockname()[1]}"
        with RecordingProxy(address, Recording("coordinator")) as proxy:
            client = Client(proxy.bootstrap)
            with pytest.raises((AssertionError, OSError)):
                client.ask("metadata", 9, topics=None)
            client.close()


@pytest.mark.parametrize("text", ["", "host", "host:", ":9092", "host:0", "host:65536", "host:x"])
def test_a_wrong_address_is_named(text: str) -> None:
    with pytest.raises(SpecError, match="is not HOST:PORT"):
        Address.parse(text)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot write"):
        Recording("coordinator", tmp_path / "missing" / "trace.ndjson")
