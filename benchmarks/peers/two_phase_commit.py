"""Two-phase commit as a user of kspec would write it, with the rules of TLA+'s TwoPhase.

Messages are never removed: one that was sent can be received at any later time. The same rules
are in `two_phase_commit.m` for rumur and in `stateright/` for Stateright.
"""

# ruff: noqa: RUF005 - tuples are joined with + here, as most users write it

from __future__ import annotations

import attrs

from spec.core import Claims, Model, Step, Variant, always, bound, constant, rule


@attrs.frozen
class Bounds:
    managers: int = bound(7, 1, 12, "resource managers")


@attrs.frozen
class State:
    rm: tuple[str, ...]
    tm: str
    prepared: frozenset[int]
    """The managers that the transaction manager knows to be prepared."""
    messages: frozenset[tuple[str, int]]
    """Each with its sender: a manager, or TM."""
    bounds: Bounds = constant()


TM = -1


def managers(s: State) -> range:
    return range(s.bounds.managers)


@rule(by="manager", r=managers)
def manager_prepares(s: State, r: int) -> Step[State]:
    yield "working", s.rm[r] == "working"
    rm = s.rm[:r] + ("prepared",) + s.rm[r + 1 :]
    return attrs.evolve(s, rm=rm, messages=s.messages | {("prepared", r)})


@rule(by="manager", r=managers)
def manager_chooses_abort(s: State, r: int) -> Step[State]:
    yield "working", s.rm[r] == "working"
    return attrs.evolve(s, rm=s.rm[:r] + ("aborted",) + s.rm[r + 1 :])


@rule(by="manager", r=managers)
def manager_receives_commit(s: State, r: int) -> Step[State]:
    yield "commit was sent", ("commit", TM) in s.messages
    yield "not yet committed", s.rm[r] != "committed"
    return attrs.evolve(s, rm=s.rm[:r] + ("committed",) + s.rm[r + 1 :])


@rule(by="manager", r=managers)
def manager_receives_abort(s: State, r: int) -> Step[State]:
    yield "abort was sent", ("abort", TM) in s.messages
    yield "not yet aborted", s.rm[r] != "aborted"
    return attrs.evolve(s, rm=s.rm[:r] + ("aborted",) + s.rm[r + 1 :])


@rule(by="transaction manager", r=managers)
def tm_receives_prepared(s: State, r: int) -> Step[State]:
    yield "undecided", s.tm == "init"
    yield "prepared was sent", ("prepared", r) in s.messages
    yield "not yet received", r not in s.prepared
    return attrs.evolve(s, prepared=s.prepared | {r})


@rule(by="transaction manager")
def tm_commits(s: State) -> Step[State]:
    yield "undecided", s.tm == "init"
    yield "all managers are prepared", len(s.prepared) == s.bounds.managers
    return attrs.evolve(s, tm="committed", messages=s.messages | {("commit", TM)})


@rule(by="transaction manager")
def tm_aborts(s: State) -> Step[State]:
    yield "undecided", s.tm == "init"
    return attrs.evolve(s, tm="aborted", messages=s.messages | {("abort", TM)})


@always
def Consistent(s: State) -> Claims:
    """No manager is aborted while another is committed."""
    for one in managers(s):
        for other in managers(s):
            opposed = s.rm[one] == "aborted" and s.rm[other] == "committed"
            yield f"managers {one} and {other}", not opposed


def initial(bounds: Bounds) -> list[State]:
    return [State(("working",) * bounds.managers, "init", frozenset(), frozenset(), bounds=bounds)]


MANAGER = (
    manager_prepares,
    manager_chooses_abort,
    manager_receives_commit,
    manager_receives_abort,
)
TRANSACTION_MANAGER = (tm_receives_prepared, tm_commits, tm_aborts)

TWO_PHASE_COMMIT = Model(
    name="two-phase-commit",
    doc="Two-phase commit: one transaction manager, several resource managers.",
    bounds=Bounds,
    initial=initial,
    properties=(Consistent,),
    variants=(Variant("plain", (*MANAGER, *TRANSACTION_MANAGER), why="The protocol as it is."),),
    final=lambda s: True,
)
