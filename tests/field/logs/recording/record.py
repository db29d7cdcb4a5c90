"""Record the logs of three real brokers and their consumers.

    python -m tests.field.logs.recording.record FOLDER VERSION [CASES]

Consumers join, leave, stall, crash and restart; a broker is killed and restarted, then the
coordinator is. The logs are what Kafka's default log4j.properties writes, with the request log
at DEBUG. With CASES, they are compressed there, without lines about this machine, and of requests
those of groups only: tests/cases/kafka_logs was made so.
"""

from __future__ import annotations

import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.real_broker import classpath, free_port

HERE = Path(__file__).parent
ARTIFACTS = {"4.0.0": "kafka_2.13", "3.9.1": "kafka_2.13", "2.8.2": "kafka_2.12"}
DEADLINE = 300

LOG4J = """\
log4j.rootLogger=INFO, server
log4j.logger.kafka.request.logger={requests}, requests
log4j.additivity.kafka.request.logger=false
log4j.logger.org.apache.kafka.controller=INFO, controller
log4j.additivity.org.apache.kafka.controller=false
log4j.logger.kafka.controller=TRACE, controller
log4j.additivity.kafka.controller=false
log4j.logger.state.change.logger=INFO, state
log4j.additivity.state.change.logger=false
"""
"""The loggers of Kafka's default config/log4j.properties, without authorizer and cleaner."""

FILES = {
    "server": "server.log",
    "requests": "kafka-request.log",
    "controller": "controller.log",
    "state": "state-change.log",
}


def logging(folder: Path, requests: str = "WARN") -> Path:
    """A log4j.properties that writes into this folder."""
    lines = [LOG4J.format(requests=requests)]
    for name, written in FILES.items():
        lines += [
            f"log4j.appender.{name}=org.apache.log4j.FileAppender",
            f"log4j.appender.{name}.File={folder / written}",
            f"log4j.appender.{name}.layout=org.apache.log4j.PatternLayout",
            f"log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n",
        ]
    file = folder / "log4j.properties"
    file.write_text("\n".join(lines) + "\n")
    return file


class Cluster:
    """Three brokers, in KRaft mode or, before 3.0, with ZooKeeper."""

    def __init__(self, folder: Path, version: str) -> None:
        """Choose ports; nothing runs yet."""
        self.folder, self.version = folder, version
        jars = [
            classpath(version, ARTIFACTS[version]),
            classpath("1.7.36", "slf4j-reload4j", "org.slf4j"),
        ]
        self.jars = ":".join(jars)
        self.ports = {broker: free_port() for broker in (1, 2, 3)}
        self.controller = free_port()
        self.running: dict[int, subprocess.Popen[bytes]] = {}
        self.kraft = version[0] != "2"

    @property
    def address(self) -> str:
        """The addresses of the brokers."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def java(self, log4j: Path) -> list[str]:
        """The command of a JVM that logs so."""
        options = ["-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return ["java", *options, f"-Dlog4j.configuration=file:{log4j}", "-cp", self.jars]

    def settings(self, broker: int) -> dict[str, str]:
        """The settings of a broker."""
        shared = {
            "log.dirs": str(self.folder / f"data-{broker}"),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "3",
            "replica.lag.time.max.ms": "4000",
            "group.initial.rebalance.delay.ms": "1000",
            "auto.create.topics.enable": "false",
            "auto.leader.rebalance.enable": "false",
            "num.network.threads": "1",
            "num.io.threads": "2",
        }
        address = f"PLAINTEXT://127.0.0.1:{self.ports[broker]}"
        if not self.kraft:
            zookeeper = {"zookeeper.connect": f"127.0.0.1:{self.controller}"}
            return shared | zookeeper | {"broker.id": str(broker), "listeners": address}
        roles = "broker,controller" if broker == 1 else "broker"
        more = f",CONTROLLER://127.0.0.1:{self.controller}" if broker == 1 else ""
        return shared | {
            "process.roles": roles,
            "node.id": str(broker),
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller}",
            "listeners": address + more,
            "broker.session.timeout.ms": "4000",
            "broker.heartbeat.interval.ms": "1000",
        }

    def start(self, broker: int) -> None:
        """Start a broker, formatting its disk if it is new, and wait until it listens."""
        logs = self.folder / f"broker-{broker}"
        logs.mkdir(exist_ok=True)
        log4j = logging(logs, "DEBUG")
        file = logs / "broker.properties"
        lines = (f"{key}={value}\n" for key, value in self.settings(broker).items())
        file.write_text("".join(lines))
        if self.kraft and not (self.folder / f"data-{broker}").exists():
            tool = [*self.java(logging(self.folder)), "kafka.tools.StorageTool", "format"]
            cluster = "kspec-0000000000000001"
            subprocess.run([*tool, "-t", cluster, "-c", str(file)], check=True)
        with (logs / "output").open("ab") as output:
            command = [*self.java(log4j), "kafka.Kafka", str(file)]
            self.running[broker] = subprocess.Popen(command, stdout=output, stderr=output)
        wait_until(lambda: listens(self.ports[broker]), f"broker {broker} listens")

    def kill(self, broker: int) -> None:
        """Kill a broker as a power cut does."""
        process = self.running.pop(broker)
        process.kill()
        process.wait()

    def coordinator(self) -> int:
        """The broker that wrote last that it coordinates groups."""
        times = {}
        for broker in self.running:
            text = (self.folder / f"broker-{broker}" / "server.log").read_text(errors="replace")
            lines = [line for line in text.splitlines() if "Stabilized group" in line]
            times[broker] = lines[-1] if lines else ""
        return max(times, key=lambda broker: times[broker])


@contextmanager
def cluster(folder: Path, version: str) -> Iterator[Cluster]:
    """A cluster that runs while the block does."""
    made = Cluster(folder, version)
    zookeeper = None
    try:
        if not made.kraft:
            file = folder / "zookeeper.properties"
            file.write_text(f"dataDir={folder / 'zookeeper'}\nclientPort={made.controller}\n")
            main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
            zookeeper = subprocess.Popen([*made.java(logging(folder)), main, str(file)])
            wait_until(lambda: listens(made.controller), "ZooKeeper listens")
        for broker in made.ports:
            made.start(broker)
        yield made
    finally:
        for process in [*made.running.values(), *([zookeeper] if zookeeper else [])]:
            process.kill()
            process.wait()


def listens(port: int) -> bool:
    """Whether someone listens there."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {DEADLINE} s: {what}")
        time.sleep(0.1)


