"""`kspec prove` at the prompt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kspec.checkers.proofs.lemmas import find_lemmas
from kspec.spec.java import INT_MIN
from kspec.spec.watermarks.lemmas import truncation_keeps_hw_within_log
from tests.cli.conftest import Kspec

OWN = '''
from kspec.spec.core import Claims
from kspec.spec.lemmas import INTEGER, POSITIVE, false_neighbour, lemma, provided


@lemma(abs, n=INTEGER, m=POSITIVE)
def quotient_is_small(n: int, m: int) -> Claims:
    """A quotient is no farther from zero than what was divided."""
    yield f"{n // m} is within {n}", abs(n // m) <= abs(n)


@false_neighbour(of=quotient_is_small)
def quotient_is_smaller(n: int, m: int) -> Claims:
    """Not if divided by one, nor if nothing is divided."""
    yield f"{n // m} is less than {n}", abs(n // m) < abs(n)
'''


def write(name: str, text: str) -> str:
    """A file with user-defined lemmas."""
    Path(name).write_text(text)
    return name


def test_a_proof_reports_statement_domain_and_time(kspec: Kspec) -> None:
    ran = kspec("prove", "truncation_keeps_hw_within_log")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("truncation_keeps_hw_within_log: proved, in ")
    assert lines[0].endswith(" s")
    text = " ".join(ran.out.split())
    for part in (
        truncation_keeps_hw_within_log.summary,
        "about spec.watermarks.updates.after_truncation",
        "for hw, leo, offset = any integer from 0",
        "provided the follower's HW is within its LEO",
        "false neighbour truncating_only_the_log_keeps_hw_within_it: refuted",
        "counterexample: hw = 1, leo = 1, offset = 0: it is false that HW 1 is within LEO 0",
        "1 of 1 proved, 1 of 1 false neighbours refuted; ",
    ):
        assert part in text


@pytest.mark.slow
def test_proofs_are_printed_as_json(kspec: Kspec) -> None:
    ran = kspec("prove", "two_rules_give_a_partition", "ranges_cover_all_partitions", "--json")
    record = json.loads(ran.out)
    assert (ran.code, record["verdict"]) == (0, "holds")
    rules, runs = record["lemmas"]
    assert (rules["verdict"], runs["verdict"]) == ("holds", "holds")
    assert rules["domain"]["h"] == {"words": "any 32-bit int", "low": INT_MIN, "high": 2**31 - 1}
    assert rules["speaks_of"] == ["spec.placement.kafka_rule", "spec.placement.remainder_first"]
    (near,) = rules["false_neighbours"]
    assert (near["verdict"], near["counterexample"]["h"]) == ("violated", INT_MIN)


@pytest.mark.slow
def test_all_lemmas_are_proved_by_default(kspec: Kspec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.proofs.lemmas.registered", lambda _: ("java", "range"))
    ran = kspec("prove")
    assert ran.code == 0
    assert "3 of 3 proved, 3 of 3 false neighbours refuted; " in ran.out


def test_lemmas_are_listed_without_proving_them(kspec: Kspec) -> None:
    ran = kspec("prove", "--list")
    assert ran.code == 0
    assert [one.name for one in find_lemmas()] == [
        line for line in ran.out.splitlines() if line and not line.startswith(" ")
    ]
    assert "proved" not in ran.out
    (record,) = json.loads(kspec("prove", "ranges_cover_all_partitions", "--list", "--json").out)
    assert (record["name"], record["provided"]) == ("ranges_cover_all_partitions", [])


def test_lemmas_of_ones_own_are_proved_from_a_file(kspec: Kspec) -> None:
    ran = kspec("prove", write("own.py", OWN))
    assert ran.code == 0
    assert "quotient_is_smaller: refuted" in ran.out


def test_a_false_lemma_is_reported_with_a_counterexample(kspec: Kspec) -> None:
    wrong = OWN.replace("abs(n // m) <= abs(n)", "0 <= n // m <= n")
    ran = kspec("prove", write("own.py", wrong))
    assert ran.code == 12
    assert "quotient_is_small: FALSE" in ran.out
    assert "    counterexample: n = -" in ran.out
    assert "0 of 1 proved" in ran.out


def test_a_false_neighbour_that_is_true_fails_too(kspec: Kspec) -> None:
    ran = kspec("prove", write("own.py", OWN.replace("abs(n // m) < abs(n)", "n // m <= abs(n)")))
    assert ran.code == 12
    assert "quotient_is_smaller: is TRUE as well" in ran.out


def test_a_solver_that_runs_out_of_time_is_inconclusive(kspec: Kspec) -> None:
    ran = kspec("prove", "ranges_cover_all_partitions", "--timeout", "1e-9", "--json")
    assert (ran.code, json.loads(ran.out)["verdict"]) == (4, "inconclusive")
    ran = kspec("prove", "ranges_cover_all_partitions", "--timeout", "1e-9")
    assert ran.code == 4
    assert "ranges_cover_all_partitions: not decided, stopped by time" in ran.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "states no lemma"),
        (OWN.replace("n // m} is within", "n & 1} is within"), "cannot be run for all numbers"),
        (OWN.replace("    yield", "    yield provided('never'), n != n\n    yield", 1), "nothing"),
        (OWN.replace("m=POSITIVE", "k=POSITIVE"), "its domain lists n, k"),
        ("import", "invalid syntax"),
    ],
    ids=["empty", "unreadable", "vacuous", "variables", "syntax"],
)
def test_an_invalid_file_is_refused_in_one_line(kspec: Kspec, content: str, says: str) -> None:
    ran = kspec("prove", write("own.py", content))
    assert (ran.code, ran.err.count("\n")) == (151, 1)
    assert says in ran.err


def test_an_unknown_lemma_suggests_a_similar_one(kspec: Kspec) -> None:
    ran = kspec("prove", "int32_keep_the_low_bits")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == (
        "kspec: no lemma named 'int32_keep_the_low_bits': "
        "did you mean int32_keeps_the_low_32_bits?\n"
    )


def test_a_missing_z3_is_reported_in_one_line(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "kspec.checkers.proofs.prove", raising=False)
    ran = kspec("prove", "ranges_cover_all_partitions")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == "kspec: proving needs z3: pip install -e '.[prove]' in a clone of kspec\n"
    assert kspec("prove", "--list").code == 0


def test_z3_is_imported_only_to_prove(
    shell: Callable[[str], subprocess.CompletedProcess[str]],
) -> None:
    line = "import sys, kspec.checkers.cli.prove; sys.exit('z3' in sys.modules)"
    assert shell(f'{sys.executable} -c "{line}"').returncode == 0
