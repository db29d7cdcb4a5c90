"""The coordinator: the expiry of offsets, failover and loading; and the clock."""

from __future__ import annotations

from collections.abc import Collection

from kspec.spec.core import Step, evolve, limit, present, replaced, rule
from kspec.spec.offsets_topic.expiry import GroupStatus, expired, group_expires
from kspec.spec.offsets_topic.records import next_entry
from kspec.spec.offsets_topic.state import (
    Loading,
    OffsetsTopic,
    loaded,
    slot,
    tombstone,
)
from kspec.spec.vocabulary import TopicPartition

# -- expiry -----------------------------------------------------------------------------------


@rule(by="coordinator")
def coordinator_expires_offsets(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The coordinator deletes expired offsets, and a group that then has none.

    Kafka: `GroupCoordinatorShard.cleanupGroupMetadata`.
    """
    group = yield from present("group exists", s.group)
    deleted = expired(group, s.commits(), s.clock, s.bounds.retention)
    return (yield from without_offsets(s, group, deleted))


def without_offsets(
    s: OffsetsTopic, group: GroupStatus, deleted: Collection[TopicPartition]
) -> Step[OffsetsTopic]:
    """Write tombstones for these offsets, and for a group that then has none."""
    commits = s.commits()
    with_group = group_expires(group, commits, deleted)
    yield "an offset or the group has expired", bool(deleted) or with_group
    yield limit("enough writes remain"), s.has_room(len(deleted) + with_group)
    kept_until = {
        p: s.bounds.retention + (commits[p].time if group.since is None else group.since)
        for p in deleted
    }
    noted = s.with_premature(
        in_use=[p for p in deleted if group.has_members and not group.is_stable_without(p.topic)],
        early=[p for p in deleted if s.clock < kept_until[p]],
    )
    written = noted.with_written(*map(tombstone, deleted))
    return written.with_written(tombstone(None)).with_group(None) if with_group else written


# -- failover ---------------------------------------------------------------------------------


def is_loading(s: OffsetsTopic) -> Step[Loading]:
    """The guard that the coordinator is loading, and how far it is."""
    coordinator = s.coordinator
    yield "coordinator is loading", isinstance(coordinator, Loading)
    assert isinstance(coordinator, Loading), "the guard holds"
    return coordinator


@rule(by="coordinator")
def coordinator_fails(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Another broker becomes coordinator and begins to load; also after a load that failed.

    Kafka: `GroupCoordinatorService.onElection`.
    """
    yield "a record was written", s.end > 0
    nothing = (None,) * s.bounds.topics
    return evolve(s, coordinator=Loading(commits=nothing))


@rule(by="coordinator")
def coordinator_loads_record(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """The coordinator loads the next entry that compaction has left.

    Kafka: `CoordinatorLoaderImpl`, `GroupCoordinatorShard.replay`.
    """
    loading = yield from is_loading(s)
    first = next_entry(s.log, loading.position)
    entry = yield from present("a record remains to be loaded", first)
    kept = None if entry.is_tombstone else entry
    read = evolve(loading, position=entry.offset + 1)
    if entry.record.partition is None:
        return evolve(s, coordinator=evolve(read, group=kept))
    place = slot(entry.record.partition) - 1
    return evolve(s, coordinator=evolve(read, commits=replaced(read.commits, place, kept)))


@rule(by="coordinator")
def coordinator_completes_load(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """Every entry is loaded, and the coordinator answers. Members retry what was not written.

    Kafka: `GroupCoordinatorShard.onLoaded`.
    """
    loading = yield from is_loading(s)
    yield "every record is loaded", next_entry(s.log, loading.position) is None
    return evolve(s, coordinator=loaded(loading.group, loading.commits))


# -- clock ------------------------------------------------------------------------------------


@rule(by="clock")
def clock_advances(s: OffsetsTopic) -> Step[OffsetsTopic]:
    """A moment passes, which is as long as the shortest retention.

    Not in Kafka: time.
    """
    yield limit("the clock is below its bound"), s.clock < s.bounds.last_moment
    return evolve(s, clock=s.clock + 1)


RULES = (
    coordinator_expires_offsets,
    coordinator_fails,
    coordinator_loads_record,
    coordinator_completes_load,
)
