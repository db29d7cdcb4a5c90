"""A real Kafka broker from Maven's jars, in one process, for the tests that need one.

Skipped with a reason where Java or Maven is missing, or the jars can be neither found nor fetched.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pytest

KAFKA = "4.0.0"
"""The version of Kafka that the tests run."""

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>kspec</groupId><artifactId>broker</artifactId><version>0</version>
  <dependencies><dependency>
    <groupId>{}</groupId>
    <artifactId>{}</artifactId>
    <version>{}</version>
  </dependency></dependencies>
</project>
"""

SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.max.size": "4",
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
    "offsets.retention.check.interval.ms": "86400000",
    "producer.id.expiration.check.interval.ms": "86400000",
    "auto.create.topics.enable": "false",
}
"""The settings of the broker: small, and without a delay before a rebalance.

Nothing expires while a test runs, however slow the machine is: half a minute after its start a
broker would delete batches with old timestamps, and after ten minutes idle groups and producers.
"""


def require(*tools: str) -> None:
    """Skip the test if one of these commands is missing."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"Kafka needs {tool}")


def require_compiler() -> None:
    """Skip the test where Java cannot run a source file: a JRE alone has no compiler."""
    require("java", "javac")


@cache
def classpath(
    version: str = KAFKA, artifact: str = "kafka_2.13", group: str = "org.apache.kafka"
) -> str:
    """The jars of a broker or another artifact, found or fetched by Maven; else skips the test."""
    require("java", "mvn")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(POM.format(group, artifact, version))
        command = ["mvn", "-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=classpath"]
        for offline in (["-o"], []):
            try:
                ran = subprocess.run(
                    [*command, *offline], cwd=folder, capture_output=True, text=True, timeout=600
                )
            except subprocess.TimeoutExpired:
                break
            if ran.returncode == 0:
                return Path(folder, "classpath").read_text().strip()
    pytest.skip(f"the jars of {artifact} {version} can be neither found nor fetched")


def free_port() -> int:
    """A port that nobody listens at, and that the system gives to no one who asks for any."""
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def real_broker(
    version: str = KAFKA,
    settings: Mapping[str, str] | None = None,
    *,
    port: int | None = None,
    listeners: str | None = None,
    format_options: Sequence[str] = (),
) -> Iterator[str]:
    """A broker that runs while the block does; its address."""
    jars = classpath(version)
    port, controller = port or free_port(), free_port()
    listeners = listeners or f"PLAINTEXT://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        properties = SETTINGS | {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "log.dirs": f"{folder}/log",
        }
        file = Path(folder, "broker.properties")
        lines = (f"{key}={value}\n" for key, value in {**properties, **(settings or {})}.items())
        file.write_text("".join(lines))
        logging = Path(folder, "log4j.properties")
        logging.write_text("log4j.rootLogger=OFF\n")
        # C1 alone: the process lives for a minute or two.
        java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        java += [f"-Dlog4j.configuration=file:{logging}", "-cp", jars]
        cluster = "kspec-0000000000000001"
        tool = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(file)]
        subprocess.run(
            [*tool, *format_options],
            check=True,
            capture_output=True,
            env={**os.environ, "LOG_DIR": folder},
        )
        with Path(folder, "output").open("wb") as output:
            process = subprocess.Popen(
                [*java, "kafka.Kafka", str(file)], stdout=output, stderr=subprocess.STDOUT
            )
            try:
                wait_for(port, process, Path(folder, "output"))
                yield f"127.0.0.1:{port}"
            finally:
                process.kill()
                process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes], output: Path) -> None:
    """Wait until the broker listens."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended: {output.read_text()[-2000:]}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the broker does not listen")
