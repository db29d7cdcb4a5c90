"""Rules that read parts of a set of messages: engines agree, however the rules say it."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from kspec.checkers.engine.learned import tables
from kspec.checkers.engine.learned.learnable import Learnable
from kspec.checkers.engine.learned.search import explore_by_learning
from kspec.checkers.engine.options import Options
from kspec.checkers.engine.reference import explore
from kspec.spec.core import (
    Model,
    System,
    Variant,
    always,
    count,
    distinct,
    each,
    evolve,
    highest,
    matching,
    reachable,
    rule,
)
from tests.checkers.engine.learned.agreement import summary

NODES = range(2)


@frozen(order=True)
class Ask:
    """A candidate asks for votes."""

    term: int
    candidate: int


@frozen(order=True)
class Vote:
    """A node votes."""

    term: int
    candidate: int
    voter: int


@frozen
class Election:
    """Messages, and the term that each node knows."""

    sent: frozenset[Any] = frozenset()
    terms: tuple[int, ...] = (0, 0)
    leaders: frozenset[Any] = frozenset()


def nodes(s: Election) -> range:
    """The nodes."""
    return NODES


@rule(by="candidate", candidate=nodes)
def candidate_asks(s: Election, candidate: int) -> Any:
    """A node asks for votes in the next term."""
    yield "a term is left", s.terms[candidate] < 2
    term = s.terms[candidate] + 1
    sent = s.sent - {Ask(term - 1, candidate)} | {Ask(term, candidate)}
    return with_term(evolve(s, sent=sent), candidate)


def with_term(s: Election, node: int) -> Election:
    """The node is one term further."""
    return evolve(s, terms=tuple(t + (n == node) for n, t in enumerate(s.terms)))


def voted(s: Election, m: Ask, voter: int) -> Election:
    """The node votes."""
    vote = Vote(m.term, m.candidate, voter)
    terms = tuple(m.term if n == voter else t for n, t in enumerate(s.terms))
    return evolve(s, sent=s.sent | {vote}, terms=terms)


@rule(by="voter", voter=nodes, m=each("sent", Ask))
def by_words(s: Election, voter: int, m: Ask) -> Any:
    """A vote, in words."""
    yield "term is current", m.term >= s.terms[voter]
    yield "no vote in this term", not matching(s.sent, Vote, term=m.term, voter=voter)
    yield "highest", m.term >= highest(s.sent, "term", Vote, voter=voter, default=0)
    return voted(s, m, voter)


@rule(by="voter", voter=nodes, m=lambda s: sorted(m for m in s.sent if isinstance(m, Ask)))
def by_comprehension(s: Election, voter: int, m: Ask) -> Any:
    """A vote, in comprehensions."""
    yield "term is current", m.term >= s.terms[voter]
    own = [v for v in s.sent if isinstance(v, Vote) and v.term == m.term and v.voter == voter]
    yield "no vote in this term", not own
    terms = [v.term for v in s.sent if isinstance(v, Vote) and v.voter == voter]
    yield "highest", m.term >= max(terms, default=0)
    return voted(s, m, voter)


def has_voted(s: Election, term: int, voter: int) -> bool:
    """Whether a node has voted in a term."""
    for m in s.sent:
        if isinstance(m, Ask) or m.term != term:
            continue
        if m.voter == voter:
            return True
    return False


@rule(by="voter", voter=nodes, m=lambda s: s.sent)
def by_loop(s: Election, voter: int, m: Any) -> Any:
    """A vote, in loops."""
    yield "it asks", isinstance(m, Ask)
    yield "term is current", m.term >= s.terms[voter]
    yield "no vote in this term", not has_voted(s, m.term, voter)
    above = any(isinstance(v, Vote) and v.voter == voter and v.term > m.term for v in s.sent)
    yield "highest", not above
    return voted(s, m, voter)


@rule(by="candidate", candidate=nodes)
def leads_by_words(s: Election, candidate: int) -> Any:
    """A majority, in words."""
    term = s.terms[candidate]
    yield "counted", count(s.sent, Vote, term=term, candidate=candidate) >= 2
    voters = distinct(s.sent, "voter", Vote, term=term, candidate=candidate)
    return evolve(s, leaders=s.leaders | {(term, candidate, min(voters))})


@rule(by="candidate", candidate=nodes)
def leads_by_comprehension(s: Election, candidate: int) -> Any:
    """A majority, in comprehensions."""
    term = s.terms[candidate]
    votes = {
        m.voter
        for m in s.sent
        if isinstance(m, Vote) and m.term == s.terms[candidate] and m.candidate == candidate
    }
    yield "counted", len(votes) >= 2
    return evolve(s, leaders=s.leaders | {(term, candidate, min(votes))})


@always
def OneLeaderPerTerm(s: Election) -> bool:
    """At most one node leads in a term."""
    return all(
        one[:2] == other[:2] or one[0] != other[0] for one in s.leaders for other in s.leaders
    )


@always(node=nodes)
def OneVotePerTerm(s: Election, node: int) -> bool:
    """A node votes once in a term."""
    votes = [m for m in s.sent if isinstance(m, Vote) and m.voter == node]
    return len(votes) == len({m.term for m in votes})


@reachable
def SomeNodeLeads(s: Election) -> bool:
    """Some node can lead."""
    return any(term == 2 for term, _, _ in s.leaders)


STYLES: dict[str, Any] = {
    "words": (candidate_asks, by_words, leads_by_words),
    "comprehensions": (candidate_asks, by_comprehension, leads_by_comprehension),
    "loops": (candidate_asks, by_loop, leads_by_comprehension),
}


def system_of(style: str) -> System[Any]:
    """The election, in one style."""
    model: Model[Any] = Model(
        name="election", doc="An election.", initial=lambda bounds: [Election()],
        properties=(OneLeaderPerTerm, OneVotePerTerm, SomeNodeLeads),
        variants=tuple(Variant(name, rules, why="A style.") for name, rules in STYLES.items()),
        final=lambda s: not any(isinstance(m, Ask) for m in s.sent),
    )  # fmt: skip
    return model.system(style)


@pytest.mark.parametrize("style", STYLES)
def test_engines_agree_in_every_style(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a rule runs a few times only, since it reads parts of the set."""
    monkeypatch.setattr(tables, "FROM", 8)
    system = system_of(style)
    options, learned = Options(workers=1, keep_going=True, check_learning=True), Learnable()
    verdict = explore_by_learning(system, options, learned)
    found = summary(verdict)
    assert found == summary(explore(system, Options(keep_going=True)))
    assert found["distinct"] == 303
    assert "sent" in learned.layout.divided
    assert verdict.statistics["learned"]["runs"] < 200
