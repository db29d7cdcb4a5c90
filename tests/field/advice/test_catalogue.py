"""Kafka's settings: what is recorded, and how values are parsed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kspec.field.advice.catalogue import OF_TOPICS, catalogue, find_release, releases
from kspec.field.advice.settings import shown
from kspec.spec.core import SpecError
from tests.field.advice.kafka.java import kafka_clients, run_java

CASES = Path(__file__).parents[2] / "cases"
VALUES: list[tuple[str, str, str, str | None]] = json.loads(
    (CASES / "kafka_values.json").read_text()
)["cases"]


def parsed(release: str, kind: str, name: str, text: str) -> str | None:
    try:
        return shown(catalogue(release).settings[kind][name].parse(text))
    except SpecError:
        return None


@pytest.mark.parametrize(("kind", "name", "text", "expected"), VALUES)
def test_values_are_parsed_as_kafka_parses_them(
    kind: str, name: str, text: str, expected: str | None
) -> None:
    assert parsed("4.1", kind, name, text) == expected


@pytest.mark.parametrize(
    ("release", "kind", "name", "default"),
    [
        ("0.10.2", "topic", "unclean.leader.election.enable", "true"),
        ("0.11.0", "topic", "unclean.leader.election.enable", "false"),
        ("2.8", "producer", "acks", "1"),
        ("3.0", "producer", "acks", "all"),
        ("2.8", "producer", "enable.idempotence", "false"),
        ("3.0", "producer", "enable.idempotence", "true"),
        ("2.0", "producer", "retries", "0"),
        ("2.1", "producer", "retries", "2147483647"),
        ("2.8", "consumer", "session.timeout.ms", "10000"),
        ("3.0", "consumer", "session.timeout.ms", "45000"),
        ("2.4", "broker", "replica.lag.time.max.ms", "10000"),
        ("2.5", "broker", "replica.lag.time.max.ms", "30000"),
        ("1.1", "broker", "offsets.retention.minutes", "1440"),
        ("2.0", "broker", "offsets.retention.minutes", "10080"),
        ("4.0", "broker", "eligible.leader.replicas.version", "0"),
        ("4.1", "broker", "eligible.leader.replicas.version", "1"),
    ],
)
def test_defaults_are_those_of_the_release(
    release: str, kind: str, name: str, default: str
) -> None:
    assert catalogue(release).settings[kind][name].default == default


def test_a_setting_exists_only_in_its_releases() -> None:
    assert "enable.idempotence" not in catalogue("0.10.2").settings["producer"]
    assert "zookeeper.connect" not in catalogue("4.0").settings["broker"]
    assert catalogue("4.0").past_and_future["broker"]["zookeeper.connect"] == (
        "it was removed in 4.0"
    )


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("0.10", "0.10.2"),
        ("0.10.2.1", "0.10.2"),
        ("0.11", "0.11.0"),
        ("2.8", "2.8"),
        ("3.9.1", "3.9"),
    ],
)
def test_a_version_belongs_to_a_release(version: str, release: str) -> None:
    assert find_release(version) == release


@pytest.mark.parametrize("version", ["0.9", "5.0", "", "latest", "4", "1" * 400, "4.1-rc1"])
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(SpecError, match=r"is a number such as 2\.8|known: 0\.10"):
        find_release(version)


def test_every_topic_setting_that_stands_for_a_brokers_exists() -> None:
    for release in releases():
        known = catalogue(release).settings
        for of_topic, of_broker in OF_TOPICS.items():
            assert of_topic in known["topic"]
            assert of_broker in known["broker"]


@pytest.mark.slow
@pytest.mark.other_software
def test_kafka_itself_defines_what_is_recorded() -> None:
    release, class_path = kafka_clients()
    if release not in releases():
        pytest.skip(f"the settings of Kafka {release} are not recorded")
    lines = run_java("KafkaSettings.java", "", class_path=class_path)
    asked: dict[str, set[str]] = {}
    for line in lines:
        kind, name, *about = line.split("\t")
        setting: Any = catalogue(release).settings[kind][name]
        assert [setting.type, setting.default, setting.range] == about, name
        asked.setdefault(kind, set()).add(name)
    assert {"producer", "consumer"} <= set(asked)
    for kind, names in asked.items():
        extra = {"replication.factor", "eligible.leader.replicas.version"}
        assert set(catalogue(release).settings[kind]) - extra == names - extra


@pytest.mark.slow
@pytest.mark.other_software
def test_kafka_itself_parses_values_so() -> None:
    release, class_path = kafka_clients()
    if release not in releases():
        pytest.skip(f"the settings of Kafka {release} are not recorded")
    asked = [case[:3] for case in VALUES if case[0] in ("producer", "consumer")]
    text = "".join("\t".join(case) + "\n" for case in asked)
    answers = run_java("KafkaSettings.java", text, "parse", class_path=class_path)
    for (kind, name, value), answer in zip(asked, answers, strict=True):
        expected = parsed(release, kind, name, value)
        assert answer == ("refused" if expected is None else f"accepted: {expected}")
