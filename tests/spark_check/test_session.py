"""Starting Spark: failures are reported within seconds and in one line, and nothing else is
printed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kspec.checkers.cli.main import run
from kspec.spark_check.errors import one_line
from kspec.spark_check.needs import assert_answers, assert_java
from kspec.spark_check.patience import SECONDS, patience
from kspec.spec.core import SpecError

SCRIPT = """
from kspec.spark_check.session import session
from kspec.spec.core import SpecError
try:
    with session({master!r}, "test") as spark:
        print(spark.range(7, numPartitions=2).mapInArrow({function}, "id long").count())
except SpecError as error:
    print(error)
"""


def java_that_says(folder: Path, says: str, code: int = 0) -> str:
    """A JAVA_HOME whose java only prints a text."""
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
        ("Segmentation fault", "reports no version"),
    ],
)
def test_an_old_java_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, told: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, says))
    with pytest.raises(SpecError, match=told):
        assert_java()


def test_a_new_java_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", java_that_says(tmp_path, 'openjdk version "21" 2023-09-19'))
    assert_java()


def test_a_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(SpecError, match="there is no java on the PATH"):
        assert_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SpecError, match="there is no java in JAVA_HOME"):
        assert_java()


def test_a_master_that_refuses_connections_is_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(SpecError, match=f"no master answers at {master}: Connection refused"):
            assert_answers(master)


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as there:
        assert_answers(f"spark://127.0.0.1:1,127.0.0.1:{there.getsockname()[1]}")


@pytest.mark.parametrize("master", ["loca", "local[x]", "http://127.0.0.1:1", "spark:/host"])
def test_an_invalid_master_is_rejected(master: str) -> None:
    with pytest.raises(SpecError, match="is not a master: use local"):
        assert_answers(master)


def test_an_invalid_master_is_rejected_even_if_spark_is_not_needed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    small = ["check", "replication", "--set", "brokers=1"]
    assert run([*small, "--engine", "spark", "--master", "nowhere"]) == 151
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "nowhere is not a master" in said.err


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ("Traceback …\nspec.core.errors.SpecError: x is damaged\n\n\tat java", "x is damaged"),
        ("java.io.IOException: No space left on device\n\tat", "no space left on the disk"),
        ('java.io.IOException: Cannot run program "/no/python": error=2', "have no /no/python"),
        ("ModuleNotFoundError: No module named 'numba'", "has no module numba: install"),
        ("x.Y: a\n\tat b\nCaused by: c.DException: the cause\n\tat e", "Spark failed: the cause"),
        ("", "Spark failed: the connection was lost"),
    ],
)
def test_spark_errors_are_reduced_to_one_line(told: str, line: str) -> None:
    assert line in one_line(told)


# -- with Spark -----------------------------------------------------------------------------------


def ran(master: str, function: str = "lambda rows: rows", **environment: str) -> tuple[str, str]:
    """The output of a script that starts a session and counts seven rows."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT.format(master=master, function=function)],
        capture_output=True,
        text=True,
        timeout=1800,
        check=True,
        env=os.environ | environment,
    )
    return done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.other_software
def test_a_session_prints_nothing() -> None:
    assert ran("local[2]") == ("7\n", "")


@pytest.mark.slow
@pytest.mark.other_software
def test_another_python_on_the_workers_is_rejected(tmp_path: Path) -> None:
    said, heard = ran("local[2]", PYSPARK_PYTHON="/no/python")
    assert (said.count("\n"), heard) == (1, "")
    assert said.startswith("the workers have no /no/python")
    other = tmp_path / "python"  # the same Python, with another version
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Version(tuple): major, minor, micro = 3, 99, 0\n"
        "sys.version_info = Version((3, 99, 0, 'final', 0))\n"
    )
    other.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    other.chmod(0o755)
    said, heard = ran("local[2]", PYSPARK_PYTHON=str(other))
    assert (said.count("\n"), heard) == (1, "")
    assert said.startswith("the workers have Python 3.99, and the driver 3.")


@pytest.mark.slow
@pytest.mark.other_software
def test_a_silent_master_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        master = f"spark://127.0.0.1:{silent.getsockname()[1]}"
        said, heard = ran(master, KSPEC_SPARK_SECONDS="5")
    assert said == f"no master answers at {master}: it accepts no applications\n"
    assert heard == ""


@pytest.mark.parametrize("given", ["soon", "-1", "", "²"])
def test_a_time_limit_that_is_no_number_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECONDS, given)
    with pytest.raises(SpecError, match="not a whole number"):
        patience()


@pytest.mark.slow
@pytest.mark.other_software
def test_an_error_of_a_task_is_reported_verbatim() -> None:
    function = "lambda rows: (_ for _ in ()).throw(SpecError('file x is damaged'))"
    assert ran("local[2]", function) == ("file x is damaged\n", "")
