"""Messages of every version, between bytes and objects; and bytes that are no messages."""

from __future__ import annotations

import contextlib
import dataclasses
import tracemalloc
from datetime import timedelta
from random import Random
from typing import Any, get_args, get_origin
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader

from kspec.impl.wire import (
    API_KEYS,
    VERSIONS,
    WireError,
    create,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame_length,
    milliseconds,
    request_type,
    response_type,
)
from kspec.impl.wire.reading import read_message, reader_of

APIS = [
    "produce", "fetch", "list_offsets", "metadata", "offset_commit", "offset_fetch",
    "find_coordinator", "join_group", "heartbeat", "leave_group", "sync_group", "describe_groups",
    "list_groups", "sasl_handshake", "api_versions", "create_topics", "delete_topics",
    "init_producer_id", "offset_for_leader_epoch", "sasl_authenticate", "delete_groups",
    "offset_delete",
]  # fmt: skip
KINDS = [
    kind
    for key in map(API_KEYS.__getitem__, APIS)
    for version in range(VERSIONS[key][0], VERSIONS[key][1] + 1)
    for kind in (request_type(key, version), response_type(key, version))
]


# -- every version ----------------------------------------------------------------------------


def some_value(kafka_type: str, random: Random) -> Any:
    if kafka_type.startswith(("int", "uint")):
        return random.randrange(100)
    values: dict[str, Any] = {
        "string": lambda: random.choice(("", "text", "ümläut", "x" * 200)),
        "bytes": lambda: random.randbytes(random.choice((0, 3, 200))),
        "records": lambda: random.randbytes(random.choice((0, 3, 200))),
        "bool": lambda: random.random() < 0.5,
        "float64": random.random,
        "uuid": lambda: UUID(int=1 + random.getrandbits(100)),
        "error_code": lambda: random.choice(list(ErrorCode)),
        "timedelta_i32": lambda: timedelta(milliseconds=random.randrange(-1, 10**6)),
        "timedelta_i64": lambda: timedelta(milliseconds=random.randrange(-1, 10**6)),
        "datetime_i64": lambda: None,
    }
    return values[kafka_type]()


def some_message(kind: Any, random: Random) -> Any:
    values: dict[str, Any] = {}
    for field in dataclasses.fields(kind):
        of, repeated = field.type, False
        # Without None, kio's writer cannot write an optional tagged field.
        if type(None) in get_args(of):
            if random.random() < 0.3 and "tag" not in field.metadata:
                values[field.name] = None
                continue
            of = next(inner for inner in get_args(of) if inner is not type(None))
        if get_origin(of) is tuple:
            of, repeated = get_args(of)[0], True
        kafka_type = field.metadata.get("kafka_type")

        def one(of: Any = of, kafka_type: Any = kafka_type) -> Any:
            if dataclasses.is_dataclass(of):
                return some_message(of, random)
            return some_value(kafka_type, random)

        values[field.name] = tuple(one() for _ in range(random.randrange(4))) if repeated else one()
    return kind(**values)


@pytest.mark.parametrize("api", APIS)
def test_every_version_is_read_as_it_was_written(api: str) -> None:
    random = Random(api)
    for kind in KINDS:
        if kind.__api_key__ != API_KEYS[api]:
            continue
        for _ in range(4):
            message = some_message(kind, random)
            if kind.__name__.endswith("Request"):
                frame = encode_request(message, 7, "client")[4:]
                received = decode_request(frame)
                assert (received.correlation, received.client) == (7, "client")
                assert received.message == message
            else:
                frame = encode_response(message, 7)[4:]
                header = kind.__header_schema__
                _, start = reader_of(header)(frame, 0)
                assert read_message(kind, frame, start) == message
                assert entity_reader(kind)(frame, start)[0] == message


def test_a_message_is_created_from_plain_values() -> None:
    join = request_type(API_KEYS["join_group"], 9)
    message = create(
        join,
        group_id="g",
        session_timeout=6000,
        protocols=[{"name": "range", "metadata": b"x"}],
        retention=3,
    )
    assert message.member_id == ""
    assert message.group_instance_id is None
    assert milliseconds(message.session_timeout) == 6000
    assert message.protocols[0].name == "range"
    response = create(response_type(API_KEYS["heartbeat"], 4), error_code="UNKNOWN_MEMBER_ID")
    assert response.error_code is ErrorCode.unknown_member_id


def test_every_type_has_defaults() -> None:
    for kind in KINDS:
        read_message(kind, *body(create(kind)))


