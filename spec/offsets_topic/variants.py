"""The variants: Kafka as it is, and the faults that it had or avoided, each in one rule."""

from __future__ import annotations

from kspec.spec.core import Step, Variant, Violated, evolve, limit, present, rule
from kspec.spec.messages import GroupState
from kspec.spec.offsets_topic import administrator, cleaner, coordinator, group
from kspec.spec.offsets_topic.expiry import CONSUMER, GroupStatus, expired, group_expires
from kspec.spec.offsets_topic.records import LogEntry, hides, without
from kspec.spec.offsets_topic.state import OffsetsTopic, tombstone, tombstones

KIP_211 = Variant(
    "kip-211",
    rules=(
        *group.RULES,
        *administrator.RULES,
        *coordinator.RULES,
        *cleaner.RULES,
        coordinator.clock_advances,
    ),
    why=(
        "Offsets are kept while a group has members, and for the retention after the last has "
        "left (Kafka 2.1). In a Stable group, offsets of topics without subscriber expire (2.4), "
        "but not during a rebalance (KAFKA-13636, 3.2 and patches of 2.8 to 3.1)."
    ),
)

# -- expiry -----------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_expires_offsets_by_commit_time(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Offsets expire by the time of their commit, even while members read.

    Kafka: `GroupMetadata.removeExpiredOffsets` (2.0.0).
    """
    known = yield from present("group exists", s.group)
    old = s.clock - s.bounds.retention
    deleted = [partition for partition, entry in s.commits().items() if entry.time <= old]
    return (yield from coordinator.without_offsets(s, known, deleted))


BEFORE_KIP_211 = KIP_211.derive(
    "before-kip-211",
    replace={coordinator.coordinator_expires_offsets: coordinator_expires_offsets_by_commit_time},
    why=(
        "Before Kafka 2.1 an offset expired by the time of its commit, even in a group with "
        "members. A consumer of a topic without new records lost its position while it waited."
    ),
    violates={
        "OffsetsInUseDoNotExpire": Violated(states=5),
        "OffsetsAreRetained": Violated(states=6, bounds={"topics": 1, "writes": 4}),
    },
)


@rule(by="coordinator")
def coordinator_expires_offsets_in_any_state(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Offsets of topics that the last generation did not subscribe to expire in any state.

    Kafka: `GroupMetadata.removeExpiredOffsets` (3.1.0).
    """
    known = yield from present("group exists", s.group)
    taken_for = evolve(known, state=GroupState.STABLE) if known.has_members else known
    deleted = expired(taken_for, s.commits(), s.clock, s.bounds.retention)
    return (yield from coordinator.without_offsets(s, known, deleted))


KAFKA_13636 = KIP_211.derive(
    "kafka-13636",
    replace={coordinator.coordinator_expires_offsets: coordinator_expires_offsets_in_any_state},
    why=(
        "From Kafka 2.4 to 3.1.0 the subscription of the last generation decided during a "
        "rebalance as well, so offsets expired of topics that rejoining members read (KAFKA-13636)."
    ),
    violates={"OffsetsInUseDoNotExpire": Violated(states=5)},
)