class Member:
    """A Java consumer in its own process."""

    def __init__(self, cluster: Cluster, name: str, group: str, *settings: str) -> None:
        """Start it."""
        folder = cluster.folder / f"client-{name}"
        folder.mkdir(exist_ok=True)
        self.name, self.assigned = name, 0
        command = [*cluster.java(logging(folder)), str(HERE / "Member.java"), "consume"]
        command += [cluster.address, "orders", f"group.id={group}", f"client.id={name}", *settings]
        with (folder / "output").open("ab") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                start_new_session=True,
            )
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        """Keep the number of partitions that it said last."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.assigned = int(line.split()[1])

    def has(self, partitions: int) -> None:
        """Wait until it has so many partitions."""
        wait_until(lambda: self.assigned == partitions, f"{self.name} has {partitions}")

    def tell(self, command: str) -> None:
        """Give it a command."""
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """Let it close, and wait for that."""
        self.tell("close")
        self.process.wait()

    def signal(self, number: int) -> None:
        """Stop, continue or kill it."""
        os.killpg(self.process.pid, number)


def scenario(brokers: Cluster) -> None:
    """What the consumers and brokers go through."""

    def tool(*arguments: str) -> None:
        java = [*brokers.java(logging(brokers.folder)), str(HERE / "Member.java")]
        subprocess.run([*java, arguments[0], brokers.address, *arguments[1:]], check=True)

    def member(name: str, *settings: str, group: str = "billing") -> Member:
        defaults = ["session.timeout.ms=12000", "max.poll.interval.ms=8000"]
        return Member(brokers, name, group, *defaults, *settings)

    tool("create", "orders")
    first = member("c1")
    first.has(4)
    second = member("c2")
    second.has(2)
    first.tell("stall 4000")  # late for the next rebalance, but in time
    time.sleep(1)
    third = member("c3", "session.timeout.ms=6000")
    third.has(1)
    third.signal(signal.SIGKILL)  # removed when its session expires
    second.has(2)
    first.tell("stall 11000")  # leaves: max.poll.interval.ms
    second.has(4)
    second.has(2)
    second.signal(signal.SIGSTOP)  # misses a rebalance
    fourth = member("c4")
    fourth.has(2)
    second.signal(signal.SIGCONT)
    second.has(1)
    fourth.close()
    second.has(2)
    static = [member("s1", "group.instance.id=till-1", group="static")]
    static[0].has(4)
    static[0].close()
    static = [member("s1", "group.instance.id=till-1", group="static")]
    static[0].has(4)
    follower = next(b for b in (3, 2) if b != brokers.coordinator())
    brokers.kill(follower)
    time.sleep(8)
    brokers.start(follower)
    time.sleep(8)
    coordinator = brokers.coordinator()
    if coordinator != 1 or not brokers.kraft:
        brokers.kill(coordinator)
        time.sleep(15)
        brokers.start(coordinator)
        time.sleep(8)
    for one in (second, first, *static):
        one.close()
    tool("delete", "billing")
    again = member(
        "c5",
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    )
    again.has(4)
    other = member(
        "c6",
        "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    )
    other.has(2)
    again.close()
    other.has(4)
    other.close()


PRIVATE = re.compile(r"\.m2|java\.(class|library)|user\.|os\.|environment:")
"""Lines about the machine."""


def pack(folder: Path, cases: Path) -> None:
    """Compress the logs of a recording."""
    logs = {file: f"{file.parent.name}/{file.name}" for file in folder.glob("broker-*/*.log")}
    for file in folder.glob("client-*/server.log"):
        logs[file] = f"clients/{file.parent.name.removeprefix('client-')}.log"
    for file, name in logs.items():
        text = file.read_text(errors="replace").replace(str(folder), "/var/kafka")
        lines = [line for line in text.splitlines(keepends=True) if kept(file.name, line)]
        if lines:
            target = cases / f"{name}.gz"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def kept(name: str, line: str) -> bool:
    """Whether a line is kept: not a setting, not about the machine, and no other request."""
    if name == "kafka-request.log":
        return '_GROUP"' in line
    return not PRIVATE.search(line) and (not line.startswith("\t") or "partitions" in line)


def main(arguments: Sequence[str]) -> None:
    """Record into a folder."""
    path, version, *cases = arguments
    folder = Path(path).resolve()
    folder.mkdir(parents=True)
    with cluster(folder, version) as brokers:
        scenario(brokers)
    if cases:
        pack(folder, Path(cases[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
