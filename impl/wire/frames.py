"""Requests and responses as they are sent: a length, a header, and a message."""

from __future__ import annotations

import io
import struct
from typing import Any

import attrs
from kio.serial import entity_writer

from kspec.impl.wire.messages import API_KEYS, Message, is_known, request_type, response_type
from kspec.impl.wire.reading import WireError, read_message, reader_of

_LENGTH = struct.Struct(">i")
_START = struct.Struct(">hhi")

_API_VERSIONS = API_KEYS["api_versions"]


@attrs.frozen
class Received:
    """A request that has arrived."""

    key: int
    """The API key."""
    version: int
    """The version of the API."""
    correlation: int
    """The number that the response repeats."""
    client: str | None
    """The client id."""
    message: Message
    """The request; None if the API or its version is unknown."""


# -- requests ---------------------------------------------------------------------------------


def encode_request(message: Message, correlation: int, client: str | None) -> bytes:
    """The bytes of a request, with their length in front."""
    kind = type(message)
    header_type = kind.__header_schema__
    fields = {
        "request_api_key": kind.__api_key__,
        "request_api_version": kind.__version__,
        "correlation_id": correlation,
        "client_id": client,
    }
    return _framed(header_type(**fields), message)


def decode_request(frame: bytes) -> Received:
    """The request in a frame.

    A request of an unknown API or version has no message: Kafka closes the connection, unless it is
    ApiVersions, which is answered in version 0 with UNSUPPORTED_VERSION (KIP-511).
    """
    if len(frame) < _START.size:
        raise WireError("the header is missing")
    key, version, correlation = _START.unpack_from(frame)
    if not is_known(key, version):
        return Received(key, version, correlation, None, None)
    kind = request_type(key, version)
    header, position = reader_of(kind.__header_schema__)(frame, 0)
    # Bytes behind the message are ignored, as Kafka does: librdkafka's Metadata has some.
    message, _ = reader_of(kind)(frame, position)
    return Received(key, version, correlation, header.client_id, message)


# -- responses --------------------------------------------------------------------------------


def encode_response(message: Message, correlation: int) -> bytes:
    """The bytes of a response, with their length in front."""
    return _framed(type(message).__header_schema__(correlation_id=correlation), message)


def decode_response(
    frame: bytes, request: Any, *, ignore_rest: bool = False
) -> tuple[int, Message]:
    """The correlation number and the response in a frame, to a request of this type.

    A broker that does not know this version of ApiVersions answers in version 0. Bytes behind the
    message are an error, unless they are to be ignored.
    """
    kind = response_type(request.__api_key__, request.__version__)
    header, position = reader_of(kind.__header_schema__)(frame, 0)
    if kind.__api_key__ == _API_VERSIONS and frame[position : position + 2] == b"\0\x23":
        kind = response_type(_API_VERSIONS, 0)
    if ignore_rest:
        return header.correlation_id, reader_of(kind)(frame, position)[0]
    return header.correlation_id, read_message(kind, frame, position)


def _framed(header: Any, message: Message) -> bytes:
    buffer = io.BytesIO()
    buffer.write(b"\0\0\0\0")
    entity_writer(type(header))(buffer, header)
    entity_writer(type(message))(buffer, message)
    data = buffer.getbuffer()
    _LENGTH.pack_into(data, 0, len(data) - _LENGTH.size)
    return data.tobytes()


# -- frames -----------------------------------------------------------------------------------


def frame_length(start: bytes, limit: int) -> int:
    """The length of a frame by its first four bytes; one beyond the limit is an error."""
    length: int = _LENGTH.unpack(start)[0]
    if not 0 <= length <= limit:
        raise WireError(f"a frame of {length} bytes is not within 0 to {limit}")
    return length
