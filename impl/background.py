"""An event loop in a thread of its own: for servers that run beside a test."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from kspec.spec.core import SpecError

T = TypeVar("T")


class Address(NamedTuple):
    """Where a broker listens."""

    host: str
    """Its name or its address."""
    port: int
    """Its port."""

    @classmethod
    def parse(cls, text: str) -> Address:
        """`HOST:PORT`; an IPv6 address is in brackets."""
        host, _, port = text.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
            raise SpecError(f"{text!r:.80} is not HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class InBackground(ABC):
    """A server in a thread of this process, which listens while the `with` block runs."""

    thread: ClassVar[str]
    """The name of the thread."""

    @abstractmethod
    async def _open(self) -> Address:
        """Begin to listen, in the thread; the host and the port."""

    @abstractmethod
    async def _close(self) -> None:
        """Close every connection, in the thread."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start to listen; OSError if the port is taken."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=self.thread, daemon=True
        )
        self._thread.start()
        try:
            self._address = self._run(self._open())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Close all connections, and forget everything."""
        self._run(self._close())
        self._end()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine in the thread; returns when it has one."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def bootstrap(self) -> str:
        """What a client takes as `bootstrap.servers`."""
        return str(self._address)
