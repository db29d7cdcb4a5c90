"""The group coordinator behind the wire protocol, with its clock and its offsets topic.

`kspec.impl.coordinator` decides; `Groups` translates between Kafka's messages and those of
`spec.messages`, and keeps in memory what Kafka writes to `__consumer_offsets`. A record is
replicated as soon as it is written, since there is no other broker.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any

from kspec.impl.broker.calls import Call, UnsupportedRequest
from kspec.impl.broker.settings import BrokerSettings
from kspec.impl.coordinator import (
    Deadlines,
    GroupCoordinator,
    Outcome,
    TimerKey,
    TimerKind,
    compact,
    random_member_id,
)
from kspec.impl.wire import milliseconds
from kspec.spec.messages import (
    Error,
    GroupState,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    MemberIdentity,
    Offset,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    OffsetsTopicRecord,
    Protocol,
    Request,
    Response,
    SyncGroup,
    SyncGroupResponse,
)
from kspec.spec.vocabulary import TopicPartition

_CHECK_INTERVAL = 600_000
"""`offsets.retention.check.interval.ms`: how often expired offsets are deleted."""
_NO_OFFSET = Offset(-1)
"""The answer for a partition without a committed offset."""
_LONGEST_NAME = 8_000
"""The most characters of a client id or an instance id; of a string's 32,767 bytes, each takes up
to four."""
_COMPACT_AFTER = 10_000
"""The number of records after which the offsets topic is compacted."""


class Groups:
    """The consumer groups of this broker."""

    def __init__(
        self,
        settings: BrokerSettings,
        now: int,
        partition_exists: Callable[[TopicPartition], bool],
    ) -> None:
        self._settings = settings
        self._partition_exists = partition_exists
        self._timers = Deadlines(now)
        self._next_check = now + _CHECK_INTERVAL
        self._log: list[OffsetsTopicRecord] = []
        """The offsets topic."""
        self._compact_at = _COMPACT_AFTER
        self._clients: dict[str, tuple[str, str]] = {}
        """Client id and host of each member, for DescribeGroups."""
        self._caller = ("", "")
        """Client id and host of the request that is being handled."""
        self._coordinator = self._new_coordinator()

    def _new_coordinator(self) -> GroupCoordinator:
        return GroupCoordinator(
            self._settings.for_coordinator(),
            self._timers,
            self._new_member_id,
            clock=lambda: self._timers.now,
            topics_of=_topics_of,
            partition_exists=self._partition_exists,
        )

    def _new_member_id(self, request: JoinGroup) -> str:
        member = random_member_id(request)
        self._clients[member] = self._caller
        if len(self._clients) > 1_000:
            groups = self._coordinator.groups.values()
            if len(self._clients) > 2 * sum(len(g.members) + len(g.pending_joins) for g in groups):
                known = {m for g in groups for m in (*g.members, *g.pending_joins)} | {member}
                self._clients = {m: c for m, c in self._clients.items() if m in known}
        return member

    def _client_of(self, member: str) -> tuple[str, str]:
        return self._clients.get(member, ("", ""))

    # -- time ------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The time of the coordinator, in milliseconds."""
        return self._timers.now

    def next_deadline(self) -> int:
        """The latest time to call `advance`; may be a little early."""
        deadline = self._timers.next_deadline()
        return self._next_check if deadline is None else min(deadline, self._next_check)

    def advance(self, now: int) -> None:
        """Let time pass: timers expire, and then offsets."""
        while self._next_check <= now:
            self._timers.advance(self._next_check, self._fire)
            retention = self._settings.offsets_retention_minutes * 60_000
            self._settle(self._coordinator.expire_offsets(self._timers.now, retention))
            self._next_check += _CHECK_INTERVAL
        self._timers.advance(now, self._fire)

    def _fire(self, key: TimerKey) -> None:
        self._settle(self._coordinator.fire(key))

    # -- requests --------------------------------------------------------------------------

    def _ask(self, call: Call, group: str, request: Request) -> None:
        """Hand a request to the coordinator, which answers now or later."""
        self._caller = call.client, call.host
        self._settle(self._coordinator.handle(group, call, request))

    def _settle(self, outcome: Outcome) -> None:
        """Write the records, and send the responses."""
        while True:
            for caller, response in outcome.responses:
                if isinstance(caller, Call):
                    _send(caller, response)
            self._log.extend(outcome.records)
            if outcome.pending is None:
                break
            outcome = self._coordinator.stored(outcome.pending)
        if len(self._log) >= self._compact_at:
            self._log = compact(self._log)
            self._compact_at = 2 * len(self._log) + _COMPACT_AFTER

    def disconnect(self, call: Call) -> None:
        """The client of a parked request has closed its connection."""
        self._coordinator.disconnect(call)

    def join_group(self, call: Call) -> None:
        """JoinGroup.

        A member id is made of a client id or an instance id, and has to fit into a string.
        """
        message = call.message
        if len(call.client) > _LONGEST_NAME or len(_instance(message) or "") > _LONGEST_NAME:
            raise UnsupportedRequest("no member id can be made of a name that long")
        session = milliseconds(message.session_timeout)
        request = JoinGroup(
            member=message.member_id,
            instance=_instance(message),
            protocols=tuple(Protocol(p.name, p.metadata) for p in message.protocols),
            protocol_type=message.protocol_type,
            session_timeout=session,
            rebalance_timeout=milliseconds(message.rebalance_timeout) if call.version else session,
            version=call.version,
            client=call.client,
        )
        self._ask(call, message.group_id, request)

    def sync_group(self, call: Call) -> None:
        """SyncGroup."""
        message = call.message
        request = SyncGroup(
            member=message.member_id,
            generation=message.generation_id,
            assignments=tuple((a.member_id, a.assignment) for a in message.assignments),
            instance=_instance(message),
            protocol_type=message.protocol_type if call.version >= 5 else None,
            protocol=message.protocol_name if call.version >= 5 else None,
            version=call.version,
        )
        self._ask(call, message.group_id, request)

    def heartbeat(self, call: Call) -> None:
        """Heartbeat."""
        message = call.message
        request = Heartbeat(message.member_id, message.generation_id, _instance(message))
        self._ask(call, message.group_id, request)

    def leave_group(self, call: Call) -> None:
        """LeaveGroup."""
        message = call.message
        if call.version < 3:
            members: tuple[MemberIdentity, ...] = (MemberIdentity(message.member_id),)
        else:
            members = tuple(
                MemberIdentity(m.member_id, m.group_instance_id) for m in message.members
            )
        self._ask(call, message.group_id, LeaveGroup(members, version=call.version))

    def offset_commit(self, call: Call) -> None:
        """OffsetCommit. A client of before version 5 may set the retention time itself."""
        message = call.message
        expires = None
        if 2 <= call.version <= 4 and milliseconds(message.retention_time) >= 0:
            expires = self.now + milliseconds(message.retention_time)
        offsets = tuple(
            (
                TopicPartition(topic.name, p.partition_index),
                Offset(
                    p.committed_offset,
                    p.committed_metadata or "",
                    p.committed_leader_epoch if call.version >= 6 else -1,
                    expires,
                ),
            )
            for topic in message.topics
            for p in topic.partitions
        )
        request = OffsetCommit(
            offsets,
            message.member_id,
            message.generation_id_or_member_epoch,
            _instance(message),
            version=call.version,
        )
        self._ask(call, message.group_id, request)

    def offset_fetch(self, call: Call) -> None:
        """OffsetFetch, for one group or, from version 8 on, for several."""
        message = call.message
        if call.version >= 8:
            groups = [
                {"group_id": group.group_id, **self._fetched(group.group_id, group.topics)}
                for group in message.groups
            ]
            call.answer(groups=groups)
        else:
            fetched = self._fetched(message.group_id, message.topics)
            error = fetched["error_code"]
            if call.version < 2 and error is not Error.NONE:
                # The response has no error of its own yet: each partition carries it.
                failed = {**_committed(_NO_OFFSET), "error_code": error}
                fetched["topics"] = _by_topic((p, failed) for p in _asked_for(message.topics))
            call.answer(**fetched)

    def _fetched(self, group: str, topics: Any) -> dict[str, Any]:
        """A group's committed offsets by topic, or all of them if no topics are named."""
        partitions = None if topics is None else _asked_for(topics)
        outcome = self._coordinator.handle(group, None, OffsetFetch(partitions))
        (_, response), *_ = outcome.responses
        assert isinstance(response, OffsetFetchResponse)
        found = ((p, _committed(offset or _NO_OFFSET)) for p, offset in response.offsets)
        return {"error_code": response.error, "topics": _by_topic(found)}

    # -- administration --------------------------------------------------------------------

    def describe_groups(self, call: Call) -> None:
        """DescribeGroups. Kafka: `GroupMetadataManager.describeGroups`."""
        error = self._coordinator.error
        call.answer(groups=[self._described(call, name, error) for name in call.message.groups])

    def _described(self, call: Call, name: str, error: Error) -> dict[str, Any]:
        nothing = {
            "group_id": name,
            "error_code": error,
            "authorized_operations": NOT_ASKED,
            "group_state": "",
        }
        if error is not Error.NONE:
            return nothing
        group = self._coordinator.groups.get(name)
        if group is None:
            unknown: dict[str, Any] = {}
            if call.version >= 6:
                unknown = {
                    "error_code": Error.GROUP_ID_NOT_FOUND,
                    "error_message": f"Group {name} not found.",
                }
            return {**nothing, "group_state": GroupState.DEAD, **unknown}
        protocol = group.protocol if group.state is GroupState.STABLE else None
        variant = self._settings.for_coordinator().variant
        shows = protocol is not None or variant.describes_assignments
        return {
            **nothing,
            "group_state": group.state,
            "protocol_type": group.protocol_type or "",
            "protocol_data": protocol or "",
            "members": [
                {
                    "member_id": member.id,
                    "group_instance_id": member.instance,
                    "client_id": self._client_of(member.id)[0],
                    "client_host": f"/{self._client_of(member.id)[1]}",
                    "member_metadata": _bytes(member.subscription(protocol)) if protocol else b"",
                    "member_assignment": _bytes(member.assignment) if shows else b"",
                }
                for member in group.members.values()
            ],
        }

    def list_groups(self, call: Call) -> None:
        """ListGroups, with the filters of KIP-518 and KIP-848."""
        states = {s.lower() for s in call.message.states_filter} if call.version >= 4 else set()
        types = {t.lower() for t in call.message.types_filter} if call.version >= 5 else set()
        groups = [
            {
                "group_id": group.id,
                "protocol_type": group.protocol_type or "",
                "group_state": group.state,
                "group_type": "classic",
            }
            for group in self._coordinator.groups.values()
            if (not states or group.state.lower() in states) and (not types or "classic" in types)
        ]
        call.answer(error_code=self._coordinator.error, groups=groups)

    def delete_groups(self, call: Call) -> None:
        """DeleteGroups: only empty groups are deleted."""
        results = []
        for name in call.message.groups_names:
            error, outcome = self._coordinator.delete_group(name)
            self._settle(outcome)
            results.append({"group_id": name, "error_code": error})
        call.answer(results=results)

    def offset_delete(self, call: Call) -> None:
        """OffsetDelete, for partitions of topics that the group does not subscribe to."""
        message = call.message
        partitions = [
            TopicPartition(topic.name, p.partition_index)
            for topic in message.topics
            for p in topic.partitions
        ]
        error, errors, outcome = self._coordinator.delete_offsets(message.group_id, partitions)
        self._settle(outcome)
        call.answer(
            error_code=error,
            topics=_by_topic((p, {"error_code": e}) for p, e in errors),
        )

    def topics_deleted(self, topics: Collection[str]) -> None:
        """Topics are deleted, and with them their offsets."""
        self._settle(self._coordinator.topics_deleted(topics))

    # -- faults ----------------------------------------------------------------------------

    def begin_failover(self) -> None:
        """The coordinator moves away, and comes back with its offsets topic yet to be read."""
        self._settle(self._coordinator.unload())
        self._coordinator = self._new_coordinator()
        self._coordinator.start_loading()

    def end_failover(self) -> None:
        """The offsets topic is read."""
        self._settle(self._coordinator.load(self._log))

    def expire_session(self, group: str, member: str) -> bool:
        """Let a member's session time out now; whether the group has such a member.

        The member is named by its member id, its instance id or its client id.
        """
        known = self._coordinator.groups.get(group)
        for one in list(known.members.values()) if known else ():
            if member in (one.id, one.instance, self._clients.get(one.id, (None,))[0]):
                key = TimerKey(TimerKind.SESSION, group, one.id)
                self._timers.cancel(key)
                self._fire(key)
                return True
        return False

    def states(self) -> dict[str, dict[str, Any]]:
        """Each group's state, generation, protocol, leader, members and offsets, for tests."""
        return {
            group.id: {
                "state": str(group.state),
                "generation": group.generation,
                "protocol": group.protocol,
                "leader": group.leader,
                "members": [
                    {
                        "member": member.id,
                        "instance": member.instance,
                        "client": self._client_of(member.id)[0],
                    }
                    for member in group.members.values()
                ],
                "offsets": {str(p): known.offset.offset for p, known in group.offsets.items()},
            }
            for group in self._coordinator.groups.values()
        }


