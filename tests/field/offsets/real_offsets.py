"""What a real broker keeps in `__consumer_offsets`, and what Kafka's tools say of it.

`python -m tests.field.offsets.real_offsets` records the folders of a broker that was killed
while groups of every kind had members, with the output of `kafka-consumer-groups` and of the
formatters of 2.8, 3.9 and 4.0, in `tests/cases/offsets/kafka-4.0.0.zip`. It takes some minutes, and
needs Java, Maven and the extra `clients`.
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kspec.spec.placement import group_partition
from tests.real_broker import KAFKA, classpath, real_broker

RECORDED = Path(__file__).parents[2] / "cases" / "offsets" / f"kafka-{KAFKA}.zip"
"""The recorded folders, and the output of the tools."""

PARTITIONS = 4
CLASSIC, MODERN = (1, 3), (0, 2)
"""Formatters before 4.0 fail at the records of KIP-848, which get partitions of their own."""

SETTINGS = {
    "offsets.topic.num.partitions": str(PARTITIONS),
    "offsets.topic.segment.bytes": "3000",
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "200",
    "offsets.retention.check.interval.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "200",
}


def named(kind: str, partitions: tuple[int, ...]) -> str:
    """A group id of this kind that belongs in one of the partitions."""
    names = (f"{kind}-{number}" for number in itertools.count(1))
    return next(name for name in names if group_partition(name, PARTITIONS) in partitions)


def record(folder: Path) -> dict[str, str]:
    """Let a broker write the topic, and kill it; what the tools said shortly before."""
    settings = {**SETTINGS, "log.dirs": str(folder)}
    with real_broker(settings={**settings, "offsets.retention.minutes": "1"}) as address:
        create_topics(address)
        expired = named("expired", CLASSIC)
        leave_with_commits(address, expired)
        wait_until(lambda: expired not in group_names(address))
    with real_broker(settings=settings, format_options=["--ignore-formatted"]) as address:
        members = write_groups(address)
        said = output_of_tools(address)
        wait_until(lambda: "__consumer_offsets " in text_of(folder / "cleaner-offset-checkpoint"))
    del members  # only now: the broker was killed before they could leave
    return said


def create_topics(address: str) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": address})
    for created in admin.create_topics([NewTopic("t", 2, 1), NewTopic("u", 1, 1)]).values():
        created.result(120)
    producer = Producer({"bootstrap.servers": address})
    for number in range(20):
        producer.produce("t", partition=number % 2, value=b"v")
        producer.produce("u", value=b"v")
    assert producer.flush(120) == 0


def consumer_of(address: str, group: str, **settings: str) -> Any:
    from confluent_kafka import Consumer

    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "enable.auto.commit": False,
            "max.poll.interval.ms": 3_600_000,
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )


def joined(address: str, group: str, topics: list[str], **settings: str) -> Any:
    """A consumer with an assignment."""
    consumer = consumer_of(address, group, **settings)
    consumer.subscribe(topics)

    def has_joined() -> bool:
        consumer.poll(0.2)
        return bool(consumer.assignment())

    wait_until(has_joined)
    return consumer


def commit(consumer: Any, topic: str, partition: int, offset: int, metadata: str = "") -> None:
    from confluent_kafka import TopicPartition

    # With a note, this client stores a NUL behind it.
    note = (metadata,) if metadata else ()
    place = TopicPartition(topic, partition, offset, *note)
    consumer.commit(offsets=[place], asynchronous=False)


def leave_with_commits(address: str, group: str, **settings: str) -> None:
    consumer = joined(address, group, ["t"], **settings)
    commit(consumer, "t", 0, 3, "a note, with (signs): 😀")
    commit(consumer, "t", 1, 4)
    consumer.close()


def write_groups(address: str) -> list[Any]:
    """Groups of every kind; returns the clients that are still there."""
    from confluent_kafka import Producer, TopicPartition
    from confluent_kafka.admin import AdminClient

    dynamic = named("dynamic", CLASSIC)
    members = [joined(address, dynamic, ["t"], client_id="first")]
    members.append(consumer_of(address, dynamic, client_id="second"))
    members[1].subscribe(["t"])

    def both_own() -> bool:
        for member in members:
            member.poll(0.2)
        return all(len(member.assignment()) == 1 for member in members)

    wait_until(both_own)
    for offset in range(60):
        for member in members:
            (owned,) = member.assignment()
            commit(member, "t", owned.partition, offset % 10)
    commit(members[0], "u", 0, 5)  # no member subscribes to this topic
    static = joined(address, named("static", CLASSIC), ["u"], group_instance_id="i-1")
    commit(static, "u", 0, 7)
    leave_with_commits(address, named("left", CLASSIC))
    simple = consumer_of(address, named("simple", CLASSIC))
    simple.assign([TopicPartition("u", 0, 0)])
    for offset in range(40):
        commit(simple, "u", 0, offset % 9)
    deleted = named("deleted", CLASSIC)
    leave_with_commits(address, deleted)
    admin = AdminClient({"bootstrap.servers": address})
    for done in admin.delete_consumer_groups([deleted]).values():
        done.result(120)

    transactional = consumer_of(address, named("transactional", CLASSIC))
    transactional.assign([TopicPartition("t", 0, 0)])
    producer = Producer(
        {
            "bootstrap.servers": address,
            "transactional.id": "transactional",
            "transaction.timeout.ms": 900_000,
        }
    )
    producer.init_transactions(120)
    ends = (producer.commit_transaction, producer.abort_transaction, None)
    for end, partition, offset in zip(ends, (0, 0, 1), (5, 9, 7), strict=True):
        producer.begin_transaction()
        places = [TopicPartition("t", partition, offset)]
        metadata = transactional.consumer_group_metadata()
        producer.send_offsets_to_transaction(places, metadata, 120)
        if end:
            end(120)

    modern = joined(address, named("modern", MODERN), ["t"], group_protocol="consumer")
    commit(modern, "t", 0, 6)
    commit(modern, "u", 0, 2)
    leave_with_commits(address, named("modern-left", MODERN), group_protocol="consumer")
    return [*members, static, simple, transactional, producer, modern]


def group_names(address: str) -> set[str]:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": address})
    return {group.group_id for group in admin.list_consumer_groups().result(120).valid}


# -- tools ----------------------------------------------------------------------------------------

COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSUMERS = {
    "2.8.2": ("kafka.tools.ConsoleConsumer", "kafka_2.13"),
    "3.9.1": ("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka-tools"),
    "4.0.0": ("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka-tools"),
}
OLD, NEW = "kafka.coordinator.group.GroupMetadataManager$", "org.apache.kafka.tools.consumer."
FORMATTERS = {"2.8.2": OLD, "3.9.1": NEW, "4.0.0": NEW}


def output_of_tools(address: str) -> dict[str, str]:
    """The output of each tool, by the name of a file."""
    describe = [COMMAND, "--bootstrap-server", address, "--describe", "--all-groups"]
    said = {
        "describe.txt": run(KAFKA, "kafka-tools", *describe, "--offsets"),
        "members.txt": run(KAFKA, "kafka-tools", *describe, "--members", "--verbose"),
        "state.txt": run(KAFKA, "kafka-tools", *describe, "--state"),
    }
    for version in CONSUMERS:
        partitions = range(PARTITIONS) if version == KAFKA else CLASSIC
        for name in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter"):
            text = "".join(formatted(address, version, name, number) for number in partitions)
            said[f"{name}-{version}.txt"] = text
    return said


def formatted(address: str, version: str, formatter: str, partition: int) -> str:
    """What the console consumer prints of a partition."""
    main, artifact = CONSUMERS[version]
    options = {
        "bootstrap-server": address,
        "topic": "__consumer_offsets",
        "partition": str(partition),
        "offset": "earliest",
        "timeout-ms": "5000",
        "isolation-level": "read_committed",
        "formatter": FORMATTERS[version] + formatter,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return run(version, artifact, main, *words)


def run(version: str, artifact: str, *command: str) -> str:
    """The standard output of one of Kafka's tools."""
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", classpath(version, artifact)]
    ran = subprocess.run([*java, *command], capture_output=True, check=False)
    said = ran.stderr.decode()
    assert ran.stdout or "Processed a total" in said, said[-2000:]
    return ran.stdout.decode()


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.1)


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def main() -> None:
    """Record the folders and the output of the tools."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder, "logs")
        logs.mkdir()
        said = record(logs)
        RECORDED.parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(RECORDED, "w", zipfile.ZIP_DEFLATED) as archive:
            kept = [*logs.glob("__consumer_offsets-*/*.log"), *logs.glob("*-offset-checkpoint")]
            for file in sorted([*kept, logs / "meta.properties"]):
                archive.write(file, file.relative_to(logs))
            for name, text in sorted(said.items()):
                archive.writestr(name, text)


if __name__ == "__main__":
    main()
