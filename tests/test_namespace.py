"""kspec takes two names, `kspec` and `spec`, and `spec` has the modules of `kspec.spec`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kspec import HOME
from tests.other_project import make

SAME = """
import spec.core.rules, spec.log
from spec import placement
import kspec.spec.core.rules, kspec.spec.log, kspec.spec.placement
import spec
assert spec is kspec.spec
assert spec.core.rules.Rule is kspec.spec.core.rules.Rule
assert placement is kspec.spec.placement
for module in (spec, spec.log, spec.core.rules):
    assert module.__spec__.name == module.__name__, module
import pickle
assert pickle.loads(pickle.dumps(spec.log.Log())) == kspec.spec.log.Log()
"""


@pytest.mark.parametrize("first", ["", "import kspec.spec.log", "import spec.replication"])
def test_there_is_one_of_each_module(first: str) -> None:
    code = f"{first}\n{SAME}"
    subprocess.run([sys.executable, "-W", "error", "-P", "-c", code], check=True)


def test_an_unknown_module_of_the_second_name_is_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named '(kspec\.)?spec\.logs'"):
        import spec.logs  # type: ignore[import-not-found]  # noqa: F401


@pytest.mark.slow
def test_a_project_with_packages_of_the_same_names_runs_its_tests(tmp_path: Path) -> None:
    make(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(HOME.parent)}  # what an installation puts on the path

    def ran_there(*module: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", *module]
        return subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True)

    ran = ran_there("pytest", "-q")
    assert ran.returncode == 0, ran.stdout
    assert "2 passed" in ran.stdout
    shown = ran_there("kspec", "models")
    assert "replication: " in shown.stdout, shown.stderr
