"""A partition from its first segment to its last, and the report of what was found."""

from __future__ import annotations

from pathlib import Path

import attrs

from kspec.field.disk.batches import Continuity
from kspec.field.disk.checkpoints import check_epochs, check_offsets, check_topic_id, read_epochs
from kspec.field.disk.folders import PartitionFolder, children, is_segment, segments_of
from kspec.field.disk.indexes import SegmentIndexes
from kspec.field.disk.problems import Problem, Problems
from kspec.field.disk.producers import Producers
from kspec.field.shapes import some_fields
from kspec.impl.storage.codecs import Decompressor

LEFT_OVER = {
    ".cleaned": "compaction was interrupted; Kafka deletes this file when it starts",
    ".swap": "a swap of segments was interrupted; Kafka completes it when it starts",
}
"""Files of a broker that did not stop in order."""


@attrs.frozen
class PartitionReport:
    """What was found in the folder of a partition."""

    folder: PartitionFolder
    """The folder."""
    bases: tuple[int, ...]
    """The base offset of each segment."""
    batches: int
    """How many batches."""
    records: int
    """How many records."""
    start: int
    """The log start offset."""
    end: int
    """The log end offset."""
    high_watermark: int | None
    """The high watermark, where the log directory has one."""
    last_stable_offset: int
    """The first offset of an open transaction, or the end."""
    open_transactions: dict[int, int]
    """The first offset of each producer's open transaction."""
    leader_epochs: tuple[tuple[int, int], ...]
    """Each leader epoch of the batches, and where it begins."""
    holes: tuple[tuple[int, int], ...]
    """Offsets within the log that no batch has."""
    topic_id: str | None
    """The topic id."""
    is_compacted: bool
    """Whether the cleaner may have removed records."""
    problems: tuple[Problem, ...]
    """What is wrong."""
    more_problems: int
    """How many further problems there are."""

    @property
    def segments(self) -> int:
        """How many segments it has."""
        return len(self.bases)

    def to_json(self) -> dict[str, object]:
        """The report, for a machine."""
        return {
            "topic": self.folder.name.topic,
            "partition": self.folder.name.partition,
            "directory": str(self.folder.path),
            **some_fields(self, "segments", "batches", "records", "start", "end"),
            **some_fields(self, "high_watermark", "last_stable_offset"),
            "open_transactions": [
                {"producer_id": id_, "first_offset": start}
                for id_, start in sorted(self.open_transactions.items())
            ],
            "leader_epochs": [{"epoch": e, "start": start} for e, start in self.leader_epochs],
            "holes": [list(hole) for hole in self.holes],
            "topic_id": self.topic_id,
            "problems": [attrs.asdict(problem) for problem in self.problems],
            "more_problems": self.more_problems,
        }


def audit(folder: PartitionFolder) -> PartitionReport:
    """Read everything in the folder of a partition, and compare it."""
    problems = Problems()
    paths, segments = sorted(children(folder.path)), segments_of(folder.path)
    log = Continuity(problems, was_cleaned=folder.was_cleaned)
    producers = Producers(problems, snapshots_in(paths))
    decompressor = Decompressor()
    is_whole = True
    for file in segments:
        before = problems.count
        read_segment(file, log, producers, decompressor)
        is_whole &= problems.count == before
    bases = tuple(int(file.stem) for file in segments)
    log.end = max(log.end, bases[-1])  # the last segment may be empty
    producers.finish(log.end, is_whole=is_whole)
    epochs = read_epochs(folder.path, problems)
    if epochs is not None:
        check_epochs(folder.path, epochs, log, problems)
    check_offsets(folder.directory, folder.name, log, problems)
    for path in paths:
        if reason := LEFT_OVER.get(path.suffix):
            problems.add(path, 0, reason)
    return PartitionReport(
        folder,
        bases,
        log.batches,
        log.records,
        max(bases[0], folder.directory.log_starts.get(folder.name, 0)),
        log.end,
        folder.directory.high_watermarks.get(folder.name),
        producers.last_stable_offset(log.end),
        producers.open_transactions(),
        tuple((found.epoch, found.offset) for found in log.epochs),
        tuple(log.holes),
        check_topic_id(folder.path, problems),
        log.may_be_compacted,
        tuple(problems.kept),
        problems.more,
    )


def read_segment(
    file: Path, log: Continuity, producers: Producers, decompressor: Decompressor
) -> None:
    """Read a segment and the files beside it."""
    indexes = SegmentIndexes(file, int(file.stem), log.problems)
    before = log.problems.count
    for segment, rows, good in log.read(file, decompressor):
        indexes.check(rows, good)
        producers.check(file, segment, good)
    indexes.finish()
    is_whole = log.problems.count == before and not log.may_be_compacted
    producers.finish_segment(file, is_whole=is_whole)


def snapshots_in(paths: list[Path]) -> dict[int, Path]:
    """The producer snapshots of a partition, by offset."""
    return {
        int(path.stem): path
        for path in paths
        if path.suffix == ".snapshot" and is_segment(path.with_suffix(".log"))
    }