# -- responses --------------------------------------------------------------------------------

NOT_ASKED = -(2**31)
"""The authorized operations of a response to a client that did not ask for them."""


def _send(call: Call, response: Response) -> None:
    """Send a response of the coordinator; most are to heartbeats."""
    match response:
        case HeartbeatResponse():
            call.answer(error_code=response.error)
        case JoinGroupResponse(protocol=protocol):
            call.answer(
                error_code=response.error,
                generation_id=response.generation,
                protocol_type=response.protocol_type,
                protocol_name=protocol if protocol is not None or call.version >= 7 else "",
                leader=response.leader,
                skip_assignment=response.skip_assignment,
                member_id=response.member,
                members=[
                    {"member_id": who, "group_instance_id": instance, "metadata": _bytes(metadata)}
                    for who, instance, metadata in response.members
                ],
            )
        case SyncGroupResponse():
            call.answer(
                error_code=response.error,
                protocol_type=response.protocol_type,
                protocol_name=response.protocol,
                assignment=_bytes(response.assignment),
            )
        case LeaveGroupResponse():
            call.answer(
                error_code=response.error,
                members=[
                    {"member_id": m.member, "group_instance_id": m.instance, "error_code": error}
                    for m, error in response.members
                ],
            )
        case OffsetCommitResponse():
            errors = ((p, {"error_code": error}) for p, error in response.partitions)
            call.answer(topics=_by_topic(errors))


