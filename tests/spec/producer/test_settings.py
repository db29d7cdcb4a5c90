"""The settings of producers; Kafka's own answers are in `test_kafka_cases`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kspec.field.advice.catalogue import catalogue, releases
from kspec.spec.core import SpecError
from kspec.spec.durability import ALL
from kspec.spec.java import INT_MAX
from kspec.spec.producer.releases import parse_release
from kspec.spec.producer.settings import ProducerSettings, effective, with_defaults
from tests.spec.producer.kafka.settings import read_settings

RECORD = json.loads((Path(__file__).parents[2] / "cases" / "kafka_clients.json").read_text())


@pytest.mark.parametrize("recorded", RECORD["recorded"], ids=lambda r: r["releases"][0])
def test_every_release_treats_settings_as_its_producer_did(
    recorded: dict[str, list[str]],
) -> None:
    for release in recorded["releases"]:
        known = catalogue(release).settings["producer"]
        for line, index in zip(RECORD["settings"], recorded["answers"], strict=True):
            kind, *pairs = line.split()
            if kind != "producer":
                continue
            pairs = [pair for pair in pairs if pair.partition("=")[0] in known]
            made = effective(read_settings(" ".join(pairs) or "-"), parse_release(release))
            answer = RECORD["answers"][index]
            assert bool(made.refused) == answer.startswith("refused"), (release, line, answer)
            if not made.refused:
                idempotent = str(made.is_idempotent).lower()
                mine = f"acks={made.acks} retries={made.retries} idempotent={idempotent}"
                assert mine == answer, (release, line)


@pytest.mark.parametrize("release", releases())
def test_defaults_are_those_of_the_release(release: str) -> None:
    known = catalogue(release).settings["producer"]
    values = with_defaults(ProducerSettings(), parse_release(release))
    assert known["acks"].default == ("all" if values.acks == ALL else str(values.acks))
    assert known["retries"].default == str(values.retries)
    assert known["linger.ms"].default == str(values.linger_ms)
    assert known["request.timeout.ms"].default == str(values.request_timeout_ms)
    assert known["max.in.flight.requests.per.connection"].default == str(values.in_flight)
    if "delivery.timeout.ms" in known:
        assert known["delivery.timeout.ms"].default == str(values.delivery_timeout_ms)
    if "enable.idempotence" in known:
        is_default = known["enable.idempotence"].default == "true"
        assert is_default == values.enable_idempotence


@pytest.mark.parametrize(
    ("release", "is_idempotent"),
    [("2.8.2", False), ("3.0.0", False), ("3.0.1", True), ("3.1.0", False), ("3.1.1", True),
     ("3.2.0", True), ("3.0", True), ("3.1", True), ("4.1.0", True), ("0.10.2", False)],
)  # fmt: skip
def test_idempotence_by_default_needs_more_than_the_default(
    release: str, is_idempotent: bool
) -> None:
    made = effective(ProducerSettings(), parse_release(release))
    assert made.is_idempotent == is_idempotent
    assert made.acks == (ALL if parse_release(release) >= (3, 0) else 1)


def test_a_conflict_disables_idempotence_in_silence_or_is_refused() -> None:
    crowded = ProducerSettings(in_flight=6)
    assert effective(crowded, (3, 9, 1)).disabled_by == ("max.in.flight.requests.per.connection",)
    assert effective(crowded, (4, 0, 0)).refused == ("max.in.flight.requests.per.connection",)
    with_id = ProducerSettings(acks=1, transactional_id=True)
    assert effective(with_id, (2, 8, 2)).refused == ("acks",)
    assert effective(with_id, (3, 9, 1)).refused == ("transactional.id",)


def test_a_default_time_limit_is_raised_and_a_given_one_refused() -> None:
    lingers = ProducerSettings(linger_ms=200_000)
    assert effective(lingers, (4, 1, 0)).delivery_timeout_ms == 230_000
    limited = ProducerSettings(linger_ms=200_000, delivery_timeout_ms=120_000)
    assert effective(limited, (4, 1, 0)).refused == ("delivery.timeout.ms",)
    assert effective(limited, (2, 0, 1)).refused == ()
    endless = ProducerSettings(linger_ms=INT_MAX, delivery_timeout_ms=INT_MAX)
    assert effective(endless, (4, 1, 0)).refused == ()


@pytest.mark.parametrize("text", ["", "3", "x.y", "3.9.1.1", "0.11.0.3.1", "-3.1"])
def test_a_release_is_a_number(text: str) -> None:
    with pytest.raises(SpecError, match=r"^a release is a number such as 3\.9 or 3\.9\.1, not "):
        parse_release(text)


def test_a_release_before_1_0_allows_one_request_in_flight() -> None:
    def refused(in_flight: int, release: str) -> bool:
        asked = ProducerSettings(enable_idempotence=True, in_flight=in_flight)
        return effective(asked, parse_release(release)).refused != ()

    assert [refused(n, "0.11.0.3") for n in (1, 2)] == [False, True]
    assert [refused(n, "1.0.0") for n in (5, 6)] == [False, True]


def test_a_release_before_0_11_has_no_idempotence() -> None:
    asked = ProducerSettings(enable_idempotence=True)
    assert not effective(asked, parse_release("0.10.2.2")).is_idempotent


def test_the_first_refusal_depends_on_the_release() -> None:
    wrong = ProducerSettings(
        enable_idempotence=True, retries=0, acks=1, in_flight=6, delivery_timeout_ms=0
    )
    first = {release: effective(wrong, parse_release(release)).refused[0] for release in ORDERS}
    assert first == ORDERS


ORDERS = {
    "2.0.1": "max.in.flight.requests.per.connection",
    "2.4.1": "delivery.timeout.ms",
    "2.5.0": "retries",
    "4.1.0": "retries",
}
"""The setting that the exception of each release names."""
