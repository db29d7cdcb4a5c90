"""The archive of `kspec bundle` is all that a worker's Python needs."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from kspec.checkers.engine.options import Options
from kspec.checkers.engine.run import run
from kspec.spark_check.bundle import our_files, write_bundle
from kspec.spec.watermarks import WATERMARKS
from tests.spark_check.conftest import Cluster

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.other_software
def test_a_worker_without_packages_runs_from_the_bundle(
    cluster: Cluster, spark_submit: list[str], tmp_path: Path
) -> None:
    archive, bare = tmp_path / "kspec.zip", tmp_path / "bare" / "bin" / "python"
    assert write_bundle(archive, with_dependencies=True) > len(list(our_files()))
    venv.create(tmp_path / "bare", symlinks=True)
    for name in ("numpy", "pyarrow", "spec"):
        there = [str(bare), "-c", f"import {name}"]
        assert subprocess.run(
            there, cwd=tmp_path, env={}, capture_output=True, check=False
        ).returncode
    settings = {
        "spark.pyspark.python": str(bare),
        "spark.pyspark.driver.python": sys.executable,
        "spark.executorEnv.PYTHONPATH": "kspec",
        "spark.cores.max": "1",  # one executor unpacks it
    }
    given = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [spark_submit[0], "--master", cluster.master, *given, "--archives", f"{archive}#kspec",
         str(ROOT / "spark_check" / "explore.py"), "watermarks", "--set=records=8",
         "--set=followers=3", "--max-depth=13", "--json", "--checkpoint", str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 4, done.stderr  # what --max-depth ended is inconclusive
    found = json.loads(done.stdout[done.stdout.index("{") :])
    system = WATERMARKS.system(None, {"records": 8, "followers": 3})
    assert found["levels"] == list(run(system, Options("learned", max_depth=13)).levels)
    assert found["seconds"]["start"] > 0  # the last level was worth a job
