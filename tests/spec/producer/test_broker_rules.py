"""Each rule that changed from release to release matters: Kafka's answers show which one holds."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from typing import Any

import attrs
import pytest

import tests.spec.producer.kafka.producer_states as producer_states
import tests.spec.producer.kafka.transaction_logs as transaction_logs
from kspec.spec.producer.broker_rules import RULES, BrokerRules, rules_of
from kspec.spec.vocabulary import ProducerError
from tests.spec.producer.kafka.compare import CASES

KINDS = (*producer_states.PRODUCER_STATE, transaction_logs.TRANSACTION_LOG)

OTHERWISE: dict[str, Any] = {
    "retained": 4,
    "without_state": ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "without_sequence": ProducerError.INVALID_TXN_STATE,
}
"""Another value for each rule that is no truth value."""

NOT_COMPARED = {
    "repeats_at_last_epoch": "4.3 is described from its source",
}
"""The rules that no recorded answer shows, with the reason."""


@cache
def recorded() -> list[tuple[str, str, str, str]]:
    """Kind, version, call and answer of each recorded history."""
    return [
        (kind.name, version, call, answer)
        for kind in KINDS
        for version, cases in json.loads((CASES / f"{kind.name}.json").read_text()).items()
        for call, answer in cases
    ]


def otherwise(rules: BrokerRules, name: str) -> BrokerRules:
    """The rules, but for one."""
    value: Any = OTHERWISE[name] if name in OTHERWISE else not getattr(rules, name)
    return attrs.evolve(rules, **{name: value})


@pytest.mark.parametrize(
    "name", [f.name for f in attrs.fields(BrokerRules) if f.name not in {"since", *NOT_COMPARED}]
)
def test_kafkas_answers_show_that_a_rule_is_as_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (producer_states, transaction_logs):
        monkeypatch.setattr(module, "rules_of", lambda version: otherwise(rules_of(version), name))
    kinds = {kind.name: kind for kind in KINDS}
    assert any(
        kinds[kind].answer(version, call) != answer for kind, version, call, answer in recorded()
    )


def test_each_release_differs_from_the_one_before_it() -> None:
    for before, after in pairwise(RULES):
        assert attrs.evolve(before, since="") != attrs.evolve(after, since="")
