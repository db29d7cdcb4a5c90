"""What happens around the offsets topic, as it is since Kafka 2.1 with KAFKA-13636 repaired."""

from __future__ import annotations

from collections.abc import Collection

from spec.core import (
    Step,
    evolve,
    limit,
    replaced,
    rule,
)
from spec.messages import GroupState
from spec.offsets_topic.expiry import CONSUMER, Group, expired, goes_too, may_delete_offset
from spec.offsets_topic.records import Entry, compact, hides, next_entry, without
from spec.offsets_topic.state import (
    Loading,
    OffsetsTopic,
    commit,
    ends,
    loaded,
    metadata,
    partitions,
    slot,
    subscriptions,
    tombstone,
    tombstones,
    topics,
)
from spec.vocabulary import TopicPartition

# -- group ------------------------------------------------------------------------------------


@rule(by="group")
def rebalance_begins(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Somebody joins, or is missed: the coordinator waits for the members. Nothing is written.

    Simplification: who the members are does not matter here, only whether there are any.
    """
    yield "coordinator is loaded", s.is_loaded
    yield "none has begun", not s.is_in(GroupState.PREPARING_REBALANCE)
    subscribed = s.group.subscribed if s.group else frozenset()
    return s.with_group(Group(GroupState.PREPARING_REBALANCE, CONSUMER, subscribed))


@rule(by="group", subscription=subscriptions)
def generation_begins(s: OffsetsTopic, subscription: tuple[str, ...]) -> Step[OffsetsTopic]:
    """All members have joined, and wait for their assignment. Nothing is written yet."""
    yield "group prepares a rebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    waiting = Group(GroupState.COMPLETING_REBALANCE, CONSUMER, frozenset(subscription))
    return s.with_group(waiting)


@rule(by="group")
def leader_assigns(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The leader's assignment arrives: the group is written down with it, and is Stable."""
    yield "group completes a rebalance", s.is_in(GroupState.COMPLETING_REBALANCE)
    yield limit("a write is left"), s.has_room()
    assert s.group is not None, "the guard says that there is a group"
    stable = evolve(s.group, state=GroupState.STABLE)
    return s.writes(metadata(sorted(s.group.subscribed))).with_group(stable)


@rule(by="group")
def last_member_leaves(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Nobody is left when the rebalance completes: the group is Empty, and that is written."""
    yield "group prepares a rebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    yield limit("a write is left"), s.has_room()
    return s.writes(metadata()).with_group(Group(GroupState.EMPTY, CONSUMER, since=s.clock))


# -- consumers --------------------------------------------------------------------------------


@rule(by="member", partition=partitions)
def member_commits(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """A member commits, of any partition: the coordinator does not ask who owns it.

    Refused while the members wait for their assignment (REBALANCE_IN_PROGRESS), and for a
    topic that does not exist.
    """
    may = s.is_in(GroupState.PREPARING_REBALANCE, GroupState.STABLE)
    yield "group takes commits of members", may
    yield "topic exists", partition.topic in s.topics
    yield limit("a write is left"), s.has_room()
    return s.writes(commit(s, partition))


@rule(by="standalone", partition=partitions)
def standalone_commits(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """A consumer that assigns itself commits: into a group without members, or a new one.

    A new one is a simple group: no protocol type, no record of its own, only offsets.
    """
    yield "coordinator is loaded", s.is_loaded
    yield "group has no members", s.group is None or s.is_in(GroupState.EMPTY)
    yield "topic exists", partition.topic in s.topics
    yield limit("a write is left"), s.has_room()
    return s.writes(commit(s, partition)).with_group(s.group or Group())


# -- administrator ----------------------------------------------------------------------------


@rule(by="administrator", partition=partitions)
def admin_deletes_offset(s: OffsetsTopic, partition: TopicPartition) -> Step[OffsetsTopic]:
    """An offset is deleted, unless somebody subscribes to its topic (OffsetDelete, KIP-496)."""
    yield "group is known", s.group is not None
    yield "offset is committed", partition in s.commits()
    assert s.group is not None, "the guard says that there is a group"
    yield "nobody subscribes to the topic", may_delete_offset(s.group, partition.topic)
    yield limit("a write is left"), s.has_room()
    wanted = s.group.has_members and partition.topic in s.group.subscribed
    s = s.writes(tombstone(partition))
    return with_too_soon(s, subscribed=[partition] if wanted else [])


@rule(by="administrator")
def admin_deletes_group(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """A group without members is deleted, with all its offsets (DeleteGroups)."""
    yield "group has no members", s.is_in(GroupState.EMPTY)
    gone = [*s.commits(), None]
    yield limit("the writes are left"), s.has_room(len(gone))
    wanted = s.group is not None and s.group.has_members
    s = with_too_soon(s, under_members=list(s.commits()) if wanted else [])
    return s.writes(*map(tombstone, gone)).with_group(None)


@rule(by="administrator", topic=topics)
def topic_is_deleted(s: OffsetsTopic, topic: str) -> Step[OffsetsTopic]:
    """A topic is deleted, and what was committed of it goes too.

    Simplification: the coordinator hears of it at once, so none is loading at that moment.
    """
    yield "topic exists", topic in s.topics
    yield "coordinator is loaded", s.is_loaded
    gone = [partition for partition in s.commits() if partition.topic == topic]
    yield limit("the writes are left"), s.has_room(len(gone))
    return evolve(s.writes(*map(tombstone, gone)), topics=s.topics - {topic})


# -- coordinator ------------------------------------------------------------------------------


@rule(by="coordinator")
def offsets_expire(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """What nobody may want any more is taken back; and a group that then has nothing, as well.

    Kafka: `cleanupExpiredOffsets`, every ten minutes.
    """
    yield "group is known", s.group is not None
    assert s.group is not None, "the guard says that there is a group"
    gone = expired(s.group, s.commits(), s.clock, s.bounds.retention)
    also_group = goes_too(s.group, s.commits(), gone)
    yield "something has expired", bool(gone) or also_group
    yield limit("the writes are left"), s.has_room(len(gone) + also_group)
    return forget(s, s.group, gone)


def forget(s: OffsetsTopic, group: Group, gone: Collection[TopicPartition]) -> OffsetsTopic:
    """Tombstones for these offsets, and for a group that has nothing left; the ghosts watch."""
    also_group = goes_too(group, s.commits(), gone)
    retention, commits = s.bounds.retention, s.commits()
    s = with_too_soon(
        s,
        under_members=[
            p for p in gone if group.has_members and not group.is_settled_without(p.topic)
        ],
        early=[p for p in gone if s.clock < unused_since(group, commits[p]) + retention],
    )
    s = s.writes(*map(tombstone, gone))
    return s.writes(tombstone(None)).with_group(None) if also_group else s


def unused_since(group: Group, commit: Entry) -> int:
    """Since when nobody is known to use the offset: the members went, or it was committed."""
    return commit.time if group.since is None else group.since


def with_too_soon(s: OffsetsTopic, **gone: list[TopicPartition]) -> OffsetsTopic:
    """The ghosts take note of offsets that should have stayed."""
    noted = {name: getattr(s.too_soon, name) | set(found) for name, found in gone.items()}
    return evolve(s, too_soon=evolve(s.too_soon, **noted))


@rule(by="coordinator")
def coordinator_fails(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Another broker takes over, and knows nothing: it begins to read. A failed load is one too."""
    yield "something was written", s.end > 0
    nothing = (None,) * s.bounds.topics
    return evolve(s, coordinator=Loading(commits=nothing))


@rule(by="coordinator")
def coordinator_reads_on(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The next entry of the log is read, whatever compaction has left there by now."""
    yield "coordinator is loading", isinstance(s.coordinator, Loading)
    assert isinstance(s.coordinator, Loading), "the guard says so"
    entry = next_entry(s.log, s.coordinator.position)
    yield "an entry is left", entry is not None
    assert entry is not None, "the guard says so"
    kept = None if entry.is_tombstone else entry
    read = evolve(s.coordinator, position=entry.offset + 1)
    if entry.record.partition is None:
        read = evolve(read, group=kept)
    else:
        place = slot(s, entry.record.partition) - 1
        read = evolve(read, commits=replaced(read.commits, place, kept))
    return evolve(s, coordinator=read)


@rule(by="coordinator")
def coordinator_has_loaded(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """All is read, and the coordinator answers. What was never written, the members repeat."""
    yield "coordinator is loading", isinstance(s.coordinator, Loading)
    assert isinstance(s.coordinator, Loading), "the guard says so"
    yield "no entry is left", next_entry(s.log, s.coordinator.position) is None
    return evolve(s, coordinator=loaded(s.coordinator.group, s.coordinator.commits))


# -- log --------------------------------------------------------------------------------------


@rule(by="log", end=ends)
def log_is_compacted(s: OffsetsTopic, end: int) -> Step[OffsetsTopic]:
    """Below some offset only the latest entry of each key stays, tombstones among them."""
    left = compact(s.log, end)
    yield "something goes", left != s.log
    return evolve(s, log=left)


@rule(by="log", entry=tombstones)
def tombstone_is_removed(s: OffsetsTopic, entry: Entry) -> Step[OffsetsTopic]:
    """A tombstone has done its work, and goes.

    Kafka: `delete.retention.ms` after it was first cleaned. Simplification: that is taken to be
    long enough for whoever reads to get past it, instead of a clock.
    """
    yield "it hides nothing", not hides(s.log, entry)
    yield "nobody is about to read it", not is_about_to_read(s, entry)
    return evolve(s, log=without(s.log, entry))


def is_about_to_read(s: OffsetsTopic, entry: Entry) -> bool:
    """Whether a coordinator has begun to read, and has not come to this entry yet."""
    return isinstance(s.coordinator, Loading) and 0 < s.coordinator.position <= entry.offset


# -- clock ------------------------------------------------------------------------------------


@rule(by="clock")
def time_passes(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """A moment goes by, about as long as an offset is kept."""
    yield limit("a moment is left"), s.clock < s.bounds.last_moment
    return evolve(s, clock=s.clock + 1)


RULES = (
    rebalance_begins,
    generation_begins,
    leader_assigns,
    last_member_leaves,
    member_commits,
    standalone_commits,
    admin_deletes_offset,
    admin_deletes_group,
    topic_is_deleted,
    offsets_expire,
    coordinator_fails,
    coordinator_reads_on,
    coordinator_has_loaded,
    log_is_compacted,
    tombstone_is_removed,
    time_passes,
)
