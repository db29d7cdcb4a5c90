"""Connections to a broker: one request at a time, over TCP or TLS, with SASL where asked.

A broker answers the requests of one connection in order, so a parked JoinGroup occupies its
connection until it is answered.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Any

from kspec.field.conform.security import Security, authenticate
from kspec.impl.background import Address
from kspec.impl.wire import Message, WireError, decode_response, encode_request, frame_length
from kspec.spec.core import SpecError

MOST_BYTES = 2**24
"""The largest response that is read."""
PATIENCE = 10.0
"""How long to wait for a response that must come, in seconds."""


class Lost(Exception):
    """The broker has closed the connection, or sent bytes that are no response."""


class Connection:
    """A connection with at most one request in flight."""

    def __init__(self, address: Address, security: Security) -> None:
        try:
            plain = socket.create_connection(address, timeout=PATIENCE)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            raise SpecError(f"cannot connect to {address}: {error.strerror or error}") from None
        try:
            self._socket = security.wrap(plain, address.host)
        except OSError as error:
            plain.close()
            raise SpecError(f"no TLS with {address}: {error.strerror or error}") from None
        self._received = b""
        self._correlation = 0
        self._awaits: Any = None
        if security.mechanism:
            try:
                authenticate(security, self.call)
            except (SpecError, Lost) as refused:
                self.close()
                raise SpecError(f"{address}: {refused}") from None

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def fileno(self) -> int:
        """The socket's file number, for `select`."""
        return self._socket.fileno()

    @property
    def is_idle(self) -> bool:
        """Whether no request is in flight."""
        return self._awaits is None

    @property
    def has_buffered(self) -> bool:
        """Whether bytes wait that `select` does not see."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0

    def send(self, request: Message, client: str) -> None:
        """Send a request."""
        assert self.is_idle, "a broker answers one request after the other"
        self._correlation += 1
        self._socket.settimeout(PATIENCE)
        try:
            self._socket.sendall(encode_request(request, self._correlation, client))
        except OSError as error:
            raise Lost(f"the connection is lost: {error.strerror or error}") from None
        self._awaits = type(request)

    def poll(self) -> Message | None:
        """The response, if it has arrived."""
        self._socket.settimeout(0)
        while True:
            complete = self._take()
            if complete is not None:
                return complete
            try:
                arrived = self._socket.recv(65536)
            except (BlockingIOError, ssl.SSLWantReadError):
                return None
            except OSError as error:
                raise Lost(f"the connection is lost: {error.strerror or error}") from None
            if not arrived:
                raise Lost("the broker has closed the connection")
            self._received += arrived

    def _take(self) -> Message | None:
        """The response, if all of its bytes are here."""
        if len(self._received) < 4:
            return None
        try:
            end = 4 + frame_length(self._received[:4], MOST_BYTES)
            if len(self._received) < end:
                return None
            if self._awaits is None:
                raise Lost("a response came without a request")
            correlation, message = decode_response(self._received[4:end], self._awaits)
        except WireError as error:
            raise Lost(f"the broker's bytes are not a response: {error}") from None
        if correlation != self._correlation:
            raise Lost(f"the response has number {correlation}, not {self._correlation}")
        self._received, self._awaits = self._received[end:], None
        return message

    def call(self, request: Message, client: str = "kspec") -> Message:
        """Send a request and wait for the response."""
        self.send(request, client)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            response = self.poll()
            if response is not None:
                return response
            wait([self], deadline - time.monotonic())
        name = type(request).__name__.removesuffix("Request")
        raise Lost(f"{name} was not answered within {PATIENCE:.0f} s")


def wait(connections: Iterable[Connection], seconds: float) -> None:
    """Wait until one of the connections has bytes to read, or the time is over."""
    poll = select.poll()
    for connection in connections:
        if connection.has_buffered:
            return
        poll.register(connection, select.POLLIN)
    poll.poll(max(0, round(seconds * 1000)))
