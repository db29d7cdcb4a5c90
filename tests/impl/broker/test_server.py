"""The broker at its port: pipelining, limits, and hostile bytes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kspec.impl.broker import BrokerSettings, EmbeddedBroker
from kspec.impl.wire import (
    API_KEYS,
    VERSIONS,
    decode_response,
    encode_request,
    encode_response,
    request_type,
)
from tests.impl.broker.scene import batch, message

FAST = BrokerSettings(initial_rebalance_delay=0)


class Client:
    """A connection that sends requests as bytes."""

    def __init__(self, broker: EmbeddedBroker, client: str = "me") -> None:
        host, port = broker.bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=300)
        self._client = client
        self._sent: list[Any] = []

    def send(self, api: str, version: int, **values: Any) -> None:
        """Send a request."""
        request = message(api, version, **values)
        if values.get("acks") != 0:
            self._sent.append(request)
        self.socket.sendall(encode_request(request, len(self._sent), self._client))

    def receive(self) -> Any:
        """The next response; its correlation number has to be that of the first open request."""
        length = int.from_bytes(self._exactly(4))
        request = self._sent.pop(0)
        _, response = decode_response(self._exactly(length), request)
        return response

    def ask(self, api: str, version: int, **values: Any) -> Any:
        """A request and its response."""
        self.send(api, version, **values)
        return self.receive()

    def is_silent(self) -> bool:
        """Whether no response arrives within a moment."""
        self.socket.settimeout(0.05)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(300)
        return False

    def is_closed(self) -> bool:
        """Whether the broker has closed the connection, which is awaited."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def _exactly(self, number: int) -> bytes:
        data = b""
        while len(data) < number:
            more = self.socket.recv(number - len(data))
            if not more:
                raise ConnectionError("the broker has closed the connection")
            data += more
        return data


@contextlib.contextmanager
def connected(broker: EmbeddedBroker, client: str = "me") -> Iterator[Client]:
    """A client that disconnects at the end."""
    connection = Client(broker, client)
    try:
        yield connection
    finally:
        connection.socket.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    """A broker with one topic."""
    with EmbeddedBroker(FAST) as broker:
        broker.create_topic("orders")
        yield broker


def produce(client: Client, *values: bytes, acks: int = -1) -> None:
    """Send records to the topic."""
    data = [{"index": 0, "records": batch(values)}]
    topics = [{"name": "orders", "partition_data": data}]
    client.send("produce", 9, acks=acks, timeout=1_000, topic_data=topics)


def fetch(client: Client, offset: int, wait: int) -> None:
    """Fetch from the topic."""
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 2**20,
                 "current_leader_epoch": -1}  # fmt: skip
    topics = [{"topic": "orders", "partitions": [partition]}]
    client.send("fetch", 12, topics=topics, min_bytes=1, max_bytes=2**20, max_wait=wait)


def test_requests_of_a_connection_are_answered_in_their_order(broker: EmbeddedBroker) -> None:
    with connected(broker) as client:
        for version in range(5):
            client.send("api_versions", version)
        produce(client, b"a", acks=0)  # has no response
        client.send("metadata", 9)
        answers = [client.receive() for _ in range(6)]
    assert [answer.__version__ for answer in answers] == [0, 1, 2, 3, 4, 9]


def test_a_request_waits_for_the_response_to_the_one_before(broker: EmbeddedBroker) -> None:
    """As in Kafka, which does not read from a connection in the meantime."""
    with connected(broker) as waits, connected(broker) as other:
        produce(other, b"a")
        end = other.receive().responses[0].partition_responses[0].base_offset + 1
        fetch(waits, end, wait=600_000)
        waits.send("api_versions", 0)
        assert waits.is_silent()
        produce(other, b"b")
        assert other.receive().responses[0].partition_responses[0].base_offset == end
        assert waits.receive().responses[0].partitions[0].records.endswith(b"b\0")
        assert waits.receive().api_keys


def test_requests_that_arrive_byte_by_byte_are_answered(broker: EmbeddedBroker) -> None:
    with connected(broker) as client:
        client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = message("api_versions", 3)
        for byte in encode_request(request, 1, "me"):
            client.socket.sendall(bytes([byte]))
        client._sent.append(request)
        assert client.receive().api_keys


def test_an_unknown_version_of_api_versions_is_answered(broker: EmbeddedBroker) -> None:
    with connected(broker) as client:
        client.socket.sendall(b"\0\0\0\x0b\0\x12\0\x63\0\0\0\1\xff\xff\0")
        client._sent.append(request_type(18, 4))
        assert client.receive().error_code.name == "unsupported_version"


