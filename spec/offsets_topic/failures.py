"""What went wrong, or would: each a rule in place of one that is right."""

from __future__ import annotations

from spec.core import Step, Variant, Violated, evolve, limit, rule
from spec.messages import GroupState
from spec.offsets_topic import rules
from spec.offsets_topic.expiry import CONSUMER, Group, expired, goes_too
from spec.offsets_topic.records import Entry, hides, without
from spec.offsets_topic.state import OffsetsTopic, tombstone, tombstones

# -- expiry -----------------------------------------------------------------------------------


@rule(by="coordinator")
def offsets_expire_by_their_commit(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Whatever was committed long ago is taken back, whoever still reads."""
    yield "group is known", s.group is not None
    assert s.group is not None, "the guard says that there is a group"
    old = s.clock - s.bounds.retention
    gone = [partition for partition, entry in s.commits().items() if entry.time <= old]
    also_group = goes_too(s.group, s.commits(), gone)
    yield "something has expired", bool(gone) or also_group
    yield limit("the writes are left"), s.has_room(len(gone) + also_group)
    return rules.forget(s, s.group, gone)


@rule(by="coordinator")
def offsets_expire_in_any_state(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Topics that the last generation did not subscribe to are forgotten in any state."""
    yield "group is known", s.group is not None
    assert s.group is not None, "the guard says that there is a group"
    asked = s.group
    if asked.has_members:
        asked = evolve(asked, state=GroupState.STABLE)
    gone = expired(asked, s.commits(), s.clock, s.bounds.retention)
    also_group = goes_too(s.group, s.commits(), gone)
    yield "something has expired", bool(gone) or also_group
    yield limit("the writes are left"), s.has_room(len(gone) + also_group)
    return rules.forget(s, s.group, gone)


@rule(by="coordinator")
def offsets_expire_and_group_stays(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The coordinator forgets a group that has nothing left, and writes no tombstone for it."""
    yield "group is known", s.group is not None
    assert s.group is not None, "the guard says that there is a group"
    gone = expired(s.group, s.commits(), s.clock, s.bounds.retention)
    also_group = goes_too(s.group, s.commits(), gone)
    yield "something has expired", bool(gone) or also_group
    yield limit("the writes are left"), s.has_room(len(gone))
    group = None if also_group else s.group
    return s.writes(*map(tombstone, gone)).with_group(group)


# -- compaction -------------------------------------------------------------------------------


@rule(by="log", entry=tombstones)
def tombstone_is_removed_by_its_age(s: OffsetsTopic, entry: Entry) -> Step[OffsetsTopic]:
    """A tombstone goes once it is old, wherever it stands, since it says nothing any more."""
    yield "nobody is about to read it", not rules.is_about_to_read(s, entry)
    return evolve(s, log=without(s.log, entry))


@rule(by="log", entry=tombstones)
def tombstone_is_removed_at_once(s: OffsetsTopic, entry: Entry) -> Step[OffsetsTopic]:
    """A tombstone goes with what it hides, whoever is reading (`delete.retention.ms=0`)."""
    yield "it hides nothing", not hides(s.log, entry)
    return evolve(s, log=without(s.log, entry))


@rule(by="log")
def log_keeps_what_is_old(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Below the end only the first entry of each key stays."""
    first = {entry.key: entry.offset for entry in reversed(s.log)}
    left = tuple(entry for entry in s.log if first[entry.key] == entry.offset)
    yield "something goes", left != s.log
    return evolve(s, log=left)


# -- the rest ---------------------------------------------------------------------------------


@rule(by="group")
def last_member_leaves_unwritten(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Nobody is left, and only the coordinator's memory says so."""
    yield "group prepares a rebalance", s.is_in(GroupState.PREPARING_REBALANCE)
    yield limit("a write is left"), s.has_room()
    empty = Group(GroupState.EMPTY, CONSUMER, since=s.clock)
    return s.with_group(empty)


# -- what mutants may do ------------------------------------------------------------------------

WRITERS = (
    "leader_assigns",
    "last_member_leaves",
    "member_commits",
    "standalone_commits",
    "admin_deletes_offset",
    "admin_deletes_group",
    "topic_is_deleted",
    "offsets_expire",
)

SURVIVORS = {
    **{
        f"{name} makes end one more": "An offset that is left out is a gap, as compaction makes."
        for name in WRITERS
    },
    "rebalance_begins without the guard 'none has begun'": (
        "A rebalance that begins once more is the same one."
    ),
    "leader_assigns forgets coordinator.group.state": (
        "It is written, so the next coordinator makes it Stable; until then the members wait, "
        "which is a matter of the group, not of its records."
    ),
    "standalone_commits without the guard 'group has no members'": (
        "No record says who committed. What becomes of a group with a stranger's commits, the "
        "model `delivery` shows."
    ),
    "admin_deletes_offset without the guard 'group is known'": (
        "A group that is not known has no commit, so the next guard says it already."
    ),
    "admin_deletes_offset without the guard 'offset is committed'": (
        "A tombstone for what is not there takes nothing away."
    ),
    "topic_is_deleted without the guard 'topic exists'": "What is gone is not there to be deleted.",
    "offsets_expire without the guard 'something has expired'": "Then nothing is written.",
    "coordinator_fails without the guard 'something was written'": (
        "An empty log is read at once, and leads back."
    ),
    **{
        f"coordinator_reads_on {what}": "Where a record stood does not matter once it is read."
        for what in (
            "forgets coordinator.group.offset",
            "makes coordinator.group.offset one more",
            "makes coordinator.group.offset one less",
        )
    },
    "coordinator_has_loaded forgets coordinator": (
        "A coordinator that never answers breaks no promise about what it answers."
    ),
    "log_is_compacted without the guard 'something goes'": "Then the log stays as it is.",
}

# -- variants -----------------------------------------------------------------------------------

KIP_211 = Variant(
    "kip-211",
    rules=rules.RULES,
    why=(
        "Offsets are kept while a group has members, and for the retention after the last has "
        "gone: what Kafka does since 2.1, with KAFKA-13636 repaired."
    ),
    survivors=SURVIVORS,
)

BEFORE_KIP_211 = KIP_211.derive(
    "before-kip-211",
    replace={rules.offsets_expire: offsets_expire_by_their_commit},
    why=(
        "Before Kafka 2.1 an offset expired by the time of its commit, whoever was in the group. "
        "A consumer of a topic in which nothing happens lost its place while it waited."
    ),
    violates={
        "NothingExpiresUnderMembers": Violated(states=5),
        "NothingExpiresEarly": Violated(states=6, bounds={"topics": 1, "writes": 4}),
    },
)

KAFKA_13636 = KIP_211.derive(
    "kafka-13636",
    replace={rules.offsets_expire: offsets_expire_in_any_state},
    why=(
        "Whether a topic is read was asked of the last generation, also while a rebalance went "
        "on. So what the members that come back would read was forgotten (KAFKA-13636)."
    ),
    violates={"NothingExpiresUnderMembers": Violated(states=5)},
)

GROUP_STAYS = KIP_211.derive(
    "group-without-tombstone",
    replace={rules.offsets_expire: offsets_expire_and_group_stays},
    why="A group that only the coordinator's memory forgets is back after the next failover.",
    violates={
        "CoordinatorHasWhatWasWritten": Violated(states=4),
        "ForgottenGroupsLeaveNothing": Violated(states=4),
    },
)

EMPTY_UNWRITTEN = KIP_211.derive(
    "empty-unwritten",
    replace={rules.last_member_leaves: last_member_leaves_unwritten},
    why="A group whose end is not written is Stable again after a failover, and never expires.",
    violates={"CoordinatorHasWhatWasWritten": Violated(states=3)},
)

TOMBSTONES_BY_AGE = KIP_211.derive(
    "tombstones-by-age",
    replace={rules.tombstone_is_removed: tombstone_is_removed_by_its_age},
    why="A tombstone that goes before what it hides lets that come back.",
    violates={
        "ReadersSeeWhatWasWritten": Violated(states=4),
        "ForgottenGroupsLeaveNothing": Violated(states=4),
        "CoordinatorHasWhatWasWritten": Violated(states=7),
    },
)

TOMBSTONES_AT_ONCE = KIP_211.derive(
    "tombstones-at-once",
    replace={rules.tombstone_is_removed: tombstone_is_removed_at_once},
    why=(
        "Whoever has read an offset, and then misses its tombstone, keeps the offset. That is "
        "what `delete.retention.ms` is for."
    ),
    violates={"CoordinatorHasWhatWasWritten": Violated(states=8)},
)

OLDEST_WINS = KIP_211.derive(
    "oldest-wins",
    replace={rules.log_is_compacted: log_keeps_what_is_old},
    why="Compaction that keeps the first of each key, instead of the latest.",
    violates={
        "ReadersSeeWhatWasWritten": Violated(states=4),
        "ForgottenGroupsLeaveNothing": Violated(states=4),
        "CoordinatorHasWhatWasWritten": Violated(states=7),
        "DeletedTopicsLeaveNothing": Violated(states=10),
        "TombstoneGoes": Violated(states=0),
    },
)

FAILURES = (
    BEFORE_KIP_211,
    KAFKA_13636,
    GROUP_STAYS,
    EMPTY_UNWRITTEN,
    TOMBSTONES_BY_AGE,
    TOMBSTONES_AT_ONCE,
    OLDEST_WINS,
)
