"""Two-phase commit, with the rules of TLA+'s TwoPhase: a protocol with messages.

Messages are never removed: one that was sent can be received at any later time, and more than
once. `benchmarks/peers` has the same rules for rumur and Stateright.
"""

# ruff: noqa: RUF005 - tuples are joined with + here, as most users write it

from __future__ import annotations

from typing import Annotated, NewType

import attrs

from kspec.spec.core import Claims, Model, Step, Variant, always, bound, constant, rule


@attrs.frozen
class Bounds:
    """The size of the system."""

    managers: int = bound(3, 1, 12, "resource managers")


Manager = NewType("Manager", int)
"""A resource manager, by number. They are interchangeable."""


@attrs.frozen
class State:
    """The managers, the transaction manager, and the messages between them."""

    rm: Annotated[tuple[str, ...], Manager]
    """For each resource manager: working, prepared, committed or aborted."""
    tm: str
    """The transaction manager: init, committed or aborted."""
    prepared: frozenset[Manager]
    """The managers that the transaction manager knows to be prepared."""
    messages: frozenset[tuple[str, Manager]]
    """Every message that was sent, each with its sender: a manager, or TM."""
    bounds: Bounds = constant()
    """The size of the system."""


TM = Manager(-1)
"""The transaction manager, as the sender of a message."""


def managers(s: State) -> range:
    """Every resource manager."""
    return range(s.bounds.managers)


@rule(by="manager", r=managers)
def manager_prepares(s: State, r: Manager) -> Step[State]:
    """A working manager votes to commit."""
    yield "manager is working", s.rm[r] == "working"
    rm = s.rm[:r] + ("prepared",) + s.rm[r + 1 :]
    return attrs.evolve(s, rm=rm, messages=s.messages | {("prepared", r)})


@rule(by="manager", r=managers)
def manager_chooses_abort(s: State, r: Manager) -> Step[State]:
    """A working manager aborts on its own."""
    yield "manager is working", s.rm[r] == "working"
    return attrs.evolve(s, rm=s.rm[:r] + ("aborted",) + s.rm[r + 1 :])


@rule(by="manager", r=managers)
def manager_receives_commit(s: State, r: Manager) -> Step[State]:
    """A manager receives the decision to commit."""
    yield "commit was sent", ("commit", TM) in s.messages
    yield "manager has not committed", s.rm[r] != "committed"
    return attrs.evolve(s, rm=s.rm[:r] + ("committed",) + s.rm[r + 1 :])


@rule(by="manager", r=managers)
def manager_receives_abort(s: State, r: Manager) -> Step[State]:
    """A manager receives the decision to abort."""
    yield "abort was sent", ("abort", TM) in s.messages
    yield "manager has not aborted", s.rm[r] != "aborted"
    return attrs.evolve(s, rm=s.rm[:r] + ("aborted",) + s.rm[r + 1 :])


@rule(by="transaction manager", r=managers)
def tm_receives_prepared(s: State, r: Manager) -> Step[State]:
    """The transaction manager counts a manager's vote."""
    yield "transaction is undecided", s.tm == "init"
    yield "manager has voted to commit", ("prepared", r) in s.messages
    yield "vote was not counted", r not in s.prepared
    return attrs.evolve(s, prepared=s.prepared | {r})


@rule(by="transaction manager")
def tm_commits(s: State) -> Step[State]:
    """The transaction manager has every vote, and decides to commit."""
    yield "transaction is undecided", s.tm == "init"
    yield "all managers are prepared", len(s.prepared) == s.bounds.managers
    return attrs.evolve(s, tm="committed", messages=s.messages | {("commit", TM)})


@rule(by="transaction manager")
def tm_aborts(s: State) -> Step[State]:
    """The transaction manager decides to abort."""
    yield "transaction is undecided", s.tm == "init"
    return attrs.evolve(s, tm="aborted", messages=s.messages | {("abort", TM)})


@always
def Consistent(s: State) -> Claims:
    """No manager is aborted while another is committed."""
    for one in managers(s):
        for other in managers(s):
            opposed = s.rm[one] == "aborted" and s.rm[other] == "committed"
            yield f"managers {one} and {other}", not opposed


def initial(bounds: Bounds) -> list[State]:
    """Every manager is working, and no message was sent."""
    return [State(("working",) * bounds.managers, "init", frozenset(), frozenset(), bounds=bounds)]


RULES = (
    manager_prepares,
    manager_chooses_abort,
    manager_receives_commit,
    manager_receives_abort,
    tm_receives_prepared,
    tm_commits,
    tm_aborts,
)

TWO_PHASE_COMMIT = Model(
    name="two-phase-commit",
    doc="Two-phase commit: one transaction manager, several resource managers.",
    bounds=Bounds,
    initial=initial,
    symmetric={Manager: managers},
    properties=(Consistent,),
    variants=(Variant("plain", rules=RULES, why="The protocol as TLA+'s TwoPhase has it."),),
    final=lambda s: True,
)
