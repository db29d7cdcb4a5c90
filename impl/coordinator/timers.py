"""What a coordinator waits for, and when: timers by key, and a heap that keeps them.

A coordinator only says what to arm and what to cancel. Whoever keeps the timers calls
`GroupCoordinator.fire` with a key whose time has come, and has disarmed it by then.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from spec.messages import NOBODY

T = TypeVar("T")


class TimerKind(StrEnum):
    """What there is to wait for."""

    INITIAL_DELAY = "initial delay"
    """More members for a group that was empty."""
    JOIN = "join"
    """The members that have not joined the round."""
    SYNC = "sync"
    """The members that have joined, and have not asked for their assignment."""
    MEMBER = "member"
    """A sign of life: five minutes of a new member, its session timeout of any other."""
    PENDING = "pending"
    """A client that was given a member id, and has not joined with it."""

    # As text has it: that of enumerations is computed in Python, for every heartbeat.
    __hash__ = str.__hash__


class TimerKey(NamedTuple):
    """One timer; equal to the plain tuple. Arming it again replaces its deadline."""

    kind: TimerKind
    group: str
    member: str = NOBODY


class Timers(Protocol):
    """Where a coordinator arms its timers."""

    def schedule(self, key: TimerKey, delay_ms: int, /) -> None:
        """Arm it, or set it anew."""

    def cancel(self, key: TimerKey, /) -> None:
        """Disarm it, if it is armed."""


class Deadlines:
    """Timers in a heap, under a clock that is told the time.

    Nearly every call moves a deadline further away: a heartbeat. That only notes the new
    deadline; the heap keeps the old one, and looks again when that one has come. So the heap
    has about one entry for each timer, however many heartbeats there are.
    """

    __slots__ = ("_deadlines", "_heap", "_queued", "now")

    def __init__(self, now: int = 0) -> None:
        self.now = now
        """In milliseconds, as it was last told."""
        self._deadlines: dict[TimerKey, int] = {}
        self._queued: dict[TimerKey, int] = {}
        """For each key, when the heap looks at it next; its other entries are stale."""
        self._heap: list[tuple[int, TimerKey]] = []

    def schedule(self, key: TimerKey, delay_ms: int) -> None:
        """Arm a timer, or set it anew."""
        self._deadlines[key] = deadline = self.now + delay_ms
        queued = self._queued.get(key)
        if queued is None or deadline < queued:
            self._push(key, deadline)

    def cancel(self, key: TimerKey) -> None:
        """Disarm a timer, if it is armed. Its entry in the heap is dropped when it comes up."""
        self._deadlines.pop(key, None)

    def deadline(self, key: TimerKey) -> int | None:
        """When this timer goes off; None if it is not armed."""
        return self._deadlines.get(key)

    def next_deadline(self) -> int | None:
        """When to call `advance` at the latest; may be a little early."""
        return self._heap[0][0] if self._heap else None

    def advance(self, now: int, fire: Callable[[TimerKey], T]) -> list[T]:
        """It is `now`: what comes of each timer that has gone off, in order."""
        return [fire(key) for key in self._due(now)]

    def _due(self, now: int) -> Iterator[TimerKey]:
        """Timers one at a time, each at its own moment: one that fires may set or stop others."""
        while self._heap and self._heap[0][0] <= now:
            queued, key = heapq.heappop(self._heap)
            if self._queued.get(key) != queued:
                continue  # a stale entry of a timer that was set to an earlier time
            del self._queued[key]
            deadline = self._deadlines.get(key)
            if deadline is None:
                continue
            if deadline > queued:
                self._push(key, deadline)
                continue
            del self._deadlines[key]
            self.now = max(self.now, deadline)
            yield key
        self.now = max(self.now, now)

    def _push(self, key: TimerKey, deadline: int) -> None:
        self._queued[key] = deadline
        heapq.heappush(self._heap, (deadline, key))
        if len(self._heap) > 2 * len(self._queued) + 64:
            # What is stale or cancelled outweighs the rest.
            self._queued = {k: t for k, t in self._queued.items() if k in self._deadlines}
            self._heap = [(t, k) for k, t in self._queued.items()]
            heapq.heapify(self._heap)

    def __len__(self) -> int:
        """How many timers are armed."""
        return len(self._deadlines)
