"""`kspec prove` at the prompt."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checkers.lemmas import find_lemmas
from spec.java import INT_MIN
from spec.watermarks import truncation_keeps_hw_within_the_log
from tests.cli.conftest import Kspec

OWN = '''
from spec.core import Claims
from spec.lemmas import INTEGER, POSITIVE, false_neighbour, lemma, provided


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
    """A file with lemmas of one's own."""
    Path(name).write_text(text)
    return name


def test_a_proof_says_what_of_which_numbers_and_how_long_it_took(kspec: Kspec) -> None:
    ran = kspec("prove", "truncation_keeps_hw_within_the_log")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("truncation_keeps_hw_within_the_log: proved, in ")
    assert lines[0].endswith(" s")
    text = " ".join(ran.out.split())
    for part in (
        truncation_keeps_hw_within_the_log.summary,
        "about spec.watermarks.after_truncation",
        "for hw, leo, offset = any integer from 0",
        "provided the follower's HW is within its LEO",
        "false neighbour truncation_of_the_log_alone_keeps_hw_within_it: refuted",
        "counterexample: hw = 1, leo = 1, offset = 0: it is false that HW 1 is within LEO 0",
        "1 of 1 proved, 1 of 1 false neighbours refuted; ",
    ):
        assert part in text


@pytest.mark.slow
def test_proofs_are_there_for_a_machine_too(kspec: Kspec) -> None:
    ran = kspec("prove", "two_rules_give_a_partition", "runs_add_up", "--json")
    record = json.loads(ran.out)
    assert (ran.code, record["verdict"]) == (0, "holds")
    rules, runs = record["lemmas"]
    assert (rules["verdict"], runs["verdict"]) == ("holds", "holds")
    assert rules["domain"]["h"] == {"words": "any 32-bit int", "low": INT_MIN, "high": 2**31 - 1}
    assert rules["speaks_of"] == ["spec.placement.kafka_rule", "spec.placement.remainder_first"]
    (near,) = rules["false_neighbours"]
    assert (near["verdict"], near["counterexample"]["h"]) == ("violated", INT_MIN)


def test_all_lemmas_are_meant_where_none_is_named(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkers.lemmas.MODULES", ("spec.java", "spec.assignors.range"))
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
    (record,) = json.loads(kspec("prove", "runs_add_up", "--list", "--json").out)
    assert (record["name"], record["provided"]) == ("runs_add_up", [])


def test_lemmas_of_ones_own_are_proved_from_a_file(kspec: Kspec) -> None:
    ran = kspec("prove", write("own.py", OWN))
    assert ran.code == 0
    assert "quotient_is_smaller: refuted" in ran.out


def test_a_lemma_that_is_false_ends_with_its_counterexample(kspec: Kspec) -> None:
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


def test_a_solver_without_time_gives_up(kspec: Kspec) -> None:
    ran = kspec("prove", "runs_add_up", "--timeout", "1e-9", "--json")
    assert (ran.code, json.loads(ran.out)["verdict"]) == (4, "inconclusive")
    ran = kspec("prove", "runs_add_up", "--timeout", "1e-9")
    assert ran.code == 4
    assert "runs_add_up: not decided, stopped by time" in ran.out


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
def test_a_file_that_cannot_be_used_gets_one_line(kspec: Kspec, content: str, says: str) -> None:
    ran = kspec("prove", write("own.py", content))
    assert (ran.code, ran.err.count("\n")) == (151, 1)
    assert says in ran.err


def test_an_unknown_lemma_is_answered_with_its_nearest(kspec: Kspec) -> None:
    ran = kspec("prove", "runs_ad_up")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == "kspec: no lemma named 'runs_ad_up': did you mean runs_add_up?\n"


def test_without_z3_it_is_said_what_to_install(
    kspec: Kspec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "checkers.prove", raising=False)
    ran = kspec("prove", "runs_add_up")
    assert (ran.code, ran.out) == (151, "")
    assert ran.err == "kspec: proving needs z3: pip install 'kspec[prove]'\n"
    assert kspec("prove", "--list").code == 0


def test_z3_is_loaded_only_to_prove(
    shell: Callable[[str], subprocess.CompletedProcess[str]],
) -> None:
    line = "import sys, checkers.cli.prove; sys.exit('z3' in sys.modules)"
    assert shell(f'{sys.executable} -c "{line}"').returncode == 0