def body(message: Any) -> tuple[bytes, int]:
    """The bytes of a message, and where it begins behind the header."""
    kind = type(message)
    if kind.__name__.endswith("Request"):
        frame = encode_request(message, 1, None)[4:]
    else:
        frame = encode_response(message, 1)[4:]
    return frame, reader_of(kind.__header_schema__)(frame, 0)[1]


# -- versions ---------------------------------------------------------------------------------


def test_unknown_versions_have_no_message() -> None:
    frame = (18).to_bytes(2) + (99).to_bytes(2) + (5).to_bytes(4) + b"rest"
    received = decode_request(frame)
    assert (received.key, received.version, received.correlation) == (18, 99, 5)
    assert received.message is None


def test_api_versions_is_answered_in_version_0_if_its_version_is_unknown() -> None:
    kind = response_type(API_KEYS["api_versions"], 0)
    frame = encode_response(create(kind, error_code="UNSUPPORTED_VERSION"), 3)[4:]
    correlation, message = decode_response(frame, request_type(API_KEYS["api_versions"], 4))
    assert correlation == 3
    assert message.error_code is ErrorCode.unsupported_version


# -- hostile bytes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "version", "message"),
    [
        (13, 3, b"\0\1g\x7f\xff\xff\xff"),  # two billion elements
        (13, 4, b"\0\2g\xff\xff\xff\xff\x0f"),
        (13, 4, b"\0\2g\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),  # a length of more than 32 bits
        (13, 3, b"\0\1g\xff\xff\xff\xff"),  # null
        (12, 0, b"\0\1\xff\0\0\0\1\0\1m"),  # not UTF-8
        (12, 0, b"\xff\xff\0\0\0\1\0\1m"),  # null
        (12, 0, b""),
        (12, 4, b"\0\2g\0\0\0\1\2m\0\1\5\x7f"),  # a tagged field that ends too late
        (12, 4, b"\0\2g\0\0\0\1\2m\0\xff\xff\xff\xff\x0f"),  # too many tagged fields
    ],
)
def test_bytes_that_are_no_message_are_rejected(key: int, version: int, message: bytes) -> None:
    header = key.to_bytes(2) + version.to_bytes(2) + (1).to_bytes(4) + b"\0\0"
    with pytest.raises(WireError):
        decode_request(header + message)


def test_bytes_after_a_request_are_ignored() -> None:
    """Kafka ignores them, and librdkafka's Metadata has some."""
    header = b"\0\x0c\0\0\0\0\0\1\0\0"
    received = decode_request(header + b"\0\1g\0\0\0\1\0\1m" + b"and more")
    assert received.message.member_id == "m"


@pytest.mark.parametrize("length", [2**15 - 1, 2**15])
def test_a_string_has_at_most_32767_bytes_in_every_version(length: int) -> None:
    values = {"group_id": "g", "generation_id": 1, "member_id": "m" * length}
    frame = encode_request(create(request_type(12, 4), **values), 1, None)[4:]
    if length < 2**15:
        assert decode_request(frame).message.member_id == "m" * length
    else:
        with pytest.raises(WireError, match="too long"):
            decode_request(frame)


@pytest.mark.slow
def test_what_is_left_of_a_message_is_rejected() -> None:
    for kind in KINDS:
        frame, start = body(some_message(kind, Random(1)))
        for end in range(start, len(frame)):
            with pytest.raises(WireError):
                read_message(kind, frame[:end], start)


@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_anything_is_a_message_or_rejected(kind: Any, data: bytes) -> None:
    with contextlib.suppress(WireError):
        read_message(kind, data)


def test_a_message_of_many_elements_takes_memory_in_proportion() -> None:
    count = 20_000
    frame = b"\0\1g" + count.to_bytes(4) + b"\0\0\xff\xff" * count
    tracemalloc.start()
    read_message(request_type(13, 3), frame)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(frame)


# -- frames -----------------------------------------------------------------------------------


def test_the_length_of_a_frame_is_read() -> None:
    assert frame_length(b"\0\0\0\2", limit=100) == 2
    assert frame_length(b"\0\0\0\0", limit=100) == 0
    assert frame_length(b"\0\0\0\x64", limit=100) == 100


@pytest.mark.parametrize("start", [b"\xff\xff\xff\xff", b"\0\0\0\x65"])
def test_a_frame_of_a_wrong_length_is_rejected(start: bytes) -> None:
    with pytest.raises(WireError):
        frame_length(start, limit=100)
