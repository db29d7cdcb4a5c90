"""Exploration on Spark, with local cores and on a cluster that loses a worker."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.spark_check.conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.other_software]

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from kspec.checkers.engine.options import Options
from kspec.checkers.models.find import find_model
from kspec.spark_check.explore import explore
from kspec.spec.core import SpecError
master, folder, resume, model, variant, bounds, worth = json.loads(sys.argv[1])
system = find_model(model).system(variant, bounds)
options = Options("spark", master=master, checkpoint=Path(folder), resume=resume)
try:
    verdict = explore(system, options, worth=worth)
except SpecError as error:
    sys.exit(f"kspec: {error}")
print(json.dumps(verdict.to_json(0)))
"""


def start(
    folder: Path,
    *,
    resume: bool = False,
    master: str = "local[2]",
    model: str = "replication",
    variant: str | None = None,
    bounds: dict[str, int] | None = None,
    worth: int = 1000,
) -> subprocess.Popen[str]:
    """Start an exploration whose levels move to Spark early."""
    told = json.dumps([master, str(folder), resume, model, variant, bounds or {}, worth])
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT, told],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What an exploration answers."""
    out, err = process.communicate(timeout=1800)
    assert (process.returncode, err) == (0, "")
    record: dict[str, Any] = json.loads(out)
    return record


def kspec(*arguments: str) -> dict[str, Any]:
    """What `kspec check` answers."""
    done = subprocess.run(
        [sys.executable, "-m", "kspec", "check", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.stderr == ""
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def counts(record: dict[str, Any]) -> dict[str, Any]:
    """What may not depend on the engine, nor on how often a run was begun."""
    names = ("verdict", "distinct", "generated", "levels", "stopped_by")
    fired = {name: rule["fired"] for name, rule in record["rules"].items()}
    violations = [(v["property"], v["states"]) for v in record["violations"]]
    return {name: record[name] for name in names} | {"fired": fired, "violations": violations}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """What the native engine answers."""
    return counts(kspec("replication", "--engine", "learned"))


def test_a_model_in_a_file_of_its_own_is_sent_to_the_workers(tmp_path: Path) -> None:
    own = tmp_path / "elsewhere"
    own.mkdir()
    (own / "ticks.py").write_text("STEPS = 3\n")
    (own / "clock.py").write_text(
        "from spec.core import Model, Variant, rule\n"
        "import attrs, ticks\n"
        "@attrs.frozen\n"
        "class Clock:\n"
        "    hands: tuple[int, int] = (0, 0)\n"
        "@rule(by='anybody', hand=lambda s: (0, 1))\n"
        "def tick(s, hand):\n"
        "    hands = list(s.hands)\n"
        "    hands[hand] = (hands[hand] + 1) % (5 * ticks.STEPS)\n"
        "    return Clock(tuple(hands))\n"
        "MODEL = Model(name='clock', doc='Two hands.', initial=lambda b: [Clock()],\n"
        "    properties=(), variants=[Variant(name='plain', rules=(tick,), why='')])\n"
    )
    (tmp_path / "run").mkdir()
    found = finish(start(tmp_path / "run", model=str(own / "clock.py"), worth=5))
    assert (found["verdict"], found["distinct"]) == ("holds", 225)
    assert found["seconds"]["start"] > 0


def wait_for_level(folder: Path, process: subprocess.Popen[str], level: int) -> None:
    """Wait until Spark is at work on a level."""
    while not list(folder.glob(f"level-{level:05}-*")) and process.poll() is None:
        time.sleep(0.02)


def test_spark_agrees_with_the_native_engine(whole: dict[str, Any], tmp_path: Path) -> None:
    found = finish(start(tmp_path / "run"))
    assert found["engine"] == "spark"
    assert counts(found) == whole
    assert found["seconds"]["take in"] > 0  # on Spark, not in the driver
    assert kspec("replication", "--resume", str(tmp_path / "run"))["distinct"] == whole["distinct"]


def test_a_counterexample_is_as_short_as_in_the_native_engine(tmp_path: Path) -> None:
    native = counts(kspec("replication", "--variant", "kip-101", "--engine", "learned"))
    found = finish(start(tmp_path / "run", variant="kip-101"))
    assert counts(found) == native


def test_another_model_is_explored_on_spark(tmp_path: Path) -> None:
    bounds = {"records": 5, "followers": 3}
    native = counts(kspec("watermarks", "--set", "records=5", "--set", "followers=3"))
    found = finish(start(tmp_path / "run", model="watermarks", bounds=bounds))
    assert counts(found) == native
    assert found["seconds"].get("start", 0) > 0


KILLED = int(os.environ.get("KSPEC_KILLED", "2"))
"""How often a driver is killed. Ten moments are worth waiting for by hand."""


def test_a_driver_that_is_killed_is_resumed(
    whole: dict[str, Any], tmp_path: Path, chance: random.Random
) -> None:
    """At any moment; every other time by the native engine."""
    for attempt in range(KILLED):
        folder = tmp_path / str(attempt)
        process = start(folder)
        wait_for_level(folder, process, 10)
        time.sleep(chance.uniform(0, 4))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if attempt % 2:
            resumed = kspec("replication", "--engine", "learned", "--resume", str(folder))
        else:
            resumed = finish(start(folder, resume=True))
        assert counts(resumed) == whole
        shutil.rmtree(folder)


def test_ctrl_c_ends_a_run_with_its_results(whole: dict[str, Any], tmp_path: Path) -> None:
    process = start(tmp_path / "run")
    wait_for_level(tmp_path / "run", process, 12)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert (ended["verdict"], ended["stopped_by"]) == ("inconclusive", "interrupted")
    assert ended["levels"] == whole["levels"][: len(ended["levels"])]
    assert counts(finish(start(tmp_path / "run", resume=True))) == whole


def test_a_run_resumes_after_a_full_disk(whole: dict[str, Any], tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system takes the right to mount one")
    try:
        ended = finish(start(small / "run"))
        assert ended["verdict"] == "inconclusive"
        assert "cannot be written" in ended["stopped_by"]
        assert "o space left on device" in ended["stopped_by"]
        shutil.copytree(small / "run", tmp_path / "run")
    finally:
        subprocess.run(["umount", str(small)], check=True)
    assert counts(finish(start(tmp_path / "run", resume=True))) == whole


def test_a_checkpoint_is_exported_as_a_table(spark_submit: list[str], tmp_path: Path) -> None:
    found = kspec("replication", "--set=brokers=1", "--checkpoint", str(tmp_path / "run"))
    script = str(ROOT / "spark_check" / "table.py")
    done = subprocess.run(
        [*spark_submit, script, "run", "out.parquet", "replication", "--set", "brokers=1"],
        capture_output=True,
        text=True,
        check=True,
        timeout=1800,
        cwd=tmp_path,
    )
    assert f"Written: out.parquet, {found['distinct']:,} states with " in done.stdout


# -- a cluster ------------------------------------------------------------------------------------


def test_spark_submit_runs_it_on_a_cluster(
    cluster: Cluster, spark_submit: list[str], tmp_path: Path
) -> None:
    larger = ["replication", "--set=max_epoch=2"]  # with levels that are worth a job
    script = str(ROOT / "spark_check" / "explore.py")
    keep = ["--checkpoint", str(tmp_path / "run")]
    done = subprocess.run(
        [*spark_submit, "--master", cluster.master, script, *larger, "--json", *keep],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert (found["engine"], found["workers"]) == ("spark", 2)
    assert found["seconds"]["take in"] > 0  # on the workers, not in the driver
    assert counts(found) == counts(kspec(*larger, "--engine", "learned"))


def test_a_lost_worker_does_not_change_the_result(
    cluster: Cluster, whole: dict[str, Any], tmp_path: Path
) -> None:
    process = start(tmp_path / "run", master=cluster.master)
    wait_for_level(tmp_path / "run", process, 12)
    cluster.kill_a_worker()
    found = finish(process)
    cluster.start_a_worker()
    assert counts(found) == whole
    assert found["workers"] == 2
