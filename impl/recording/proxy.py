"""A TCP proxy that records the group protocol between any client and any broker.

    with RecordingProxy("broker:9092", recording) as proxy:
        consumer = Consumer({"bootstrap.servers": proxy.bootstrap, ...})

It passes every byte on and changes one thing: where a response names the address of a broker, the
client reads the address of a listener of the proxy for that broker, so that it stays with the
proxy. A request is recorded before it is passed to the broker, and a response before it is passed
to the client: so a coordinator handles a request between the two events.

At the prompt: `kspec serve --forward HOST:PORT --record FILE`.

Simplification: connections to the broker are not encrypted. Addresses in responses of Produce and
Fetch (KIP-951) are not changed; a client that follows them leaves the proxy for that leader, but
not for its coordinator.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import logging
import struct
from typing import Any

import attrs

from kspec.impl.background import Address, InBackground
from kspec.impl.recording.messages import APIS, record
from kspec.impl.recording.trace import Recording
from kspec.impl.wire import (
    API_KEYS,
    Message,
    Received,
    WireError,
    decode_request,
    decode_response,
    encode_response,
    frame_length,
)

LOG = logging.getLogger("kspec.recording")

LONGEST_FRAME = 2**28
"""The longest request or response that is passed on, in bytes."""

NAMING_ADDRESSES = frozenset(
    API_KEYS[name] for name in ("metadata", "find_coordinator", "describe_cluster")
)
"""The APIs whose responses name addresses of brokers."""


@attrs.frozen
class Passage:
    """A client's connection to a broker, through the proxy."""

    number: int
    broker: str
    in_flight: dict[int, Received] = attrs.field(factory=dict)
    """The requests without a response so far, by their correlation."""


class RecordingProxy(InBackground):
    """A proxy in a thread of this process, while the `with` block runs."""

    thread = "kspec-proxy"

    def __init__(
        self, broker: str, recording: Recording, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._broker = Address.parse(broker)
        self._recording = recording
        self._host = host
        self._port = port
        self._numbers = itertools.count(1)
        self._listeners: dict[Address, tuple[asyncio.Server, Address]] = {}
        """The listener for each broker, and its address."""
        self._connections: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    async def _open(self) -> Address:
        return await self._listen(self._broker, self._port)

    async def _close(self) -> None:
        for server, _ in self._listeners.values():
            server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    # -- listeners -------------------------------------------------------------------------

    async def _listen(self, broker: Address, port: int = 0) -> Address:
        """The address of the listener for a broker, which is opened if there is none."""
        async with self._opening:
            if broker not in self._listeners:

                async def accept(
                    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
                ) -> None:
                    task = asyncio.current_task()
                    assert task is not None
                    self._connections.add(task)
                    with contextlib.suppress(asyncio.CancelledError):  # the proxy stops
                        await self._serve(broker, reader, writer)
                    self._connections.discard(task)

                server = await asyncio.start_server(accept, self._host, port)
                self._listeners[broker] = server, Address(*server.sockets[0].getsockname()[:2])
            return self._listeners[broker][1]

    # -- connections -----------------------------------------------------------------------

    async def _serve(
        self, broker: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one client's connection until either side closes it."""
        number = next(self._numbers)
        name = str(broker)
        passage = Passage(number, name)
        upstream: asyncio.StreamWriter | None = None
        try:
            answers, upstream = await asyncio.open_connection(*broker)
            pumps = (
                self._pass_requests(passage, reader, upstream),
                self._pass_responses(passage, answers, writer),
            )
            tasks = [asyncio.ensure_future(pump) for pump in pumps]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                for result in await asyncio.gather(*tasks, return_exceptions=True):
                    if isinstance(result, WireError):
                        LOG.warning("closed connection %d: %s", number, result)
        except OSError as problem:
            LOG.warning("cannot reach %s: %s", name, problem)
        finally:
            self._recording.add("disconnect", broker=name, connection=number)
            sides = [side for side in (writer, upstream) if side is not None]
            for side in sides:  # first, since the proxy may stop while one of them is awaited
                side.close()
            for side in sides:
                with contextlib.suppress(OSError):
                    await side.wait_closed()

    async def _pass_requests(
        self, passage: Passage, reader: asyncio.StreamReader, upstream: asyncio.StreamWriter
    ) -> None:
        while frame := await read_frame(reader):
            request = understood(frame)
            if request is not None:
                passage.in_flight[request.correlation] = request
                self._record("request", passage, request, request.message)
            upstream.write(frame)
            await upstream.drain()

    async def _pass_responses(
        self, passage: Passage, answers: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while frame := await read_frame(answers):
            request = passage.in_flight.pop(int.from_bytes(frame[4:8], signed=True), None)
            if request is not None and request.message is not None:
                # librdkafka's mock cluster appends a byte to Metadata.
                kind = type(request.message)
                _, response = decode_response(frame[4:], kind, ignore_rest=True)
                if request.key in NAMING_ADDRESSES:
                    response = await self._redirected(response)
                    frame = encode_response(response, request.correlation)
                self._record("response", passage, request, response)
            writer.write(frame)
            await writer.drain()

    def _record(self, event: str, passage: Passage, request: Received, message: Message) -> None:
        record(self._recording, event, passage.number, request, message, passage.broker)

    async def _redirected(self, response: Message) -> Message:
        """The response with an address of the proxy for each broker's."""
        changes: dict[str, Any] = {}
        for name in ("brokers", "coordinators"):
            if hasattr(response, name):
                changes[name] = tuple([await self._redirected(b) for b in getattr(response, name)])
        if getattr(response, "host", "") and response.port > 0:
            changes["host"], changes["port"] = await self._listen(
                Address(response.host, response.port)
            )
        return dataclasses.replace(response, **changes)


def understood(frame: bytes) -> Received | None:
    """The request in a frame, with its length, if its response concerns the proxy."""
    if len(frame) < 12:
        return None
    key, version, correlation = struct.unpack_from(">hhi", frame, 4)
    if key not in APIS and key not in NAMING_ADDRESSES:
        return None
    try:
        return decode_request(frame[4:])
    except WireError as problem:
        LOG.warning("a request is not understood: %s", problem)
        return Received(key, version, correlation, None, None)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame with its length; empty at the end."""
    try:
        start = await reader.readexactly(4)
        frame = await reader.readexactly(frame_length(start, LONGEST_FRAME))
    except (asyncio.IncompleteReadError, OSError):
        return b""
    return start + frame
