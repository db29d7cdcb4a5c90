"""What there is: one group's records in the offsets topic, and the coordinator that keeps them.

The coordinator answers from its memory, and writes down what must outlive it. When it fails,
another one reads the log from the beginning, one entry after the other, while compaction goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from spec.core import (
    appended,
    bound,
    constant,
    evolve,
    replaced,
)
from spec.messages import GroupMetadata, GroupState, Offset, Record, StoredMember
from spec.offsets_topic.expiry import CONSUMER, Group, group_of
from spec.offsets_topic.records import Entry, Latest, Log
from spec.vocabulary import TopicPartition

GROUP = "g"
"""The one group of this model."""


@attrs.frozen
class Bounds:
    """How large the world is in which every state is looked at."""

    topics: int = bound(2, 1, 3, "topics, of one partition each")
    writes: int = bound(3, 1, 8, "records that are ever written to the offsets topic")
    last_moment: int = bound(1, 0, 4, "the last moment of the clock, which begins at 0")
    retention: int = bound(1, 1, 4, "how long an offset is kept (offsets.retention.minutes)")


@attrs.frozen
class Loaded:
    """A coordinator that answers: the group and its offsets, in memory."""

    group: Group | None = None
    """None where it knows of no such group."""
    commits: tuple[Entry | None, ...] = ()
    """For each partition, the commit that it answers with."""


@attrs.frozen
class Loading:
    """A coordinator that has read a part of the log, and answers COORDINATOR_LOAD_IN_PROGRESS."""

    position: int = 0
    """The offset of the log at which it goes on."""
    group: Entry | None = None
    """The group's record, as far as it has read."""
    commits: tuple[Entry | None, ...] = ()
    """For each partition, the latest commit, as far as it has read."""


@attrs.frozen
class TooSoon:
    """A ghost: offsets that went when they should not have, as history tells."""

    under_members: frozenset[TopicPartition] = frozenset()
    """Expired while members might have read on from them."""
    early: frozenset[TopicPartition] = frozenset()
    """Expired before the retention had passed."""
    subscribed: frozenset[TopicPartition] = frozenset()
    """Deleted by an administrator while a member subscribed to the topic."""


@attrs.frozen(cache_hash=True)
class OffsetsTopic:
    """One group's part of the offsets topic."""

    log: Log
    """What compaction has left of what was written."""
    end: int
    """The offset of the next record."""
    coordinator: Loaded | Loading
    """Whoever leads this partition of the offsets topic."""
    clock: int
    """The moment it is."""
    topics: frozenset[str]
    """The topics that exist."""
    written: tuple[Entry | None, ...]
    """A ghost: what was written last and not taken back, of the group, then of each partition."""
    too_soon: TooSoon
    """A ghost: what went too soon."""
    bounds: Bounds = constant()
    """How large this world is."""

    # -- words that the rules are told in -----------------------------------------------------

    @property
    def group(self) -> Group | None:
        """The group as the coordinator has it in memory; None where there is none, or not yet."""
        return self.coordinator.group if isinstance(self.coordinator, Loaded) else None

    @property
    def is_loaded(self) -> bool:
        """Whether the coordinator answers."""
        return isinstance(self.coordinator, Loaded)

    def is_in(self, *states: GroupState) -> bool:
        """Whether the coordinator has the group, in one of these states."""
        return self.group is not None and self.group.state in states

    def commits(self) -> dict[TopicPartition, Entry]:
        """The commits that the coordinator answers with."""
        kept = self.coordinator.commits if self.is_loaded else ()
        return {p: c for p, c in zip(partitions(self), kept, strict=False) if c is not None}

    def has_room(self, records: int = 1) -> bool:
        """Whether so many records may still be written."""
        return self.end + records <= self.bounds.writes

    # -- updates that several rules share ---------------------------------------------------------

    def with_group(self, group: Group | None) -> OffsetsTopic:
        """The coordinator has the group in memory so; nothing is written."""
        assert isinstance(self.coordinator, Loaded), "who loads does not answer"
        return evolve(self, coordinator=evolve(self.coordinator, group=group))

    def writes(self, *records: Record) -> OffsetsTopic:
        """Records are appended, and the coordinator answers accordingly.

        Simplification: a record is replicated at once; what an append that fails leaves behind
        is not modelled.
        """
        s = self
        for record in records:
            entry = Entry(s.end, record, time=s.clock)
            kept = None if entry.is_tombstone else entry
            place = slot(s, record.partition)
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


def slot(s: OffsetsTopic, partition: TopicPartition | None) -> int:
    """Where `written` speaks of this key: the group comes first."""
    return 0 if partition is None else 1 + partitions(s).index(partition)


def initial(bounds: Bounds) -> list[OffsetsTopic]:
    """An empty log, a coordinator that knows of nothing, and all topics."""
    nothing = (None,) * bounds.topics
    return [
        OffsetsTopic(
            log=(),
            end=0,
            coordinator=Loaded(commits=nothing),
            clock=0,
            topics=frozenset(names(bounds)),
            written=(None, *nothing),
            too_soon=TooSoon(),
            bounds=bounds,
        )
    ]


# -- records ------------------------------------------------------------------------------------


def commit(s: OffsetsTopic, partition: TopicPartition) -> Record:
    """An offset is committed: a number that nobody committed before, to tell commits apart."""
    return Record(GROUP, partition, Offset(s.end))


def tombstone(partition: TopicPartition | None) -> Record:
    """An offset, or the group, is gone."""
    return Record(GROUP, partition, None)


def metadata(subscribed: Iterable[str] = ()) -> Record:
    """The group, with one member that subscribes to these topics; without any, it is Empty."""
    topics = tuple(subscribed)
    member = StoredMember("member", None, 0, 0, subscription=topics, assignment=())
    return Record(GROUP, None, GroupMetadata(0, CONSUMER, members=(member,) if topics else ()))


def loaded(group: Entry | None, commits: tuple[Entry | None, ...]) -> Loaded:
    """What a coordinator makes of what it has read; offsets without a group are a simple group."""
    if group is not None:
        return Loaded(group_of(group), commits)
    return Loaded(Group() if any(commits) else None, commits)


def as_written(s: OffsetsTopic, latest: Latest) -> tuple[Entry | None, ...]:
    """What a reader knows, in the order of `written`."""
    return tuple(latest.get((GROUP, p)) for p in (None, *partitions(s)))


# -- what rules choose from -----------------------------------------------------------------------


def names(bounds: Bounds) -> list[str]:
    """The topics' names."""
    return [chr(ord("a") + index) for index in range(bounds.topics)]


def topics(s: OffsetsTopic) -> list[str]:
    """Every topic, whether it still exists or not."""
    return names(s.bounds)


def partitions(s: OffsetsTopic) -> list[TopicPartition]:
    """Every partition."""
    return [TopicPartition(topic, 0) for topic in topics(s)]


def subscriptions(s: OffsetsTopic) -> Iterator[tuple[str, ...]]:
    """What the members may subscribe to: the first topic, the first two, and so on."""
    for count in range(1, s.bounds.topics + 1):
        yield tuple(topics(s)[:count])


def ends(s: OffsetsTopic) -> range:
    """How far a compaction may go."""
    return range(1, s.end + 1)


def tombstones(s: OffsetsTopic) -> list[Entry]:
    """Every tombstone that stands in the log."""
    return [entry for entry in s.log if entry.is_tombstone]
