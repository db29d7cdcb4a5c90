"""The broker's network: connections, limits, and the clock.

As in Kafka, a connection has one request in progress: the next one is handled after the response to
the one before. A connection that exceeds a limit or sends invalid bytes is closed, and others are
not affected:

- A request larger than `socket.request.max.bytes`, or that takes longer than
  `kspec.slow.timeout.ms` to arrive.
- A response that takes as long to leave, or a connection that is silent for
  `connections.max.idle.ms`.
- A connection beyond `max.connections`.
- Where more than `kspec.max.buffered.bytes` wait to be received or sent on all connections, the
  connection with most of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from kspec.impl.broker.broker import Broker
from kspec.impl.broker.calls import Call, UnsupportedRequest
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.recording import Recording
from kspec.impl.recording.messages import record
from kspec.impl.recording.trace import WallClock
from kspec.impl.wire import WireError, decode_request, encode_response, frame_length

LOG = logging.getLogger("kspec.broker")

_SIZE = 4
"""The bytes of a request that hold its length."""
_SWEEP = 1.0
"""The seconds between two searches for slow and silent connections."""
_HIGH_WATER = 2**20
"""The bytes waiting to be sent on a connection at which its requests are left alone."""
_TURN = 64
"""How many requests of a connection are handled before others have their turn."""

_BACKLOG = 128
"""How many connections are accepted in a row; with many more, a flood of short ones would count
against `max.connections` before their ends are noticed."""


class Clock:
    """The coordinator's clock: real, or virtual, which only `advance` moves."""

    def __init__(self, *, is_virtual: bool) -> None:
        self.is_virtual = is_virtual
        self._real = WallClock()
        self._now = self._real()

    def now(self) -> int:
        """The time in milliseconds since 1970. It never goes back."""
        return self._now if self.is_virtual else self._real()

    def advance(self, duration: int) -> int:
        """Let virtual time pass."""
        self._now += duration
        return self._now


class Server:
    """A broker that listens. All of its methods belong to the thread of its event loop."""

    def __init__(
        self,
        settings: BrokerSettings | None = None,
        *,
        virtual_clock: bool = False,
        recording: Recording | None = None,
    ) -> None:
        self.settings = settings or BrokerSettings()
        self.recording = recording
        """Where the requests and responses of groups are recorded, if anywhere."""
        self.connected = 0
        """How many connections there have been."""
        self.clock = Clock(is_virtual=virtual_clock)
        if recording is not None:
            recording.clock = self.clock.now
        self.broker = Broker(self.settings, self.clock.now(), self._later)
        self.connections: set[Connection] = set()
        self._held: list[Callable[[], None]] = []
        """Each sends a delayed response."""
        self._to_hold: dict[int, int] = {}
        """How many more responses of each API to delay."""
        self.buffered = 0
        """The bytes that have been received and not yet handled, on all connections."""
        self.failures = 0
        """How many requests failed because of a bug in the broker."""
        self.address: tuple[str, int] = ("", 0)
        """Where it listens."""
        self._timer: asyncio.TimerHandle | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 is any that is free."""
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(
            lambda: Connection(self), host, port, backlog=_BACKLOG
        )
        self.address = self._server.sockets[0].getsockname()[:2]
        self._sweep()
        self.set_timer()

    async def stop(self) -> None:
        """Close every connection, and listen no longer."""
        for handle in (self._timer, self._sweeper):
            if handle is not None:
                handle.cancel()
        self._server.close()
        for connection in list(self.connections):
            connection.close()
        await asyncio.sleep(0)

    # -- time ------------------------------------------------------------------------------

    def _later(self, delay: int, function: Callable[[], None]) -> Callable[[], None]:
        """The waits of Fetch are in real time, whichever clock the coordinator has."""
        return self._loop.call_later(delay / 1000, function).cancel

    def set_timer(self) -> None:
        """Wake up when the coordinator's next timer expires."""
        if self.clock.is_virtual:
            return
        if self._timer is not None:
            self._timer.cancel()
        delay = max(self.broker.groups.next_deadline() - self.clock.now(), 0)
        self._timer = self._loop.call_later(delay / 1000 + 0.001, self._wake)

    def _wake(self) -> None:
        self.broker.groups.advance(self.clock.now())
        self.set_timer()

    def _sweep(self) -> None:
        """Close the connections that are too slow or silent."""
        now = self._loop.time()
        for connection in list(self.connections):
            connection.check(now)
        self._sweeper = self._loop.call_later(_SWEEP, self._sweep)

    # -- faults ----------------------------------------------------------------------------

    def drop_connections(self, client: str | None) -> int:
        """Close the connections of a client id, or all; returns how many."""
        found = [c for c in self.connections if client in (None, c.client)]
        for connection in found:
            connection.close()
        return len(found)

    def hold(self, key: int, times: int) -> None:
        """Delay the next responses of an API."""
        self._to_hold[key] = self._to_hold.get(key, 0) + times

    def holds(self, key: int, send: Callable[[], None]) -> bool:
        """Whether a response is delayed."""
        left = self._to_hold.get(key, 0)
        if left:
            self._to_hold[key] = left - 1
            self._held.append(send)
        return left > 0

    def release(self) -> int:
        """Send the delayed responses, and delay no more; returns how many."""
        self._to_hold.clear()
        held, self._held = self._held, []
        for send in held:
            send()
        return len(held)

    # -- limits ----------------------------------------------------------------------------

    def check_buffers(self) -> None:
        """Close the connections with most bytes until the rest is within the limit."""
        sizes = {connection: connection.size() for connection in self.connections}
        total = sum(sizes.values())
        while total > self.settings.max_buffered_bytes:
            largest = max(sizes, key=sizes.__getitem__)
            total -= sizes.pop(largest)
            LOG.warning("closed %s: too many bytes wait on all connections", largest.peer)
            largest.close()


