"""Spark's start: what can be wrong is told in a line, and in seconds; nothing else is heard."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkers.cli.main import run
from spark_check.errors import in_a_line
from spark_check.needs import assert_answers, assert_java
from spec.core import SpecError

SCRIPT = """
from spark_check.session import session
from spec.core import SpecError
try:
    with session({master!r}, "test") as spark:
        print(spark.range(7, numPartitions=2).mapInArrow({function}, "id long").count())
except SpecError as error:
    print(error)
"""


def java_that_says(folder: Path, says: str, code: int = 0) -> str:
    """A JAVA_HOME whose java does nothing but say this."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\nexit {code}\n")
    java.chmod(0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ('java version "1.8.0_292"', "is Java 8: set JAVA_HOME"),
        ('openjdk version "11.0.20" 2023-07-18', "is Java 11: set JAVA_HOME"),
        ("Segmentation fault", "does not say its version"),
    ],
)
def test_an_old_java_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, told: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, says))
    with pytest.raises(SpecError, match=told):
        assert_java()


def test_a_java_that_is_new_enough_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, 'openjdk version "21" 2023-09-19'))
    assert_java()


def test_that_there_is_no_java_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SpecError, match="there is no java on the PATH"):
        assert_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SpecError, match="there is no java in JAVA_HOME"):
        assert_java()


def test_a_master_that_nobody_is_behind_is_told() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(SpecError, match=f"no master answers at {master}: Connection refused"):
            assert_answers(master)


def test_of_several_masters_one_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        assert_answers(f"spark://127.0.0.1:1,127.0.0.1:{there.getsockname()[1]}")


@pytest.mark.parametrize("master", ["loca", "local[x]", "http://127.0.0.1:1", "spark:/host"])
def test_what_is_no_master_is_told(master: str) -> None:
    with pytest.raises(SpecError, match="is no master: say local"):
        assert_answers(master)


def test_a_wrong_master_is_told_of_a_run_that_ends_before_spark_is_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = ["check", "replication", "--set", "brokers=1"]
    assert run([*small, "--engine", "spark", "--master", "nowhere"]) == 151
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "nowhere is no master" in said.err


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("Traceback …\nspec.core.errors.SpecError: x is damaged\n\n\tat java", "x is damaged"),
        ("java.io.IOException: No space left on device\n\tat", "no space left on the disk"),
        ('java.io.IOException: Cannot run program "/no/python": error=2', "have no /no/python"),
        ("ModuleNotFoundError: No module named 'numba'", "has no module numba: install"),
        ("x.Y: a\n\tat b\nCaused by: c.DException: the cause\n\tat e", "Spark failed: the cause"),
        ("", "Spark failed: it is gone"),
    ],
)
def test_a_page_of_java_becomes_a_line(told: str, line: str) -> None:
    assert line in in_a_line(told)


# -- with Spark -----------------------------------------------------------------------------------


def ran(
    master: str, function: str = "lambda rows: rows", **environment: str
) -> tuple[str, str, float]:
    """What a script prints that makes a session and counts seven rows, and how long it took."""
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT.format(master=master, function=function)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout, done.stderr, time.perf_counter() - begun


@pytest.mark.slow
def test_a_session_counts_and_nothing_else_is_heard() -> None:
    assert ran("local[2]")[:2] == ("7\n", "")


@pytest.mark.slow
def test_another_python_on_the_workers_is_told(tmp_path: Path) -> None:
    said, heard, _ = ran("local[2]", PYSPARK_PYTHON="/no/python")
    assert (said.count("\n"), heard) == (1, "")
    assert said.startswith("the workers have no /no/python")
    other = tmp_path / "python"  # the same Python, but for what it takes for its version
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Version(tuple): major, minor, micro = 3, 99, 0\n"
        "sys.version_info = Version((3, 99, 0, 'final', 0))\n"
    )
    other.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    other.chmod(0o755)
    said, heard, _ = ran("local[2]", PYSPARK_PYTHON=str(other))
    assert (said.count("\n"), heard) == (1, "")
    assert said.startswith("the workers have Python 3.99, and the driver 3.")


@pytest.mark.slow
def test_a_master_that_accepts_and_says_nothing_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        said, heard, seconds = ran(master)
    assert said == f"no master answers at {master}: it takes no applications\n"
    assert heard == ""
    assert seconds < 60


@pytest.mark.slow
def test_what_a_task_says_is_wrong_is_told_in_its_words() -> None:
    function = "lambda rows: (_ for _ in ()).throw(SpecError('file x is damaged'))"
    assert ran("local[2]", function)[:2] == ("file x is damaged\n", "")
