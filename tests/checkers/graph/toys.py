"""The modules in `tla` as kspec models: fairness and properties have the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from kspec.spec.core import (
    EventuallyAlways,
    InfinitelyOften,
    LeadsTo,
    Model,
    Rule,
    Step,
    System,
    Variant,
    evolve,
    replaced,
    rule,
    together,
)

Fairness = tuple[Sequence[Any], Sequence[Any]]
"""The weakly and the strongly fair rules."""


@attrs.frozen
class Toy:
    """A module of TLA+."""

    initial: Any
    rules: tuple[Rule[Any], ...]
    specifications: Mapping[str, Fairness]
    properties: Mapping[str, tuple[type[Any], Callable[[Any], Any]]]

    def system(self, specification: str, prop: str) -> System[Any]:
        """The system of one specification, with one property."""
        kind, body = self.properties[prop]
        model: Model[Any] = Model(
            name="toy",
            doc="A toy.",
            initial=lambda bounds: [self.initial],
            properties=(kind(prop, body, *self.specifications[specification]),),
            variants=(Variant("toy", self.rules, why=""),),
            final=lambda s: True,
        )
        return model.system()


def pair(s: Any) -> range:
    """Two of something."""
    return range(2)


# -- Lamp -----------------------------------------------------------------------------------------


@attrs.frozen
class Lamp:
    on: bool = False
    broken: bool = False


@rule(by="someone")
def switch(s: Lamp) -> Step[Lamp]:
    yield "works", not s.broken
    return evolve(s, on=not s.on)


@rule(by="time")
def burn_out(s: Lamp) -> Step[Lamp]:
    yield "is on", s.on
    yield "works", not s.broken
    return evolve(s, broken=True)


LAMP = Toy(
    Lamp(),
    (switch, burn_out),
    {
        "None": ([], []),
        "WeakBoth": ([switch, burn_out], []),
        "WeakTogether": ([together(switch, burn_out)], []),
        "WeakSwitch": ([switch], []),
        "StrongBurn": ([], [burn_out]),
        "WeakAndStrong": ([switch], [burn_out]),
    },
    {
        "Breaks": (LeadsTo, lambda s: (True, s.broken)),
        "OnAgain": (InfinitelyOften, lambda s: s.on),
        "StaysBroken": (EventuallyAlways, lambda s: s.broken),
        "StaysOff": (EventuallyAlways, lambda s: not s.on),
    },
)


# -- Clerk ----------------------------------------------------------------------------------------


@attrs.frozen
class Clerk:
    served: frozenset[int] = frozenset()
    turn: int = 0


@rule(by="clerk", customer=pair)
def serve(s: Clerk, customer: int) -> Clerk:
    return Clerk(s.served | {customer}, 1 - s.turn)


CLERK = Toy(
    Clerk(),
    (serve,),
    {
        "None": ([], []),
        "WeakEach": ([serve], []),
        "WeakWhole": ([together(serve)], []),
        "StrongWhole": ([], [together(serve)]),
    },
    {
        "BothServed": (LeadsTo, lambda s: (True, len(s.served) == 2)),
        "SomeoneServed": (LeadsTo, lambda s: (True, bool(s.served))),
        "TurnsPass": (InfinitelyOften, lambda s: s.turn == 1),
        "FirstStays": (EventuallyAlways, lambda s: 0 in s.served),
    },
)


# -- Semaphore ------------------------------------------------------------------------------------

IDLE, WAITING, CRITICAL = "idle", "waiting", "critical"


@attrs.frozen
class Semaphore:
    at: tuple[str, ...] = (IDLE, IDLE)


@rule(by="process", process=pair)
def ask(s: Semaphore, process: int) -> Step[Semaphore]:
    yield "is idle", s.at[process] == IDLE
    return evolve(s, at=replaced(s.at, process, WAITING))


@rule(by="process", process=pair)
def enter(s: Semaphore, process: int) -> Step[Semaphore]:
    yield "waits", s.at[process] == WAITING
    yield "section is free", CRITICAL not in s.at
    return evolve(s, at=replaced(s.at, process, CRITICAL))


@rule(by="process", process=pair)
def leave(s: Semaphore, process: int) -> Step[Semaphore]:
    yield "is in the section", s.at[process] == CRITICAL
    return evolve(s, at=replaced(s.at, process, IDLE))


SEMAPHORE = Toy(
    Semaphore(),
    (ask, enter, leave),
    {
        "None": ([], []),
        "Weak": ([enter, leave], []),
        "StrongEnter": ([leave], [enter]),
        "StrongWhole": ([leave], [together(enter)]),
        "StrongOnly": ([], [enter]),
    },
    {
        "FirstEnters": (LeadsTo, lambda s: (s.at[0] == WAITING, s.at[0] == CRITICAL)),
        "SomeoneEnters": (LeadsTo, lambda s: (WAITING in s.at, CRITICAL in s.at)),
        "FirstIdleAgain": (InfinitelyOften, lambda s: s.at[0] != CRITICAL),
    },
)


# -- Channel --------------------------------------------------------------------------------------


@attrs.frozen
class Channel:
    in_flight: bool = False
    received: bool = False


@rule(by="sender")
def send(s: Channel) -> Step[Channel]:
    yield "nothing is in flight", not s.in_flight
    yield "nothing is received", not s.received
    return evolve(s, in_flight=True)


@rule(by="network")
def lose(s: Channel) -> Step[Channel]:
    yield "something is in flight", s.in_flight
    return evolve(s, in_flight=False)


@rule(by="receiver")
def receive(s: Channel) -> Step[Channel]:
    yield "something is in flight", s.in_flight
    return Channel(in_flight=False, received=True)


CHANNEL = Toy(
    Channel(),
    (send, lose, receive),
    {
        "None": ([], []),
        "Weak": ([send, receive], []),
        "StrongReceive": ([send], [receive]),
        "OnlyStrongReceive": ([], [receive]),
    },
    {
        "Arrives": (LeadsTo, lambda s: (True, s.received)),
        "ChannelEmpties": (LeadsTo, lambda s: (s.in_flight, not s.in_flight)),
        "EmptyAgain": (InfinitelyOften, lambda s: not s.in_flight),
        "StaysReceived": (EventuallyAlways, lambda s: s.received),
    },
)


# -- Twins ----------------------------------------------------------------------------------------


@attrs.frozen
class Twins:
    x: int = 0


def leading(name: str, begin: int, end: int) -> Rule[Twins]:
    """A rule from one number to another."""

    def body(s: Twins) -> Step[Twins]:
        yield "is there", s.x == begin
        return Twins(end)

    return Rule(name, "x", {}, body)


up, also_up = leading("up", 0, 1), leading("also_up", 0, 1)
down, rest, out = leading("down", 1, 0), leading("rest", 1, 1), leading("out", 1, 2)

TWINS = Toy(
    Twins(),
    (up, also_up, down, rest, out),
    {
        "None": ([], []),
        "StrongTwins": ([down], [up, also_up]),
        "WeakRest": ([up, rest], []),
        "StrongRest": ([up], [rest]),
        "StrongOut": ([up], [out]),
        "WeakOut": ([up, out], []),
        "WeakOutAndDown": ([up, out, down], []),
    },
    {
        "Leaves": (LeadsTo, lambda s: (True, s.x == 2)),
        "OneAgain": (InfinitelyOften, lambda s: s.x == 1),
        "ZeroAgain": (InfinitelyOften, lambda s: s.x == 0),
        "StaysOut": (EventuallyAlways, lambda s: s.x == 2),
        "StaysUp": (EventuallyAlways, lambda s: s.x >= 1),
    },
)


# -- Fetches --------------------------------------------------------------------------------------


@attrs.frozen
class Fetches:
    at: tuple[int, ...] = (0, 0)
    last: int = 0


@rule(by="follower", leader=pair, follower=pair)
def fetch(s: Fetches, leader: int, follower: int) -> Step[Fetches]:
    yield "is elsewhere", s.at[follower] != leader
    return Fetches(replaced(s.at, follower, leader), follower)


FETCHES = Toy(
    Fetches(),
    (fetch,),
    {
        "None": ([], []),
        "WeakEach": ([fetch], []),
        "StrongEach": ([], [fetch]),
        "WeakByFollower": ([together(fetch, each=["follower"])], []),
        "WeakWhole": ([together(fetch)], []),
    },
    {
        "SecondFetches": (InfinitelyOften, lambda s: s.last == 1),
        "FirstMoves": (InfinitelyOften, lambda s: s.at[0] == 1),
        "SomeoneMoves": (LeadsTo, lambda s: (True, s.at != (0, 0))),
        "FirstStays": (EventuallyAlways, lambda s: s.at[0] == 0),
    },
)

TOYS = {
    "Channel": CHANNEL,
    "Clerk": CLERK,
    "Fetches": FETCHES,
    "Lamp": LAMP,
    "Semaphore": SEMAPHORE,
    "Twins": TWINS,
}
