"""The world of the model: a coordinator, some consumers, and what is on the way between them.

Each consumer has one request on its way at most, to join or to sync, or the answer to it; and
one that it gave up on, which may still arrive. Heartbeats, commits and leaving reach the
coordinator at once (a request that travels says no more than one that is sent later by a
consumer that has not heard anything in between); their answers may be late.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import attrs

from spec.core import (
    bound,
    constant,
    evolve,
    replaced,
    tally,
)
from spec.group.coordinator import HUNG_UP, Group, Outcome
from spec.messages import (
    NO_GENERATION,
    NOBODY,
    Error,
    GroupMetadata,
    GroupState,
    Joined,
    JoinGroup,
    Settings,
    Synced,
    SyncGroup,
)

MODEL_SETTINGS = Settings(initial_rebalance_delay=1, min_session_timeout=1, max_session_timeout=1)
"""A clock with few ticks: the initial delay can be extended once."""
REBALANCE_TIMEOUT = 2
SESSION_TIMEOUT = 1

NAMES = "abcdefgh"
"""The consumers, by number."""


@attrs.frozen
class Bounds:
    """How large the group is, and how much goes wrong."""

    consumers: int = bound(2, 1, 4, "consumers that share the group")
    static: int = bound(0, 0, 4, "how many of them have a group.instance.id")
    partitions: int = bound(2, 1, 4, "partitions of the topic, at first")
    growths: int = bound(0, 0, 2, "how often the topic gets another partition")
    ids: int = bound(2, 1, 4, "member ids that each consumer is ever given")
    generations: int = bound(3, 1, 12, "the last generation")
    crashes: int = bound(1, 0, 4, "consumers that crash, and may come back")
    failovers: int = bound(1, 0, 3, "times that the group moves to another coordinator")
    losses: int = bound(0, 0, 4, "requests and answers that are lost on the way")
    early: int = bound(0, 0, 4, "timers that fire although the one they wait for is only slow")
    stalls: int = bound(0, 0, 2, "consumers that stop polling, while their heartbeats go on")
    leaves: int = bound(0, 0, 4, "consumers that are closed")


class Phase(StrEnum):
    """Where a consumer is. Kafka: `AbstractCoordinator.MemberState`, and three ways to be gone."""

    OUT = "out"
    """It will join at its next poll. Kafka: UNJOINED."""
    JOINING = "joining"
    """Its JoinGroup is not answered yet. Kafka: PREPARING_REBALANCE."""
    SYNCING = "syncing"
    """Its SyncGroup is not answered yet. Kafka: COMPLETING_REBALANCE."""
    STABLE = "stable"
    """It has an assignment."""
    CRASHED = "crashed"
    CLOSED = "closed"
    FENCED = "fenced"
    """Another one has its instance id: a fatal error."""


GONE = (Phase.CRASHED, Phase.CLOSED, Phase.FENCED)


@attrs.frozen
class Consumer:
    """One consumer of the group. Kafka: `ConsumerCoordinator` and its heartbeat thread."""

    phase: Phase = Phase.OUT
    polls: bool = True
    """Whether the application calls poll; if not, the heartbeat thread goes on alone."""
    member: str = NOBODY
    """The id it was given."""
    generation: int = NO_GENERATION
    """The generation it believes to be in."""
    owned: tuple[int, ...] = ()
    """The partitions that the application holds, as its listener was told."""
    told: tuple[int, ...] | None = None
    """An assignment that has come, and that the listener was not told yet."""
    wants_to_rejoin: bool = False
    """Whether it will join again at its next poll, though it is in a generation."""
    planned: int = 0
    """For how many partitions it assigned, if it is the leader; to see when there are more."""
    coordinator: int | None = None
    """The coordinator it found, by number, if it knows one."""
    call: JoinGroup | SyncGroup | Joined | Synced | None = None
    """Its request on the way, or the answer. None while the coordinator has it, or nobody."""
    late: JoinGroup | SyncGroup | None = None
    """A request that it gave up on before it arrived."""
    beat: Error | None = None
    """The error that answers a heartbeat or a commit, on its way."""
    beat_is_old: bool = False
    """Whether that request was sent by an earlier self: with another id or generation."""
    ids: int = 0
    """How many ids it was given, ever."""

    @property
    def runs(self) -> bool:
        """Whether its process is there."""
        return self.phase not in GONE

    @property
    def beats(self) -> bool:
        """Whether its heartbeat thread is at work."""
        return self.phase in (Phase.SYNCING, Phase.STABLE) and self.coordinator is not None


@attrs.frozen
class Owns:
    """What a member's subscription says beside its topics. Kafka: ConsumerProtocolSubscription."""

    partitions: tuple[int, ...]
    generation: int
    """The generation in which it was given them."""


