"""Kafka's own assignors, in a Java process beside this one.

They come with the kafka-clients jar, which is looked for in the local Maven repository; it is
a development tool, never a dependency.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from kspec.spec.vocabulary import NO_RACKS, Assignment, KafkaRaises, Member, Racks, TopicPartition

SOURCE = Path(__file__).with_name("KafkaAssignors.java")
REPOSITORY = Path.home() / ".m2" / "repository"
HOW_TO_GET = "mvn dependency:get -Dartifact=org.apache.kafka:kafka-clients:4.0.0"


def find_jar() -> Path | None:
    """The newest kafka-clients jar of the local Maven repository."""
    jars = REPOSITORY.glob("org/apache/kafka/kafka-clients/*/kafka-clients-*.jar")
    versions = {jar.parent.name: jar for jar in jars if jar.stem.endswith(jar.parent.name)}
    newest = max(versions, key=_version, default=None)
    return None if newest is None else versions[newest]


def _version(text: str) -> list[int]:
    return [int(part) if part.isdigit() else -1 for part in text.split(".")]


def _text(text: str | None) -> str:
    return "-" if text is None else "." + text.encode("utf-16-be", "surrogatepass").hex()


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)


def question(
    strategy: str,
    partitions: Mapping[str, int | None],
    members: Mapping[str, Member],
    racks: Racks = NO_RACKS,
    measurements: int = 0,
) -> tuple[str, list[str]]:
    """Encode one request; return it, and the topics in the order of their numbers."""
    named = [
        t for member in members.values() for t in (*member.topics, *(p[0] for p in member.owned))
    ]
    numbers = {topic: number for number, topic in enumerate(dict.fromkeys([*partitions, *named]))}
    words = [strategy, str(measurements), str(len(numbers))]
    for topic in numbers:
        size = partitions.get(topic) or 0
        words += [_text(topic), str(size), str(int(topic in racks))]
        for replicas in racks.get(topic, ())[:size]:
            words += [str(len(replicas)), *map(_text, replicas)]
    words.append(str(len(members)))
    for name, member in members.items():
        words += [_text(name), _text(member.instance_id), _text(member.rack)]
        words += [_number(member.generation), _number(member.subscription_generation)]
        words += [str(len(member.topics)), *(str(numbers[topic]) for topic in member.topics)]
        words.append(str(len(member.owned)))
        words += [f"{numbers[topic]} {index}" for topic, index in member.owned]
    return " ".join(words) + "\n", list(numbers)


class KafkaJava:
    """A Java process that answers one request after the other."""

    def __init__(self, jar: Path, memory: str = "4g") -> None:
        java = shutil.which("java")
        if java is None:
            raise FileNotFoundError("no java on the path")
        logging = sorted(REPOSITORY.glob("org/slf4j/slf4j-api/*/slf4j-api-*.jar"))
        self._process = subprocess.Popen(
            [java, f"-Xmx{memory}", "-cp", ":".join(map(str, [jar, *logging[:1]])), str(SOURCE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, text: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()
        answer = self._process.stdout.readline().split()
        if not answer:
            raise RuntimeError("the Java process ended without an answer")
        if answer[0] == "raises":
            raise KafkaRaises(answer[1], "says Kafka itself")
        return answer

    def assign(
        self,
        strategy: str,
        partitions: Mapping[str, int | None],
        members: Mapping[str, Member],
        racks: Racks = NO_RACKS,
    ) -> Assignment:
        """Kafka's assignment; raises `KafkaRaises` where Kafka does.

        Give the members in the order of Java's hash map, which the response follows.
        """
        text, topics = question(strategy, partitions, members, racks)
        words = iter(map(int, self._ask(text)[1:]))
        return {
            member: tuple(
                TopicPartition(topics[next(words)], next(words)) for _ in range(next(words))
            )
            for member in members
        }

    def seconds(
        self,
        strategy: str,
        partitions: Mapping[str, int | None],
        members: Mapping[str, Member],
        measurements: int,
    ) -> list[float]:
        """The times of several calls of Kafka; the first ones warm it up."""
        text, _ = question(strategy, partitions, members, measurements=measurements)
        return [int(ns) / 1e9 for ns in self._ask(text)[1:]]

    def seconds_again(self, measurements: int) -> list[float]:
        """The times of several calls of Kafka with the last request."""
        return [int(ns) / 1e9 for ns in self._ask(f"again {measurements}\n")[1:]]
