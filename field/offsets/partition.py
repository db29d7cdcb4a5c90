"""The entries of a partition's segments, with live and dead bytes.

The log is replayed as by a coordinator that loads it. Only the latest record of each live key is
kept, as bytes, and decoded at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

from kspec.field.disk.batches import Continuity
from kspec.field.disk.folders import PartitionFolder, segments_of
from kspec.field.disk.problems import Problem, Problems
from kspec.field.offsets.cleaner import CleanerStatus, SegmentSummary, cleaner_status
from kspec.field.offsets.entries import Entry
from kspec.field.offsets.replay import Latest, OpenTransaction, Replay, replay_rows
from kspec.field.shapes import some_fields
from kspec.impl.storage.codecs import Decompressor
from kspec.spec.storage.coordinator_records import GROUP_RECORDS, read_record
from kspec.spec.storage.varint import Malformed


@attrs.frozen
class OffsetsPartition:
    """What was found in a partition of `__consumer_offsets`."""

    folder: PartitionFolder
    """The folder."""
    entries: list[Entry]
    """The latest record of each key that counts."""
    pending: list[Entry]
    """The commits of open transactions."""
    open_transactions: list[OpenTransaction]
    """The open transactions, the oldest first."""
    records: int
    """How many records the log has."""
    start: int
    """The base offset of the first segment."""
    end: int
    """The log end offset."""
    bytes: int
    """The bytes of the segments."""
    live_bytes: int
    """The bytes of the latest record of each key, which a complete compaction would leave."""
    keys: int
    """How many keys are live."""
    tombstones: int
    """How many tombstones."""
    unknown: dict[int, int]
    """How many live records of each type that is not known."""
    cleaner: CleanerStatus
    """Whether the cleaner keeps up."""
    problems: list[Problem]
    """What is wrong."""
    more_problems: int
    """How many further problems there are."""

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction, or the end."""
        return min((one.first_offset for one in self.open_transactions), default=self.end)

    def to_json(self) -> dict[str, object]:
        """The partition, for a machine."""
        return {
            "partition": self.folder.name.partition,
            "directory": str(self.folder.path),
            **some_fields(self, "records", "start", "end", "last_stable_offset"),
            **some_fields(self, "bytes", "live_bytes"),
            "dead_bytes": self.bytes - self.live_bytes,
            **some_fields(self, "keys", "tombstones"),
            "unknown_records": {str(kind): count for kind, count in sorted(self.unknown.items())},
            "cleaner": attrs.asdict(self.cleaner),
            "open_transactions": [attrs.asdict(one) for one in self.open_transactions],
            "problems": [attrs.asdict(problem) for problem in self.problems],
            "more_problems": self.more_problems,
        }


def read_partition(folder: PartitionFolder, now: int) -> OffsetsPartition:
    """Read the segments of a partition; a damaged batch is reported, and the others are read."""
    problems = Problems()
    log, replay, summaries = Continuity(problems, was_cleaned=True), Replay(), []
    decompressor = Decompressor()
    checkpoint = (folder.directory.cleaned or {}).get(folder.name)
    for file in segments_of(folder.path):
        summary = SegmentSummary(int(file.stem), file.stat().st_size, checkpoint or 0)
        summaries.append(summary)
        for segment, _, good in log.read(file, decompressor):
            summary.note(good)
            replay_rows(replay, file, segment, good, problems)
    end = max(log.end, summaries[-1].base_offset)
    unknown: Counter[int] = Counter()
    partition = folder.name.partition
    entries = list(decoded(replay.latest, partition, None, folder.path, problems, unknown))
    pending = [
        entry
        for producer, commits in replay.pending.items()
        for entry in decoded(commits, partition, producer, folder.path, problems, unknown)
    ]
    transactions = sorted(replay.open.values(), key=lambda one: one.first_offset)
    stable = min((one.first_offset for one in transactions), default=end)
    status = cleaner_status(
        summaries, checkpoint, end, stable, now, is_known=folder.directory.cleaned is not None
    )
    return OffsetsPartition(
        folder,
        entries,
        pending,
        transactions,
        log.records,
        summaries[0].base_offset,
        end,
        sum(summary.size for summary in summaries),
        replay.live_bytes,
        len(replay.latest),
        replay.tombstones,
        dict(unknown),
        status,
        list(problems.kept),
        problems.more,
    )


def decoded(
    latest: dict[bytes, Latest],
    partition: int,
    producer: int | None,
    folder: Path,
    problems: Problems,
    unknown: Counter[int],
) -> Iterator[Entry]:
    """The records, as a coordinator reads them; it skips types that it does not know."""
    for key, (offset, value, size, dead) in latest.items():
        try:
            record = read_record(GROUP_RECORDS, key, value)
        except Malformed as error:
            problems.add(folder, 0, f"the record at offset {offset} is malformed: {error}")
            continue
        if record is None:
            unknown[int.from_bytes(key[:2], signed=True)] += 1
        else:
            yield Entry(record, partition, offset, size, dead, producer)
