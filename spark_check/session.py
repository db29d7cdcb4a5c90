"""A Spark session with the right settings, a quiet terminal, and one-line errors.

    with session("local[2]", "kspec: replication") as spark:
        ...

Quick checks (is Java installed, does the master accept connections) run before Spark starts, since
Spark takes minutes to give up, and reports failures in pages.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kspec.checkers.engine.memory import machine_bytes
from kspec.spark_check.errors import one_line_errors
from kspec.spark_check.needs import assert_can_begin, assert_pyspark
from kspec.spark_check.patience import patience, within
from kspec.spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
"""Java only copies data here, so optimizing compilation costs more than it saves."""
LOG = "KSPEC_SPARK_LOG"
"""Names a file for Spark's output (`-` is the terminal); by default it is discarded."""


@contextmanager
def session(
    master: str | None,
    app: str,
    settings: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
) -> Iterator[SparkSession]:
    """A session on this master; SpecError describes what fails, also within the block.

    All workers must share `folder`, if it is given. A running session is used, and not stopped.
    Under `spark-submit`, its settings, including the master, take precedence; without it and
    without a master, all local cores are used.
    """
    pyspark = assert_pyspark()
    from kspec.spark_check.workers import assert_workers

    running = pyspark.SparkContext._active_spark_context
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if running is None and not submitted:
        master = master or "local[*]"
    assert_can_begin(master)
    before = signal.getsignal(signal.SIGINT)
    with interpreter():
        with one_line_errors():
            spark = connect(pyspark, None if submitted else master, app, dict(settings or {}))
        try:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, before)  # Spark's own handler only cancels jobs
            with one_line_errors():  # while the Java process can still provide the text
                if running is None:
                    assert_workers(spark, folder)
                yield spark
        finally:
            if running is None:
                disconnect(pyspark, spark)


@contextmanager
def interpreter() -> Iterator[None]:
    """Make workers use this interpreter, unless PYSPARK_PYTHON names another one."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_PYTHON", None)


def default_settings(master: str) -> dict[str, str]:
    """Settings for few large binary rows; those of `spark-submit` and callers take precedence."""
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.port.maxRetries": "100",
        "spark.log.level": "WARN" if LOG in os.environ else "ERROR",
        "spark.driver.memory": f"{min(4096, max(1024, machine_bytes() >> 23))}m",
        "spark.shuffle.compress": "false",
        "spark.shuffle.spill.compress": "false",
        "spark.shuffle.checksum.enabled": "false",  # Spark would only explain why it failed
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.sql.adaptive.enabled": "false",  # jobs state their number of partitions
        "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
        "spark.python.worker.reuse": "true",
        "spark.task.maxFailures": "8",
    }
    host = urlsplit(master).hostname if master.startswith("spark://") else None
    if master.startswith("local") or host in ("127.0.0.1", "localhost"):
        settings["spark.driver.host"] = "127.0.0.1"  # works without a resolvable host name
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def connect(pyspark: Any, master: str | None, app: str, settings: Mapping[str, str]) -> Any:
    """Start Spark, or use a running session; discard its output."""
    from pyspark.sql import SparkSession

    conf = pyspark.SparkConf()
    for name, value in default_settings(conf.get("spark.master", master) or "").items():
        conf.setIfMissing(name, value)
    if master:
        conf.setMaster(master)
    for name, value in settings.items():
        conf.set(name, value)
    conf.setAppName(app)
    builder = SparkSession.builder.config(conf=conf)
    if pyspark.SparkContext._active_spark_context or "PYSPARK_GATEWAY_PORT" in os.environ:
        return builder.getOrCreate()
    with log() as output:
        gateway = launch(conf, output)
        pyspark.SparkContext._ensure_initialized(None, gateway, conf)
        try:
            return within(patience(), builder.getOrCreate)
        except TimeoutError:
            end(pyspark)
            raise SpecError(f"no master answers at {master}: it accepts no applications") from None
        except BaseException:
            end(pyspark)
            raise


def launch(conf: Any, output: IO[bytes]) -> Any:
    """Start the Java process; SpecError if it does not start."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    said = None if os.environ.get(LOG) == "-" else output
    try:
        return launch_gateway(conf, popen_kwargs={"stderr": said, "stdout": said})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        output.seek(0)
        lines = output.read().decode(errors="replace").splitlines()
        why = next((line for line in lines if "rror" in line or "xception" in line), "")
        raise SpecError(f"Spark does not start: {why or 'Java ended immediately'}") from None


@contextmanager
def log() -> Iterator[IO[bytes]]:
    """The file for Spark's output: anonymous, unless KSPEC_SPARK_LOG names one."""
    name = os.environ.get(LOG, "-")
    with tempfile.TemporaryFile() if name == "-" else Path(name).open("w+b") as file:
        yield file


def disconnect(pyspark: Any, spark: Any) -> None:
    """Stop Spark and its Java process."""
    with suppress(Exception):  # an ended process needs no report
        spark.stop()
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        end(pyspark)


def end(pyspark: Any) -> None:
    """End the Java process, whatever it is doing."""
    gateway = pyspark.SparkContext._gateway
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
    pyspark.SparkContext._active_spark_context = None
    if gateway is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    process = gateway.proc
    if process:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
