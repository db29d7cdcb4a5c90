"""An event loop in a thread of its own: for servers that run beside a test."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

T = TypeVar("T")

Address: TypeAlias = tuple[str, int]
"""A host and a port."""


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
        host, port = self._address
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
