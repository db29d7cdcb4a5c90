"""What a broker calls: requests, timers and completed writes in, outcomes out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any
from uuid import uuid4

from kspec.impl.coordinator.joining import join_group
from kspec.impl.coordinator.membership import (
    expire_pending_sync,
    heartbeat,
    leave_group,
    sync_group,
)
from kspec.impl.coordinator.offsets import (
    CommitWrite,
    delete_group,
    delete_offsets,
    dissolve,
    expire_offsets,
    offset_commit,
    offset_fetch,
    reject_commit,
    topics_deleted,
)
from kspec.impl.coordinator.rebalance import (
    COMPLETING,
    PREPARING,
    STABLE,
    complete_join,
    complete_join_after_expiry,
    end_initial_delay,
    remove_and_rebalance,
)
from kspec.impl.coordinator.responses import HEARTBEAT_RESPONSES, SYNC_RESPONSES, error_response
from kspec.impl.coordinator.shard import Caller, Outcome, Shard
from kspec.impl.coordinator.state import Group
from kspec.impl.coordinator.storage import load
from kspec.impl.coordinator.timers import TimerKey, TimerKind, Timers
from kspec.spec.messages import (
    Error,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    OffsetCommit,
    OffsetFetch,
    OffsetsTopicRecord,
    Request,
    Response,
    Settings,
    SyncGroup,
)
from kspec.spec.vocabulary import TopicPartition

WEEK = 7 * 24 * 60 * 60 * 1000
"""`offsets.retention.minutes`, in milliseconds."""

# A handler returns the response, or None if it has parked the request. mypy cannot express that
# the handler of a request type takes requests of that type.
_HANDLERS: Mapping[type, Callable[[Shard, str, Caller, Any], Response | None]] = {
    JoinGroup: join_group,
    SyncGroup: sync_group,
    Heartbeat: heartbeat,
    LeaveGroup: leave_group,
    OffsetCommit: offset_commit,
    OffsetFetch: offset_fetch,
}


def random_member_id(request: JoinGroup) -> str:
    """A member id in Kafka's format."""
    return f"{request.instance or request.client}-{uuid4()}"


def stopped_clock() -> int:
    """A clock for uses that do not depend on the time."""
    return 0


def unreadable(subscription: Hashable) -> None:
    """Subscriptions are opaque bytes, whose topics are unknown."""


def all_partitions_exist(partition: TopicPartition) -> bool:
    """Every partition is taken to exist."""
    return True


