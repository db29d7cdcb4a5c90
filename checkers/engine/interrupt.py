"""Handle Ctrl-C by returning what was found so far, in one process or several."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.pool import Pool

PATIENCE = 60.0
"""Seconds after a signal until a run that has not noticed it is ended; many, for busy machines."""


@contextmanager
def noted(patience: float = PATIENCE) -> Iterator[Callable[[], bool]]:
    """Record Ctrl-C and SIGTERM instead of raising KeyboardInterrupt; yields a function that
    returns whether a signal has arrived. A forked process receives SIGUSR1 from its parent.

    The caller polls that function and ends the run in good order. A second signal raises
    KeyboardInterrupt, and so does the first if the caller does not poll in time: a rule that
    never returns must not outlive `timeout`. Handlers installed by others stay, and outside the
    main thread, where Python allows no handlers, nothing changes.
    """
    pressed: list[int] = []
    ours: list[signal.Signals] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)
        give_back()
        if signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, patience)

    def has_arrived() -> bool:
        if pressed:
            disarm()
        return bool(pressed)

    def disarm() -> None:
        if signal.getsignal(signal.SIGALRM) is signal.default_int_handler:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def give_back() -> None:
        while ours:
            signal.signal(ours.pop(), signal.default_int_handler)

    in_main = threading.current_thread() is threading.main_thread()
    if in_main:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            if signal.getsignal(number) is signal.default_int_handler:
                signal.signal(number, note)
                ours.append(number)
    try:
        yield has_arrived
    finally:
        disarm()
        give_back()
        if in_main and pressed and signal.getsignal(signal.SIGALRM) is signal.default_int_handler:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


@contextmanager
def processes(workers: int) -> Iterator[Pool]:
    """Processes forked from this one: rules are functions, and cannot be sent.

    Ctrl-C reaches every process; this one handles it and ends the others.
    """
    import multiprocessing  # it takes some milliseconds, and few commands need it

    fork = multiprocessing.get_context("fork")
    with fork.Pool(workers, initializer=_leave_signals_to_the_parent) as pool:
        yield pool


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
