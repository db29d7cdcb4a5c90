"""A request that is to be answered, and what its handler uses to answer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from kspec.impl.wire import Message, Received, create, response_type


class UnsupportedRequest(Exception):
    """A request that this broker does not answer: it closes the connection, as Kafka does."""


@attrs.frozen(eq=False)
class Call:
    """A request of a client. It is equal only to itself, so that callers are distinct."""

    request: Received
    """The request as it was received."""
    address: tuple[str, int]
    """The host and port to which the client connected: those that it can reach again."""
    host: str
    """The client's own host."""
    respond: Callable[[Call, Message], None]
    """Sends the response; None if the request has none."""

    @property
    def message(self) -> Message:
        """The request's message."""
        return self.request.message

    @property
    def version(self) -> int:
        """The request's version."""
        return self.request.version

    @property
    def client(self) -> str:
        """The client id; empty if the client has none."""
        return self.request.client or ""

    def answer(self, **values: Any) -> None:
        """Send a response with these values; its version may lack some of them."""
        self.respond(self, self.response(**values))

    def response(self, **values: Any) -> Message:
        """A response with these values; its version may lack some of them."""
        return create(response_type(self.request.key, self.request.version), **values)
