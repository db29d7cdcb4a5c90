"""The small files beside the segments: checkpoints and metadata, which are lines of text.

In the folder of a partition:

- `leader-epoch-checkpoint`: each leader epoch, and the offset at which it began (KIP-101).
- `partition.metadata`: the topic id (KIP-516, since 2.8).

In a log directory (`log.dirs`), with a line for each partition:

- `replication-offset-checkpoint`: the high watermark.
- `recovery-point-offset-checkpoint`: everything below this offset is on disk for certain.
- `log-start-offset-checkpoint`: the log start offset, where DeleteRecords moved it into a segment.
- `cleaner-offset-checkpoint`: up to where the log is compacted.
- `meta.properties`: the cluster and the node that the directory belongs to.

A checkpoint has a version (0), the number of entries, and the entries. It is written to another
file that replaces the old one, so that a crash leaves the old or the new one. An empty file, which
Kafka creates before it writes the first, has no entries.

Kafka: `CheckpointFile`, `LeaderEpochCheckpointFile`, `OffsetCheckpointFile`,
`PartitionMetadataFile`, `MetaProperties` [4.0.0].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import attrs

from kspec.spec.leader_epochs import EpochEntry
from kspec.spec.storage.schema import ZERO_UUID, uuid_bytes, uuid_text
from kspec.spec.storage.varint import Malformed
from kspec.spec.vocabulary import TopicPartition

VERSION = 0
"""The version of every checkpoint."""


def read_entries(text: str, fields: int) -> list[list[str]]:
    """The entries of a checkpoint, each of so many words."""
    lines = text.splitlines()
    if len(lines) < 2:
        if lines and _number(lines[0], lines[0]) != VERSION:
            raise Malformed(f"the version is {lines[0]}, not {VERSION}")
        return []
    version, count = (_number(line, line) for line in lines[:2])
    if version != VERSION:
        raise Malformed(f"the version is {version}, not {VERSION}")
    entries = [re.split(r"\s+", line.rstrip()) for line in lines[2:]]
    for line, entry in zip(lines[2:], entries, strict=True):
        if len(entry) != fields:
            raise Malformed(f"the line {line!r} does not have {fields} words")
    if len(entries) != count:
        raise Malformed(f"there are {len(entries)} entries instead of {count}")
    return entries


def write_entries(entries: Iterable[Iterable[object]]) -> str:
    """The text of a checkpoint."""
    lines = [" ".join(map(str, entry)) for entry in entries]
    return "".join(f"{line}\n" for line in (VERSION, len(lines), *lines))


def _number(word: str, line: str) -> int:
    """A number as Java reads it: digits with or without a sign, and nothing else."""
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", word):
        raise Malformed(f"the line {line!r} should have a number")
    return int(word)


# -- leader epochs --------------------------------------------------------------------------------


def read_leader_epochs(text: str) -> tuple[EpochEntry, ...]:
    """The entries of a `leader-epoch-checkpoint`."""
    return tuple(
        EpochEntry(*(_number(word, " ".join(entry)) for word in entry))
        for entry in read_entries(text, 2)
    )


def write_leader_epochs(entries: Iterable[EpochEntry]) -> str:
    """The text of a `leader-epoch-checkpoint`."""
    return write_entries(entries)


# -- offsets of partitions ------------------------------------------------------------------------


def read_offsets(text: str) -> dict[TopicPartition, int]:
    """The offset of each partition in one of the four checkpoints of a log directory."""
    offsets = {}
    for entry in read_entries(text, 3):
        topic, partition, offset = entry
        line = " ".join(entry)
        offsets[TopicPartition(topic, _number(partition, line))] = _number(offset, line)
    return offsets


def write_offsets(offsets: Mapping[TopicPartition, int]) -> str:
    """The text of one of the four checkpoints."""
    return write_entries((tp.topic, tp.partition, offset) for tp, offset in offsets.items())


# -- partition.metadata ---------------------------------------------------------------------------


def read_topic_id(text: str) -> str:
    """The topic id in a `partition.metadata`."""
    words = [re.split(r"\s+", line) for line in text.splitlines()[:2]]
    if [len(line) for line in words] != [2, 2]:
        raise Malformed("two lines of two words are required")
    if _number(words[0][1], words[0][1]) < VERSION:
        raise Malformed(f"the version is {words[0][1]}")
    topic_id = words[1][1]
    try:
        raw = uuid_bytes(topic_id)
    except ValueError:
        raise Malformed(f"{topic_id!r} is not a topic id") from None
    if len(raw) != 16 or uuid_text(raw) == ZERO_UUID:
        raise Malformed(f"{topic_id!r} is not a topic id")
    return uuid_text(raw)


def write_topic_id(topic_id: str) -> str:
    """The text of a `partition.metadata`."""
    return f"version: {VERSION}\ntopic_id: {topic_id}"


# -- meta.properties ------------------------------------------------------------------------------


@attrs.frozen
class MetaProperties:
    """What a log directory belongs to."""

    version: int
    """0 up to 3.x with ZooKeeper, 1 with KRaft."""
    node: int | None
    """The id of the broker (version 0) or of the node (version 1)."""
    cluster: str | None
    """The id of the cluster."""
    directory: str | None
    """The id of the directory (KIP-858, since 3.7)."""


def read_meta_properties(text: str) -> MetaProperties:
    """The content of a `meta.properties`. Kafka: `MetaProperties.Builder`."""
    pairs = (line.split("=", 1) for line in text.splitlines() if not line.lstrip().startswith("#"))
    properties = {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}
    version = _number(properties.get("version", "0"), "version")
    if version not in (0, 1):
        raise Malformed(f"the version is {version}")
    node = properties.get("node.id" if version else "broker.id")
    if version and (node is None or "cluster.id" not in properties):
        raise Malformed("node.id and cluster.id are required")
    return MetaProperties(
        version,
        None if node is None else _number(node, node),
        properties.get("cluster.id"),
        properties.get("directory.id"),
    )
