"""The state of the model: a coordinator, some consumers, and the messages between them.

Each consumer has at most one JoinGroup or SyncGroup in flight, or the response to it, and one
request that it abandoned and that may still arrive. Heartbeats, commits and LeaveGroups reach the
coordinator at once, and only their responses may be late: a consumer that has received nothing
since could as well have sent the request later.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import attrs

from kspec.spec.coordinator import DISCONNECTED, Caller, Group, Outcome
from kspec.spec.core import bound, constant, evolve, replaced, tally
from kspec.spec.messages import (
    NO_GENERATION,
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    GroupState,
    JoinGroup,
    JoinGroupResponse,
    Settings,
    SyncGroup,
    SyncGroupResponse,
)

MODEL_SETTINGS = Settings(
    initial_rebalance_delay=1,
    min_session_timeout=1,
    max_session_timeout=1,
    new_member_mark_lasts=False,
)
"""A configuration whose initial delay can be extended once.

Simplification: the mark of a new member does not outlast the initial delay. In Kafka it may, and
only the length of the next initial delay depends on it.
"""
REBALANCE_TIMEOUT = 2
"""Every consumer's rebalance timeout: the initial delay and one extension."""
SESSION_TIMEOUT = 1
"""Every consumer's session timeout."""

NAMES = "abcdefgh"
"""The prefix of each consumer's member ids: consumer 0 gets a1, a2 and so on."""


@attrs.frozen
class Bounds:
    """How large the group is, and how many faults occur."""

    consumers: int = bound(2, 1, 4, "consumers that share the group")
    static: int = bound(0, 0, 4, "how many of them have a group.instance.id")
    partitions: int = bound(2, 1, 4, "partitions of the topic at first")
    growths: int = bound(0, 0, 2, "how often the topic gets another partition")
    ids: int = bound(2, 1, 4, "member ids that each consumer is ever issued")
    generations: int = bound(3, 1, 12, "the last generation")
    crashes: int = bound(1, 0, 4, "crashes of consumers, which may restart")
    failovers: int = bound(1, 0, 3, "times that the group moves to another coordinator")
    losses: int = bound(0, 0, 4, "messages and writes that are lost")
    early: int = bound(0, 0, 4, "timers that expire although what they wait for is only slow")
    stalls: int = bound(0, 0, 2, "consumers that stop polling while their heartbeats continue")
    leaves: int = bound(0, 0, 4, "consumers that are closed")


class Phase(StrEnum):
    """The phase of a consumer. Kafka: `AbstractCoordinator.MemberState`, and how it ended."""

    UNJOINED = "unjoined"
    """It joins at its next poll. Kafka: UNJOINED."""
    JOINING = "joining"
    """Its JoinGroup is not answered yet. Kafka: PREPARING_REBALANCE."""
    SYNCING = "syncing"
    """Its SyncGroup is not answered yet. Kafka: COMPLETING_REBALANCE."""
    STABLE = "stable"
    """It has an assignment. Kafka: STABLE."""
    CRASHED = "crashed"
    """Its process ended without leaving the group."""
    CLOSED = "closed"
    """The application closed it."""
    FENCED = "fenced"
    """Another consumer has taken over its instance id: a fatal error."""


ENDED = (Phase.CRASHED, Phase.CLOSED, Phase.FENCED)
"""The phases in which a consumer no longer runs."""


@attrs.frozen
class Consumer:
    """A consumer of the group. Kafka: `ConsumerCoordinator` and its heartbeat thread."""

    phase: Phase = Phase.UNJOINED
    """The phase that it is in."""
    polls: bool = True
    """Whether the application calls poll; if not, the heartbeat thread continues alone."""
    member: str = NO_MEMBER_ID
    """The member id that it uses."""
    generation: int = NO_GENERATION
    """The generation that it believes it is in."""
    owned: tuple[int, ...] = ()
    """The partitions that the application reads, as its rebalance listener knows them."""
    pending_assignment: tuple[int, ...] | None = None
    """An assignment that has arrived, and that the listener does not know yet."""
    needs_rejoin: bool = False
    """Whether it joins again at its next poll although it is in a generation."""
    assignment_snapshot: int = 0
    """For a leader: how many partitions it assigned. Kafka: `assignmentSnapshot`."""
    coordinator: int | None = None
    """The coordinator that it found, by number."""
    in_flight: JoinGroup | SyncGroup | JoinGroupResponse | SyncGroupResponse | None = None
    """Its request before it arrives, or the response; None while the coordinator parks it."""
    abandoned: JoinGroup | SyncGroup | None = None
    """A request that it stopped waiting for before the request arrived."""
    heartbeat_error: Error | None = None
    """The error in flight that answers its heartbeat or its commit."""
    heartbeat_error_is_stale: bool = False
    """Whether it has changed its id or generation since it sent that heartbeat or commit."""
    ids: int = 0
    """How many member ids it was ever issued."""

    @property
    def is_running(self) -> bool:
        """Whether its process runs."""
        return self.phase not in ENDED

    @property
    def sends_heartbeats(self) -> bool:
        """Whether its heartbeat thread is active."""
        return self.phase in (Phase.SYNCING, Phase.STABLE) and self.coordinator is not None