@attrs.frozen
class Faults:
    """What has gone wrong so far."""

    crashes: int = tally()
    losses: int = tally()
    early: int = tally()
    stalls: int = tally()
    leaves: int = tally()


@attrs.frozen
class Ghosts:
    """What nobody in Kafka remembers, and a property speaks of."""

    commit_behind: int = 0
    """By how many generations an accepted commit was ever behind the group's."""
    commit_beside: bool = False
    """Whether a commit of a consumer outside the group was ever taken while it had members."""


@attrs.frozen(cache_hash=True)
class World:
    """A group, its coordinator and its consumers."""

    group: Group
    """The group in its coordinator's memory; dead while it moves to another one."""
    consumers: tuple[Consumer, ...]
    """By number; consumer 0 is called a, and gets the ids a1, a2 and so on."""
    stored: GroupMetadata | None = None
    """The group as the offsets topic has it."""
    coordinator: int = 0
    """How often the group has moved: the number of its coordinator."""
    partitions: int = 2
    """How many partitions the topic has."""
    faults: Faults = Faults()
    """What has gone wrong so far."""
    ghosts: Ghosts = Ghosts()
    """What properties remember."""
    bounds: Bounds = constant()
    """How large this world is."""

    # -- words that the rules are told in -----------------------------------------------------

    def instance(self, consumer: int) -> str | None:
        """The `group.instance.id` of a consumer, if it is static."""
        return f"{NAMES[consumer]}-static" if consumer < self.bounds.static else None

    def holder(self, member_id: str) -> int | None:
        """The consumer that goes by this id, or is about to hear of it, if it still does."""
        for number, c in enumerate(self.consumers):
            member = self.group.member(member_id)
            waits = member is not None and number in (member.joining, member.syncing)
            hears = isinstance(c.call, Joined) and c.call.member == member_id
            if c.runs and (c.member == member_id or waits or hears):
                return number
        return None

    def is_expected(self, member_id: str) -> bool:
        """Whether somebody who polls goes by this id: it will do what is waited for, in time."""
        number = self.holder(member_id)
        return number is not None and self.consumers[number].polls

    def is_heard(self, member_id: str) -> bool:
        """Whether heartbeats come for this id, or will."""
        number = self.holder(member_id)
        return number is not None and (self.consumers[number].polls or self.consumers[number].beats)

    def waits_at_coordinator(self, consumer: int) -> bool:
        """Whether the coordinator owes it an answer."""
        return any(consumer in (m.joining, m.syncing) for m in self.group.members)

    def finds(self, consumer: int) -> bool:
        """Whether the coordinator that it knows is the one."""
        return (
            self.consumers[consumer].coordinator == self.coordinator
            and self.group.state is not GroupState.DEAD
        )

    # -- updates that several rules share -----------------------------------------------------

    def with_consumer(self, consumer: int, **changes: Any) -> World:
        """The world with one consumer changed."""
        changed = evolve(self.consumers[consumer], **changes)
        return evolve(self, consumers=replaced(self.consumers, consumer, changed))

    def after(self, outcome: Outcome) -> World:
        """The world after the coordinator did something: its answers are on their way."""
        world = evolve(self, group=outcome.group, stored=outcome.record or self.stored)
        for caller, answer in outcome.answers:
            if caller == HUNG_UP or not isinstance(caller, int):
                continue
            if isinstance(answer, Joined | Synced):
                world = world.with_consumer(caller, call=answer)
        return world

    def gives_up(self, consumer: int, **changes: Any) -> World:
        """A consumer no longer waits for an answer. Its request may still arrive."""
        c = self.consumers[consumer]
        late = (
            c.call if isinstance(c.call, JoinGroup | SyncGroup) and self.finds(consumer) else None
        )
        world = evolve(self, group=self.group.hangs_up(consumer))
        return world.with_consumer(consumer, call=None, late=late or c.late, **changes)

    def with_fault(self, **more: int) -> World:
        """The world with one more thing gone wrong."""
        counted = {name: getattr(self.faults, name) + by for name, by in more.items()}
        return evolve(self, faults=evolve(self.faults, **counted))

    def with_ghosts(self, **changes: Any) -> World:
        """The world with something that properties remember."""
        return evolve(self, ghosts=evolve(self.ghosts, **changes))


