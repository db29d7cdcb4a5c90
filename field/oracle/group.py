"""The oracle of a group coordinator: `spec.coordinator` with groups, a clock and stored offsets.

A request may be answered later: each result lists the responses that are sent now, with the ids of
their requests. Time passes only by `advance`, but a timer without a duration expires at once.
Writes to the offsets topic complete at once.
"""

from __future__ import annotations

import heapq
from typing import Any

import attrs

from kspec.field.oracle.questions import Oracle, question
from kspec.spec.coordinator import Group, Outcome
from kspec.spec.coordinator.clock import renewed_by
from kspec.spec.coordinator.failover import load, unload
from kspec.spec.coordinator.followed import Followed, write_outcome
from kspec.spec.coordinator.requests import error_response
from kspec.spec.coordinator.sessions import Timer, armed, fire
from kspec.spec.coordinator.state import DISCONNECTED
from kspec.spec.core import SpecError
from kspec.spec.messages import (
    NO_MEMBER_ID,
    Error,
    GroupMetadata,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    Request,
    Settings,
    SyncGroup,
    SyncGroupResponse,
)
from kspec.spec.messages import OffsetFetchResponse as Fetched
from kspec.spec.vocabulary import TopicPartition

MOST_HELD = 64 << 20
"""How much text the groups may hold together, as Python prints it: 64 MiB."""

LONGEST = 2**31 - 1
"""The most milliseconds that pass in one request: 24 days."""


@attrs.frozen
class CommittedOffset:
    """The committed offset of a partition."""

    topic: str
    """The topic's name."""
    partition: int
    """The partition's index."""
    committed_offset: int = -1
    """The offset of the next record to read; -1 if none is committed."""
    committed_leader_epoch: int = -1
    """The leader epoch of the last record read; -1 if unknown."""
    committed_metadata: str = ""
    """The note that the client stored with it."""


@attrs.frozen
class OffsetFetchResponse:
    """The response to OffsetFetch."""

    partitions: tuple[CommittedOffset, ...]
    """The partitions that were asked for, or all with a committed offset."""


Body = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
)


@attrs.frozen
class Sent:
    """A response."""

    id: int | str
    """The id of the request."""
    api: str
    """The request's name, such as JoinGroup."""
    response: Body
    """The response to it."""


@attrs.frozen
class Sending:
    """What the coordinator does at a request."""

    now: int
    """The time, in milliseconds since the session began."""
    responses: tuple[Sent, ...]
    """The responses that it sends now, to this request and to earlier ones."""


@attrs.frozen
class ArmedTimer:
    """A timer that is armed."""

    timer: str
    """`initial delay`, `join`, `sync`, `session` or `pending`."""
    member_id: str
    """The member id, for the last two kinds."""
    expires: int
    """When it expires, in milliseconds since the session began."""


@attrs.frozen
class DescribedMember:
    """A member of a group."""

    member_id: str
    """Its member id."""
    group_instance_id: str | None
    """Its `group.instance.id`, if it is a static member."""
    protocols: tuple[str, ...]
    """The protocols that it supports."""
    parked: str
    """The request that waits for its response: `JoinGroup`, `SyncGroup`, or empty."""


@attrs.frozen
class Described:
    """A group, as far as it can be observed, and its timers."""

    group_state: GroupState
    """Its state; Dead if it is unknown."""
    protocol_type: str | None
    """The kind of group."""
    protocol_name: str | None
    """The selected protocol."""
    generation_id: int
    """The current generation."""
    leader: str | None
    """The member id of the leader."""
    members: tuple[DescribedMember, ...]
    """The members, in the order in which they were added."""
    pending_members: tuple[str, ...]
    """Ids that were issued and have not joined yet."""
    timers: tuple[ArmedTimer, ...]
    """The timers that are armed, in the order in which they expire."""


@attrs.frozen
class Nothing:
    """No result."""


@attrs.frozen
class Held(Followed):
    """A group in the coordinator's memory, and in the offsets topic."""

    stored: GroupMetadata | None = None
    """The group's latest record."""
    weight: int = 0
    """At least the length of all this, as Python prints it."""

    def recounted(self) -> Held:
        """With its length, exactly."""
        return attrs.evolve(self, weight=len(repr((self.group, self.stored, self.offsets))))


