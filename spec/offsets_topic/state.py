"""The state: one group's records in the offsets topic, and the coordinator of the group.

The coordinator answers from memory and writes what must outlive it. When it fails, another one
loads the log from the beginning, record by record, while compaction continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from kspec.spec.core import appended, bound, constant, evolve, replaced
from kspec.spec.messages import GroupMetadata, GroupState, Offset, OffsetsTopicRecord, StoredMember
from kspec.spec.offsets_topic.expiry import CONSUMER, GroupStatus, status_of
from kspec.spec.offsets_topic.records import Latest, LogEntry, OffsetsLog
from kspec.spec.vocabulary import TopicPartition

GROUP = "g"
"""The one group of this model."""
TOPICS = ("a", "b", "c")
"""The topics, as far as the bounds allow them, of one partition each."""
PARTITIONS = tuple(TopicPartition(topic, 0) for topic in TOPICS)
"""Their partitions."""


@attrs.frozen
class Bounds:
    """How much of the system is explored."""

    topics: int = bound(2, 1, len(TOPICS), "topics, of one partition each")
    writes: int = bound(3, 1, 8, "records that are ever written to the offsets topic")
    last_moment: int = bound(1, 0, 4, "the last moment of the clock, which begins at 0")
    retention: int = bound(1, 1, 4, "how long an offset is kept (offsets.retention.minutes)")


@attrs.frozen
class Loaded:
    """A coordinator that answers: the group and its offsets, in memory."""

    group: GroupStatus | None = None
    """The group; None where it does not exist."""
    commits: tuple[LogEntry | None, ...] = ()
    """For each partition, the commit that it answers with."""


@attrs.frozen
class Loading:
    """A coordinator that has loaded part of the log, and answers COORDINATOR_LOAD_IN_PROGRESS."""

    position: int = 0
    """The offset in the log at which loading continues."""
    group: LogEntry | None = None
    """The group's record, as far as the log is loaded."""
    commits: tuple[LogEntry | None, ...] = ()
    """For each partition, the latest commit, as far as the log is loaded."""


@attrs.frozen
class PrematureDeletions:
    """Ghost: offsets that were deleted although they should have been kept."""

    in_use: frozenset[TopicPartition] = frozenset()
    """Expired while members of the group may have needed them."""
    early: frozenset[TopicPartition] = frozenset()
    """Expired before the retention had passed."""
    subscribed: frozenset[TopicPartition] = frozenset()
    """Deleted by an administrator while a member subscribed to the topic."""


@attrs.frozen(cache_hash=True)
class OffsetsTopic:
    """One group's part of the offsets topic, and its coordinator."""

    log: OffsetsLog
    """The entries that compaction has left."""
    end: int
    """The log end offset: the offset of the next record."""
    coordinator: Loaded | Loading
    """The leader of this partition of the offsets topic."""
    clock: int
    """The current moment."""
    topics: frozenset[str]
    """The topics that exist."""
    written: tuple[LogEntry | None, ...]
    """Ghost: the latest entry written and not deleted, of the group, then of each partition."""
    premature: PrematureDeletions
    """Ghost: offsets that were deleted too soon."""
    bounds: Bounds = constant()
    """How much of the system is explored."""

    # -- queries ----------------------------------------------------------------------------------

    @property
    def group(self) -> GroupStatus | None:
        """The group in the coordinator's memory; None where it does not exist or is not loaded."""
        return self.coordinator.group if isinstance(self.coordinator, Loaded) else None

    @property
    def is_loaded(self) -> bool:
        """Whether the coordinator answers."""
        return isinstance(self.coordinator, Loaded)

    def is_in(self, *states: GroupState) -> bool:
        """Whether the coordinator has the group in one of these states."""
        return self.group is not None and self.group.state in states

    def commits(self) -> dict[TopicPartition, LogEntry]:
        """The commits that the coordinator answers with."""
        kept = self.coordinator.commits if self.is_loaded else ()
        return {p: c for p, c in zip(partitions(self), kept, strict=False) if c is not None}

    def has_room(self, records: int = 1) -> bool:
        """Whether the bounds allow this many more records."""
        return self.end + records <= self.bounds.writes

    # -- updates ----------------------------------------------------------------------------------

    def with_group(self, group: GroupStatus | None) -> OffsetsTopic:
        """The coordinator has this group in memory; no record is written."""
        assert isinstance(self.coordinator, Loaded), "a coordinator that loads does not answer"
        return evolve(self, coordinator=evolve(self.coordinator, group=group))

    def with_written(self, *records: OffsetsTopicRecord) -> OffsetsTopic:
        """Records are appended, and the coordinator answers accordingly.

        Simplification: a record is replicated at once, and no append fails.
        """
        s = self
        for record in records:
            entry = LogEntry(s.end, record, time=s.clock)
            kept = None if entry.is_tombstone else entry
            place = slot(record.partition)
            s = evolve(
                s,
                log=appended(s.log, entry),
                end=s.end + 1,
                written=replaced(s.written, place, kept),
            )
            if record.partition is not None:
                commits = replaced(s.coordinator.commits, place - 1, kept)
                s = evolve(s, coordinator=evolve(s.coordinator, commits=commits))
        return s

    def with_premature(self, **deleted: list[TopicPartition]) -> OffsetsTopic:
        """Offsets were deleted that should have been kept; only a ghost changes."""
        noted = {name: getattr(self.premature, name) | set(new) for name, new in deleted.items()}
        return evolve(self, premature=evolve(self.premature, **noted))


