"""`kspec conform` at the prompt."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Kspec

with_kafka_python = pytest.mark.skipif(
    find_spec("kafka") is None, reason="kafka-python is not installed: pip install '.[clients]'"
)
with_aiokafka = pytest.mark.skipif(
    find_spec("aiokafka") is None, reason="aiokafka is not installed: pip install '.[clients]'"
)


def report(kspec: Kspec, *arguments: str) -> dict[str, Any]:
    """What the command prints as JSON."""
    ran = kspec("conform", *arguments, "--json")
    assert (ran.code, ran.err) in ((0, ""), (12, ""))
    found: dict[str, Any] = json.loads(ran.out)
    assert found["conforms"] == (ran.code == 0)
    return found


def findings(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The findings, by strategy."""
    return {s["strategy"]: s["findings"] for s in found["strategies"]}


def test_a_correct_target_conforms(kspec: Kspec) -> None:
    ran = kspec("conform", "kspec.impl.assignors:ASSIGNORS", "--max-examples", "8")
    assert (ran.code, ran.err) == (0, "")
    assert "No difference found for range, roundrobin, sticky, cooperative-sticky." in ran.out


# -- clients that are known by name ------------------------------------------------------------


@pytest.mark.slow
@with_kafka_python
def test_kafka_pythons_round_robin_fails_when_it_passes_over_a_member(kspec: Kspec) -> None:
    found = report(kspec, "kafka-python", "--strategy", "roundrobin", "--max-examples", "60")
    (crash,) = (f for f in findings(found)["roundrobin"] if f["kind"] == "crash")
    assert crash["what"] == "KeyError"
    assert len(crash["group"]["members"]) == 2
    assert found["version"]


@with_kafka_python
@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_the_faults_of_kafka_python_are_found_whatever_the_seed(kspec: Kspec, seed: str) -> None:
    found = report(kspec, "kafka-python", "--seed", seed)
    by_strategy = findings(found)
    assert any(f["what"] == "KeyError" for f in by_strategy["roundrobin"])
    for strategy in ("range", "roundrobin"):
        assert any("static members" in f["oddities"] for f in by_strategy[strategy])
        assert any(f["kind"] == "wrong" for f in by_strategy[strategy])
    for strategy in ("sticky", "cooperative-sticky"):
        assert any(f["what"] == "placement" for f in by_strategy[strategy])


@with_aiokafka
@pytest.mark.slow
def test_aiokafka_does_not_know_static_members(kspec: Kspec) -> None:
    found = report(kspec, "aiokafka", "--strategy", "roundrobin", "--max-examples", "60")
    assert ["static members"] in [f["oddities"] for f in findings(found)["roundrobin"]]


# -- targets of one's own ----------------------------------------------------------------------

SORTED = """
from kspec.spec.assignors import ASSIGNORS

def assign(partitions, members):
    return {m: sorted(got, reverse=True) for m, got in ASSIGNORS["range"](partitions, members).items()}

MAPPING = {"range": assign}

def make():
    return MAPPING
"""  # noqa: E501


@pytest.mark.parametrize("reference", ["mine.py:MAPPING", "mine.py:make", "./mine.py:make"])
def test_a_mapping_or_a_function_that_makes_one_is_a_target(kspec: Kspec, reference: str) -> None:
    Path("mine.py").write_text(SORTED)
    ran = kspec("conform", reference, "--max-examples", "12")
    assert ran.code == 12
    assert "# range, DIFFERENT, list order: Member 'm1' gets a-1 a-0; by Kafka" in ran.out
    assert f"print(find_target('{reference}')['range'](partitions, members))" in ran.out
    assert kspec("conform", reference, "--max-examples", "12", "--any-order").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["kafka-pyton"], 151, "did you mean kafka-python"),
        (["no_such_module:ASSIGNORS"], 151, "no module no_such_module"),
        (["nowhere.py:X"], 151, "no file nowhere.py"),
        (["kspec.impl.assignors:ASIGNORS"], 151, "did you mean ASSIGNORS"),
        (["kspec.impl.assignors:ASSIGNORS", "--strategy", "stiky"], 151, "did you mean sticky"),
        (["own.py:NUMBER"], 151, "is not a mapping from names of strategies to functions"),
        (["own.py:EMPTY"], 151, "but an empty mapping"),
        (["own.py:UNKNOWN"], 151, "did you mean roundrobin"),
        (["own.py:NO_FUNCTION"], 151, "is not a function of partitions and members"),
        (["own.py:ONE_ARGUMENT"], 151, "is not a function of partitions and members"),
        (["own.py:NOTHING"], 151, "answers None for one member and one partition"),
        (["own.py:NAMES"], 151, "an answer maps each member to pairs of topic and index"),
        (["own.py:breaks"], 151, "own.py:breaks() raises ValueError: no"),
        (["own.py:NUMBER", "--max-examples", "0"], 2, "--max-examples"),
    ],
)
def test_an_invalid_target_is_refused_in_one_line(
    kspec: Kspec, arguments: list[str], code: int, says: str
) -> None:
    Path("own.py").write_text(
        "NUMBER, EMPTY, UNKNOWN = 3, {}, {'round-robin': lambda p, m: {}}\n"
        "NO_FUNCTION, ONE_ARGUMENT = {'range': 3}, {'range': lambda p: {}}\n"
        "NOTHING, NAMES = {'range': lambda p, m: None}, {'range': lambda p, m: {'m': ['t-0']}}\n"
        "def breaks():\n    raise ValueError('no')\n"
    )
    ran = kspec("conform", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert says in ran.err


@pytest.mark.parametrize(
    ("package", "arguments", "says"),
    [
        ("kafka", ["kafka-python"], "kafka-python is not installed: pip install kafka-python"),
        ("aiokafka", ["aiokafka"], "aiokafka is not installed: pip install aiokafka"),
    ],
)
def test_a_client_that_is_not_installed_is_named(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch, package: str, arguments: list[str], says: str
) -> None:
    for name in [m for m in sys.modules if m.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("kspec.field.conform.assignors.target.installed_version", lambda _: None)
    ran = kspec("conform", *arguments)
    assert (ran.code, ran.out, ran.err) == (151, "", f"kspec: {says}\n")
