"""The picture of `offsets-topic`: the coordinator's memory, and the log with its gaps."""

from __future__ import annotations

from kspec.spec.core import Taken
from kspec.spec.core.picture import Arrow, Cell, Lane, Mark, Picture
from kspec.spec.messages import GroupMetadata, Offset
from kspec.spec.offsets_topic.properties import in_memory, keys
from kspec.spec.offsets_topic.records import LogEntry
from kspec.spec.offsets_topic.state import Loading, OffsetsTopic, partitions

COORDINATOR, LOG = "coordinator", "log"

WORDS = {
    "coordinator": "the broker that coordinates the group, with what it has in memory",
    "log": "the group's records in the offsets topic; compaction leaves the latest of each key",
    "a-0→3": "offset 3 is committed for partition a-0",
    "g Empty": "the group's record, without members; {a b}: its members subscribe to a and b",
    "a-0 ✝": "a tombstone: the offset of a-0 is deleted",
    "now": "the current moment; an offset is kept for `retention` moments",
}


def picture(s: OffsetsTopic, taken: Taken | None) -> Picture:
    """The clock, the coordinator, and the log."""
    return Picture(
        lanes=[clock_lane(s), coordinator_lane(s), log_lane(s)],
        arrows=arrows(taken) if taken else [],
        words=WORDS,
        colour="key",
    )


def clock_lane(s: OffsetsTopic) -> Lane:
    """The current moment, and the topics that exist."""
    return Lane("world", facts={"now": str(s.clock), "topics": " ".join(sorted(s.topics)) or "–"})


def coordinator_lane(s: OffsetsTopic) -> Lane:
    """The group and its offsets in the coordinator's memory."""
    if isinstance(s.coordinator, Loading):
        role, facts = "loading", {"loads from": str(s.coordinator.position)}
    elif s.group is None:
        role, facts = "", {"group": "–"}
    else:
        role, facts = "", {"group": str(s.group.state)}
        if s.group.subscribed:
            facts["subscribed"] = " ".join(sorted(s.group.subscribed))
        if s.group.since is not None:
            facts["since"] = str(s.group.since)
    cells = [
        Cell(text_of(entry) if entry else "", colour=index, place=in_memory(partition))
        for index, (partition, entry) in enumerate(
            zip(partitions(s), s.coordinator.commits, strict=True), 1
        )
    ]
    return Lane(COORDINATOR, role, facts, cells, place=COORDINATOR)


def log_lane(s: OffsetsTopic) -> Lane:
    """The entries that compaction has left, at their offsets."""
    entries = {entry.offset: entry for entry in s.log}
    cells = []
    for offset in range(s.end):
        entry = entries.get(offset)
        if entry is None:
            cells.append(Cell("", title=f"offset {offset}: removed by compaction"))
            continue
        partition = entry.record.partition
        title = f"offset {offset}, written at {entry.time}"
        cells.append(Cell(text_of(entry), keys(s).index(partition), f"log offset {offset}", title))
    marks = [Mark("end", s.end)]
    if isinstance(s.coordinator, Loading):
        marks.insert(0, Mark("read", s.coordinator.position))
    return Lane(LOG, cells=cells, marks=marks, place=LOG)


def text_of(entry: LogEntry) -> str:
    """A short text for a record."""
    name = str(entry.record.partition or entry.record.group)
    if isinstance(entry.value, Offset):
        return f"{name}→{entry.value.offset}"
    if isinstance(entry.value, GroupMetadata):
        topics = [" ".join(map(str, m.subscription)) for m in entry.value.members]  # type: ignore[call-overload]
        return f"{name} {{{' '.join(topics)}}}" if topics else f"{name} Empty"
    return f"{name} ✝"


def arrows(taken: Taken) -> list[Arrow]:
    """The messages of this step."""
    reads = taken.rule == "coordinator_loads_record"
    return [Arrow(LOG, COORDINATOR, "next entry")] if reads else []