def slot(partition: TopicPartition | None) -> int:
    """The index of a key in `written`, where the group comes first."""
    return 0 if partition is None else 1 + PARTITIONS.index(partition)


def initial(bounds: Bounds) -> list[OffsetsTopic]:
    """An empty log, a loaded coordinator without a group, and every topic."""
    nothing = (None,) * bounds.topics
    return [
        OffsetsTopic(
            log=(),
            end=0,
            coordinator=Loaded(commits=nothing),
            clock=0,
            topics=frozenset(TOPICS[: bounds.topics]),
            written=(None, *nothing),
            premature=PrematureDeletions(),
            bounds=bounds,
        )
    ]


# -- records --------------------------------------------------------------------------------------


def commit(s: OffsetsTopic, partition: TopicPartition) -> OffsetsTopicRecord:
    """A commit of an offset that was not committed before, so that commits can be distinguished."""
    return OffsetsTopicRecord(GROUP, partition, Offset(s.end))


def tombstone(partition: TopicPartition | None) -> OffsetsTopicRecord:
    """The tombstone of an offset, or of the group."""
    return OffsetsTopicRecord(GROUP, partition, None)


def metadata(subscribed: Iterable[str] = ()) -> OffsetsTopicRecord:
    """The group with one member that subscribes to these topics; without topics, Empty."""
    topics = tuple(subscribed)
    member = StoredMember("member", None, 0, 0, subscription=topics, assignment=())
    return OffsetsTopicRecord(
        GROUP, None, GroupMetadata(0, CONSUMER, members=(member,) if topics else ())
    )


def loaded(group: LogEntry | None, commits: tuple[LogEntry | None, ...]) -> Loaded:
    """The coordinator after loading; offsets without a group's record make a simple group."""
    if group is not None:
        return Loaded(status_of(group), commits)
    return Loaded(GroupStatus() if any(commits) else None, commits)


def as_written(s: OffsetsTopic, latest: Latest) -> tuple[LogEntry | None, ...]:
    """What a reader knows, in the order of `written`."""
    return tuple(latest.get((GROUP, p)) for p in (None, *partitions(s)))


# -- choices --------------------------------------------------------------------------------------


def topics(s: OffsetsTopic) -> tuple[str, ...]:
    """Every topic, whether or not it still exists."""
    return TOPICS[: s.bounds.topics]


def partitions(s: OffsetsTopic) -> tuple[TopicPartition, ...]:
    """Every partition."""
    return PARTITIONS[: s.bounds.topics]


def subscriptions(s: OffsetsTopic) -> Iterator[tuple[str, ...]]:
    """What the members may subscribe to: the first topic, the first two, and so on."""
    for count in range(1, s.bounds.topics + 1):
        yield TOPICS[:count]


def ends(s: OffsetsTopic) -> range:
    """How far a compaction may reach."""
    return range(1, s.end + 1)


def tombstones(s: OffsetsTopic) -> list[LogEntry]:
    """Every tombstone in the log."""
    return [entry for entry in s.log if entry.is_tombstone]
