"""Forked processes: each has all objects of its parent, and sends back what it finds.

Rules are functions, and cannot be sent to a process; a forked one has them already. What it sends
is data. The processes of a run are ended with it, and one whose parent is gone ends at its next
message.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from kspec.checkers.engine.memory import private_bytes

MEASURED = 0.5
"""Minimum seconds between two measurements of a process's memory."""

PATIENCE = 0.05
"""Seconds to wait for a message until the parent looks at its own limits."""


DIE_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux."""

NONE = -1
"""In place of the number of a process that was not started, or that was ended."""

SIZE = 8
"""The bytes in which a message's size precedes it."""

killed: list[int] = []
"""Processes that were killed. It takes them some milliseconds to give their memory back."""


def await_killed() -> None:
    """Wait for them to end: at exit, or before another process starts."""
    while killed:
        with suppress(ChildProcessError):  # it has another parent, or was waited for elsewhere
            os.waitpid(killed.pop(), 0)


atexit.register(await_killed)


class Forked:
    """A process that does some work, and the messages that it sends."""

    def __init__(self, work: Callable[[Callable[[Any], None]], None]) -> None:
        """Start it; `work` is called there with a function that sends a message here."""
        await_killed()
        self.pipe, there = os.pipe()
        self.bytes = 0
        """The memory that it had of its own when it sent the last message."""
        self.had = 0.0
        """Its processor time, in seconds, when it sent the last message."""
        self.messages: deque[Any] = deque()
        """Those received and not taken."""
        self.ended = False
        """Whether it will send nothing more."""
        self.is_interrupted = self.is_paused = False
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.pid = fork()
        if self.pid == 0:
            try:
                os.close(self.pipe)
                _be_forked()
                work(Sending(there))
            finally:
                os._exit(0)
        os.close(there)

    def receive(self) -> None:
        """Take what it has sent, which is at least one message or its end."""
        try:
            size = int.from_bytes(self.read(SIZE))
            self.bytes, self.had, message = pickle.loads(self.read(size))  # noqa: S301 - its own
            self.messages.append(message)
        except EOFError:
            self.ended = True

    def read(self, size: int) -> bytes:
        """The next bytes that it sends."""
        data = bytearray()
        while len(data) < size:
            part = os.read(self.pipe, size - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def pause(self) -> None:
        """Have it wait, so that this process has the processors for itself."""
        if self.pid > 0 and not self.is_paused:
            os.kill(self.pid, signal.SIGSTOP)
            self.is_paused = True

    def resume(self) -> None:
        """Have it go on."""
        if self.pid > 0 and self.is_paused:
            os.kill(self.pid, signal.SIGCONT)
            self.is_paused = False

    def interrupt(self) -> None:
        """Ask it, once, to end in good order."""
        self.resume()
        if self.pid > 0 and not self.is_interrupted:
            os.kill(self.pid, signal.SIGUSR1)
            self.is_interrupted = True

    def end(self) -> None:
        """End it at once."""
        if self.pid > 0:
            os.kill(self.pid, signal.SIGKILL)
            killed.append(self.pid)
        if self.pipe != NONE:
            os.close(self.pipe)
        self.pid, self.pipe, self.bytes, self.ended = NONE, NONE, 0, True


class Sending:
    """Sends messages to the parent, each with the memory and the time that this process has had."""

    def __init__(self, pipe: int) -> None:
        self.pipe = open(pipe, "wb")  # noqa: SIM115 - until it ends
        self.bytes = 0
        self.measured = 0.0

    def __call__(self, message: Any) -> None:
        now = time.perf_counter()
        if now - self.measured >= MEASURED:
            self.bytes, self.measured = private_bytes(), now
        data = pickle.dumps((self.bytes, time.process_time(), message), pickle.HIGHEST_PROTOCOL)
        try:
            self.pipe.write(len(data).to_bytes(SIZE) + data)
            self.pipe.flush()
        except OSError:  # nobody listens any more
            os._exit(0)


def fork() -> int:
    """Fork this process; NONE if the system refuses."""
    with warnings.catch_warnings(), suppress(OSError):
        warnings.simplefilter("ignore", DeprecationWarning)  # a thread may draw the progress
        return os.fork()
    return NONE


def _be_forked() -> None:
    """Leave Ctrl-C and the terminal to the parent, and its objects where they are."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with suppress(OSError, AttributeError):  # without Linux it ends at its next message
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - until it ends
    gc.freeze()


def some_message(processes: Sequence[Forked], seconds: float = PATIENCE) -> None:
    """Receive messages of these processes, or wait until the time is up."""
    by_pipe = {process.pipe: process for process in processes if not process.ended}
    poll = select.poll()
    for pipe in by_pipe:
        poll.register(pipe, select.POLLIN)
    for pipe, _ in poll.poll(seconds * 1000):
        by_pipe[pipe].receive()


class Team:
    """Some processes that share the work of one level."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.bytes = 0
        """The memory that they have of their own."""
        self.most_bytes = 0

    def results(
        self,
        parts: Sequence[Sequence[Any]],
        work: Callable[[Any], Any],
        watch: Callable[[], None],
    ) -> Iterator[tuple[int, Any]]:
        """For each item of each part, in order: the process, and what `work` returns there.

        Parts are dealt out in turn. None is returned for the items of a process that has died.
        """

        def work_on(share: Sequence[Any], send: Callable[[Any], None]) -> None:
            for item in share:
                send(work(item))

        def share_of(number: int) -> list[Any]:
            return [item for part in parts[number :: self.size] for item in part]

        team: list[Forked] = []
        try:
            for number in range(self.size):  # each is known here before the next one starts
                team.append(Forked(partial(work_on, share_of(number))))  # noqa: PERF401
            for number, part in enumerate(parts):
                process = team[number % self.size]
                for _ in part:
                    while not process.messages and not process.ended:
                        some_message(team)
                        self.bytes = sum(one.bytes for one in team)
                        self.most_bytes = max(self.bytes, self.most_bytes)
                        watch()
                    found = process.messages.popleft() if process.messages else None
                    yield number % self.size, found
        finally:
            for process in team:
                process.end()
            self.bytes = 0
