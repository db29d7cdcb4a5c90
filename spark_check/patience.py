"""Time limits for calls that may block."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

REGISTER_SECONDS = 120
"""Seconds for a standalone master to accept an application."""
WORKERS_SECONDS = 180
"""Seconds for workers to register, and for other clusters, which start machines or containers."""


def within(seconds: float, work: Callable[[], T], slow: Callable[[], bool] | None = None) -> T:
    """Run a function within this many seconds; TimeoutError abandons it.

    If `slow` then reports that it is under way, it gets more time.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def attempt() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive() and slow and slow():
        thread.join(WORKERS_SECONDS)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError
    return result[0]
