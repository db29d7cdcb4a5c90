"""A reset of groups as a plan: where each partition goes, and the CSV that Kafka's tool takes.

`kafka-consumer-groups --reset-offsets --from-file` reads one group as `topic,partition,offset`,
and several as `group,topic,partition,offset`, without a header line. It clamps each offset to the
log again. Kafka: `ConsumerGroupService.parseResetPlan`, `exportOffsetsToCsv`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import attrs

from kspec.field.groups.describe import assert_whole, number_in, partition_in
from kspec.field.groups.groups import TOPIC, Group, GroupPartition, Offsets, title
from kspec.field.shapes import some_fields
from kspec.spec.consumer.reset import Effect, PartitionOffsets, effect
from kspec.spec.core import SpecError
from kspec.spec.core.errors import located
from kspec.spec.vocabulary import TopicPartition
from kspec.traces.text import printable

Target: TypeAlias = Callable[[PartitionOffsets, TopicPartition], int]
"""The new offset of a partition."""


@attrs.frozen
class Move:
    """The reset of one partition."""

    found: GroupPartition
    """Its offsets before."""
    new: int
    """The offset that the group gets."""
    effect: Effect
    """What the group then skips and repeats."""

    @property
    def is_in_log(self) -> bool | None:
        """Whether the new offset is within the log; None where the log start is unknown."""
        start, end = self.found.start, self.found.end
        if end is None or self.new > end:
            return False
        return None if start is None else start <= self.new

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            **self.found.partition._asdict(),
            **some_fields(self.found, "committed", "start", "end"),
            "new": self.new,
            **attrs.asdict(self.effect),
            "in_log": self.is_in_log,
        }


@attrs.frozen
class Plan:
    """The reset of one group."""

    group: Group
    """The group."""
    moves: Sequence[Move]
    """Its partitions, in the order of the source."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "group": self.group.name,
            "state": self.group.state,
            "skipped": sum(move.effect.skipped for move in self.moves),
            "repeated": sum(move.effect.repeated for move in self.moves),
            "partitions": [move.to_json() for move in self.moves],
        }


def plan_of(group: Group, chosen: Iterable[GroupPartition], target: Target) -> Plan:
    """The plan of a group; SpecError where an offset is missing that it needs."""
    moves = []
    for each in chosen:
        where = printable(str(each.partition))
        if each.end is None:
            raise SpecError(f"{title(group)}: the end of {where} is unknown")
        offsets = PartitionOffsets(each.start or 0, each.end, each.committed)
        with located(f"{title(group)}, {where}"):
            new = target(offsets, each.partition)
        moves.append(Move(each, new, effect(offsets, new)))
    return Plan(group, moves)


# -- scopes ---------------------------------------------------------------------------------------


def in_scope(group: Group, topics: Sequence[str]) -> list[GroupPartition]:
    """The partitions that a reset concerns: those of these topics, or all with a commit.

    A topic is `orders` or, with some of its partitions, `orders:0,2`. Kafka:
    `getPartitionsToReset`. For `--all-topics` it takes the partitions with a committed offset.
    """
    if not topics:
        return [each for each in group.partitions if each.committed is not None]
    found: dict[TopicPartition, GroupPartition] = {}
    for text in topics:
        topic, colon, indexes = text.partition(":")
        if colon:
            if not INDEXES.fullmatch(indexes):
                raise SpecError(f"{printable(text)}: orders or orders:0,2 is expected")
            wanted = [TopicPartition(topic, int(index)) for index in indexes.split(",")]
        else:
            wanted = [p.partition for p in group.partitions if p.partition.topic == topic]
            if not wanted:
                raise SpecError(f"{title(group)}: the file does not list {printable(topic)}")
        found |= {partition: its_partition(group, partition) for partition in wanted}
    return list(found.values())


INDEXES = re.compile(r"[0-9]{1,10}(,[0-9]{1,10})*")
"""The partitions of a topic, as `--topic` names them."""


def its_partition(group: Group, partition: TopicPartition) -> GroupPartition:
    """The group's offsets in a partition; SpecError if the source does not list it."""
    for each in group.partitions:
        if each.partition == partition:
            return each
    raise SpecError(f"{title(group)}: the file does not list {printable(str(partition))}")


def with_others(
    group: Group,
    topics: Sequence[str],
    starts: Offsets,
    ends: Offsets,
) -> Group:
    """The group, with the partitions of these topics in which it has committed nothing.

    `--topic` concerns them too, and `--describe` does not list them.
    """
    names = {text.partition(":")[0] for text in topics}
    known = {each.partition for each in group.partitions}
    others = [
        GroupPartition(partition, None, end, starts.get(partition))
        for partition, end in ends.items()
        if partition.topic in names and partition not in known
    ]
    return attrs.evolve(group, partitions=[*group.partitions, *others])


# -- CSV ------------------------------------------------------------------------------------------


def to_csv(plans: Sequence[Plan]) -> str:
    """The plans as Kafka's tool takes them: the form without group for a single one."""
    rows = []
    for plan in plans:
        for move in plan.moves:
            row = [move.found.partition.topic, str(move.found.partition.partition), str(move.new)]
            if len(plans) > 1:
                if plan.group.name is None:
                    raise SpecError("a group has no name, so several cannot be told apart")
                row.insert(0, plan.group.name)
            rows.append(",".join(map(as_cell, row)) + "\n")
    return "".join(rows)


def as_cell(text: str) -> str:
    """A cell, in quotes where it needs them. Kafka's tool reads line by line."""
    if "\n" in text or "\r" in text:
        raise SpecError(f"{printable(text)} has a line ending, which the CSV cannot hold")
    return text if TOPIC.fullmatch(text) else '"' + text.replace('"', '""') + '"'


def parse_csv(
    text: str, names: Sequence[str | None]
) -> dict[str | None, dict[TopicPartition, int]]:
    """Read a plan for these groups, or refuse it.

    The form without a group is for a single group. A last line without an end may have lost
    digits.
    """
    assert_whole(text)
    found: dict[str | None, dict[TopicPartition, int]] = {}
    lines = text.rstrip("\r\n").split("\n") if text.strip() else []
    forms = set()
    for number, line in enumerate(lines, 1):
        with located(f"line {number}"):
            cells = one_record(line.removesuffix("\r"))
            forms.add(len(cells))
            group, partition, offset = read_cells(cells, names)
            if len(forms) > 1:
                raise SpecError("it has a group, or has none, unlike the lines before")
            of_group = found.setdefault(group, {})
            if partition in of_group:
                raise SpecError(f"{partition} appears twice")
        of_group[partition] = offset
    if not found:
        raise SpecError("the plan is empty")
    return found


def one_record(line: str) -> list[str]:
    """The cells of one line."""
    try:
        records = list(csv.reader(io.StringIO(line), strict=True))
    except csv.Error as error:
        raise SpecError(f"not CSV: {error}") from None
    return records[0] if records else []


def read_cells(
    cells: Sequence[str], names: Sequence[str | None]
) -> tuple[str | None, TopicPartition, int]:
    """The group, the partition and the offset."""
    if len(cells) not in (3, 4):
        raise SpecError("topic,partition,offset or group,topic,partition,offset is expected")
    *first, topic, index, offset = cells
    if not first and len(names) != 1:
        raise SpecError("topic,partition,offset is for one group: choose it with --group")
    negative = "a partition and an offset are numbers that are not negative"
    partition = partition_in(topic, index, "the partition", negative)
    new = number_in(offset, "the offset")
    if new is None:
        raise SpecError(negative)
    return (first[0] if first else names[0]), partition, new