def initial(bounds: Bounds) -> list[World]:
    """Nobody has joined, and the offsets topic has nothing."""
    return [
        World(
            group=Group(settings=MODEL_SETTINGS),
            consumers=(Consumer(),) * bounds.consumers,
            partitions=bounds.partitions,
            bounds=bounds,
        )
    ]


def everybody_is_gone(s: World) -> bool:
    """Whether no consumer is left, and the group has heard of it."""
    return all(not c.runs for c in s.consumers) and s.group.state is GroupState.EMPTY


# -- what rules choose from -------------------------------------------------------------------


class Ask(NamedTuple):
    """A request that has come to the coordinator."""

    consumer: int
    """Who sent it."""
    late: bool
    """Whether its sender has given up on it."""

    def __str__(self) -> str:
        """How a story says which request it is."""
        return f"consumer {self.consumer}{', given up' if self.late else ''}"


def consumers(s: World) -> range:
    """Every consumer."""
    return range(len(s.consumers))


def asks(s: World) -> Iterator[Ask]:
    """Every request on its way."""
    for number, c in enumerate(s.consumers):
        if isinstance(c.call, JoinGroup | SyncGroup):
            yield Ask(number, False)
        if c.late is not None:
            yield Ask(number, True)


def requested(s: World, ask: Ask) -> JoinGroup | SyncGroup:
    """The request itself."""
    c = s.consumers[ask.consumer]
    request = c.late if ask.late else c.call
    assert isinstance(request, JoinGroup | SyncGroup), "only requests are asked"
    return request


def joins(s: World) -> Iterator[Ask]:
    """Every JoinGroup on its way."""
    return (ask for ask in asks(s) if isinstance(requested(s, ask), JoinGroup))


def first_joins(s: World) -> Iterator[Ask]:
    """Those that bring no id, from consumers that are not static."""
    return (
        a for a in joins(s) if requested(s, a).member == NOBODY and requested(s, a).instance is None
    )


def new_members(s: World) -> Iterator[Ask]:
    """Those that bring an id that was just given out, or a new instance."""
    for ask in joins(s):
        request = requested(s, ask)
        new = request.instance is not None and s.group.instance(request.instance) is None
        if request.member in s.group.pending or (request.member == NOBODY and new):
            yield ask


def replacements(s: World) -> Iterator[Ask]:
    """Those of static members that come back without their id."""
    for ask in joins(s):
        request = requested(s, ask)
        if request.member == NOBODY and s.group.instance(request.instance) is not None:
            yield ask


def rejoins(s: World) -> Iterator[Ask]:
    """Those that bring an id that is no news."""
    for ask in joins(s):
        member = requested(s, ask).member
        if member != NOBODY and member not in s.group.pending:
            yield ask


def syncs(s: World) -> Iterator[Ask]:
    """Every SyncGroup on its way."""
    return (ask for ask in asks(s) if isinstance(requested(s, ask), SyncGroup))


def member_ids(s: World) -> tuple[str, ...]:
    """The members of the group."""
    return tuple(m.id for m in s.group.members)


def pending_ids(s: World) -> list[str]:
    """The ids that were given out."""
    return sorted(s.group.pending)
