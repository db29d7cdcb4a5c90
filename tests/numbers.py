"""Numbers to try a lemma on."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from kspec.spec.lemmas import Lemma, Numbers


def number(of: Numbers) -> SearchStrategy[int]:
    """A number of the domain, often near zero or at an end."""
    edges = [n for n in (of.low, of.high, 0, 1, 2, 3) if n is not None and holds(of, n)]
    return st.one_of(st.integers(of.low, of.high), st.sampled_from(edges))


def holds(of: Numbers, n: int) -> bool:
    """Whether the domain has the number."""
    return (of.low is None or of.low <= n) and (of.high is None or n <= of.high)


def numbers_of(lemma: Lemma) -> SearchStrategy[dict[str, int]]:
    """Numbers for a lemma's variables."""
    return st.fixed_dictionaries({name: number(of) for name, of in lemma.domain.items()})
