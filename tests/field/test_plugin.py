"""The fixtures in someone else's project."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TESTS = """
import socket
import pytest

seen = set()

@pytest.mark.parametrize("number", range(3))
def test_each_test_has_a_broker_of_its_own(kspec_broker, number):
    seen.add(kspec_broker.bootstrap)
    assert kspec_broker.groups() == {}
    kspec_broker.create_topic("orders")  # it would be there already
    host, port = kspec_broker.bootstrap.split(":")
    socket.create_connection((host, int(port))).close()

@pytest.mark.kspec_broker(virtual_clock=True, settings={"num.partitions": 3})
def test_a_marker_changes_the_broker(kspec_broker):
    kspec_broker.advance(1_000)

@pytest.mark.parametrize("number", range(2))
def test_the_session_has_one(kspec_broker_session, number):
    assert number == 0 or kspec_broker_session.bootstrap in seen
    seen.add(kspec_broker_session.bootstrap)

@pytest.mark.kspec_broker(settings={"num.partition": 3})
def test_a_wrong_setting_is_named(kspec_broker):
    pass
"""


@pytest.mark.slow
def test_the_fixtures_work_in_another_project(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    # In an environment that was installed before the fixtures came, pytest does not find them.
    found = any(point.name == "kspec" for point in entry_points(group="pytest11"))
    plugin = [] if found else ["-p", "kspec.field.pytest_plugin"]
    options = ["-q", "-W", "error", "--strict-markers", "-p", "no:cacheprovider"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1800,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert "6 passed, 1 error" in ran.stdout, ran.stdout
    assert "did you mean num.partitions" in ran.stdout


def test_pytest_is_told_of_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = import_module(project["entry-points"]["pytest11"]["kspec"])
    assert isinstance(module.kspec_broker, type(test_fixture))


@pytest.fixture
def test_fixture() -> None:
    """Any fixture, for its type."""
