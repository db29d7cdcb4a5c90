"""A standalone cluster on this machine: a master and two workers, from the pyspark wheel."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest


@attrs.frozen
class Cluster:
    """What is running."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    folder: Path

    def kill_a_worker(self) -> None:
        """Kill a worker and the executors that it has started, at once."""
        worker = self.workers.pop()
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(worker.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        for pid in [worker.pid, *map(int, children.stdout.split())]:
            os.kill(pid, signal.SIGKILL)
        worker.wait()

    def start_a_worker(self) -> None:
        """Start another one, and wait until the master knows it."""
        name = f"worker-{time.time_ns()}"
        self.workers.append(start(self.folder, name, "worker.Worker", "-c", "1", self.master))
        wait_for(self.folder / f"{name}.log", "(Successfully registered with master)")


def start(folder: Path, name: str, what: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a part of Spark that writes what it says in a file of that name."""
    import pyspark

    home = Path(pyspark.__file__).parent
    ours = {"SPARK_WORKER_DIR": str(folder / name), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / name).with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [home / "bin" / "spark-class", f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1",
             *(["--port", "0", "--webui-port", "0"]), *arguments],
            stdout=log,
            stderr=log,
            env=os.environ | ours,
        )  # fmt: skip


def wait_for(log: Path, pattern: str) -> str:
    """What is said in a file, once it is."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text())
        if found:
            return found[1]
        time.sleep(0.1)
    raise AssertionError(f"{log} does not say {pattern}: {log.read_text()}")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers with a core each."""
    folder = tmp_path_factory.mktemp("cluster")
    master = start(folder, "master", "master.Master")
    running = Cluster(wait_for(folder / "master.log", r"(spark://127.0.0.1:\d+)"), [], folder)
    try:
        for _ in range(2):
            running.start_a_worker()
        yield running
    finally:
        for process in [*running.workers, master]:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def spark_submit() -> list[str]:
    """The command, and what it takes to run with this Python on this machine."""
    import pyspark

    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    return [submit, "--conf", f"spark.pyspark.python={sys.executable}"]