@attrs.frozen
class Owns:
    """The claim in a cooperative subscription. Kafka: `ConsumerProtocolSubscription`."""

    partitions: tuple[int, ...]
    """The partitions that the member owns."""
    generation: int
    """The generation in which they were assigned to it."""


@attrs.frozen
class Faults:
    """How many faults of each kind have occurred."""

    crashes: int = tally()
    """Crashes of consumers."""
    losses: int = tally()
    """Lost messages and writes."""
    early: int = tally()
    """Timers that expired early."""
    stalls: int = tally()
    """Consumers that stopped polling."""
    leaves: int = tally()
    """Consumers that were closed."""


@attrs.frozen
class Ghosts:
    """History that Kafka does not keep, and that properties refer to."""

    commit_behind: int = 0
    """By how many generations an accepted commit was ever behind the group's."""
    commit_beside: bool = False
    """Whether a non-empty group ever accepted the commit of a consumer that was not a member."""


@attrs.frozen(cache_hash=True)
class World:
    """The whole state: a group, its coordinator and its consumers."""

    group: Group
    """The group in its coordinator's memory; dead while it moves to another coordinator."""
    consumers: tuple[Consumer, ...]
    """The consumers, by number."""
    stored: GroupMetadata | None = None
    """The group's latest record in the offsets topic."""
    coordinator: int = 0
    """The number of the coordinator: how often the group has moved."""
    partitions: int = 2
    """How many partitions the topic has."""
    faults: Faults = Faults()
    """The faults so far."""
    ghosts: Ghosts = Ghosts()
    """The history that properties refer to."""
    bounds: Bounds = constant()
    """The bounds of the run."""

    # -- queries ------------------------------------------------------------------------------

    def instance(self, consumer: int) -> str | None:
        """The `group.instance.id` of a consumer, if it is static."""
        return f"{NAMES[consumer]}-static" if consumer < self.bounds.static else None

    def user_of(self, member_id: str) -> int | None:
        """The running consumer that uses this member id, or is about to receive it."""
        for number, c in enumerate(self.consumers):
            member = self.group.member(member_id)
            waits = member is not None and number in (member.awaiting_join, member.awaiting_sync)
            receives = isinstance(c.in_flight, JoinGroupResponse) and (
                c.in_flight.member == member_id
            )
            if c.is_running and (c.member == member_id or waits or receives):
                return number
        return None

    def has_polling_user(self, member_id: str) -> bool:
        """Whether a polling consumer uses this member id, so that it will act in time."""
        number = self.user_of(member_id)
        return number is not None and self.consumers[number].polls

    def has_live_user(self, member_id: str) -> bool:
        """Whether heartbeats arrive for this member id, or will."""
        number = self.user_of(member_id)
        if number is None:
            return False
        return self.consumers[number].polls or self.consumers[number].sends_heartbeats

    def is_parked(self, consumer: int) -> bool:
        """Whether the coordinator has parked a request of this consumer."""
        return any(consumer in (m.awaiting_join, m.awaiting_sync) for m in self.group.members)

    def reaches_coordinator(self, consumer: int) -> bool:
        """Whether the coordinator that this consumer found is the current one."""
        return (
            self.consumers[consumer].coordinator == self.coordinator
            and self.group.state is not GroupState.DEAD
        )

    def may_still_arrive(self, consumer: int) -> JoinGroup | SyncGroup | None:
        """The request that may arrive after its consumer has stopped waiting for the response."""
        c = self.consumers[consumer]
        if isinstance(c.in_flight, JoinGroup | SyncGroup) and self.reaches_coordinator(consumer):
            return c.in_flight
        return c.abandoned

    # -- updates ------------------------------------------------------------------------------

    def with_consumer(self, consumer: int, **changes: Any) -> World:
        """The state with one consumer changed."""
        changed = evolve(self.consumers[consumer], **changes)
        return evolve(self, consumers=replaced(self.consumers, consumer, changed))

    def after(self, outcome: Outcome) -> World:
        """The state after the coordinator did something: its responses are in flight."""
        world = evolve(self, group=outcome.group, stored=outcome.record or self.stored)
        for caller, response in outcome.responses:
            if not isinstance(caller, int):
                continue  # it is disconnected, or no consumer of the model
            if isinstance(response, JoinGroupResponse | SyncGroupResponse):
                world = world.with_consumer(caller, in_flight=response)
        return world

    def with_process(self, consumer: int, process: Consumer) -> World:
        """The state with another process in a consumer's place, to which no response goes."""
        group = self.group.disconnect(consumer)
        return evolve(self, group=group, consumers=replaced(self.consumers, consumer, process))

    def with_unjoined(self, consumer: int, **changes: Any) -> World:
        """A consumer waits for no response any more, and joins again at its next poll.

        A request of it that is in flight may still arrive.
        """
        abandoned = self.may_still_arrive(consumer)
        world = evolve(self, group=self.group.disconnect(consumer))
        return world.with_consumer(
            consumer,
            phase=Phase.UNJOINED,
            pending_assignment=None,
            needs_rejoin=False,
            assignment_snapshot=0,
            in_flight=None,
            abandoned=abandoned,
            **changes,
        )

    def with_fault(self, **more: int) -> World:
        """The state with more faults counted."""
        counted = {name: getattr(self.faults, name) + by for name, by in more.items()}
        return evolve(self, faults=evolve(self.faults, **counted))

    def with_ghosts(self, **changes: Any) -> World:
        """The state with other history."""
        return evolve(self, ghosts=evolve(self.ghosts, **changes))


