"""Record what Kafka's own tools print: `python -m tests.field.groups.record`.

One broker has groups in different states; the tools of several releases describe them, plan their
resets, and list offsets. The outputs are written to `tests/cases/operating/kafka.json`, with the
facts that they describe. Needs Java, Maven and confluent-kafka; takes some minutes.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.real_broker import classpath, real_broker

OUTPUT = Path(__file__).parents[2] / "cases" / "operating" / "kafka.json"

SCALA = ("kafka_2.12", "kafka.admin.ConsumerGroupCommand", "kafka.tools.GetOffsetShell")
JAVA = (
    "kafka-tools",
    "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "org.apache.kafka.tools.GetOffsetShell",
)
PLANS = OUTPUT.parent
"""The folder of two plans, as `kspec reset --export` writes them."""
TOOLS = {
    **dict.fromkeys(("2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.8.2"), SCALA),
    **dict.fromkeys(("3.9.1", "4.0.0", "4.1.0", "4.3.0"), JAVA),
}
"""For each release, the artifact that has its tools, and their classes."""

EPOCH = 1_700_000_000_000
"""The timestamp of the first record; each later one is a second younger."""
RECORDS = {("orders", 0): 20, ("orders", 1): 7, ("orders", 2): 0, ("payments", 0): 30}
STARTS = {("orders", 0): 5, ("payments", 0): 8}
"""The log start offsets that DeleteRecords leaves."""
COMMITTED = {
    "billing": {("orders", 0): 12, ("orders", 1): 7},
    "old": {("payments", 0): 3},
    "my group": {("payments", 0): 30},
    "ahead": {("orders", 1): 50},
    "shipping": {("orders", 0): 20},
}
"""The commits; `shipping` has a member, the others have none."""
MIDDLE = "2023-11-14T22:13:30.000"
"""Ten seconds after the first record."""
RESET, ALL = ["--reset-offsets", "--group"], ["--all-topics"]
RESETS = [
    ["--to-earliest"],
    ["--to-latest"],
    ["--to-current"],
    ["--to-offset", "6"],
    ["--to-offset", "99"],
    ["--shift-by", "-3"],
    ["--shift-by", "-99"],
    ["--shift-by", "99"],
    ["--to-datetime", MIDDLE],
    ["--to-datetime", f"{MIDDLE}+05:30"],
    ["--by-duration", "PT0S"],
    ["--by-duration", "P20000D"],
]


def main() -> None:
    """Record everything."""
    with real_broker() as address:
        prepare(address)
        with member(address):
            recorded = [each for release in TOOLS for each in outputs(release, address)]
    facts = {
        "records": names(RECORDS),
        "starts": names(STARTS),
        "committed": {group: names(offsets) for group, offsets in COMMITTED.items()},
        "first_timestamp": EPOCH,
        "recorded": recorded,
    }
    OUTPUT.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"{len(recorded)} outputs in {OUTPUT}")


def names(offsets: dict[tuple[str, int], int]) -> dict[str, int]:
    """The offsets, with each partition as text."""
    return {f"{topic}-{partition}": offset for (topic, partition), offset in offsets.items()}


def outputs(release: str, address: str) -> Iterator[dict[str, Any]]:
    """The outputs of the tools of one release."""
    artifact, groups, offsets = TOOLS[release]
    java = ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath(release, artifact)]

    def run(kind: str, *arguments: str) -> dict[str, Any]:
        option = "--broker-list" if (kind, release) in OLD_OPTION else "--bootstrap-server"
        command = [groups if kind == "groups" else offsets, option, address, *arguments]
        ran = subprocess.run(
            [*java, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600
        )
        print(release, kind, *arguments, "→", ran.returncode)
        return {
            "release": release,
            "tool": kind,
            "arguments": [Path(argument).name for argument in arguments],
            "output": ran.stdout.decode(),
        }

    for group in [*COMMITTED, "missing"]:
        yield run("groups", "--describe", "--group", group)
    yield run("groups", "--describe", "--group", "shipping", "--members")
    yield run("groups", "--describe", "--group", "shipping", "--state")
    some = ["--group", "billing", "--group", "old", "--group", "my group"]
    if release > "2.4":  # several groups at once
        yield run("groups", "--describe", "--all-groups")
        yield run("groups", "--describe", "--all-groups", "--offsets")
        yield run("groups", "--reset-offsets", *some, *ALL, "--to-earliest", "--export")
    if release > "4.":
        yield run("groups", "--describe", "--all-groups", "--verbose", "--offsets")
    for reset in RESETS:
        yield run("groups", *RESET, "billing", *ALL, *reset, "--export")
    current = [*ALL, "--to-current", "--export"]
    yield run("groups", *RESET, "billing", "--topic", "orders", "--to-current", "--export")
    yield run("groups", *RESET, "shipping", *current)
    yield run("groups", *RESET, "old", *current)
    yield run("groups", *RESET, "missing", *current)
    for plan, of in (("one.csv", ["--group", "billing"]), ("several.csv", some)):
        yield run("groups", "--reset-offsets", *of, "--from-file", str(PLANS / plan), "--export")
    for moment in ("-2", "-1", str(EPOCH + 10_000)):
        topics = [["--topic", "orders"]] if release < "3" else [["--topic", "orders"], []]
        for topic in topics:
            yield run("offsets", *topic, "--time", moment)


OLD_OPTION = {("offsets", release) for release in TOOLS if release < "3"}
"""Where the broker's address is given by another option."""


def prepare(address: str) -> None:
    """Create the topics, their records, and the commits of groups without members."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient({"bootstrap.servers": address})
    topics = [NewTopic("orders", 3, 1), NewTopic("payments", 1, 1)]
    for created in admin.create_topics(topics).values():
        created.result(600)
    producer = Producer({"bootstrap.servers": address, "message.timeout.ms": 600_000})
    for (topic, partition), count in RECORDS.items():
        for number in range(count):
            producer.produce(topic, b"v", partition=partition, timestamp=EPOCH + number * 1_000)
    producer.flush()
    for deleted in admin.delete_records(
        [TopicPartition(*partition, start) for partition, start in STARTS.items()]
    ).values():
        deleted.result(600)
    for group, committed in COMMITTED.items():
        settings = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
        consumer = Consumer(settings)
        offsets = [TopicPartition(*partition, offset) for partition, offset in committed.items()]
        consumer.commit(offsets=offsets, asynchronous=False)
        consumer.close()


@contextmanager
def member(address: str) -> Iterator[None]:
    """A member of the group `shipping`, whose client id has a space."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "shipping",
            "client.id": "shipping app",
            "enable.auto.commit": False,
            "session.timeout.ms": 300_000,
            "max.poll.interval.ms": 3_000_000,
        }
    )
    consumer.subscribe(["orders"])
    wait_until(lambda: consumer.poll(1) is None and len(consumer.assignment()) == 3)
    consumer.pause(consumer.assignment())
    try:
        yield
    finally:
        consumer.close()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, for some minutes at most."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline, "the condition is not met"


if __name__ == "__main__":
    main()
