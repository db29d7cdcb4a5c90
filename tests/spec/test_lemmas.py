"""Lemmas evaluated on plain numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kspec.checkers.proofs.lemmas import find_lemmas
from kspec.spec.core import Claims, SpecError
from kspec.spec.lemmas import INTEGER, NATURAL, Lemma, false_neighbour, lemma, provided
from tests.numbers import numbers_of

LEMMAS = find_lemmas()
STATEMENTS = [*LEMMAS, *(near for neighbours in LEMMAS.values() for near in neighbours)]


@pytest.mark.parametrize("stated", LEMMAS, ids=lambda stated: stated.name)
def test_every_lemma_holds_for_sampled_numbers(stated: Lemma) -> None:
    @given(numbers_of(stated))
    def try_it(numbers: dict[str, int]) -> None:
        assert stated.failure(**numbers) is None

    try_it()


@pytest.mark.parametrize("stated", STATEMENTS, ids=lambda stated: stated.name)
def test_every_statement_has_a_docstring(stated: Lemma) -> None:
    assert stated.summary.endswith(".")


@pytest.mark.parametrize("stated", LEMMAS, ids=lambda stated: stated.name)
def test_every_lemma_has_a_false_neighbour_and_functions(stated: Lemma) -> None:
    assert LEMMAS[stated]
    assert stated.speaks_of
    module = stated.body.__module__.removesuffix(".lemmas")
    assert all(function.__module__.startswith(module) for function in stated.speaks_of)


def test_statement_names_are_unique() -> None:
    names = [stated.name for stated in STATEMENTS]
    assert len(names) == len(set(names))


@lemma(abs, n=INTEGER, least=NATURAL)
def far_from_zero(n: int, least: int) -> Claims:
    """A number far from zero is far above or far below it."""
    yield provided("n is far"), abs(n) >= least
    yield f"{n} is above or below", n >= least or n <= -least
    yield f"{n} is above", n >= least


def test_the_first_false_claim_is_the_failure() -> None:
    assert far_from_zero.failure(n=5, least=3) is None
    assert far_from_zero.failure(n=-5, least=3) == "-5 is above"


def test_nothing_is_claimed_where_an_assumption_fails() -> None:
    assert list(far_from_zero.claims(n=1, least=3)) == []
    assert far_from_zero.failure(n=1, least=3) is None
    assert far_from_zero.conditions() == ["n is far"]


def test_a_false_neighbour_is_about_the_same_numbers() -> None:
    @false_neighbour(of=far_from_zero)
    def near_zero(least: int, n: int) -> Claims:
        """Not so."""
        yield "never", least != n

    assert near_zero.neighbour_of is far_from_zero
    assert near_zero.domain == {"n": INTEGER, "least": NATURAL}
    with pytest.raises(SpecError, match=r"^lemma other is about n, but its domain lists n, least$"):

        @false_neighbour(of=far_from_zero)
        def other(n: int) -> Claims:
            yield "", n == n


@given(st.integers(0), st.integers(0), st.lists(st.integers(0)))
def test_an_isr_of_any_size_counts_as_its_slowest_member(
    hw: int, leo: int, remote: list[int]
) -> None:
    """The lemma is about two followers; by induction it holds for any number."""
    from kspec.spec.watermarks import leader_hw

    assert leader_hw(hw, [leo, *remote]) == leader_hw(hw, [leo, min([leo, *remote])])
