"""What the handlers share: the groups, the timers, and the outcome of the current call.

Kafka: `GroupCoordinatorShard`, one for each partition of the offsets topic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Protocol

import attrs

from kspec.impl.coordinator.state import Group, Member, Parked
from kspec.impl.coordinator.timers import TimerKey, TimerKind, Timers
from kspec.spec.messages import (
    Error,
    JoinGroup,
    JoinGroupResponse,
    OffsetsTopicRecord,
    Response,
    Settings,
    SyncGroupResponse,
)
from kspec.spec.vocabulary import TopicPartition

Caller = Hashable


@attrs.define
class Outcome:
    """The result of one call."""

    responses: list[tuple[Caller, Response]]
    """The responses to send, to this caller and to parked ones."""
    records: Sequence[OffsetsTopicRecord] = ()
    """The records to write to the offsets topic, in this order."""
    pending: int | None = None
    """The ticket for `GroupCoordinator.stored`, if the records' replication is awaited."""


class PendingWrite(Protocol):
    """A write to the offsets topic whose completion has an effect."""

    def stored(self, shard: Shard, ticket: int, error: Error) -> None:
        """The records are replicated, or the write failed with this error."""


@attrs.define(eq=False)
class Shard:
    """The groups of one partition of the offsets topic, with what their handlers need."""

    settings: Settings
    timers: Timers
    new_member_id: Callable[[JoinGroup], str]
    clock: Callable[[], int]
    topics_of: Callable[[Hashable], Collection[str] | None]
    partition_exists: Callable[[TopicPartition], bool]
    groups: dict[str, Group] = attrs.field(init=False, factory=dict)
    waiting: dict[int, PendingWrite] = attrs.field(init=False, factory=dict)
    """The writes in progress, by ticket."""
    _parked: dict[Caller, list[Parked]] = attrs.field(init=False, factory=dict)
    _tickets: int = attrs.field(init=False, default=0)
    _responses: list[tuple[Caller, Response]] = attrs.field(init=False, factory=list)
    _records: list[OffsetsTopicRecord] = attrs.field(init=False, factory=list)
    _pending: int | None = attrs.field(init=False, default=None)

    # -- the outcome of a call -------------------------------------------------------------

    def answer(self, caller: Caller, answer: Response) -> None:
        """Send a response."""
        self._responses.append((caller, answer))

    def write(self, *records: OffsetsTopicRecord) -> None:
        """Write records to the offsets topic without awaiting their replication."""
        self._records.extend(records)

    def write_and_wait(self, waiting: PendingWrite, *records: OffsetsTopicRecord) -> int:
        """Write records to the offsets topic, and act once they are replicated."""
        self.write(*records)
        self._tickets += 1
        self.waiting[self._tickets] = waiting
        self._pending = self._tickets
        return self._tickets

    def outcome(self) -> Outcome:
        """The outcome of the call that ends here."""
        responses = self._responses
        self._responses = []
        if not self._records:
            return Outcome(responses)
        outcome = Outcome(responses, self._records, self._pending)
        self._records, self._pending = [], None
        return outcome

    # -- parked requests -------------------------------------------------------------------

    def park(self, caller: Caller) -> Parked:
        """Park a caller's request."""
        parked = Parked(caller)
        self._parked.setdefault(caller, []).append(parked)
        return parked

    def release(self, parked: Parked, answer: Response | None) -> None:
        """Answer a parked request, unless its caller has disconnected."""
        if parked.disconnected:
            return
        others = self._parked[parked.caller]
        others.remove(parked)
        if not others:
            del self._parked[parked.caller]
        if answer is not None:
            self.answer(parked.caller, answer)

    def disconnect(self, caller: Caller) -> None:
        """A caller has disconnected: its requests stay parked, without a receiver."""
        for parked in self._parked.pop(caller, ()):
            parked.disconnected = True

    def park_join(self, group: Group, member: Member, caller: Caller) -> None:
        """Park a member's JoinGroup; it replaces one that is parked already."""
        if member.parked_join is None:
            group.num_joined += 1
        else:
            self.release(member.parked_join, None)
        member.parked_join = self.park(caller)

    def answer_join(self, group: Group, member: Member, answer: JoinGroupResponse) -> None:
        """Answer a member's parked JoinGroup, if any."""
        if member.parked_join is not None:
            self.release(member.parked_join, answer)
            member.parked_join = None
            group.num_joined -= 1

    def park_sync(self, member: Member, caller: Caller) -> None:
        """Park a member's SyncGroup; it replaces one that is parked already."""
        if member.parked_sync is not None:
            self.release(member.parked_sync, None)
        member.parked_sync = self.park(caller)

    def answer_sync(self, member: Member, answer: SyncGroupResponse) -> None:
        """Answer a member's parked SyncGroup, if any."""
        if member.parked_sync is not None:
            self.release(member.parked_sync, answer)
            member.parked_sync = None

    # -- groups and members ----------------------------------------------------------------

    def create(self, group_id: str) -> Group:
        """Create a group."""
        group = self.groups[group_id] = Group(group_id, self.clock())
        return group

    def reschedule_session(self, member: Member) -> None:
        """Restart a member's session timer. Kafka: `rescheduleClassicGroupMemberHeartbeat`."""
        self.timers.schedule(member.timer, member.session_timeout)

    def remove(self, group: Group, member: Member) -> None:
        """Remove a member, without a rebalance.

        Its parked JoinGroup is answered; its parked SyncGroup is not, as in Kafka.
        """
        self.answer_join(group, member, JoinGroupResponse(Error.UNKNOWN_MEMBER_ID))
        if member.parked_sync is not None:
            self.release(member.parked_sync, None)
            member.parked_sync = None
        self.timers.cancel(member.timer)
        group.remove(member)

    def remove_pending(self, group: Group, member_id: str) -> None:
        """Forget a pending member."""
        group.pending_joins.discard(member_id)
        self.timers.cancel(group.pending_timer(member_id))

    def subscribed_topics(self, group: Group) -> Collection[str] | None:
        """The topics to which the members subscribe; None if a subscription cannot be read."""
        topics: set[str] = set()
        for member in group.members.values():
            of_member = self.topics_of(member.subscription(group.protocol))
            if of_member is None:
                return None
            topics.update(of_member)
        return topics

    def note_subscriptions(self, group: Group) -> None:
        """A generation begins. Kafka: `ClassicGroup.computeSubscribedTopics`."""
        is_consumer = group.protocol_type == "consumer"
        group.subscribed = self.subscribed_topics(group) if is_consumer else None

    def member_timer(self, group: Group, member_id: str) -> TimerKey:
        """The session timer of a member."""
        return TimerKey(TimerKind.SESSION, group.id, member_id)
