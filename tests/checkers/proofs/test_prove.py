"""Lemmas proved for all numbers at once."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kspec.checkers.proofs.lemmas import find_lemmas
from kspec.checkers.proofs.prove import Cases, Proof, judge, prove
from kspec.spec.core import Claims, SpecError
from kspec.spec.java import INT_MIN
from kspec.spec.lemmas import INTEGER, NATURAL, POSITIVE, Lemma, Numbers, lemma, provided
from tests.numbers import numbers_of

LEMMAS = find_lemmas()
STATEMENTS = [*LEMMAS, *(near for neighbours in LEMMAS.values() for near in neighbours)]
LONG = 3600.0


@functools.cache
def proof(of: Lemma) -> Proof:
    """Each proof, done once."""
    return prove(of, LEMMAS[of], LONG)


@pytest.mark.parametrize("stated", LEMMAS, ids=lambda stated: stated.name)
def test_every_lemma_is_proved(stated: Lemma) -> None:
    assert proof(stated).finding.verdict == "holds"
    assert proof(stated).verdict == "holds"


@pytest.mark.parametrize("stated", LEMMAS, ids=lambda stated: stated.name)
def test_every_false_neighbour_is_false_for_its_counterexample(stated: Lemma) -> None:
    for near, finding in proof(stated).neighbours.items():
        assert finding.counterexample is not None
        says = near.failure(**finding.counterexample)
        assert finding.fails == f"it is false that {says}"
        assert stated.failure(**finding.counterexample) is None


def test_the_one_hash_is_found() -> None:
    told = {
        near.name: finding.counterexample
        for stated in LEMMAS
        for near, finding in proof(stated).neighbours.items()
    }
    for name in (
        "the_third_rule_gives_a_partition",
        "the_third_rule_always_fails_for_one_hash",
        "two_rules_agree_on_every_hash",
    ):
        numbers = told[name]
        assert numbers is not None
        assert numbers["h"] == INT_MIN


@pytest.mark.slow
def test_a_counterexample_need_not_be_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kspec.checkers.proofs.prove.SMALL_EFFORT", 1)
    for stated, neighbours in LEMMAS.items():
        for near in neighbours:
            finding = judge(near, LONG)
            assert finding.counterexample is not None
            assert stated.failure(**finding.counterexample) is None


# -- the numbers that z3 computes with are Python's ---------------------------------------------


def pinned(stated: Lemma, numbers: dict[str, int]) -> Lemma:
    """The same statement, about these numbers only."""
    return attrs.evolve(stated, domain={name: Numbers("", n, n) for name, n in numbers.items()})


@pytest.mark.slow
@given(st.data(), st.sampled_from(STATEMENTS))
@settings(max_examples=30)
def test_proofs_agree_with_running_the_function_on_fixed_numbers(
    data: st.DataObject, stated: Lemma
) -> None:
    numbers = data.draw(numbers_of(stated))
    if not list(stated.claims(**numbers)):
        return
    finding = judge(pinned(stated, numbers), LONG)
    assert (finding.verdict == "holds") == (stated.failure(**numbers) is None)


OPERATIONS: list[Callable[[Any, Any], Any]] = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, divmod),
    *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
    *(min, max, lambda a, b: abs(a) - b, lambda a, b: -a if b else +a, lambda a, b: sum([a, b])),
]

SMALL = st.integers(-7, 7)
WIDE = st.one_of(SMALL, st.integers(), st.sampled_from([INT_MIN, -INT_MIN, 2**32]))


@pytest.mark.slow
@given(st.sampled_from(OPERATIONS), WIDE, WIDE, st.sampled_from(["both", "left", "right"]))
@settings(max_examples=100)
def test_symbolic_numbers_compute_as_python_integers(
    operation: Callable[[Any, Any], Any], a: int, b: int, which: str
) -> None:
    def result(x: Any, y: Any) -> Any:
        try:
            return operation(x, y)
        except ZeroDivisionError:
            return "divided by zero"

    @lemma(a=Numbers("", a, a), b=Numbers("", b, b))
    def same(a: int, b: int) -> Claims:
        yield "the same", True

    plain = result(a, b)
    (numbers,) = Cases(same, LONG)
    x: Any = numbers["a"] if which != "right" else a
    y: Any = numbers["b"] if which != "left" else b
    told = result(x, y)
    assert told == plain


# -- what a lemma can come to -------------------------------------------------------------------


@lemma(n=INTEGER)
def squares_are_above(n: int) -> Claims:
    """False for 0 and 1."""
    yield f"{n * n} is above {n}", n * n > n


@lemma(n=NATURAL, parts=NATURAL)
def shares_are_fair(n: int, parts: int) -> Claims:
    """Fails without members."""
    yield "shared", n // parts * parts <= n


@lemma(x=POSITIVE, y=POSITIVE, z=POSITIVE)
def cubes_do_not_add_up(x: int, y: int, z: int) -> Claims:
    """True, and hard to prove."""
    yield "no cube", x * x * x + y * y * y != z * z * z


@lemma(n=NATURAL)
def counting_ends(n: int) -> Claims:
    """True for each number, but with infinitely many cases."""
    i = 0
    while i < n:
        i += 1
    yield "there", i == n


def test_a_wrong_lemma_is_refuted_by_small_numbers() -> None:
    finding = judge(squares_are_above, LONG)
    assert finding.verdict == "violated"
    assert finding.counterexample in ({"n": 0}, {"n": 1})


def test_an_exception_in_a_function_refutes_its_lemma() -> None:
    finding = judge(shares_are_fair, LONG)
    assert finding.counterexample is not None
    assert finding.counterexample["parts"] == 0
    assert finding.fails.startswith("ZeroDivisionError: ")


@pytest.mark.parametrize("stated", [cubes_do_not_add_up, counting_ends])
def test_the_solver_gives_up_when_the_time_is_up(stated: Lemma) -> None:
    finding = judge(stated, 0.1)
    assert (finding.verdict, finding.stopped_by) == ("inconclusive", "time")


def test_a_lemma_with_a_true_neighbour_is_not_proved() -> None:
    assert prove(squares_are_above, [], LONG).verdict == "violated"
    stated, *_ = LEMMAS
    assert prove(stated, [stated], LONG).verdict == "violated"
    assert prove(stated, [cubes_do_not_add_up], 0.1).verdict == "inconclusive"


def test_a_lemma_that_claims_nothing_is_refused() -> None:
    @lemma(n=NATURAL)
    def empty(n: int) -> Claims:
        yield provided("n is negative"), n < 0
        yield "anything", n == n + 1

    with pytest.raises(SpecError, match=r"^empty claims nothing: no numbers meet its conditions$"):
        judge(empty, LONG)


@pytest.mark.parametrize(
    "use",
    [
        lambda n: [0] * len(range(n)),
        lambda n: n & 1,
        lambda n: n / 2,
        lambda n: n == 1.0,
        lambda n: {n: 1},
    ],
    ids=["count", "bits", "fractions", "compare", "hash"],
)
def test_unsupported_functions_are_reported(use: Callable[[int], object]) -> None:
    @lemma(n=NATURAL)
    def unreadable(n: int) -> Claims:
        use(n)
        yield "fine", True

    with pytest.raises(SpecError, match=r"^unreadable cannot be run for all numbers at once: "):
        judge(unreadable, LONG)


def test_a_function_cannot_catch_that_the_solver_gave_up() -> None:
    @lemma(x=POSITIVE, y=POSITIVE, z=POSITIVE)
    def hiding(x: int, y: int, z: int) -> Claims:
        try:
            true = x * x * x + y * y * y != z * z * z
        except Exception:
            true = True
        yield "no cube", true

    assert judge(hiding, 0.1).verdict == "inconclusive"