# -- hostile bytes ------------------------------------------------------------------------------


def is_unharmed(broker: EmbeddedBroker) -> bool:
    """Whether another client is served."""
    with connected(broker) as client:
        return bool(client.ask("api_versions", 3, client_software_name="x").api_keys)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"\xff\xff\xff\xff",  # a negative length
        b"\x7f\xff\xff\xff",  # two gigabytes
        b"\0\0\0\0",
        b"\0\0\0\2\0\x12",
        b"\0\0\0\x0a\0\x0c\0\x05\0\0\0\1\xff\xff",  # a version of Heartbeat that is not there
        b"\0\0\0\x0a\x7f\xff\0\0\0\0\0\1\xff\xff",  # an API that is not there
        b"\0\0\0\x11\0\x0d\0\3\0\0\0\1\xff\xff\0\1g\x7f\xff\xff\xff",  # two billion members
        b"\0\0\0\x0a\0\x0c\0\0\0\0\0\1\xff\xff",  # no message
    ],
)
def test_bytes_that_are_no_request_close_the_connection(
    broker: EmbeddedBroker, data: bytes
) -> None:
    with connected(broker) as client:
        client.socket.sendall(data)
        assert client.is_closed()
    assert is_unharmed(broker)


def test_requests_before_the_bad_one_are_answered(broker: EmbeddedBroker) -> None:
    with connected(broker) as client:
        request = message("api_versions", 0)
        client._sent.append(request)
        client.socket.sendall(encode_request(request, 1, None) + b"\xff\xff\xff\xff")
        with contextlib.suppress(ConnectionError):
            assert client.receive().api_keys
        assert client.is_closed()


APIS = sorted(API_KEYS.values())