class GroupCoordinator:
    """Coordinates the groups of one partition of the offsets topic, for one broker.

    It never blocks and starts nothing by itself. Every call returns an `Outcome`: the responses
    to send, and the records to write to the offsets topic. If the outcome has a ticket, `stored`
    must be called once the records are replicated or the write has failed.
    """

    def __init__(
        self,
        settings: Settings,
        timers: Timers,
        new_member_id: Callable[[JoinGroup], str] = random_member_id,
        *,
        clock: Callable[[], int] = stopped_clock,
        topics_of: Callable[[Hashable], Collection[str] | None] = unreadable,
        partition_exists: Callable[[TopicPartition], bool] = all_partitions_exist,
    ) -> None:
        self._shard = Shard(settings, timers, new_member_id, clock, topics_of, partition_exists)
        self._refuses: Error | None = None
        """The error that answers every request while it does not coordinate."""

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups, by id."""
        return self._shard.groups

    # -- requests --------------------------------------------------------------------------

    def handle(self, group_id: str, caller: Caller, request: Request) -> Outcome:
        """Handle a request to a group; the response goes to the caller, any hashable value."""
        shard = self._shard
        answer: Response | None
        if self._refuses is None and group_id and type(request) is Heartbeat:
            # Nearly all requests are heartbeats.
            answer = heartbeat(shard, group_id, caller, request)
        else:
            answer = self._reject(group_id, request)
            if answer is None:
                answer = _HANDLERS[type(request)](shard, group_id, caller, request)
        if answer is not None:
            shard.answer(caller, answer)
        return shard.outcome()

    def _reject(self, group_id: str, request: Request) -> Response | None:
        """The response to a request that does not reach the group, or None.

        Kafka: `KafkaApis.handleSyncGroupRequest`, then `GroupCoordinatorService`. Only offsets may
        belong to a group without a name.
        """
        settings, refuses = self._shard.settings, self._refuses
        if isinstance(request, SyncGroup) and request.lacks_protocol:
            return error_response(request, Error.INCONSISTENT_GROUP_PROTOCOL)
        if refuses is Error.COORDINATOR_NOT_AVAILABLE:
            return error_response(request, refuses)
        if not group_id and not isinstance(request, OffsetCommit | OffsetFetch):
            return error_response(request, Error.INVALID_GROUP_ID)
        if refuses is not None and settings.variant.checks_ownership_first:
            return self._refuse(request, refuses)
        if isinstance(request, JoinGroup):
            timeout = request.session_timeout
            if not settings.min_session_timeout <= timeout <= settings.max_session_timeout:
                return error_response(request, Error.INVALID_SESSION_TIMEOUT)
        return None if refuses is None else self._refuse(request, refuses)

    def _refuse(self, request: Request, error: Error) -> Response:
        """The response of a broker that does not coordinate the group, or not yet."""
        variant = self._shard.settings.variant
        if error is Error.COORDINATOR_LOAD_IN_PROGRESS:
            if isinstance(request, Heartbeat):
                # The member may be in the group, so it must not be made to join again.
                return HEARTBEAT_RESPONSES[Error.NONE]
            if isinstance(request, SyncGroup) and not variant.sync_waits_for_loading:
                return SYNC_RESPONSES[Error.REBALANCE_IN_PROGRESS]
        if isinstance(request, OffsetCommit):
            return reject_commit(self._shard, request, error)
        return error_response(request, error, variant)

    def disconnect(self, caller: Caller) -> None:
        """The caller has disconnected: its requests stay in effect, but are not answered."""
        self._shard.disconnect(caller)

    # -- timers and completed writes -------------------------------------------------------

    def fire(self, key: TimerKey) -> Outcome:
        """A timer has expired, and is no longer armed."""
        shard = self._shard
        kind, group_id, member_id = key
        group = shard.groups.get(group_id)
        if group is not None:
            if kind is TimerKind.SESSION:
                self._expire_session(group, member_id)
            elif kind is TimerKind.PENDING:
                self._expire_pending_member(group, member_id)
            elif kind is TimerKind.SYNC:
                if group.state in (COMPLETING, STABLE):
                    expire_pending_sync(shard, group)
            elif group.state is PREPARING:
                if kind is TimerKind.JOIN:
                    complete_join(shard, group)
                else:
                    end_initial_delay(shard, group)
        return shard.outcome()

    def _expire_session(self, group: Group, member_id: str) -> None:
        """Remove a silent member; one whose request is parked is not silent, unless it is new."""
        member = group.members.get(member_id)
        if member is not None:
            waits = member.parked_join is not None or member.parked_sync is not None
            if member.is_new or not waits:
                remove_and_rebalance(self._shard, group, member)

    def _expire_pending_member(self, group: Group, member_id: str) -> None:
        if member_id in group.pending_joins:
            group.pending_joins.remove(member_id)
            complete_join_after_expiry(self._shard, group)

    def stored(self, ticket: int, error: Error = Error.NONE) -> Outcome:
        """The records of this ticket are replicated, or their write has failed."""
        waiting = self._shard.waiting.pop(ticket, None)
        if waiting is not None:
            waiting.stored(self._shard, ticket, error)
        return self._shard.outcome()

    def expire_offsets(self, now: int, retention: int = WEEK) -> Outcome:
        """Delete expired offsets, and groups without any; Kafka does so every 10 minutes."""
        expire_offsets(self._shard, now, retention)
        return self._shard.outcome()

    def topics_deleted(self, topics: Collection[str]) -> Outcome:
        """Delete the offsets of deleted topics."""
        topics_deleted(self._shard, topics)
        return self._shard.outcome()

    # -- administration --------------------------------------------------------------------

    @property
    def error(self) -> Error:
        """NONE, or the error that answers every request while it does not coordinate."""
        return self._refuses or Error.NONE

    def delete_group(self, group_id: str) -> tuple[Error, Outcome]:
        """DeleteGroups: delete a group that has no members, with its offsets."""
        error = self.error
        if error is Error.NONE:
            error = delete_group(self._shard, group_id)
        return error, self._shard.outcome()

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> tuple[Error, tuple[tuple[TopicPartition, Error], ...], Outcome]:
        """OffsetDelete: delete a group's offsets of topics that it does not subscribe to."""
        error = self.error
        errors: tuple[tuple[TopicPartition, Error], ...] = ()
        if error is Error.NONE:
            error, errors = delete_offsets(self._shard, group_id, partitions)
        return error, errors, self._shard.outcome()

    # -- failover --------------------------------------------------------------------------

    def start_loading(self) -> None:
        """The broker becomes the coordinator, and has yet to read the offsets topic."""
        self._refuses = Error.COORDINATOR_LOAD_IN_PROGRESS

    def load(self, records: Iterable[OffsetsTopicRecord]) -> Outcome:
        """Load the groups from the records of the offsets topic."""
        load(self._shard, records)
        self._refuses = None
        return self._shard.outcome()

    def unload(self) -> Outcome:
        """Another broker becomes the coordinator: answer parked requests with NOT_COORDINATOR."""
        shard = self._shard
        for group in list(shard.groups.values()):
            for member in group.members.values():
                shard.answer_join(
                    group, member, JoinGroupResponse(Error.NOT_COORDINATOR, member.id)
                )
                shard.answer_sync(member, SYNC_RESPONSES[Error.NOT_COORDINATOR])
            dissolve(shard, group)
        for waiting in shard.waiting.values():
            if isinstance(waiting, CommitWrite):
                shard.release(waiting.parked, waiting.answer(Error.NOT_COORDINATOR))
        shard.waiting.clear()
        self._refuses = Error.NOT_COORDINATOR
        return shard.outcome()

    def shut_down(self) -> Outcome:
        """The broker shuts down."""
        outcome = self.unload()
        self._refuses = Error.COORDINATOR_NOT_AVAILABLE
        return outcome
