"""Findings on exactly once, and the variants of the model that they name."""

from __future__ import annotations

import re

import pytest

from kspec.checkers.models.find import find_model
from kspec.field.advice.catalogue import catalogue, releases
from kspec.field.advice.remarks import Remark
from kspec.field.advice.settings import Settings
from kspec.field.advice.sources import from_option
from kspec.field.advice.transactions import on_transactions


def findings(release: str, *options: str, consumer_too: bool = True) -> list[Remark]:
    known = catalogue(release)
    given = [from_option(option, known) for option in options]
    return list(on_transactions(Settings(known, given), consumer_too=consumer_too))


WHOLE = (
    "transactional.id=a",
    "enable.auto.commit=false",
    "isolation.level=read_committed",
    "transaction.version=2",
)
"""The settings of a loop that is exactly once."""


def test_a_loop_that_is_exactly_once_has_no_finding_of_its_consumer() -> None:
    newest = releases()[-1]
    assert {f.setting for f in findings(newest, *WHOLE)} <= {"transactional.id"}
    assert findings(newest, "enable.auto.commit=true") == []


def test_the_defaults_of_a_consumer_are_not_exactly_once() -> None:
    newest = releases()[-1]
    found = {f.setting for f in findings(newest, "transactional.id=a")}
    assert {"enable.auto.commit", "isolation.level"} <= found
    alone = findings(newest, "transactional.id=a", "transaction.version=2", consumer_too=False)
    assert {f.setting for f in alone} <= {"transactional.id"}


def test_a_transactional_producer_of_4_2_has_no_finding() -> None:
    assert findings("4.2", *WHOLE) == []


@pytest.mark.parametrize(
    ("setting", "option", "problem"),
    [
        ("transaction.version", "linger.ms=1", "default of new clusters only"),
        ("transactional.id", "transaction.version=1", "with transaction.version=1, an EndTxn"),
        (
            "transaction.state.log.replication.factor",
            "transaction.state.log.replication.factor=1",
            "fewer copies (1) than the topic's records (3)",
        ),
        (
            "transaction.state.log.min.isr",
            "transaction.state.log.min.isr=1",
            "acknowledged when one broker has it",
        ),
        (
            "transaction.state.log.min.isr",
            "transaction.state.log.min.isr=3",
            "neither begin nor end",
        ),
    ],
)
def test_a_finding_names_what_transactions_need(setting: str, option: str, problem: str) -> None:
    found = findings("4.2", "transactional.id=a", option, "replication.factor=3")
    assert any(one.setting == setting and problem in one.problem for one in found)
    unset = findings("4.2", *WHOLE, "replication.factor=3")
    assert not any(problem in one.problem for one in unset)


@pytest.mark.parametrize("release", ["0.11.0", "2.4", "2.5", "3.5", "3.6", "3.9", "4.0", "4.1"])
def test_every_finding_names_a_variant_that_fails(release: str) -> None:
    model = find_model("transactions")
    found = findings(release, "transactional.id=a")
    assert found[0].setting == "transactional.id"
    for finding in found:
        named = re.search(r"variant ([\w.-]+)", finding.because)
        assert named
        assert model.variant(named[1]).violates
