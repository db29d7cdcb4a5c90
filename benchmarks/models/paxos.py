"""Single-decree Paxos as `examples/paxos.py`, in plain Python: comprehensions over all messages."""

from __future__ import annotations

from itertools import combinations

from attrs import frozen

from kspec.spec.core import (
    Model,
    Variant,
    always,
    bound,
    constant,
    evolve,
    reachable,
    replaced,
    rule,
)


@frozen
class Bounds:
    acceptors: int = bound(3, 1, 7, "acceptors")
    ballots: int = bound(2, 1, 6, "ballots")
    values: int = bound(2, 1, 3, "values")


@frozen
class Prepare:
    ballot: int


@frozen
class Promise:
    acceptor: int
    ballot: int
    voted: int
    value: int


@frozen
class Accept:
    ballot: int
    value: int


@frozen
class Accepted:
    acceptor: int
    ballot: int
    value: int


@frozen
class State:
    promised: tuple[int, ...]
    voted: tuple[int, ...]
    value: tuple[int, ...]
    sent: frozenset = frozenset()
    bounds: Bounds = constant()


def initial(bounds):
    none = (-1,) * bounds.acceptors
    return [State(none, none, none, bounds=bounds)]


def acceptors(s):
    return range(s.bounds.acceptors)


def ballots(s):
    return range(s.bounds.ballots)


def values(s):
    return range(s.bounds.values)


@rule(by="proposer", ballot=ballots)
def proposer_prepares(s, ballot):
    """A proposer starts a ballot."""
    yield "ballot is new", Prepare(ballot) not in s.sent
    return evolve(s, sent=s.sent | {Prepare(ballot)})


@rule(by="acceptor", acceptor=acceptors, ballot=ballots)
def acceptor_promises(s, acceptor, ballot):
    """An acceptor promises a ballot."""
    yield "prepare was sent", Prepare(ballot) in s.sent
    yield "ballot is higher than promised", ballot > s.promised[acceptor]
    m = Promise(acceptor, ballot, s.voted[acceptor], s.value[acceptor])
    return evolve(s, promised=replaced(s.promised, acceptor, ballot), sent=s.sent | {m})


@rule(by="proposer", ballot=ballots, value=values)
def proposer_requests_votes(s, ballot, value):
    """A proposer with a quorum of promises asks for votes for the value voted highest."""
    yield (
        "ballot has no value",
        not any(isinstance(m, Accept) and m.ballot == ballot for m in s.sent),
    )
    promises = [m for m in s.sent if isinstance(m, Promise) and m.ballot == ballot]
    yield "a quorum promised", 2 * len(promises) > s.bounds.acceptors
    is_safe = False
    for quorum in combinations(promises, s.bounds.acceptors // 2 + 1):
        top = max(m.voted for m in quorum)
        if top < 0 or any(m.voted == top and m.value == value for m in quorum):
            is_safe = True
    yield "value is safe", is_safe
    return evolve(s, sent=s.sent | {Accept(ballot, value)})


@rule(by="acceptor", acceptor=acceptors, ballot=ballots, value=values)
def acceptor_votes(s, acceptor, ballot, value):
    """An acceptor votes."""
    yield "accept was sent", Accept(ballot, value) in s.sent
    yield "ballot is not below the promised", ballot >= s.promised[acceptor]
    vote = Accepted(acceptor, ballot, value)
    yield "acceptor has not voted in this ballot", vote not in s.sent
    return evolve(
        s,
        promised=replaced(s.promised, acceptor, ballot),
        voted=replaced(s.voted, acceptor, ballot),
        value=replaced(s.value, acceptor, value),
        sent=s.sent | {vote},
    )


def chosen(s):
    found = set()
    for ballot in range(s.bounds.ballots):
        for value in range(s.bounds.values):
            votes = [
                m
                for m in s.sent
                if isinstance(m, Accepted) and m.ballot == ballot and m.value == value
            ]
            if 2 * len(votes) > s.bounds.acceptors:
                found.add(value)
    return found


@always
def OneValueChosen(s):
    """At most one value is chosen."""
    return len(chosen(s)) <= 1


@reachable
def ValueIsChosen(s):
    """A value can be chosen."""
    return len(chosen(s)) == 1


PAXOS = Model(
    name="paxos-plain",
    doc="Single-decree Paxos.",
    bounds=Bounds,
    initial=initial,
    properties=(OneValueChosen, ValueIsChosen),
    variants=(
        Variant(
            "plain",
            rules=(proposer_prepares, acceptor_promises, proposer_requests_votes, acceptor_votes),
            why="As a user writes it.",
        ),
    ),
    final=lambda s: True,
)
