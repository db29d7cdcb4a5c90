"""Ctrl-C, answered with what was found so far."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising KeyboardInterrupt; gives what tells whether it was pressed.

    So nothing is left half done, and who asks now and then can end in good order. Pressed
    again, it raises. A signal that somebody else answers, or nobody, stays as it is; so does
    everything outside the main thread, where Python allows no handlers.
    """
    pressed: list[int] = []
    ours: list[signal.Signals] = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        give_back()

    def give_back() -> None:
        while ours:
            signal.signal(ours.pop(), signal.default_int_handler)

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, note)
                ours.append(number)
    try:
        yield lambda: bool(pressed)
    finally:
        give_back()