def _by_topic(
    entries: Iterable[tuple[TopicPartition, dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Results of partitions in the order of their topics, as responses list them."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for partition, entry in entries:
        topics.setdefault(partition.topic, []).append(
            {"partition_index": partition.partition, **entry}
        )
    return [{"name": name, "partitions": found} for name, found in topics.items()]


def _asked_for(topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
    """The partitions that an OffsetFetch names."""
    return tuple(TopicPartition(t.name, index) for t in topics for index in t.partition_indexes)


def _committed(offset: Offset) -> dict[str, Any]:
    return {
        "committed_offset": offset.offset,
        "committed_leader_epoch": offset.leader_epoch,
        "metadata": offset.metadata,
    }


def _instance(message: Any) -> str | None:
    """The instance id of a request, whose version may not have one."""
    return getattr(message, "group_instance_id", None)


def _bytes(opaque: Hashable) -> bytes:
    """A subscription or an assignment: bytes, since clients sent them as such."""
    return opaque if isinstance(opaque, bytes) else b""


def _topics_of(subscription: Hashable) -> Collection[str] | None:
    """The topics of a subscription, which begins with a version and a list of them in any version.

    Kafka: `ConsumerProtocol.deserializeConsumerProtocolSubscription`, by version 0.
    """
    data = _bytes(subscription)
    try:
        version, count = struct.unpack_from(">hi", data)
        if version < 0 or not 0 <= count <= len(data):
            return None
        position, topics = 6, []
        for _ in range(count):
            (length,) = struct.unpack_from(">h", data, position)
            end = position + 2 + length
            if length < 0 or end > len(data):
                return None
            topics.append(data[position + 2 : end].decode())
            position = end
    except (struct.error, UnicodeDecodeError):
        return None
    return topics
