"""Every rule of kspec's own models names what in Kafka it stands for."""

from __future__ import annotations

import re

import pytest

from kspec.checkers.models.find import find_model, registered_models

OWN = [
    name for name, model in registered_models().items() if model.module.startswith("kspec.spec.")
]

REFERENCE = re.compile(
    r"""Not\ in\ Kafka:\s+\S
    | Kafka:\s.*(                # and then, in what follows,
        `[A-Z]\w+(\.\w+)*`       # a class, or a method with its class
        | `[a-z]+([A-Z]\w*)+`     # or a method of a class that the module names
        | (KIP|KAFKA)-\d+        # or a proposal or an issue
    )""",
    re.VERBOSE | re.DOTALL,
)


def names_its_source(doc: str) -> bool:
    """Whether a docstring names Kafka's method, proposal or issue, or says that there is none."""
    return REFERENCE.search(doc) is not None


@pytest.mark.parametrize("name", OWN)
def test_every_rule_names_its_kafka_method(name: str) -> None:
    rules = {rule for variant in find_model(name).variants for rule in variant.rules}
    assert {rule.name for rule in rules if not names_its_source(rule.doc)} == set()


@pytest.mark.parametrize("name", OWN)
def test_every_docstring_stands_alone(name: str) -> None:
    """The pages list rules by variant, so a docstring cannot refer to the one before it."""
    model = find_model(name)
    rules = {rule for variant in model.variants for rule in variant.rules}
    assert {rule.name for rule in rules if rule.doc.startswith("The same")} == set()


@pytest.mark.parametrize(
    "doc",
    [
        "A broker fetches.",
        "A broker fetches. Kafka: as usual.",
        "A broker fetches. Kafka: when `replica.fetch.wait.max.ms` has passed.",
        "A broker fetches (`Partition.fetchRecords`).",
        "A broker fetches. Not in Kafka:",
    ],
)
def test_a_rule_without_a_reference_is_found(doc: str) -> None:
    assert not names_its_source(doc)
