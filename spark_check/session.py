"""A Spark session with the right settings, a quiet terminal, and errors that are one line.

    with session("local[2]", "kspec: replication") as spark:
        ...

What is cheap to find out (is there a Java, does anybody listen where the master should be) is
found out before Spark starts, since Spark takes minutes to give up, and says so in pages.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from checkers.bundle import PACKAGES, write_bundle
from checkers.memory import machine_bytes
from spec.core import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

OLDEST_JAVA = 17
ANSWER_SECONDS = 5
"""How long a master may take to accept a connection."""
REGISTER_SECONDS = 20
"""How long a standalone master may take to take an application, and its workers to work for it."""
WORKERS_SECONDS = 180
"""How long other clusters may take: they start machines or containers first."""
JAVA = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1"
"""Java only copies here: so what it saves by compiling well is less than that takes."""
DISK_FULL = ("No space left on device", "Disk quota exceeded")
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


def assert_pyspark() -> Any:
    """The pyspark module, or SpecError."""
    try:
        import pyarrow  # noqa: F401
        import pyspark
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "py4j", "pyarrow"):
            raise
        raise SpecError(f"Spark needs {error.name}: pip install 'kspec[spark]'") from None
    if tuple(int(n) for n in pyspark.__version__.split(".")[:2]) < (4, 1):
        raise SpecError(f"this needs pyspark 4.1 or newer, and {pyspark.__version__} is installed")
    return pyspark


def assert_java() -> None:
    """SpecError where there is no Java, or an old one."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        where = f"in JAVA_HOME, {home}" if home else "on the PATH"
        raise SpecError(f"Spark needs Java {OLDEST_JAVA} or newer, and there is no java {where}")
    try:
        ran = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise SpecError(f"{java} does not run; Spark needs Java {OLDEST_JAVA} or newer") from None
    found = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    if ran.returncode or not found:
        raise SpecError(f"{java} does not say its version; Spark needs Java {OLDEST_JAVA} or newer")
    if int(found[1]) < OLDEST_JAVA:
        raise SpecError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {found[1]}: "
            "set JAVA_HOME to a newer one"
        )


