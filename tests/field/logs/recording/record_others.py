"""Record the logs of real brokers whose consumers are not Java's.

    python -m tests.field.logs.recording.record_others FOLDER CASES

Three consumers each of kafka-python, confluent-kafka and aiokafka join; one is killed, one closes
early. tests/cases/kafka_logs/other-clients was made so, with Kafka 4.0.0.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tests.field.logs.recording.record import HERE, Cluster, cluster, logging, pack

SETTINGS = "session_timeout_ms=6000, max_poll_interval_ms=8000"
PROGRAMS = {
    "kafka-python": f"""
import sys, time
from kafka import KafkaConsumer
address, group, client, seconds = sys.argv[1:]
consumer = KafkaConsumer("orders", bootstrap_servers=address.split(","), group_id=group,
                         client_id=client, {SETTINGS})
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    consumer.poll(timeout_ms=200)
consumer.close()
""",
    "confluent": """
import sys, time
from confluent_kafka import Consumer
address, group, client, seconds = sys.argv[1:]
consumer = Consumer({"bootstrap.servers": address, "group.id": group, "client.id": client,
                     "session.timeout.ms": 6000, "max.poll.interval.ms": 8000})
consumer.subscribe(["orders"])
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    consumer.poll(0.2)
consumer.close()
""",
    "aiokafka": f"""
import asyncio, sys, time
from aiokafka import AIOKafkaConsumer
address, group, client, seconds = sys.argv[1:]
async def main():
    consumer = AIOKafkaConsumer("orders", bootstrap_servers=address, group_id=group,
                                client_id=client, {SETTINGS})
    await consumer.start()
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        await consumer.getmany(timeout_ms=200)
    await consumer.stop()
asyncio.run(main())
""",
}
"""A consumer of each library, which closes after some seconds."""
SECONDS = (40, 25, 60)
"""How long the consumers of a group run; the last one is killed."""


def scenario(brokers: Cluster) -> None:
    """What the consumers go through."""
    java = [*brokers.java(logging(brokers.folder)), str(HERE / "Member.java")]
    subprocess.run([*java, "create", brokers.address, "orders"], check=True)
    running = []
    for library, program in PROGRAMS.items():
        command = [sys.executable, "-c", program, brokers.address, f"mixed-{library}"]
        started = [
            subprocess.Popen([*command, f"{library}-{number}", str(seconds)])
            for number, seconds in enumerate(SECONDS)
        ]
        time.sleep(12)
        started[-1].kill()
        running += started
    for process in running:
        process.wait()


def main(folder: str, cases: str) -> None:
    """Record into a folder, and compress the logs."""
    path = Path(folder).resolve()
    path.mkdir(parents=True)
    with cluster(path, "4.0.0") as brokers:
        scenario(brokers)
    pack(path, Path(cases))


if __name__ == "__main__":
    main(*sys.argv[1:])
