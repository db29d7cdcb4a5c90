"""The timers of a coordinator, and a heap that keeps their deadlines.

A coordinator arms and cancels timers. Their store disarms an expired timer and calls
`GroupCoordinator.fire` with its key.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from kspec.spec.messages import NO_MEMBER_ID

T = TypeVar("T")


class TimerKind(StrEnum):
    """The kinds of timers."""

    INITIAL_DELAY = "initial delay"
    """The wait of a group that was empty for more members."""
    JOIN = "join"
    """The wait for members to join."""
    SYNC = "sync"
    """The wait for members to send SyncGroup."""
    SESSION = "session"
    """A member's session: five minutes for a new member, its session timeout for any other."""
    PENDING = "pending"
    """The wait for a pending member to join."""

    # The hash of enumerations is computed in Python, at every heartbeat; that of strings is not.
    __hash__ = str.__hash__


class TimerKey(NamedTuple):
    """The key of a timer, equal to the plain tuple. Arming it again replaces its deadline."""

    kind: TimerKind
    group: str
    member: str = NO_MEMBER_ID


class Timers(Protocol):
    """A store of timers, as a coordinator uses it."""

    def schedule(self, key: TimerKey, delay_ms: int, /) -> None:
        """Arm a timer, or restart it."""

    def cancel(self, key: TimerKey, /) -> None:
        """Cancel a timer, if it is armed."""


class Deadlines:
    """Timers in a heap, whose clock the caller advances.

    Nearly every call is a heartbeat, which postpones a deadline. It only notes the new deadline;
    the heap keeps the old one, and checks again when that has passed. So the heap has about one
    entry for each timer, however many heartbeats arrive.
    """

    __slots__ = ("_deadlines", "_heap", "_queued", "now")

    def __init__(self, now: int = 0) -> None:
        self.now = now
        """The time in milliseconds, as last advanced."""
        self._deadlines: dict[TimerKey, int] = {}
        self._queued: dict[TimerKey, int] = {}
        """The time of each key's current entry in the heap; its other entries are stale."""
        self._heap: list[tuple[int, TimerKey]] = []

    def schedule(self, key: TimerKey, delay_ms: int) -> None:
        """Arm a timer, or restart it."""
        self._deadlines[key] = deadline = self.now + delay_ms
        queued = self._queued.get(key)
        if queued is None or deadline < queued:
            self._push(key, deadline)

    def cancel(self, key: TimerKey) -> None:
        """Cancel a timer, if it is armed. Its entry in the heap is dropped when it comes up."""
        self._deadlines.pop(key, None)

    def deadline(self, key: TimerKey) -> int | None:
        """When this timer expires; None if it is not armed."""
        return self._deadlines.get(key)

    def next_deadline(self) -> int | None:
        """The latest time to call `advance`; may be a little early."""
        return self._heap[0][0] if self._heap else None

    def advance(self, now: int, fire: Callable[[TimerKey], T]) -> list[T]:
        """Advance the clock to `now`; return the result of each expired timer, in order."""
        return [fire(key) for key in self._due(now)]

    def _due(self, now: int) -> Iterator[TimerKey]:
        """The expired timers one at a time: each may arm or cancel others."""
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
            # Most entries are stale or cancelled.
            self._queued = {k: t for k, t in self._queued.items() if k in self._deadlines}
            self._heap = [(t, k) for k, t in self._queued.items()]
            heapq.heapify(self._heap)

    def __len__(self) -> int:
        """How many timers are armed."""
        return len(self._deadlines)
