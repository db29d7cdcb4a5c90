"""Single-decree Paxos: several proposers, and acceptors of which any majority chooses one value.

Messages are never removed: one that was sent can be received at any later time, more than once, or
not at all. The rules read the set of messages by parts: `each` lists messages as the choices of a
rule, `matching` and `count` select those of a class with given fields.

`benchmarks/peers` has the same rules for Stateright and TLC.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import attrs

from kspec.spec.core import (
    Model,
    Step,
    Variant,
    Violated,
    always,
    bound,
    constant,
    count,
    each,
    evolve,
    matching,
    reachable,
    replaced,
    rule,
)


@attrs.frozen
class Bounds:
    """The size of the system."""

    acceptors: int = bound(3, 1, 7, "acceptors")
    ballots: int = bound(2, 1, 6, "ballots")
    values: int = bound(2, 1, 3, "values that may be proposed")


@attrs.frozen
class Prepare:
    """A proposer asks for promises in a ballot."""

    ballot: int


@attrs.frozen
class Promise:
    """An acceptor takes part in a ballot, and in no lower one; it reports its last vote."""

    acceptor: int
    ballot: int
    voted: int
    """The ballot of its last vote, or NONE."""
    value: int
    """The value of its last vote, or NONE."""


@attrs.frozen
class Accept:
    """A proposer asks for votes for a value in a ballot."""

    ballot: int
    value: int


@attrs.frozen
class Accepted:
    """An acceptor votes for a value in a ballot."""

    acceptor: int
    ballot: int
    value: int


Message: TypeAlias = Prepare | Promise | Accept | Accepted

NONE = -1
"""No ballot, or no value."""


@attrs.frozen
class State:
    """The memory of the acceptors, and the messages. Proposers have no memory of their own."""

    promised: tuple[int, ...]
    """For each acceptor, the highest ballot in which it takes part, or NONE."""
    voted: tuple[int, ...]
    """For each acceptor, the ballot of its last vote, or NONE."""
    value: tuple[int, ...]
    """For each acceptor, the value of its last vote, or NONE."""
    sent: frozenset[Message] = frozenset()
    """Every message that was sent."""
    bounds: Bounds = constant()
    """The size of the system."""


def acceptors(s: State) -> range:
    """Every acceptor."""
    return range(s.bounds.acceptors)


def ballots(s: State) -> range:
    """Every ballot."""
    return range(s.bounds.ballots)


def values(s: State) -> range:
    """Every value that may be proposed."""
    return range(s.bounds.values)


def quorum(s: State) -> int:
    """The least number of acceptors that is a majority."""
    return s.bounds.acceptors // 2 + 1


@rule(by="proposer", ballot=ballots)
def proposer_prepares(s: State, ballot: int) -> Step[State]:
    """A proposer starts a ballot."""
    yield "ballot is new", Prepare(ballot) not in s.sent
    return evolve(s, sent=s.sent | {Prepare(ballot)})


@rule(by="acceptor", acceptor=acceptors, m=each("sent", Prepare))
def acceptor_promises(s: State, acceptor: int, m: Prepare) -> Step[State]:
    """An acceptor promises to take part in no ballot below this one."""
    yield "ballot is above the promised one", m.ballot > s.promised[acceptor]
    promise = Promise(acceptor, m.ballot, s.voted[acceptor], s.value[acceptor])
    promised = replaced(s.promised, acceptor, m.ballot)
    return evolve(s, promised=promised, sent=s.sent | {promise})


@rule(by="proposer", ballot=ballots, value=values)
def proposer_requests_votes(s: State, ballot: int, value: int) -> Step[State]:
    """A proposer with a quorum of promises asks for votes for a value that is safe."""
    yield "no value was proposed in this ballot", count(s.sent, Accept, ballot=ballot) == 0
    promises = matching(s.sent, Promise, ballot=ballot)
    yield "a quorum promised", len(promises) >= quorum(s)
    yield "value is safe", is_safe(promises, value, quorum(s))
    return evolve(s, sent=s.sent | {Accept(ballot, value)})


def is_safe(promises: Iterable[Promise], value: int, quorum: int) -> bool:
    """Whether in some quorum no acceptor has voted, or the highest vote is one for this value."""
    highest = [NONE, *(m.voted for m in promises if m.value == value)]
    return any(sum(m.voted <= ballot for m in promises) >= quorum for ballot in highest)


@rule(by="proposer", ballot=ballots, value=values)
def proposer_requests_votes_for_any_value(s: State, ballot: int, value: int) -> Step[State]:
    """A proposer with a quorum of promises asks for votes for any value, whatever they report."""
    yield "no value was proposed in this ballot", count(s.sent, Accept, ballot=ballot) == 0
    yield "a quorum promised", count(s.sent, Promise, ballot=ballot) >= quorum(s)
    return evolve(s, sent=s.sent | {Accept(ballot, value)})


@rule(by="acceptor", acceptor=acceptors, m=each("sent", Accept))
def acceptor_votes(s: State, acceptor: int, m: Accept) -> Step[State]:
    """An acceptor votes for a value, unless it takes part in a higher ballot."""
    vote = Accepted(acceptor, m.ballot, m.value)
    yield "ballot is not below the promised one", m.ballot >= s.promised[acceptor]
    yield "acceptor has not voted in this ballot", vote not in s.sent
    return evolve(
        s,
        promised=replaced(s.promised, acceptor, m.ballot),
        voted=replaced(s.voted, acceptor, m.ballot),
        value=replaced(s.value, acceptor, m.value),
        sent=s.sent | {vote},
    )


def chosen(s: State) -> set[int]:
    """The values for which a majority has voted in one ballot."""
    return {
        value
        for ballot in ballots(s)
        for value in values(s)
        if count(s.sent, Accepted, ballot=ballot, value=value) >= quorum(s)
    }


@always
def OneValueChosen(s: State) -> bool:
    """At most one value is chosen."""
    return len(chosen(s)) <= 1


@reachable
def ValueIsChosen(s: State) -> bool:
    """A value can be chosen."""
    return len(chosen(s)) == 1


def initial(bounds: Bounds) -> list[State]:
    """No acceptor has promised or voted, and no message was sent."""
    none = (NONE,) * bounds.acceptors
    return [State(none, none, none, bounds=bounds)]


SAFE_VALUES = Variant(
    "safe-values",
    rules=(proposer_prepares, acceptor_promises, proposer_requests_votes, acceptor_votes),
    why="A proposer takes over the value of the highest vote that its quorum reports.",
)

ANY_VALUE = SAFE_VALUES.derive(
    "any-value",
    replace={proposer_requests_votes: proposer_requests_votes_for_any_value},
    why="A value that a lower ballot chose is lost unless a higher ballot takes it over.",
    violates={"OneValueChosen": Violated(states=13)},
)

PAXOS = Model(
    name="paxos",
    doc="Single-decree Paxos: a majority of acceptors chooses one value.",
    bounds=Bounds,
    initial=initial,
    properties=(OneValueChosen, ValueIsChosen),
    variants=(SAFE_VALUES, ANY_VALUE),
    final=lambda s: True,
)
