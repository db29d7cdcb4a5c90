"""A Spark session with the right settings, a quiet terminal, and errors that are one line.

    with session("local[2]", "kspec: replication") as spark:
        ...

What is cheap to find out (is there a Java, does anybody listen where the master should be) is
found out before Spark starts, since Spark takes minutes to give up, and says so in pages.
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

from checkers.memory import machine_bytes
from spark_check.errors import said_in_a_line
from spark_check.needs import assert_can_begin, assert_pyspark
from spark_check.patience import REGISTER_SECONDS, WORKERS_SECONDS, within
from spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
"""Java only copies here: so what it saves by compiling well is less than that takes."""
LOG = "KSPEC_SPARK_LOG"
"""Names a file for what Spark says (`-`: the terminal); otherwise nobody hears it."""


@contextmanager
def session(
    master: str | None,
    app: str,
    settings: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
) -> Iterator[SparkSession]:
    """A session on this master; SpecError says in a line what is wrong, also with what runs in it.

    With `folder`, all workers must see that folder. A session that is there already is used, and
    left running. Under `spark-submit` the master and whatever else was given there decide; without
    it and without a master, all cores here do.
    """
    pyspark = assert_pyspark()
    from spark_check.workers import assert_workers

    running = pyspark.SparkContext._active_spark_context
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if running is None and not submitted:
        master = master or "local[*]"
    assert_can_begin(master)
    before = signal.getsignal(signal.SIGINT)
    with interpreter():
        with said_in_a_line():
            spark = connect(pyspark, None if submitted else master, app, dict(settings or {}))
        try:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, before)  # Spark's own would kill jobs, and not us
            with said_in_a_line():  # while there is a Java to ask for the text
                if running is None:
                    assert_workers(spark, folder)
                yield spark
        finally:
            if running is None:
                disconnect(pyspark, spark)


@contextmanager
def interpreter() -> Iterator[None]:
    """Have workers use this interpreter, unless PYSPARK_PYTHON names another one."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_PYTHON", None)


def default_settings(master: str) -> dict[str, str]:
    """What suits few large binary rows; whatever `spark-submit` or a caller says goes before."""
    settings = {
        "spark.ui.showConsoleProgress": "false",
        "spark.port.maxRetries": "100",
        "spark.log.level": "WARN" if LOG in os.environ else "ERROR",
        "spark.driver.memory": f"{min(4096, max(1024, machine_bytes() >> 23))}m",
        "spark.shuffle.compress": "false",  # codes look like chance
        "spark.shuffle.spill.compress": "false",
        "spark.shuffle.checksum.enabled": "false",  # Spark would say why it failed, no more
        "spark.driver.extraJavaOptions": JAVA,
        "spark.executor.extraJavaOptions": JAVA,
        "spark.sql.adaptive.enabled": "false",  # we say how many partitions there are
        "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
        "spark.python.worker.reuse": "true",
        "spark.task.maxFailures": "8",
    }
    host = urlsplit(master).hostname if master.startswith("spark://") else None
    if master.startswith("local") or host in ("127.0.0.1", "localhost"):
        settings["spark.driver.host"] = "127.0.0.1"  # no name of this machine need be known
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def connect(pyspark: Any, master: str | None, app: str, settings: Mapping[str, str]) -> Any:
    """Start Spark, or take what runs; what it says on the way goes where nobody hears it."""
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
    with log() as heard:
        gateway = launch(conf, heard)
        pyspark.SparkContext._ensure_initialized(None, gateway, conf)
        seconds = REGISTER_SECONDS if (master or "").startswith("spark://") else WORKERS_SECONDS
        try:
            return within(seconds, builder.getOrCreate)
        except TimeoutError:
            end(pyspark)
            raise SpecError(f"no master answers at {master}: it takes no applications") from None
        except BaseException:
            end(pyspark)
            raise


def launch(conf: Any, heard: IO[bytes]) -> Any:
    """Start the Java side, or say why it does not start."""
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    said = None if os.environ.get(LOG) == "-" else heard
    try:
        return launch_gateway(conf, popen_kwargs={"stderr": said, "stdout": said})  # type: ignore[no-untyped-call]
    except PySparkRuntimeError:
        heard.seek(0)
        lines = heard.read().decode(errors="replace").splitlines()
        why = next((line for line in lines if "rror" in line or "xception" in line), "")
        raise SpecError(f"Spark does not start: {why or 'Java ended at once'}") from None


@contextmanager
def log() -> Iterator[IO[bytes]]:
    """Where Spark talks to: a file that has no name, unless KSPEC_SPARK_LOG has one."""
    name = os.environ.get(LOG, "-")
    with tempfile.TemporaryFile() if name == "-" else Path(name).open("w+b") as file:
        yield file


def disconnect(pyspark: Any, spark: Any) -> None:
    """Stop Spark and its Java."""
    with suppress(Exception):  # it may be gone already; there is nothing to say of that
        spark.stop()
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        end(pyspark)


def end(pyspark: Any) -> None:
    """End the Java side, whatever it is doing."""
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
