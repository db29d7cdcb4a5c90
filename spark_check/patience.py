"""How long others may take."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

REGISTER_SECONDS = 20
"""How long a standalone master may take to take an application, and its workers to work for it."""
WORKERS_SECONDS = 180
"""How long other clusters may take: they start machines or containers first."""


def within(seconds: float, work: Callable[[], T], slow: Callable[[], bool] | None = None) -> T:
    """Do something in so many seconds, or raise TimeoutError and leave it behind.

    Where `slow` then says that it is under way, it gets more time.
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
