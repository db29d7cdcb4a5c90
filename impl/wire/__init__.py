"""Kafka's wire protocol: messages of every version, between bytes and typed objects.

The messages are the dataclasses that kio generates from Kafka's message schemas. What comes from a
network is read by `impl.wire.reading`, which is bounded: a message cannot make it allocate more
than a small multiple of its own size.

- `messages`: the message types by API key and version, and how to create one.
- `frames`: requests and responses with their headers.
- `reading`: bytes to messages.

Needs the extra `broker`.
"""

from __future__ import annotations

from kspec.impl.wire.frames import (
    Received,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame_length,
)
from kspec.impl.wire.messages import (
    API_KEYS,
    VERSIONS,
    Message,
    create,
    milliseconds,
    request_type,
    response_type,
)
from kspec.impl.wire.reading import WireError

__all__ = [
    "API_KEYS",
    "VERSIONS",
    "Message",
    "Received",
    "WireError",
    "create",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "frame_length",
    "milliseconds",
    "request_type",
    "response_type",
]