class GroupOracle(Oracle):
    """A coordinator, and the time."""

    def __init__(self) -> None:
        super().__init__(
            [
                question(self.join_group, name="JoinGroup", merged="request"),
                question(self.sync_group, name="SyncGroup", merged="request"),
                question(self.heartbeat, name="Heartbeat", merged="request"),
                question(self.leave_group, name="LeaveGroup", merged="request"),
                question(self.offset_commit, name="OffsetCommit", merged="request"),
                question(self.offset_fetch, name="OffsetFetch"),
                question(self.advance),
                question(self.describe),
                question(self.disconnect),
                question(self.failover),
                question(self.reset, merged="settings"),
            ]
        )
        self.asking: int | str = 0
        self.now: int
        self.reset(Settings())

    def ask(self, number: int | str, method: str, params: Any) -> Any:
        """The result of a request; its id is the address of its response."""
        self.asking = number
        return super().ask(number, method, params)

    # -- requests -----------------------------------------------------------------------------

    def join_group(
        self, group_id: str, request: JoinGroup, new_member_id: str | None = None
    ) -> Sending:
        """A client asks to be a member of the next generation.

        `newMemberId` is the id that the coordinator issues, if it issues one; by default the
        instance id or client id with a number.
        """
        known = self.groups.get(group_id)
        if known and new_member_id is not None:
            group = known.group
            if group.member(new_member_id) or new_member_id in group.pending:
                raise SpecError("params.newMemberId: the group has a member of this id")
        if new_member_id is None:
            self.issued += 1
            new_member_id = f"{request.instance or request.client}-{self.issued}"
        return self.handle(group_id, request, new_member_id)

    def sync_group(self, group_id: str, request: SyncGroup) -> Sending:
        """A member asks for its assignment; the leader's request carries everyone's."""
        return self.handle(group_id, request)

    def heartbeat(self, group_id: str, request: Heartbeat) -> Sending:
        """A member keeps its session alive."""
        return self.handle(group_id, request)

    def leave_group(self, group_id: str, request: LeaveGroup) -> Sending:
        """Members leave; before version 3 it is one member."""
        if request.version < 3 and len(request.members) != 1:
            raise SpecError("params.members: before version 3 one member leaves")
        return self.handle(group_id, request)

    def offset_commit(self, group_id: str, request: OffsetCommit) -> Sending:
        """A member, or a consumer that assigns itself, commits offsets."""
        return self.handle(group_id, request)

    def offset_fetch(
        self, group_id: str, partitions: tuple[TopicPartition, ...] | None = None
    ) -> Sending:
        """A client asks for committed offsets; without `partitions`, for all of the group."""
        outcome = self.held(group_id).handle(self.caller, OffsetFetch(partitions))
        [(_, fetched)] = outcome.responses
        assert isinstance(fetched, Fetched), "OffsetFetch is answered at once"
        found = []
        for tp, o in fetched.offsets:
            known = (o.offset, o.leader_epoch, o.metadata) if o else ()
            found.append(CommittedOffset(tp.topic, tp.partition, *known))
        return self.sending([(self.caller, OffsetFetchResponse(tuple(found)))])

    def held(self, group_id: str) -> Held:
        """The group; Dead if it is unknown."""
        unknown = Group(state=GroupState.DEAD, settings=self.settings)
        return self.groups.get(group_id) or Held(unknown)

    def handle(self, group_id: str, request: Request, new_id: str = NO_MEMBER_ID) -> Sending:
        """Handle a request.

        Kafka: `GroupCoordinatorService` refuses an empty group id, except for offsets.
        """
        if not group_id and not isinstance(request, OffsetCommit):
            lacks = isinstance(request, SyncGroup) and request.lacks_protocol
            error = Error.INCONSISTENT_GROUP_PROTOCOL if lacks else Error.INVALID_GROUP_ID
            return self.sending([(self.caller, error_response(request, error))])
        weight = 0 if isinstance(request, Heartbeat) else len(repr(request)) + len(group_id)
        self.make_room(weight)
        held = self.held(group_id)
        outcome = held.handle(self.caller, request, new_id)
        if outcome.group.state is GroupState.DEAD:
            return self.sending(outcome.responses)
        held = attrs.evolve(held, weight=held.weight + weight)
        self.total += weight
        responses = self.take(group_id, held, outcome, request)
        return self.sending([*responses, *self.expire(self.now)])

    @property
    def caller(self) -> tuple[int | str]:
        """The sender of the current request."""
        return (self.asking,)

    # -- time and failures --------------------------------------------------------------------

    def advance(self, ms: int) -> Sending:
        """Time passes, in milliseconds; timers expire."""
        if not 0 <= ms <= LONGEST:
            raise SpecError(f"params.ms: from 0 to {LONGEST}, not {ms}")
        return self.sending(self.expire(self.now + ms))

    def expire(self, until: int) -> list[Any]:
        """The responses of the timers that expire until then, one after the other."""
        responses: list[Any] = []
        while self.due and self.due[0][0] <= until:
            deadline, timer, group_id = heapq.heappop(self.due)
            held = self.held(group_id)
            if (timer, deadline) not in held.timers:
                continue  # it was cancelled or restarted
            self.now = max(self.now, deadline)
            stopped = held.without_timer(timer)
            if timer in armed(held.group):
                responses += self.take(group_id, stopped, fire(held.group, timer), fired=timer)
            else:
                self.groups[group_id] = stopped
        self.now = until
        return responses

    def disconnect(self, request: int | str) -> Sending:
        """The sender of a request, by its id, no longer waits for the response."""
        for group_id, held in self.groups.items():
            for member in held.group.members:
                if (request,) in (member.awaiting_join, member.awaiting_sync):
                    left = attrs.evolve(held, group=held.group.disconnect((request,)))
                    self.groups[group_id] = left
        return self.sending([])

    def failover(self) -> Sending:
        """Another broker becomes the coordinator, and loads the groups from the offsets topic."""
        responses: list[Any] = []
        for group_id, held in list(self.groups.items()):
            responses += unload(held.group).responses
            if held.stored is None and not held.offsets:
                del self.groups[group_id]
                continue
            group = load(held.stored, self.settings)
            self.keep(group_id, held, held.loaded(group, lambda _, length: self.now + length))
        return self.sending(responses)

    def describe(self, group_id: str) -> Described:
        """A group, as DescribeGroups has it and beyond, and its timers."""
        held = self.held(group_id)
        group, useful = held.group, armed(held.group)
        return Described(
            group.state,
            group.protocol_type,
            group.protocol,
            group.generation,
            group.leader,
            tuple(
                DescribedMember(
                    m.id,
                    m.instance,
                    tuple(p.name for p in m.protocols),
                    "JoinGroup" if m.awaiting_join else "SyncGroup" if m.awaiting_sync else "",
                )
                for m in group.members
            ),
            tuple(sorted(group.pending)),
            tuple(
                ArmedTimer(*timer, expires)
                for timer, expires in sorted(held.timers, key=lambda each: each[::-1])
                if timer in useful
            ),
        )

    def reset(self, settings: Settings) -> Nothing:
        """Start again: no groups, and the time is 0; the broker has these settings."""
        self.settings = settings
        self.groups: dict[str, Held] = {}
        self.now = self.issued = self.total = 0
        self.due: list[tuple[int, Timer, str]] = []
        self.most_due = 1000
        return Nothing()

    # -- what follows -------------------------------------------------------------------------

    def take(
        self,
        group_id: str,
        held: Held,
        outcome: Outcome,
        request: Request | None = None,
        fired: Timer | None = None,
    ) -> tuple[Any, ...]:
        """The responses of an outcome, whose group, records and timers take effect.

        A timer that expires and starts again takes at least a millisecond, so that the clock goes
        on.
        """

        def start(timer: Timer, milliseconds: int) -> int:
            return self.now + max(timer == fired, milliseconds)

        after = held.after(outcome, start, request, renewed_by(held.group, request))
        responses = outcome.responses
        while after.writes:
            completed = write_outcome(after.group, after.writes[0])
            after = after.without_write().after(completed, start)
            responses += completed.responses
        self.keep(group_id, held, attrs.evolve(after, stored=outcome.record or held.stored))
        return responses

    def keep(self, group_id: str, before: Held, after: Held) -> None:
        """Keep a group, and the deadlines of timers that have started."""
        for timer, deadline in set(after.timers) - set(before.timers):
            heapq.heappush(self.due, (deadline, timer, group_id))
        self.groups[group_id] = after
        self.forget_cancelled()

    def forget_cancelled(self) -> None:
        """Rebuild the heap of deadlines when it has doubled: most entries may be outdated."""
        if len(self.due) > self.most_due:
            self.due = [
                (deadline, timer, group_id)
                for group_id, held in self.groups.items()
                for timer, deadline in held.timers
            ]
            heapq.heapify(self.due)
            self.most_due = max(1000, 2 * len(self.due))

    def make_room(self, weight: int) -> None:
        """SpecError where the groups hold too much already."""
        if self.total + weight > MOST_HELD:
            self.groups = {name: held.recounted() for name, held in self.groups.items()}
            self.total = sum(held.weight for held in self.groups.values())
            if self.total + weight > MOST_HELD:
                raise SpecError(f"the groups hold more than {MOST_HELD >> 20} MiB: reset them")

    def sending(self, responses: Any) -> Sending:
        """The responses to callers that wait for them."""
        sent = (
            Sent(caller[0], type(response).__name__.removesuffix("Response"), response)
            for caller, response in responses
            if caller != DISCONNECTED
        )
        return Sending(self.now, tuple(sent))


def oracle() -> Oracle:
    """A new session."""
    return GroupOracle()
