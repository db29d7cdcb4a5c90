"""The search as tests in a client's own suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kspec.field.conform.assignors import conformance_tests
from kspec.impl.assignors import ASSIGNORS
from kspec.spec.core import SpecError

TestOurs = conformance_tests(ASSIGNORS, max_examples=10)


@pytest.mark.slow
def test_three_lines_make_a_suite_that_separates_wrong_from_different(tmp_path: Path) -> None:
    tests = tmp_path / "test_mine.py"
    tests.write_text(
        "from kspec.field.conform.assignors import conformance_tests\n"
        "from spec.assignors import ASSIGNORS\n"
        "TestMine = conformance_tests({'roundrobin': ASSIGNORS['sticky']}, max_examples=25)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests.name],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "1 failed, 2 passed" in ran.stdout
    assert "test_answers_as_kafka_does[roundrobin]" in ran.stdout
    assert "# roundrobin, DIFFERENT, placement: Member" in ran.stdout
    assert "partitions = {" in ran.stdout


def test_each_kind_of_disagreement_fails_the_test_of_its_kind() -> None:
    def crash(*_: object) -> Any:
        raise RuntimeError("on purpose")

    suite: Any = conformance_tests({"range": crash}, max_examples=5)()
    with pytest.raises(pytest.fail.Exception, match="CRASH, RuntimeError: RuntimeError: on purp"):
        suite.test_never_crashes("range")
    suite.test_keeps_what_the_strategy_promises("range")
    suite.test_answers_as_kafka_does("range")


def test_a_malformed_target_is_rejected_at_once() -> None:
    with pytest.raises(SpecError, match="is not a mapping from names of strategies to functions"):
        conformance_tests([ASSIGNORS["range"]])  # type: ignore[arg-type]
