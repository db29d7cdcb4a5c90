"""A proxy between client and broker that reads every message, and plants a fault."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from kspec.impl.background import Address
from kspec.impl.wire import (
    Message,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    frame_length,
)

Memory = dict[Any, Any]
"""What a fault remembers."""


def as_it_is(message: Message, memory: Memory) -> Message:
    """No fault in requests."""
    return message


@attrs.frozen
class Fault:
    """A fault of a broker, as a change of what passes by."""

    name: str
    """What the broker does wrong."""
    api: str
    """The requests and responses that are changed: the name of their type without its end."""
    response: Callable[[Message, Message, Memory], Message | None] = lambda q, r, memory: r
    """The response that is sent instead, given request and response; None for none."""
    request: Callable[[Message, Memory], Message] = as_it_is
    """The request that the broker sees instead."""


@contextmanager
def proxied(broker: str, fault: Fault | None) -> Iterator[str]:
    """The address of a proxy of a broker that has this fault."""
    upstream = Address.parse(broker)
    memory: Memory = {}
    lock = threading.Lock()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        sockets: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    server = socket.create_connection((upstream.host, upstream.port))
                    sockets.extend((client, server))
                    threading.Thread(target=serve, args=(client, server), daemon=True).start()

        def serve(client: socket.socket, server: socket.socket) -> None:
            with contextlib.suppress(OSError), client, server:
                while frame := receive(client):
                    relay(frame, client, server)

        def relay(frame: bytes, client: socket.socket, server: socket.socket) -> None:
            received = decode_request(frame)
            request = received.message
            is_meant = fault is not None and type(request).__name__ == f"{fault.api}Request"
            if is_meant:
                assert fault is not None
                with lock:
                    changed = fault.request(request, memory)
                server.sendall(encode_request(changed, received.correlation, received.client))
            else:
                server.sendall(len(frame).to_bytes(4) + frame)
            answer = receive(server)
            if not answer:
                raise OSError("the broker has closed the connection")
            _, response = decode_response(answer, type(request))
            response = redirected(response, address)
            if is_meant:
                assert fault is not None
                with lock:
                    response = fault.response(request, response, memory)
            if response is not None:
                client.sendall(encode_response(response, received.correlation))

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"{address[0]}:{address[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for each in sockets:
                each.close()


def receive(connection: socket.socket) -> bytes:
    """The next frame; empty at the end."""
    start = exactly(connection, 4)
    return exactly(connection, frame_length(start, 2**24)) if start else b""


def exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes; none at the end."""
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        if not more:
            return b""
        received += more
    return received


def redirected(response: Message, address: Any) -> Message:
    """The response with the proxy's address instead of the broker's."""
    name = type(response).__name__
    here = {"host": address[0], "port": address[1]}
    if name == "FindCoordinatorResponse":
        return dataclasses.replace(response, **here)
    if name == "MetadataResponse":
        brokers = tuple(dataclasses.replace(broker, **here) for broker in response.brokers)
        return dataclasses.replace(response, brokers=brokers)
    return response