@st.composite
def hostile(draw: st.DrawFn) -> bytes:
    """A frame with a plausible header, and anything after it."""
    key = draw(st.sampled_from(APIS))
    version = draw(st.integers(0, VERSIONS[key][1] + 1))
    client = draw(st.sampled_from([b"\xff\xff", b"\0\2me", b"\0\2me\0"]))
    number = st.sampled_from(
        [b"\0", b"\1", b"\2", b"\0\1", b"\0\0\0\1", b"\0\1a", b"\2a", b"\x7f\xff\xff\xff", b"\xff"]
    )
    body = b"".join(draw(st.lists(st.one_of(number, st.binary(max_size=8)), max_size=12)))
    frame = key.to_bytes(2) + version.to_bytes(2) + b"\0\0\0\1" + client + body
    return len(frame).to_bytes(4) + frame


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A good request with some of its bytes changed, and perhaps cut short."""
    data = bytearray(draw(st.sampled_from(GOOD)))
    places = st.integers(0, len(data) - 1)
    for place, byte in draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=4)):
        data[place] = byte
    return bytes(data[: draw(st.sampled_from([len(data), len(data), len(data) // 2]))])


REQUESTS: dict[str, dict[str, Any]] = {
    "produce": {
        "acks": -1,
        "topic_data": [
            {"name": "orders", "partition_data": [{"index": 0, "records": batch([b"a"])}]}
        ],
    },
    "fetch": {
        "topics": [{"topic": "orders", "partitions": [{"partition_max_bytes": 99}]}],
        "max_bytes": 99,
    },
    "join_group": {
        "group_id": "g",
        "protocol_type": "consumer",
        "session_timeout": 10_000,
        "protocols": [{"name": "range", "metadata": b"\0\0\0\0\0\1\0\6orders"}],
    },
    "sync_group": {"group_id": "g", "assignments": [{"member_id": "m"}]},
    "leave_group": {"group_id": "g", "members": [{"member_id": "m"}]},
    "offset_commit": {
        "group_id": "g",
        "topics": [{"name": "orders", "partitions": [{}]}],
    },
    "offset_fetch": {"groups": [{"group_id": "g"}]},
    "list_offsets": {"topics": [{"name": "orders", "partitions": [{"timestamp": 1}]}]},
    "metadata": {"topics": [{"name": "orders"}]},
    "create_topics": {"topics": [{"name": "t", "num_partitions": 1}]},
    "describe_groups": {"groups": ["g"]},
    "delete_groups": {"groups_names": ["g"]},
    "describe_configs": {"resources": [{"resource_type": 4}]},
}
"""Requests of many kinds."""

GOOD = [
    encode_request(message(api, version, **values), 1, "me")
    for api, values in REQUESTS.items()
    for version in range(VERSIONS[API_KEYS[api]][0], VERSIONS[API_KEYS[api]][1] + 1)
]
"""The same in every version."""

ATTACKS = st.lists(st.one_of(hostile(), damaged()), min_size=1, max_size=20)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=ATTACKS)
def test_hostile_requests_harm_nobody(broker: EmbeddedBroker, data: list[bytes]) -> None:
    attack(broker, b"".join(data))


@pytest.mark.slow
@settings(max_examples=2_000)
@given(data=ATTACKS)
def test_many_hostile_requests_harm_nobody(broker: EmbeddedBroker, data: list[bytes]) -> None:
    attack(broker, b"".join(data))


def attack(broker: EmbeddedBroker, data: bytes) -> None:
    """Send bytes; another client is still served, and no handler has failed."""
    with connected(broker) as client:
        with contextlib.suppress(ConnectionError):
            client.socket.sendall(data)
            client.socket.shutdown(socket.SHUT_WR)
        assert is_unharmed(broker)
    assert broker.failures() == 0


def test_names_that_are_too_long_for_a_member_id_close_the_connection(
    broker: EmbeddedBroker,
) -> None:
    join = REQUESTS["join_group"]
    for client, instance in (("c" * 8_001, None), ("c", "i" * 8_001)):
        with connected(broker, client) as long:
            long.send("join_group", 5, **join, group_instance_id=instance)
            assert long.is_closed()
    with connected(broker, "\u20ac" * 8_000) as longest:
        for version in (4, 9):
            answer = longest.ask("join_group", version, **join)
            assert answer.error_code.name == "member_id_required"
    assert broker.failures() == 0


def test_a_response_that_cannot_be_encoded_closes_its_own_connection_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with EmbeddedBroker(FAST) as broker:
        broker.create_topic("orders")
        with connected(broker) as waits, connected(broker) as other:
            fetch(waits, 0, wait=600_000)
            assert other.ask("api_versions", 0).api_keys

            def fails_for_fetch(response: Any, correlation: int) -> bytes:
                assert response.__api_key__ != API_KEYS["fetch"]
                return encode_response(response, correlation)

            monkeypatch.setattr("kspec.impl.broker.server.encode_response", fails_for_fetch)
            produce(other, b"a")  # so the fetch is answered
            assert other.receive().responses
            assert waits.is_closed()
        assert broker.failures() == 1


# -- limits -------------------------------------------------------------------------------------


def test_a_request_that_is_too_large_closes_the_connection() -> None:
    with EmbeddedBroker(BrokerSettings(max_request_bytes=1_024)) as broker:
        with connected(broker) as client:
            client.socket.sendall((1_025).to_bytes(4))
            assert client.is_closed()
        with connected(broker) as client:
            client.socket.sendall((1_024).to_bytes(4))
            assert client.is_silent()


def test_a_connection_too_many_is_closed() -> None:
    with EmbeddedBroker(BrokerSettings(max_connections=2)) as broker:
        with connected(broker) as one, connected(broker) as two:
            assert one.ask("api_versions", 0).api_keys
            assert two.ask("api_versions", 0).api_keys
            with connected(broker) as three:
                assert three.is_closed()
            assert one.ask("api_versions", 0).api_keys
        deadline = time.monotonic() + 300
        while broker.connections() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_unharmed(broker)


@pytest.mark.slow
def test_a_slow_request_closes_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.impl.broker.server._SWEEP", 0.05)
    with (
        EmbeddedBroker(BrokerSettings(slow_timeout=1_000)) as broker,
        connected(broker) as slow,
        connected(broker) as silent,
    ):
        slow.socket.sendall(b"\0\0\0\x20")
        assert slow.is_closed()
        assert silent.ask("api_versions", 0).api_keys


def sweep(broker: EmbeddedBroker, seconds: float) -> None:
    """Close connections as if so much time had passed."""

    async def check() -> None:
        for connection in list(broker._server.connections):
            connection.check(asyncio.get_running_loop().time() + seconds)

    broker._run(check())


def test_a_silent_connection_is_closed() -> None:
    with EmbeddedBroker(BrokerSettings(max_idle=600_000, slow_timeout=2**31 - 1)) as broker:
        broker.create_topic("orders")
        with connected(broker) as waits, connected(broker) as silent:
            fetch(waits, 0, wait=2**31 - 1)
            assert silent.ask("api_versions", 0).api_keys  # so both are connected, and both heard
            sweep(broker, 601)
            assert silent.is_closed()
            with connected(broker) as other:
                produce(other, b"a")
                assert other.receive().responses
            assert waits.receive().responses  # whoever waits for a response is not silent


def test_the_connection_with_most_bytes_is_closed_when_there_are_too_many() -> None:
    settings = BrokerSettings(max_request_bytes=2**20, max_buffered_bytes=1_000_000)
    with (
        EmbeddedBroker(settings) as broker,
        connected(broker) as small,
        connected(broker) as large,
    ):
        small.socket.sendall((2**20).to_bytes(4) + b"x" * 100_000)
        assert small.is_silent()
        large.socket.sendall((2**20).to_bytes(4))
        with contextlib.suppress(ConnectionError):
            large.socket.sendall(b"x" * 950_000)
        assert large.is_closed()
        assert small.is_silent()
        assert is_unharmed(broker)


def test_a_client_that_does_not_read_is_closed() -> None:
    settings = BrokerSettings(slow_timeout=300_000, max_idle=2**31 - 1, max_message_bytes=2**24)
    with EmbeddedBroker(settings) as broker:
        broker.create_topic("orders")
        with connected(broker) as client:
            produce(client, b"x" * 10_000_000)
            assert client.receive().responses
        with connected(broker) as lazy, connected(broker) as other:
            for _ in range(4):
                fetch(lazy, 0, wait=0)
            assert other.ask("api_versions", 0).api_keys  # so both are connected
            deadline = time.monotonic() + 300
            while broker.connections() > 1 and time.monotonic() < deadline:
                sweep(broker, 301)
                assert other.ask("api_versions", 0).api_keys
            assert broker.connections() == 1


# -- faults -------------------------------------------------------------------------------------


def test_responses_are_held_back_until_they_are_released(broker: EmbeddedBroker) -> None:
    with connected(broker) as client, connected(broker) as other:
        broker.hold("api_versions")
        client.send("api_versions", 0)
        client.send("metadata", 0)
        assert client.is_silent()
        assert other.ask("api_versions", 0).api_keys  # one response was to be held back
        assert broker.release() == 1
        assert client.receive().api_keys
        assert client.receive().brokers


def test_a_response_held_back_for_a_client_that_has_gone_is_dropped(
    broker: EmbeddedBroker,
) -> None:
    before = broker.connections()
    with connected(broker) as client:
        broker.hold("api_versions")
        client.send("api_versions", 0)
        assert client.is_silent()
    deadline = time.monotonic() + 300
    while broker.connections() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert broker.release() == 1
    assert is_unharmed(broker)


def test_connections_are_dropped_by_client(broker: EmbeddedBroker) -> None:
    with connected(broker, "first") as first, connected(broker, "second") as second:
        assert first.ask("api_versions", 0).api_keys
        assert second.ask("api_versions", 0).api_keys
        assert broker.drop_connections("first") == 1
        assert first.is_closed()
        assert second.ask("api_versions", 0).api_keys
        assert broker.drop_connections() >= 1
        assert second.is_closed()


def test_virtual_time_expires_sessions_at_once() -> None:
    with EmbeddedBroker(FAST, virtual_clock=True) as broker, connected(broker) as client:
        values = {"group_id": "g", "protocol_type": "consumer", "protocols": [{"name": "range"}]}
        client.send("join_group", 3, session_timeout=6_000, rebalance_timeout=6_000, **values)
        assert client.is_silent()  # not even the initial delay of 0 ms is over
        broker.advance(0)
        assert client.receive().generation_id == 1
        broker.advance(5_999)
        assert broker.groups()["g"]["state"] == "CompletingRebalance"
        broker.advance(1)
        assert broker.groups()["g"]["state"] == "Empty"


def test_real_time_expires_sessions() -> None:
    settings = BrokerSettings(initial_rebalance_delay=0, min_session_timeout=100)
    with EmbeddedBroker(settings) as broker, connected(broker) as client:
        values = {"group_id": "g", "protocol_type": "consumer", "protocols": [{"name": "range"}]}
        client.send("join_group", 3, session_timeout=100, rebalance_timeout=6_000, **values)
        assert client.receive().generation_id == 1
        deadline = time.monotonic() + 300
        while broker.groups()["g"]["members"] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert broker.groups()["g"]["state"] == "Empty"


def test_the_port_may_be_taken(broker: EmbeddedBroker) -> None:
    port = int(broker.bootstrap.rsplit(":", 1)[1])
    with pytest.raises(OSError, match="in use"), EmbeddedBroker(port=port):
        pass


def test_brokers_start_and_stop_without_a_trace() -> None:
    for _ in range(20):
        with EmbeddedBroker() as broker:
            assert is_unharmed(broker)
    with pytest.raises(ConnectionRefusedError):
        Client(broker)
