"""No test depends on chance: each random choice is determined by KSPEC_SEED.

Without that variable every run makes the same choices. `KSPEC_SEED=7 pytest` makes others, both in
Hypothesis and in the fixture `chance`; the same number repeats them.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

import hypothesis.core
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from kspec.checkers.models.find import FROM_FILES

SEED = os.environ.get("KSPEC_SEED", "")

settings.register_profile(
    "kspec",
    deadline=None,
    print_blob=True,
    database=None,
    derandomize=not SEED,
    suppress_health_check=[HealthCheck.too_slow],  # it measures time, and a machine may be busy
)
settings.load_profile("kspec")
if SEED:
    hypothesis.core.global_force_seed = random.Random(SEED).getrandbits(64)  # type: ignore[assignment]

os.environ.setdefault("KSPEC_SPARK_SECONDS", "1500")  # a busy machine starts Spark late
os.environ.pop("COLUMNS", None)  # the width of somebody's terminal does not fold what tests read

IN_MAIN = threading.current_thread() is threading.main_thread()
if IN_MAIN and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's `pytest &` ignores Ctrl-C, and so would the processes to which tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

NO_CONSTANTS = Constants()


def no_constants() -> Constants:
    """What Hypothesis draws of our modules: nothing.

    By default it draws constants of the modules that happen to be imported, so the tests that ran
    before would decide what a test generates, even if that is derandomized.
    """
    return NO_CONSTANTS


LOCAL_CONSTANTS = providers._get_local_constants
"""Hypothesis's function, which is private: tests/test_chance.py shows that it is still the one."""
providers._get_local_constants = no_constants


gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from now on, except among what the imports have made: it all stays."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker neighbouring tests, which share fixtures; an idle one takes some of them."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


def pytest_report_header() -> str:
    """Print the seed of this run's random choices."""
    return f"kspec: KSPEC_SEED={SEED or '(not set: the same choices in each run)'}"


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """A separate generator for each test; a failure shows its seed."""
    seed = f"{SEED or 0} {request.node.name}"
    print(f"seed: {seed}")  # pytest shows it if the test fails
    return random.Random(seed)


@pytest.fixture(autouse=True)
def models_of_files_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A module that a test loads from a file is not found by the tests after it."""
    base, path, modules = str(tmp_path_factory.getbasetemp()), sys.path.copy(), set(sys.modules)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(base):
            del sys.modules[name]
            FROM_FILES.discard(name)
