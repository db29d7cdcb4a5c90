"""The same partition on several brokers: below their high watermarks, the logs are the same.

A follower copies batches byte for byte, so that two logs have the same batches, unless one of them
was compacted; then the records that both have are the same. Above the lower of two high watermarks
a follower may have records that it will truncate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs

from kspec.field.disk.audit import PartitionReport
from kspec.field.disk.folders import children, is_segment
from kspec.field.disk.problems import Problem
from kspec.impl.storage.records import StoredRecord
from kspec.impl.storage.scan import Fault
from kspec.impl.storage.segment import Segment

COLUMNS = ("position", "base_offset", "last_delta", "leader_epoch", "crc", "fault")


@attrs.frozen
class Batch:
    """A batch of a replica, until the next one is taken."""

    file: Path
    """The segment."""
    position: int
    """The byte of the segment."""
    base: int
    """Its base offset."""
    last: int
    """Its last offset."""
    epoch: int
    """Its leader epoch."""
    crc: int
    """Its checksum."""
    segment: Segment
    """The segment, which is open."""
    row: Any
    """What else its header says."""

    def records(self) -> list[StoredRecord]:
        """Its records."""
        return self.segment.records(self.row)


def compare_replicas(reports: Sequence[PartitionReport]) -> list[PartitionReport]:
    """The reports, each with the first difference from another replica of its partition."""
    compared = []
    ordered = sorted(reports, key=lambda report: report.folder.name)
    for _, replicas in groupby(ordered, key=lambda report: report.folder.name):
        first, *others = sorted(replicas, key=lambda report: -report.end)
        compared.append(first)
        for other in others:
            found = first_difference(other, first)
            problems = other.problems if found is None else (*other.problems, found)
            compared.append(attrs.evolve(other, problems=problems))
    return sorted(compared, key=lambda report: (report.folder.name, str(report.folder.path)))


def first_difference(one: PartitionReport, other: PartitionReport) -> Problem | None:
    """The first difference of two replicas that replication cannot explain."""
    if one.topic_id and other.topic_id and one.topic_id != other.topic_id:
        file = one.folder.path / "partition.metadata"
        says = f"the topic id is {one.topic_id}, in {other.folder.path} {other.topic_id}"
        return Problem(str(file), 0, says)
    limit = min(
        report.end if report.high_watermark is None else min(report.high_watermark, report.end)
        for report in (one, other)
    )
    start = max(one.start, other.start)
    is_compacted = one.is_compacted or other.is_compacted
    compare = different_records if is_compacted else different_batches
    found = compare(batches(one, start, limit), batches(other, start, limit))
    if found is None:
        return None
    batch, says = found
    return Problem(str(batch.file), batch.position, f"{says} {other.folder.path}")


def batches(report: PartitionReport, start: int, limit: int) -> Iterator[Batch]:
    """The batches of a replica between two offsets that can be read."""
    for file in sorted(children(report.folder.path)):
        if not is_segment(file) or int(file.stem) >= limit:
            continue
        with Segment(file) as segment:
            for rows in segment.batches():
                columns = [rows[name].tolist() for name in COLUMNS]
                for index, values in enumerate(zip(*columns, strict=True)):
                    position, base, delta, epoch, crc, fault = values
                    if Fault.NONE < fault < Fault.OFFSETS or base < start:
                        continue
                    if base + delta >= limit:
                        return
                    row = rows[index]
                    yield Batch(file, position, base, base + delta, epoch, crc, segment, row)


def different_batches(ones: Iterator[Batch], others: Iterator[Batch]) -> tuple[Batch, str] | None:
    """The first batch in which two logs differ that were not compacted."""
    one, other = next(ones, None), next(others, None)
    while one and other:
        if one.base < other.base:  # reported as a hole or as damage of the other
            one = next(ones, None)
        elif other.base < one.base:
            other = next(others, None)
        else:
            if one.epoch != other.epoch:
                says = f"offset {one.base} has leader epoch {one.epoch}, but {other.epoch} in"
                return one, says
            if (one.last, one.crc) != (other.last, other.crc):
                differ = first_different_record(one.records(), other.records())
                offset = one.base if differ is None else differ
                return one, f"offset {offset} of leader epoch {one.epoch} is a different record in"
            one, other = next(ones, None), next(others, None)
    return None


def different_records(ones: Iterator[Batch], others: Iterator[Batch]) -> tuple[Batch, str] | None:
    """The first record in which two logs differ of which one was compacted."""
    one, other = next(ones, None), next(others, None)
    while one and other:
        if (one.base, one.crc, one.epoch) != (other.base, other.crc, other.epoch):
            offset = first_different_record(one.records(), other.records())
            if offset is not None:
                return one, f"offset {offset} of leader epoch {one.epoch} is a different record in"
        if one.last <= other.last:
            one = next(ones, None)
        else:
            other = next(others, None)
    return None


def first_different_record(
    ones: Sequence[StoredRecord], others: Sequence[StoredRecord]
) -> int | None:
    """The first offset that both have, with another record."""
    by_offset = {record.offset: record for record in others}
    for record in ones:
        if by_offset.get(record.offset, record) != record:
            return record.offset
    return None
