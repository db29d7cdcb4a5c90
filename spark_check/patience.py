"""Time limits for calls that may block."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from kspec.spec.core import SpecError

T = TypeVar("T")

SECONDS = "KSPEC_SPARK_SECONDS"
"""The environment variable with the seconds that a master or its workers may take to answer."""


def patience() -> int:
    """How long to wait for a master, and for workers, in seconds: some clusters start machines."""
    given = os.environ.get(SECONDS, "180")
    if not given.isdecimal() or not given.isascii():
        raise SpecError(f"{SECONDS} is {given!r}, not a whole number")
    return int(given)


def within(seconds: float, work: Callable[[], T], slow: Callable[[], bool] | None = None) -> T:
    """Run a function within this many seconds; TimeoutError abandons it.

    If `slow` then reports that it is under way, it gets as much time again.
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
        thread.join(seconds)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError
    return result[0]
