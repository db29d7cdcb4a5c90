"""The coordinator as its broker sees it: requests, timers and stored records in, outcomes out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any
from uuid import uuid4

from impl.coordinator.answers import BEATEN, JOINED, SYNCED, refusal
from impl.coordinator.desk import Caller, Desk, Outcome
from impl.coordinator.group import Group
from impl.coordinator.joining import join_group
from impl.coordinator.membership import heartbeat, leave_group, sync_group, syncs_are_overdue
from impl.coordinator.offsets import (
    CommitWritten,
    dissolve,
    expire_offsets,
    offset_commit,
    offset_fetch,
    topics_deleted,
)
from impl.coordinator.rounds import (
    COMPLETING,
    PREPARING,
    STABLE,
    complete,
    initial_delay_is_over,
    leaves,
)
from impl.coordinator.storage import load
from impl.coordinator.timers import TimerKey, TimerKind, Timers
from spec.messages import (
    Answer,
    Error,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    Record,
    Request,
    Settings,
    SyncGroup,
)
from spec.vocabulary import TopicPartition

WEEK = 7 * 24 * 60 * 60 * 1000
"""`offsets.retention.minutes`, in milliseconds."""

# A handler answers at once, or returns None and has parked the caller. mypy cannot say that the
# handler under a type takes requests of that type.
_HANDLERS: Mapping[type, Callable[[Desk, str, Caller, Any], Answer | None]] = {
    JoinGroup: join_group,
    SyncGroup: sync_group,
    Heartbeat: heartbeat,
    LeaveGroup: leave_group,
    OffsetCommit: offset_commit,
    OffsetFetch: offset_fetch,
}


def random_member_id(request: JoinGroup) -> str:
    """A member id as Kafka makes them."""
    return f"{request.instance or request.client}-{uuid4()}"


def stopped_clock() -> int:
    """Where nothing is asked that depends on the time of day."""
    return 0


def unreadable(subscription: Hashable) -> None:
    """Subscriptions are bytes that nobody looks into."""


def anything_exists(partition: TopicPartition) -> bool:
    """Where it is known to nobody which topics there are."""
    return True


class GroupCoordinator:
    """Coordinates the groups of one partition of the offsets topic, for one broker.

    It never blocks and starts nothing by itself. Every call returns an `Outcome`: who is to
    be answered what, and what is to be written to the offsets topic. A call whose outcome has
    a ticket is finished by `stored`, when the records are replicated or could not be written.
    """

    def __init__(
        self,
        settings: Settings,
        timers: Timers,
        new_member_id: Callable[[JoinGroup], str] = random_member_id,
        *,
        clock: Callable[[], int] = stopped_clock,
        topics_of: Callable[[Hashable], Collection[str] | None] = unreadable,
        partition_exists: Callable[[TopicPartition], bool] = anything_exists,
    ) -> None:
        self._desk = Desk(settings, timers, new_member_id, clock, topics_of, partition_exists)
        self._refuses: Error | None = None
        """What everybody is answered while it does not coordinate."""

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups, to look at."""
        return self._desk.groups

    # -- requests --------------------------------------------------------------------------

    def handle(self, group_id: str, caller: Caller, request: Request) -> Outcome:
        """A request to a group. The caller is whatever the answer should be addressed to."""
        desk = self._desk
        if self._refuses is None:
            answer = _HANDLERS[type(request)](desk, group_id, caller, request)
        else:
            answer = self._refuse(request, self._refuses)
        if answer is not None:
            desk.answer(caller, answer)
        return desk.outcome()

    def _refuse(self, request: Request, error: Error) -> Answer:
        if error is Error.COORDINATOR_LOAD_IN_PROGRESS and isinstance(request, Heartbeat):
            # Its member may well be in the group: it should not be told to join again.
            return BEATEN[Error.NONE]
        return refusal(request, error)

    def forget(self, caller: Caller) -> None:
        """The caller has disconnected: nothing is answered to it, but what it asked for goes on."""
        self._desk.forget(caller)

    # -- time, and the log -----------------------------------------------------------------

    def fire(self, key: TimerKey) -> Outcome:
        """A timer has gone off, and is not armed any more."""
        desk = self._desk
        kind, group_id, member_id = key
        group = desk.groups.get(group_id)
        if group is not None:
            if kind is TimerKind.MEMBER:
                self._misses(group, member_id)
            elif kind is TimerKind.PENDING:
                self._does_not_join(group, member_id)
            elif kind is TimerKind.SYNC:
                if group.state in (COMPLETING, STABLE):
                    syncs_are_overdue(desk, group)
            elif group.state is PREPARING:
                if kind is TimerKind.JOIN:
                    complete(desk, group)
                else:
                    initial_delay_is_over(desk, group)
        return desk.outcome()

    def _misses(self, group: Group, member_id: str) -> None:
        """No sign of life. Who waits for an answer is alive, unless it may not know its id."""
        member = group.members.get(member_id)
        if member is not None:
            waits = member.join is not None or member.sync is not None
            if member.is_new or not waits:
                leaves(self._desk, group, member)

    def _does_not_join(self, group: Group, member_id: str) -> None:
        if member_id in group.pending_joins:
            group.pending_joins.remove(member_id)
            if group.state is PREPARING and group.everybody_joined():
                complete(self._desk, group)

    def stored(self, ticket: int, error: Error = Error.NONE) -> Outcome:
        """The records that were given out with this ticket are replicated, or cannot be."""
        waiting = self._desk.waiting.pop(ticket, None)
        if waiting is not None:
            waiting.stored(self._desk, ticket, error)
        return self._desk.outcome()

    def expire_offsets(self, now: int, retention: int = WEEK) -> Outcome:
        """Forget offsets, and groups, that are not needed any more; Kafka does every 10 minutes."""
        expire_offsets(self._desk, now, retention)
        return self._desk.outcome()

    def topics_deleted(self, topics: Collection[str]) -> Outcome:
        """Forget the offsets of topics that are gone."""
        topics_deleted(self._desk, topics)
        return self._desk.outcome()

    # -- which broker coordinates ----------------------------------------------------------

    def start_loading(self) -> None:
        """It is this broker's turn; it has yet to read what was written."""
        self._refuses = Error.COORDINATOR_LOAD_IN_PROGRESS

    def load(self, records: Iterable[Record]) -> Outcome:
        """What was written is read: go on from there."""
        load(self._desk, records)
        self._refuses = None
        return self._desk.outcome()

    def unload(self) -> Outcome:
        """Another broker coordinates from now on; who waits here has to go there."""
        desk = self._desk
        for group in list(desk.groups.values()):
            for member in group.members.values():
                desk.answer_join(group, member, JOINED[Error.NOT_COORDINATOR])
                desk.answer_sync(member, SYNCED[Error.NOT_COORDINATOR])
            dissolve(desk, group)
        for waiting in desk.waiting.values():
            if isinstance(waiting, CommitWritten):
                desk.release(waiting.parked, waiting.answer(Error.NOT_COORDINATOR))
        desk.waiting.clear()
        self._refuses = Error.NOT_COORDINATOR
        return desk.outcome()

    def shut_down(self) -> Outcome:
        """The broker stops."""
        outcome = self.unload()
        self._refuses = Error.COORDINATOR_NOT_AVAILABLE
        return outcome
