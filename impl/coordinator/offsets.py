"""OffsetCommit and OffsetFetch: how far a group has read, and when that is forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import attrs

from impl.coordinator.answers import committed, told_instead
from impl.coordinator.desk import Caller, Desk
from impl.coordinator.group import Commit, CommittedOffset, Group, Parked
from impl.coordinator.rounds import COMPLETING, EMPTY, STABLE
from spec.messages import (
    NOBODY,
    Committed,
    Error,
    Fetched,
    GroupState,
    Offset,
    OffsetCommit,
    OffsetFetch,
    Record,
)
from spec.vocabulary import TopicPartition

# -- OffsetCommit --------------------------------------------------------------------------


def offset_commit(
    desk: Desk, group_id: str, caller: Caller, request: OffsetCommit
) -> Committed | None:
    """Write offsets down; the answer comes once they are stored."""
    group = desk.groups.get(group_id)
    if group is None:
        if request.generation >= 0:
            return committed(request, Error.ILLEGAL_GENERATION)
        group = desk.create(group_id)
    error = _why_not_commit(group, request)
    if error is not Error.NONE:
        return committed(request, error)
    member = group.members.get(request.member)
    if member is not None:
        desk.expect_sign_of_life(member)
    errors = tuple((partition, _why_not(desk, partition, o)) for partition, o in request.offsets)
    offsets = {
        partition: offset
        for (partition, offset), (_, refused) in zip(request.offsets, errors, strict=True)
        if refused is Error.NONE
    }
    if not offsets:
        return Committed(errors)
    commit = Commit(offsets, desk.clock())
    waiting = CommitWritten(group, commit, desk.park(caller), errors)
    records = [Record(group_id, p, offset, commit.time) for p, offset in offsets.items()]
    group.commits[desk.write_and_wait(waiting, *records)] = commit
    return None


def _why_not_commit(group: Group, request: OffsetCommit) -> Error:
    """Whether somebody may commit who is this member, or who assigns itself its partitions."""
    if request.generation < 0 and group.state is EMPTY:
        return Error.NONE
    if request.generation >= 0 or request.member != NOBODY or request.instance is not None:
        error = group.why_not(request.member, request.instance, request.generation)
        if error is not Error.NONE:
            return error
    else:
        return Error.UNKNOWN_MEMBER_ID
    return Error.REBALANCE_IN_PROGRESS if group.state is COMPLETING else Error.NONE


def _why_not(desk: Desk, partition: TopicPartition, offset: Offset) -> Error:
    if not desk.partition_exists(partition):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if _java_length(offset.metadata) > desk.settings.max_metadata:
        return Error.OFFSET_METADATA_TOO_LARGE
    return Error.NONE


def _java_length(text: str) -> int:
    """As long as Java finds it: what needs more than two bytes there counts twice."""
    return len(text) if text.isascii() else len(text) + sum(c > "\uffff" for c in text)


@attrs.frozen(eq=False)
class CommitWritten:
    """Offsets are written, and may be fetched once they are stored."""

    group: Group
    commit: Commit
    parked: Parked
    errors: tuple[tuple[TopicPartition, Error], ...]

    def stored(self, desk: Desk, ticket: int, error: Error) -> None:
        """Make the offsets visible, or not; tell who committed."""
        group = self.group
        group.commits.pop(ticket, None)
        if error is Error.NONE:
            for partition, offset in self.commit.offsets.items():
                known = group.offsets.get(partition)
                if known is None or known.ticket < ticket:
                    group.offsets[partition] = CommittedOffset(offset, self.commit.time, ticket)
        desk.release(self.parked, self.answer(told_instead(error)))

    def answer(self, error: Error) -> Committed:
        """How each partition fared: refused from the start, or as the writing went."""
        return Committed(tuple((p, e if e is not Error.NONE else error) for p, e in self.errors))


# -- OffsetFetch ---------------------------------------------------------------------------


def offset_fetch(desk: Desk, group_id: str, caller: Caller, request: OffsetFetch) -> Fetched:
    """What is stored; nothing is no error."""
    group = desk.groups.get(group_id)
    offsets = group.offsets if group is not None else {}
    if request.partitions is None:
        return Fetched(offsets=tuple((p, known.offset) for p, known in offsets.items()))
    found = ((partition, offsets.get(partition)) for partition in request.partitions)
    return Fetched(offsets=tuple((p, known.offset if known else None) for p, known in found))


# -- what is forgotten ---------------------------------------------------------------------


def expire_offsets(desk: Desk, now: int, retention: int) -> None:
    """Forget what nobody has needed for long, and groups of which nothing is left."""
    for group in list(desk.groups.values()):
        _drop(desk, group, list(_expired(desk, group, now, retention)))
        if group.state is EMPTY and not group.offsets and not group.commits:
            desk.write(Record(group.id, None, None, desk.clock()))
            dissolve(desk, group)


def _expired(desk: Desk, group: Group, now: int, retention: int) -> Iterable[TopicPartition]:
    """Offsets whose time is over: of groups that are empty, or do not read that topic any more.

    A group that rebalances keeps what it has (KAFKA-13636). So does one whose newer commit is
    under way: its record would come before the tombstone, and be lost.
    """
    still_read: Collection[str] = ()
    if group.state is STABLE and group.protocol_type == "consumer":
        topics = _subscribed(desk, group)
        if topics is None:
            return
        still_read = topics
    elif group.state is not EMPTY:
        return
    under_way = {partition for commit in group.commits.values() for partition in commit.offsets}
    counts_from_state = group.state is EMPTY and group.protocol_type is not None
    for partition, known in group.offsets.items():
        if partition.topic in still_read or partition in under_way:
            continue
        since = (counts_from_state and group.since) or known.time
        expires = known.offset.expires
        if (since + retention if expires is None else expires) <= now:
            yield partition


def _subscribed(desk: Desk, group: Group) -> Collection[str] | None:
    """The topics that a member subscribes to; None if one cannot be read."""
    topics: set[str] = set()
    for member in group.members.values():
        of_member = desk.topics_of(member.subscription(group.protocol))
        if of_member is None:
            return None
        topics.update(of_member)
    return topics


def topics_deleted(desk: Desk, topics: Collection[str]) -> None:
    """Nobody reads on in a topic that is gone; nor will what is under way be of use."""
    for group in desk.groups.values():
        under_way = (partition for commit in group.commits.values() for partition in commit.offsets)
        known = dict.fromkeys([*group.offsets, *under_way])
        _drop(desk, group, [partition for partition in known if partition.topic in topics])


def _drop(desk: Desk, group: Group, partitions: Collection[TopicPartition]) -> None:
    for partition in partitions:
        group.offsets.pop(partition, None)
        for commit in group.commits.values():
            commit.offsets.pop(partition, None)
        desk.write(Record(group.id, partition, None, desk.clock()))


def dissolve(desk: Desk, group: Group) -> None:
    """The group is no more."""
    for timer in group.timers():
        desk.timers.cancel(timer)
    group.becomes(GroupState.DEAD, desk.clock())
    del desk.groups[group.id]