class Connection(asyncio.Protocol):
    """One client's connection."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._buffer = bytearray()
        self._since: float | None = None
        """When the first byte of an incomplete request arrived, or the client stopped reading."""
        self._active = self._loop.time()
        self._call: Call | None = None
        """The request in progress."""
        self._out: list[bytes] = []
        self._working = False
        self._blocked = False
        self._number = 0
        """Its number among all connections of the broker; 0 if it was refused."""
        self.client = ""
        """The client id of its latest request."""

    # -- what asyncio calls ----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.peer = transport.get_extra_info("peername") or ("", 0)
        self._address = (transport.get_extra_info("sockname") or self._server.address)[:2]
        if len(self._server.connections) >= self._server.settings.max_connections:
            transport.abort()
            return
        self._server.connections.add(self)
        self._server.connected += 1
        self._number = self._server.connected
        transport.set_write_buffer_limits(high=_HIGH_WATER)

    def connection_lost(self, problem: Exception | None) -> None:
        """The connection is closed, by either side."""
        self._server.connections.discard(self)
        self._server.buffered -= len(self._buffer)
        self._buffer.clear()
        call, self._call = self._call, None
        if call is not None:
            self._server.broker.disconnect(call)
        if self._server.recording is not None and self._number:
            self._server.recording.add("disconnect", connection=self._number)

    def data_received(self, data: bytes) -> None:
        """The client has sent bytes."""
        self._active = self._loop.time()
        self._buffer += data
        self._server.buffered += len(data)
        if not self._working:
            self._work()
        if self._server.buffered > self._server.settings.max_buffered_bytes:
            self._server.check_buffers()

    def pause_writing(self) -> None:
        """The client reads too slowly: its requests wait."""
        self._blocked = True
        self._since = self._loop.time()
        self._server.check_buffers()

    def resume_writing(self) -> None:
        """The client has read."""
        self._blocked = False
        self._since = None
        self._loop.call_soon(self._work)

    # -- requests --------------------------------------------------------------------------

    def _work(self) -> None:
        """Handle the requests that have arrived, one after the other."""
        if self._working or self._transport.is_closing():
            return
        self._working = True
        position = 0
        try:
            for _ in range(_TURN):
                if self._call is not None or self._blocked:
                    break
                end = self._end_of_request(position)
                if end is None:
                    break
                frame = bytes(memoryview(self._buffer)[position + _SIZE : end])
                position = end
                self._handle(frame)
            else:
                self._loop.call_soon(self._work)
        except (WireError, UnsupportedRequest) as problem:
            LOG.info("closed %s: %s", self.peer, problem)
            self.close()
        except Exception as problem:
            self._fail("a request cannot be handled", problem)
        finally:
            self._working = False
            self._flush()
            del self._buffer[:position]
            self._server.buffered -= position
        self._pace(progress=position > 0)

    def _fail(self, what: str, problem: Exception) -> None:
        """Close the connection because of an exception, which is a bug in the broker."""
        self._server.failures += 1
        LOG.error("closed %s: %s", self.peer, what, exc_info=problem)
        self.close()

    def _end_of_request(self, position: int) -> int | None:
        """Where the next request ends; None if it is not complete."""
        if len(self._buffer) < position + _SIZE:
            return None
        start = bytes(self._buffer[position : position + _SIZE])
        end = position + _SIZE + frame_length(start, self._server.settings.max_request_bytes)
        return end if end <= len(self._buffer) else None

    def _handle(self, frame: bytes) -> None:
        request = decode_request(frame)
        self.client = request.client or ""
        self._call = call = Call(request, self._address, self.peer[0], self.respond)
        server = self._server
        if server.recording is not None:
            record(server.recording, "request", self._number, request, request.message)
        groups = server.broker.groups
        groups.advance(server.clock.now())
        before = groups.next_deadline()
        server.broker.handle(call)
        if groups.next_deadline() < before:
            server.set_timer()

    def _pace(self, *, progress: bool) -> None:
        """Note since when a request is incomplete, and read no further than is needed."""
        if self._transport.is_closing():
            return
        stuck = self._blocked or self._call is not None
        if not stuck:
            if not self._buffer:
                self._since = None
            elif progress or self._since is None:
                self._since = self._loop.time()
        elif not self._blocked:
            self._since = None
        if stuck and len(self._buffer) > _HIGH_WATER:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    # -- responses -------------------------------------------------------------------------

    def respond(self, call: Call, message: Any) -> None:
        """Send the response to the request in progress, unless it is to be delayed."""
        if call is not self._call:
            return  # the connection was closed
        send = partial(self._send, call, message)
        if not self._server.holds(call.request.key, send):
            send()

    def _send(self, call: Call, message: Any) -> None:
        """Send the response to the request in progress; None if it has none."""
        if call is not self._call:
            return
        self._call = None
        if message is not None:
            try:
                self._out.append(encode_response(message, call.request.correlation))
            except Exception as problem:
                # Perhaps another connection's request has led to this response.
                self._fail("a response cannot be encoded", problem)
            else:
                if recording := self._server.recording:
                    record(recording, "response", self._number, call.request, message)
        if not self._working:
            self._flush()
            if self._buffer:
                self._loop.call_soon(self._work)

    def _flush(self) -> None:
        if self._out and not self._transport.is_closing():
            self._transport.write(b"".join(self._out))
        self._out.clear()

    # -- limits ----------------------------------------------------------------------------

    def size(self) -> int:
        """The bytes that wait to be handled or sent."""
        return len(self._buffer) + self._transport.get_write_buffer_size()

    def check(self, now: float) -> None:
        """Close the connection if it is too slow, or silent for too long."""
        settings = self._server.settings
        if self._since is not None and now - self._since > settings.slow_timeout / 1000:
            LOG.info("closed %s: too slow", self.peer)
            self.close()
        elif self._call is None and now - self._active > settings.max_idle / 1000:
            LOG.info("closed %s: idle", self.peer)
            self.close()

    def close(self) -> None:
        """Close the connection at once."""
        self._transport.abort()
