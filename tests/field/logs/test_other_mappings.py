"""Logs against the other mappings: accepted, and rejected if an event is altered."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kspec.field.logs.adapter import Reading, read_logs
from kspec.field.logs.files import find_files
from kspec.field.logs.validate import validate_logs
from kspec.field.recorded import Validation
from tests.field.logs.recorded import FOLDER, VERSIONS, brokers, clients, read


def verdicts(kind: str, reading: Reading, mapping: str) -> list[Validation]:
    """The verdicts of the traces of a mapping."""
    return validate_logs(kind, reading, {"mapping": mapping})


def altered(reading: Reading, change: Callable[[dict[str, Any]], bool]) -> tuple[Reading, Any]:
    """The reading with the first event altered that `change` alters, and its source."""
    events = [{**event} for event in reading.events]
    source = next(event["source"] for event in events if change(event))
    return Reading(events, reading.files), source


def rejected_at(found: list[Validation]) -> list[Any]:
    """The sources of the rejected events."""
    events = [v.rejection.event for v in found if v.rejection is not None]
    return [event.content["source"] for event in events if event is not None]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_replicas_of_real_brokers_are_accepted(version: str) -> None:
    found = verdicts("kafka-log", read(*brokers(version)), "replica")
    assert len(found) == 5
    assert [one.verdict for one in found] == ["accepted"] * 5


def test_a_leader_epoch_with_two_leaders_is_rejected() -> None:
    def change(event: dict[str, Any]) -> bool:
        if event["event"] != "leader_started" or event["epoch"] != 1:
            return False
        event["epoch"] = 0
        return True

    reading, source = altered(read(*brokers("4.0.0")), change)
    assert source in rejected_at(verdicts("kafka-log", reading, "replica"))


def test_brokers_of_other_clients_are_accepted() -> None:
    """kafka-python, confluent-kafka and aiokafka with Kafka 4.0: recording/record_others.py."""
    reading = read(*sorted((FOLDER / "other-clients").glob("broker-*")))
    for kind, traces in (("kafka-log", 8), ("kafka-request-log", 3)):
        found = validate_logs(kind, reading, {})
        assert [one.verdict for one in found] == ["accepted"] * traces


@pytest.mark.parametrize("version", VERSIONS)
def test_the_requests_of_real_brokers_are_accepted(version: str) -> None:
    found = verdicts("kafka-request-log", read(*brokers(version)), "coordinator")
    assert sum(one.events for one in found) > 100
    assert {one.verdict for one in found} == {"accepted"}


def test_a_stale_generation_that_is_answered_without_an_error_is_rejected() -> None:
    def change(event: dict[str, Any]) -> bool:
        is_sync = event["event"] == "request" and event["api"] == "SyncGroup"
        if not is_sync or event["fields"]["generationId"] != 3:
            return False
        event["fields"] = {**event["fields"], "generationId": 2}
        return True

    reading, _ = altered(read(*brokers("4.0.0")), change)
    found = verdicts("kafka-request-log", reading, "coordinator")
    assert [one.verdict for one in found].count("rejected") == 1


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_logs_of_real_consumers_are_accepted(version: str) -> None:
    found = verdicts("consumer-log", read(*clients(version)), "consumer")
    # The group billing was deleted: its second life is a trace of its own.
    assert [one.trace.removeprefix("consumers of group ") for one in found] == [
        "billing",
        "billing, 2",
        "static",
    ]
    assert {one.verdict for one in found} == {"accepted"}


def test_two_owners_of_a_partition_are_rejected_at_the_line() -> None:
    def change(event: dict[str, Any]) -> bool:
        if event["event"] != "assigned" or event["node"] != "c2":
            return False
        event["assigned"] = ["orders-1", *event["assigned"]]
        return True

    reading, source = altered(read(*clients("4.0.0")), change)
    assert rejected_at(verdicts("consumer-log", reading, "consumer")) == [source]


def lines_of(file: Path) -> list[str]:
    """The lines of a compressed file."""
    return gzip.decompress(file.read_bytes()).decode().splitlines(keepends=True)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_half_of_all_lines_missing_is_never_a_rejection(
    version: str, chance: random.Random, tmp_path: Path
) -> None:
    for _ in range(5):
        for file in sorted(FOLDER.glob(f"{version}/*/*.gz")):  # chance follows this order
            kept = [line for line in lines_of(file) if chance.random() < 0.5]
            copy = tmp_path / file.parent.name / file.stem
            copy.parent.mkdir(exist_ok=True)
            copy.write_text("".join(kept))
        folders = sorted(tmp_path.glob("broker-*"))
        logs = read_logs(find_files(folders, []))
        consumers = read_logs(find_files(sorted((tmp_path / "clients").iterdir()), []))
        for kind, reading in (
            ("kafka-log", logs),
            ("kafka-request-log", logs),
            ("consumer-log", consumers),
        ):
            found = validate_logs(kind, reading, {})
            assert {one.verdict for one in found} == {"accepted"}
