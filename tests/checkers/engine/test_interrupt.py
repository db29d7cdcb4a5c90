"""The first signal ends a run: in good order if it notices, by KeyboardInterrupt if not."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from kspec.checkers.engine.interrupt import noted


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal with the handler that the command line gives it."""
    before = signal.signal(request.param, signal.default_int_handler)
    yield request.param
    signal.signal(request.param, before)


def test_a_run_that_polls_is_not_interrupted(number: signal.Signals) -> None:
    with noted(patience=3600) as interrupted:
        assert not interrupted()
        signal.raise_signal(number)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
        assert interrupted()
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(number) is signal.default_int_handler
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_a_run_that_does_not_poll_is_ended(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        never_return(number, patience=0.001)


def never_return(number: signal.Signals, patience: float) -> None:
    with noted(patience):
        signal.raise_signal(number)
        while True:
            pass


def test_a_second_signal_is_not_waited_for(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        raise_twice(number)


def raise_twice(number: signal.Signals) -> None:
    with noted(patience=3600):
        signal.raise_signal(number)
        signal.raise_signal(number)