def initial(bounds: Bounds) -> list[World]:
    """No consumer has joined, and the offsets topic is empty."""
    return [
        World(
            group=Group(settings=MODEL_SETTINGS),
            consumers=(Consumer(),) * bounds.consumers,
            partitions=bounds.partitions,
            bounds=bounds,
        )
    ]


def all_consumers_ended(s: World) -> bool:
    """Whether no consumer runs, and the group is empty."""
    return all(not c.is_running for c in s.consumers) and s.group.state is GroupState.EMPTY


# -- choices ----------------------------------------------------------------------------------


class Inbound(NamedTuple):
    """A request in flight to the coordinator."""

    consumer: int
    """The consumer that sent it."""
    abandoned: bool
    """Whether the consumer no longer waits for the response."""

    @property
    def caller(self) -> Caller:
        """Where the response goes."""
        return DISCONNECTED if self.abandoned else self.consumer

    def __str__(self) -> str:
        """How a trace names the request."""
        return f"consumer {self.consumer}{', abandoned' if self.abandoned else ''}"


def consumers(s: World) -> range:
    """Every consumer."""
    return range(len(s.consumers))


def inbound_requests(s: World) -> Iterator[Inbound]:
    """Every request in flight."""
    for number, c in enumerate(s.consumers):
        if isinstance(c.in_flight, JoinGroup | SyncGroup):
            yield Inbound(number, False)
        if c.abandoned is not None:
            yield Inbound(number, True)


def message(s: World, inbound: Inbound) -> JoinGroup | SyncGroup:
    """The request itself."""
    c = s.consumers[inbound.consumer]
    request = c.abandoned if inbound.abandoned else c.in_flight
    assert isinstance(request, JoinGroup | SyncGroup), "an inbound request is in flight"
    return request


def inbound_joins(s: World) -> Iterator[tuple[Inbound, JoinGroup]]:
    """Every JoinGroup in flight."""
    for inbound in inbound_requests(s):
        request = message(s, inbound)
        if isinstance(request, JoinGroup):
            yield inbound, request


def first_joins(s: World) -> Iterator[Inbound]:
    """The JoinGroups of dynamic members that have no member id yet."""
    for inbound, join in inbound_joins(s):
        if join.member == NO_MEMBER_ID and join.instance is None:
            yield inbound


def new_member_joins(s: World) -> Iterator[Inbound]:
    """The JoinGroups with a pending member id, or with an instance id new to the group."""
    for inbound, join in inbound_joins(s):
        is_new = join.instance is not None and s.group.static_member(join.instance) is None
        if join.member in s.group.pending or (join.member == NO_MEMBER_ID and is_new):
            yield inbound


def replacement_joins(s: World) -> Iterator[Inbound]:
    """The JoinGroups of static members that restarted and lost their member id."""
    for inbound, join in inbound_joins(s):
        is_known = s.group.static_member(join.instance) is not None
        if join.member == NO_MEMBER_ID and is_known:
            yield inbound


def rejoins(s: World) -> Iterator[Inbound]:
    """The JoinGroups with a member id that is not pending."""
    for inbound, join in inbound_joins(s):
        if join.member != NO_MEMBER_ID and join.member not in s.group.pending:
            yield inbound


def inbound_syncs(s: World) -> Iterator[Inbound]:
    """Every SyncGroup in flight."""
    return (i for i in inbound_requests(s) if isinstance(message(s, i), SyncGroup))


def member_ids(s: World) -> tuple[str, ...]:
    """The members of the group."""
    return tuple(m.id for m in s.group.members)


def pending_ids(s: World) -> list[str]:
    """The pending members."""
    return sorted(s.group.pending)
