"""The offsets of groups, whatever they were read from, and their JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from kspec.field.shapes import (
    INT64,
    TEXT,
    Field,
    array,
    choice,
    decode_at,
    number,
    optional,
    record,
    those,
)
from kspec.spec.consumer.lag import deleted_unread, lag, lead
from kspec.spec.core import SpecError, look_up
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.source import parse_json
from kspec.traces.text import printable

LARGEST = 2**63 - 1
"""The largest offset."""
LARGEST_INDEX = 2**31 - 1
"""The largest index of a partition."""
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""A topic name. Kafka: `Topic.validate`."""
STATES = ("empty", "rebalancing", "active", "missing")
"""What is known of a group: it has no members, is rebalancing, has members, or does not exist."""


@attrs.frozen
class GroupPartition:
    """The offsets of a group in one partition; None where one is unknown."""

    partition: TopicPartition
    """The partition."""
    committed: int | None
    """The group's committed offset."""
    end: int | None
    """The high watermark, up to which consumers read (LOG-END-OFFSET)."""
    start: int | None = None
    """The log start offset."""
    consumer: str | None = None
    """The id of the member that the partition is assigned to."""

    @property
    def lag(self) -> int | None:
        """The offsets that the group has not read."""
        return computed(lag, self.committed, self.end)

    @property
    def lead(self) -> int | None:
        """The offsets between the log start and the commit."""
        return computed(lead, self.committed, self.start)

    @property
    def deleted(self) -> int | None:
        """The offsets that were deleted before the group read them."""
        return computed(deleted_unread, self.committed, self.start)

    def to_json(self) -> Any:
        """What `--json` prints, and `from_json` reads."""
        return PARTITION.encode(self)


def computed(
    compute: Callable[[int, int], int], committed: int | None, other: int | None
) -> int | None:
    """What follows from two offsets, if both are known."""
    return None if committed is None or other is None else compute(committed, other)


@attrs.frozen
class Group:
    """A group and its partitions."""

    name: str | None
    """Its id; None where the output of Kafka 2.3 or older does not say."""
    state: str | None = None
    """One of `STATES`; None if unknown."""
    partitions: Sequence[GroupPartition] = ()
    """Its partitions, in the order of the source."""

    @property
    def has_members(self) -> bool:
        """Whether it surely has members, so that its offsets cannot be reset."""
        return self.state in ("active", "rebalancing")

    @property
    def lag(self) -> int:
        """The sum of the lags that are known."""
        return sum(p.lag for p in self.partitions if p.lag is not None)

    def to_json(self) -> Any:
        """What `--json` prints, and `from_json` reads."""
        return GROUP.encode(self)


def assert_each_once(groups: Iterable[Group]) -> None:
    """SpecError if a group or one of its partitions appears twice."""
    names = set()
    for group in groups:
        if group.name in names:
            raise SpecError(f"{title(group)} appears twice: does the file hold several outputs?")
        names.add(group.name)
        seen = set()
        for each in group.partitions:
            if each.partition in seen:
                raise SpecError(f"{title(group)} has {printable(str(each.partition))} twice")
            seen.add(each.partition)


def title(group: Group) -> str:
    """The group, in messages."""
    return "a group without name" if group.name is None else f"group {printable(group.name)}"


def headed(group: Group) -> str:
    """The group, at the beginning of a sentence."""
    text = title(group)
    return text[0].upper() + text[1:]


def chosen(groups: Sequence[Group], names: Sequence[str]) -> list[Group]:
    """The groups of these names, or all of them. One name also names a group without name."""
    if len(names) == 1 and len(groups) == 1 and groups[0].name is None:
        return [attrs.evolve(groups[0], name=names[0])]
    by_name = {group.name: group for group in groups if group.name is not None}
    return [look_up("group", name, by_name) for name in dict.fromkeys(names)] or list(groups)


Offsets: TypeAlias = Mapping[TopicPartition, int | None]
"""An offset of each partition; None where there is none."""


def with_starts(groups: Iterable[Group], starts: Offsets) -> list[Group]:
    """The groups, with the log start offsets that are known."""

    def found(each: GroupPartition) -> GroupPartition:
        return checked(attrs.evolve(each, start=starts.get(each.partition, each.start)))

    return [attrs.evolve(g, partitions=[found(p) for p in g.partitions]) for g in groups]


def checked(found: GroupPartition) -> GroupPartition:
    """The offsets of a partition; SpecError if its log starts above its end."""
    if found.start is not None and found.end is not None and found.start > found.end:
        raise SpecError(
            f"the log of {printable(str(found.partition))} starts at {found.start}, above its end "
            f"{found.end}: are both from the same cluster, and is the end the newer one?"
        )
    return found


# -- JSON -----------------------------------------------------------------------------------------


def partition_of(found: dict[str, Any]) -> GroupPartition:
    """A partition of a group; SpecError where a computed field contradicts the others."""
    said = {name: found.pop(name) for name in COMPUTED}
    read = GroupPartition(TopicPartition(found.pop("topic"), found.pop("index")), **found)
    for name, value in said.items():
        if value not in (UNSAID, getattr(read, name)):
            raise SpecError(f".{name}: it contradicts the offsets")
    return checked(read)


def part_of(each: GroupPartition, name: str) -> Any:
    """A field of a partition in JSON."""
    match name:
        case "topic":
            return each.partition.topic
        case "index":
            return each.partition.partition
        case _:
            return getattr(each, name)


def group_of(found: dict[str, Any]) -> Group:
    """A group."""
    return Group(found["name"], found["state"], found["partitions"])


COMPUTED = ("lag", "lead", "deleted")
UNSAID = object()
OFFSET = optional(number(0, LARGEST))

PARTITION = record(
    [
        Field("topic", "topic", those(TEXT, TOPIC.fullmatch, "the name of a topic")),
        Field("index", "partition", number(0, LARGEST_INDEX)),
        *(Field(name, name, OFFSET, None) for name in ("committed", "start", "end")),
        *(Field(name, name, optional(INT64), UNSAID) for name in COMPUTED),
        Field("consumer", "consumer", optional(TEXT), None),
    ],
    partition_of,
    part_of,
    others=True,
)
GROUP = record(
    [
        Field("name", "group", optional(those(TEXT, len, "a name")), None),
        Field("state", "state", optional(choice({state: state for state in STATES})), None),
        Field("lag", "lag", optional(INT64), UNSAID),
        Field("partitions", "partitions", array(PARTITION, list)),
    ],
    group_of,
    others=True,
)


def from_json(text: str) -> list[Group]:
    """Read what `kspec lag --json` prints. Fields that are computed are checked, not believed."""
    document = parse_json(text)
    if not isinstance(document, dict) or "groups" not in document:
        raise SpecError('an object with "groups" is expected, as `kspec lag --json` prints it')
    groups: list[Group] = decode_at("groups", array(GROUP, list), document["groups"])
    assert_each_once(groups)
    return groups