def assert_answers(master: str) -> None:
    """SpecError where nobody listens at a master's address; of several, one is enough."""
    kind, _, rest = master.partition("://")
    if kind == "spark":
        places = [urlsplit(f"spark://{place}") for place in rest.split(",")]
    elif master.startswith("k8s://"):
        places = [urlsplit(rest if "://" in rest else f"https://{rest}")]
    elif master == "yarn":
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise SpecError(
                "for master yarn, HADOOP_CONF_DIR must name the cluster's configuration"
            )
        return
    elif re.fullmatch(r"local(\[(\*|\d+)(,\d+)?\])?|local-cluster\[[\d,]+\]", master):
        return
    else:
        raise SpecError(
            f"{master} is no master: say local[2], spark://HOST:PORT, yarn, or k8s://HOST:PORT"
        )
    why = ""
    for place in places:
        try:
            port = place.port or (443 if kind == "k8s" else 7077)
            socket.create_connection((place.hostname or "", port), ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            why = str(getattr(error, "strerror", None) or error)
        else:
            return
    raise SpecError(f"no master answers at {master}: {why}")


# -- the session ----------------------------------------------------------------------------------


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


def assert_can_begin(master: str | None) -> None:
    """SpecError where a session on this master could not begin, as far as that is soon known."""
    pyspark = assert_pyspark()
    if pyspark.SparkContext._active_spark_context or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    assert_java()
    assert_answers(master or "local[*]")


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


def within(seconds: float, work: Callable[[], T], slow: Callable[[], bool] | None = None) -> T:
    """Do something in so many seconds, or raise TimeoutError and leave it behind.

    Where `slow` then says that it is under way, it gets more time.
    """
    result: list[T] = []
    failure: list[BaseException] = []

    def attempt() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive() and slow and slow():
        thread.join(WORKERS_SECONDS)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError
    return result[0]


# -- the workers ----------------------------------------------------------------------------------


def assert_workers(spark: SparkSession, folder: Path | None) -> None:
    """SpecError where no worker answers, or one with another Python, or without what we need.

    Where kspec is missing or another one, ours is sent.
    """
    context = spark.sparkContext
    master = context.master or ""
    if master.startswith("local") and os.environ.get("PYSPARK_PYTHON") == sys.executable:
        return  # they are this process's own children
    from spark_check.workers import about_worker

    ours = next(about_worker(None, iter(()))).column(0)[0].as_py()
    try:
        told = ask_workers(spark, folder)
        other = {theirs.split("kspec ")[0] for theirs, _ in told if theirs != ours}
        ship = other == {ours.split("kspec ")[0]}
    except Exception as error:
        if not re.search(rf"No module named '({'|'.join(PACKAGES)})", str(error)):
            raise
        ship = True
    if ship and not master.startswith("local"):
        send_code(spark)
        told = ask_workers(spark, folder)
    for theirs, sees in told:
        if theirs != ours:
            raise SpecError(f"a worker has {theirs}, and the driver {ours}")
        if not sees:
            raise SpecError(
                f"the workers do not see {folder}: keep the levels, with --checkpoint, in a folder "
                "that all machines share"
            )


def ask_workers(spark: SparkSession, folder: Path | None) -> list[tuple[str, bool]]:
    """What workers say of themselves, or SpecError if none does."""
    from spark_check.workers import about_worker

    context = spark.sparkContext
    master = context.master or ""
    seconds = REGISTER_SECONDS if master.startswith("spark://") else WORKERS_SECONDS

    def answers() -> list[Any]:
        context.setJobGroup("kspec", "kspec: asking the workers for their Python", True)
        tasks = max(2, context.defaultParallelism)
        workers = spark.range(tasks, numPartitions=tasks)
        ask = partial(about_worker, folder)
        return workers.mapInArrow(ask, "versions string, sees boolean").distinct().collect()

    def some_have_come() -> bool:
        """Executors, that is; the driver is counted too."""
        return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1

    try:
        return [(row.versions, row.sees) for row in within(seconds, answers, some_have_come)]
    except TimeoutError:
        context.cancelAllJobs()
        raise SpecError(
            f"{master} gave no workers in {seconds} seconds: are there any with free cores and "
            "enough memory (spark.executor.memory)?"
        ) from None


def send_code(spark: SparkSession) -> None:
    """Send this kspec to the workers, before whatever is installed there."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "kspec.zip"
        write_bundle(archive)
        spark.sparkContext.addArchive(f"{archive}#kspec-sent")
        includes: Any = spark.sparkContext._python_includes
        includes.append("kspec-sent")  # as addPyFile does, which takes no folders


# -- what went wrong ------------------------------------------------------------------------------


@contextmanager
def said_in_a_line() -> Iterator[None]:
    """Turn what Spark raises into SpecError, which is one line."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.split(".")[0] not in ("py4j", "pyspark"):
            raise
        raise SpecError(in_a_line(str(error))) from error


def in_a_line(told: str) -> str:
    """What a page of Java and Python says in the end."""
    ours = re.search(r"SpecError: (.+)", told)
    if ours:
        return ours[1].strip()
    mismatch = re.search(r"different version: (\S+) than that in driver: ([\d.]+)", told)
    if mismatch:
        return (
            f"the workers have Python {mismatch[1]}, and the driver {mismatch[2]}: set "
            "PYSPARK_PYTHON to the same version for all"
        )
    missing = re.search(r'Cannot run program "(.+?)"', told)
    if missing:
        return f"the workers have no {missing[1]}: set PYSPARK_PYTHON to a Python that all have"
    module = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", told)
    if module:
        return (
            f"the workers' Python has no module {module[1]}: install kspec[spark] there, or ship "
            "it (kspec bundle --with-dependencies)"
        )
    if any(said in told for said in DISK_FULL):
        return "no space left on the disk"
    causes = re.findall(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", told, re.MULTILINE)
    lines = [line for line in told.splitlines() if line.strip()]
    return f"Spark failed: {(causes or lines or ['it is gone'])[-1].strip()}"