@rule(by="coordinator")
def coordinator_expires_offsets_without_group_tombstone(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The coordinator drops a group without offsets, and writes no tombstone for it.

    Not in Kafka: `GroupMetadataManager.maybeDeleteGroup` writes one.
    """
    known = yield from present("group exists", s.group)
    deleted = expired(known, s.commits(), s.clock, s.bounds.retention)
    with_group = group_expires(known, s.commits(), deleted)
    yield "an offset or the group has expired", bool(deleted) or with_group
    yield limit("enough writes remain"), s.has_room(len(deleted))
    return s.with_written(*map(tombstone, deleted)).with_group(None if with_group else known)


GROUP_WITHOUT_TOMBSTONE = KIP_211.derive(
    "group-without-tombstone",
    replace={
        coordinator.coordinator_expires_offsets: coordinator_expires_offsets_without_group_tombstone
    },
    why="A group deleted only from the coordinator's memory returns after the next failover.",
    violates={
        "CoordinatorHasLatestRecords": Violated(states=4),
        "DeletedGroupHasNoRecord": Violated(states=4),
    },
)


@rule(by="group")
def last_member_leaves_unwritten(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The group becomes Empty in the coordinator's memory only.

    Not in Kafka: `GroupMetadataManager.completeClassicGroupJoin` writes an empty group.
    """
    yield "group is in PreparingRebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    yield limit("a write remains"), s.has_room()
    return s.with_group(GroupStatus(GroupState.EMPTY, CONSUMER, since=s.clock))


EMPTY_UNWRITTEN = KIP_211.derive(
    "empty-unwritten",
    replace={group.last_member_leaves: last_member_leaves_unwritten},
    why="A group whose last member left unrecorded is Stable after a failover, and never expires.",
    violates={"CoordinatorHasLatestRecords": Violated(states=3)},
)

# -- compaction -------------------------------------------------------------------------------


@rule(by="log", entry=tombstones)
def cleaner_removes_tombstone_by_age(s: OffsetsTopic, entry: LogEntry) -> Step[OffsetsTopic]:
    """The cleaner removes an old tombstone, even if it hides an earlier record.

    Not in Kafka: in `Cleaner.shouldRetainRecord` the age counts from when the tombstone was first
    cleaned, and with it the records that it hides.
    """
    yield "no coordinator has yet to load it", not cleaner.is_to_be_loaded(s, entry)
    return evolve(s, log=without(s.log, entry))


TOMBSTONES_BY_AGE = KIP_211.derive(
    "tombstones-by-age",
    replace={cleaner.cleaner_removes_tombstone: cleaner_removes_tombstone_by_age},
    why="A tombstone removed before the record that it hides makes that record visible again.",
    violates={
        "LogHasLatestRecords": Violated(states=4),
        "DeletedGroupHasNoRecord": Violated(states=4),
        "CoordinatorHasLatestRecords": Violated(states=7),
    },
)


@rule(by="log", entry=tombstones)
def cleaner_removes_tombstone_at_once(s: OffsetsTopic, entry: LogEntry) -> Step[OffsetsTopic]:
    """The cleaner removes a tombstone with the record it hides (`delete.retention.ms=0`).

    Kafka: `Cleaner.shouldRetainRecord`, with that setting.
    """
    yield "tombstone hides no earlier record", not hides(s.log, entry)
    return evolve(s, log=without(s.log, entry))


TOMBSTONES_AT_ONCE = KIP_211.derive(
    "tombstones-at-once",
    replace={cleaner.cleaner_removes_tombstone: cleaner_removes_tombstone_at_once},
    why=(
        "A coordinator that has loaded an offset and then misses its tombstone keeps the offset. "
        "This is what `delete.retention.ms` prevents."
    ),
    violates={"CoordinatorHasLatestRecords": Violated(states=8)},
)


@rule(by="log")
def cleaner_keeps_oldest(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Compaction keeps only the first entry of each key.

    Not in Kafka: `Cleaner.shouldRetainRecord` keeps the latest.
    """
    first = {entry.key: entry.offset for entry in reversed(s.log)}
    left = tuple(entry for entry in s.log if first[entry.key] == entry.offset)
    yield "compaction removes a record", left != s.log
    return evolve(s, log=left)


OLDEST_WINS = KIP_211.derive(
    "oldest-wins",
    replace={cleaner.cleaner_compacts_log: cleaner_keeps_oldest},
    why="Compaction that keeps the first record of each key, instead of the latest.",
    violates={
        "LogHasLatestRecords": Violated(states=4),
        "DeletedGroupHasNoRecord": Violated(states=4),
        "CoordinatorHasLatestRecords": Violated(states=7),
        "DeletedTopicHasNoOffset": Violated(states=10),
        "TombstonesAreRemoved": Violated(states=0),
    },
)

VARIANTS = (
    KIP_211,
    BEFORE_KIP_211,
    KAFKA_13636,
    GROUP_WITHOUT_TOMBSTONE,
    EMPTY_UNWRITTEN,
    TOMBSTONES_BY_AGE,
    TOMBSTONES_AT_ONCE,
    OLDEST_WINS,
)
