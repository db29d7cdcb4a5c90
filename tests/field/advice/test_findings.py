"""Findings: Kafka's own clients agree, and each finding has settings that show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kspec.field.advice.advice import settings_from
from kspec.field.advice.catalogue import ELR, KINDS, catalogue, releases
from kspec.field.advice.consumers import number_text
from kspec.field.advice.findings import findings, misspelt_and_required, producer_of
from kspec.field.advice.settings import Settings
from kspec.field.advice.sources import Given, Level, from_option, read_source
from kspec.spec.producer.settings import IN_FLIGHT

RECORD = json.loads((Path(__file__).parents[2] / "cases" / "kafka_clients.json").read_text())


def client(release: str, line: str) -> tuple[str, Settings]:
    kind, *pairs = line.split()
    known = catalogue(release)
    given = []
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name in known.settings[kind]:
            given.append(Given(kind, name, value, Level.STATIC_BROKER_CONFIG, "a file"))
    return kind, Settings(known, given)


@pytest.mark.parametrize("recorded", RECORD["recorded"], ids=lambda r: r["releases"][0])
def test_producers_and_consumers_start_and_behave_as_foretold(
    recorded: dict[str, list[str]],
) -> None:
    for release in recorded["releases"]:
        for line, index in zip(RECORD["settings"], recorded["answers"], strict=True):
            answer = RECORD["answers"][index]
            kind, s = client(release, line)
            found = findings(s, {kind}, None)
            refused = any(finding.refused_by == kind for finding in found)
            assert refused == answer.startswith("refused"), (release, line, answer)
            if kind == "producer" and not refused:
                producer = producer_of(s)
                assert f"acks={producer.acks} " in answer, (release, line)
                assert f"idempotent={str(producer.is_idempotent).lower()}" in answer, (
                    release,
                    line,
                )


def test_every_release_was_recorded() -> None:
    assert [r for recorded in RECORD["recorded"] for r in recorded["releases"]] == releases()


def test_a_finding_says_which_process_does_not_start() -> None:
    def refused_by(release: str, *options: str) -> set[str]:
        known = catalogue(release)
        s = Settings(known, [from_option(option, known) for option in options])
        return {one.refused_by for one in findings(s, {"producer", "consumer"}, None)} - {""}

    assert refused_by("4.1") == set()
    assert refused_by("4.1", f"{IN_FLIGHT}=10", "enable.idempotence=true") == {"producer"}
    assert refused_by("3.9", f"{IN_FLIGHT}=10") == set()
    assert refused_by("4.1", "delivery.timeout.ms=10") == {"producer"}
    assert refused_by("4.1", "linger.ms=500000") == set()
    assert refused_by("4.1", "heartbeat.interval.ms=45000") == {"consumer"}
    assert refused_by("4.1", "replica.fetch.wait.max.ms=40000") == {"broker"}
    new = ("group.protocol=consumer", "heartbeat.interval.ms=1000")
    assert (refused_by("3.9", *new), refused_by("4.0", *new)) == (set(), {"consumer"})
    assert refused_by("4.0", "group.protocol=consumer", "partition.assignment.strategy=A") == {
        "consumer"
    }


@pytest.mark.parametrize("release", releases())
@pytest.mark.parametrize(
    ("kind", "text", "missing"),
    [
        ("producer", "boostrap.servers=a", ["bootstrap.servers"]),
        ("consumer", "bootstrap.server=a", ["bootstrap.servers"]),
        ("producer", "bootstrap.servers=a\nboostrap.servers=a", []),
        ("producer", "key.serialiser=A\nack=all", ["key.serializer"]),
        ("topic", "boostrap.servers=a", []),
    ],
)
def test_a_required_setting_that_is_only_misspelt_is_missing(
    tmp_path: Path, release: str, kind: str, text: str, missing: list[str]
) -> None:
    file = tmp_path / "a.properties"
    file.write_text(text)
    known = catalogue(release)
    source = read_source(file, kind, known)
    found = list(misspelt_and_required(Settings(known, source.given), [source]))
    assert [(one.setting, one.refused_by) for one in found] == [(name, kind) for name in missing]


def about(release: str, *options: str, ms_per_record: float | None = None) -> dict[str, str]:
    """Findings on all kinds of settings: by setting, the problems."""
    known = catalogue(release)
    s = Settings(known, [from_option(option, known) for option in options])
    found: dict[str, str] = {}
    for finding in findings(s, set(KINDS), ms_per_record):
        found[finding.setting] = f"{found.get(finding.setting, '')} {finding.problem}".strip()
    return found


def test_a_transactional_id_without_idempotence_is_one_finding() -> None:
    found = about("4.1", "transactional.id=t", "acks=1")
    assert "a transactional.id needs idempotence" in found["transactional.id"]
    assert "does not start" not in found["enable.idempotence"]


SAFE = (
    "replication.factor=3",
    "min.insync.replicas=2",
    "enable.auto.commit=false",
    "auto.offset.reset=earliest",
)


def test_safe_settings_have_no_findings() -> None:
    assert about("4.1", *SAFE, "eligible.leader.replicas.version=1") == {}


def test_a_producer_alone_has_no_finding_on_its_brokers() -> None:
    known = catalogue("4.1")
    s = settings_from(known, [], [from_option("acks=all", known)])
    assert findings(s, {"producer"}, None) == []
    assert findings(s, {"producer", "topic"}, None)


@pytest.mark.parametrize(
    ("elr", "level", "problem"),
    [
        (1, Level.STATIC_BROKER_CONFIG, "only once"),
        (0, Level.STATIC_BROKER_CONFIG, ""),
        (1, Level.DYNAMIC_DEFAULT_BROKER_CONFIG, ""),
    ],
)
def test_with_eligible_leaders_a_file_gives_min_insync_only_once(
    elr: int, level: Level, problem: str
) -> None:
    known = catalogue("4.1")
    options = [from_option(one, known) for one in (*SAFE, f"{ELR}={elr}") if "insync" not in one]
    given = Given("broker", "min.insync.replicas", "2", level, "server.properties, line 1")
    found = findings(Settings(known, [given, *options]), {"broker"}, None)
    problems = [one.problem for one in found if one.setting == "min.insync.replicas"]
    assert [problem in one for one in problems] == ([True] if problem else [])


@pytest.mark.parametrize("release", ["3.6", "4.1"])
@pytest.mark.parametrize("min_isr", [2, 3])
def test_two_replicas_have_one_remedy(release: str, min_isr: int) -> None:
    known = catalogue(release)
    options = ("replication.factor=2", f"min.insync.replicas={min_isr}")
    s = Settings(known, [from_option(option, known) for option in options])
    found = findings(s, {"topic"}, None)
    fixes = [finding.fix for finding in found if finding.setting == "min.insync.replicas"]
    assert fixes
    assert all(fix.startswith("use replication.factor=3") for fix in fixes)


@pytest.mark.parametrize(
    ("setting", "release", "option", "problem"),
    [
        ("replication.factor", "4.1", "replication.factor=1", "one copy of each record"),
        ("min.insync.replicas", "4.1", "min.insync.replicas=3", "after one crash, all writes fail"),
        ("min.insync.replicas", "4.1", "min.insync.replicas=4", "counts as 3"),
        ("min.insync.replicas", "3.6", "min.insync.replicas=4", "no write with acks=all succeeds"),
        ("min.insync.replicas", "4.1", "min.insync.replicas=1", "acknowledged with a single copy"),
        ("min.insync.replicas", "4.1", "acks=1", "applies to writes with acks=all only"),
        ("unclean.leader.election.enable", "4.1", "unclean.leader.election.enable=true",
         "lacks acknowledged records"),
        ("eligible.leader.replicas.version", "4.1", "eligible.leader.replicas.version=0",
         "although it has lost records"),
        ("eligible.leader.replicas.version", "4.0", "acks=all", "although it has lost records"),
        ("eligible.leader.replicas.version", "4.1", "acks=all", "default of new clusters only"),
        ("eligible.leader.replicas.version", "4.1", "eligible.leader.replicas.version=1", ""),
        ("offsets.topic.replication.factor", "4.1", "offsets.topic.replication.factor=1",
         "fewer copies (1)"),
        ("replica.fetch.wait.max.ms", "4.1", "replica.fetch.wait.max.ms=40000", "does not start"),
        ("enable.idempotence", "4.1", "acks=1", "disables it because of acks=1"),
        ("enable.idempotence", "4.1", "max.in.flight.requests.per.connection=6", "does not start"),
        ("enable.idempotence", "3.9", "max.in.flight.requests.per.connection=6", "disables it"),
        ("enable.idempotence", "2.8", "acks=all", "behind records that were sent later"),
        ("enable.idempotence", "2.8", "transactional.id=t", ""),
        ("acks", "4.1", "acks=0", "once it is sent"),
        ("acks", "4.1", "acks=1", "before a follower fetches it"),
        ("acks", "2.8", "linger.ms=5", "before a follower fetches it"),
        ("retries", "4.1", "retries=0", "fails a record at once"),
        ("retries", "2.0", "linger.ms=5", "fails a record at once"),
        ("delivery.timeout.ms", "4.1", "delivery.timeout.ms=10000", "does not start"),
        ("delivery.timeout.ms", "4.1", "linger.ms=500000", "uses 530000 instead"),
        ("session.timeout.ms", "4.1", "heartbeat.interval.ms=20000", "three times"),
        ("heartbeat.interval.ms", "4.1", "heartbeat.interval.ms=45000", "does not start"),
        ("session.timeout.ms", "4.1", "consumer:session.timeout.ms=5000", "INVALID_SESSION"),
        ("enable.auto.commit", "4.1", "enable.auto.commit=true", "swallows exceptions"),
        ("auto.offset.reset", "4.1", "auto.offset.reset=latest", "skips all existing records"),
        ("offsets.retention.minutes", "1.1", "linger.ms=5", "after 24 hours"),
        ("session.timeout.ms", "4.1", "group.protocol=consumer", ""),
        ("inter.broker.protocol.version", "2.8", "inter.broker.protocol.version=2.0-IV1",
         "replicate as Kafka 2.0 does"),
        ("inter.broker.protocol.version", "2.8", "inter.broker.protocol.version=0.9.0.1",
         "replicate as Kafka 0.9.0 does"),
        ("inter.broker.protocol.version", "2.8", "inter.broker.protocol.version=2.7", ""),
        ("inter.broker.protocol.version", "3.9", "inter.broker.protocol.version=2.0", ""),
        ("log.message.format.version", "2.8", "log.message.format.version=0.10.2",
         "no leader epoch"),
        ("message.format.version", "2.8", "message.format.version=0.10.2-IV0", "no leader epoch"),
        ("message.format.version", "2.8", "message.format.version=0.11.0", ""),
        ("message.format.version", "3.2", "message.format.version=0.10.2", ""),
    ],
)  # fmt: skip
def test_a_finding_names_the_problem(setting: str, release: str, option: str, problem: str) -> None:
    name = option.partition("=")[0]
    safe = [one for one in SAFE if one.partition("=")[0] != name]
    found = about(release, *safe, option)
    if problem:
        assert problem in found[setting]
    else:
        assert setting not in found


def test_slow_records_exceed_the_poll_interval() -> None:
    assert "max.poll.interval.ms" not in about("4.1", *SAFE, ms_per_record=600)
    assert (
        "of 601 ms take 300,500 ms, more than 300,000"
        in about("4.1", *SAFE, ms_per_record=601)["max.poll.interval.ms"]
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e6, "1,000,000"), (1e21, "1,000,000,000,000,000,000,000"), (0.25, "0.25"), (20, "20")],
)
def test_numbers_have_all_their_digits(number: float, text: str) -> None:
    assert number_text(number) == text


def test_a_session_is_the_brokers_under_the_new_group_protocol() -> None:
    found = about("4.1", *SAFE, "group.protocol=consumer", "consumer:session.timeout.ms=5000")
    assert "the broker determines it" in found["session.timeout.ms"]
