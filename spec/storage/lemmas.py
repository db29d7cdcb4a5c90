"""What look-ups, truncation, rolls and retention preserve, for all numbers.

One entry stands for any sparse index: a look-up returns an entry or the beginning of the segment,
and each entry satisfies the lemma by itself.
"""

from __future__ import annotations

from kspec.spec.core import Claims
from kspec.spec.lemmas import INTEGER, JAVA_INT, NATURAL, false_neighbour, lemma, provided
from kspec.spec.storage.indexes import (
    OffsetIndex,
    OffsetPosition,
    TimestampOffset,
    fits,
    offset_lookup,
    time_lookup,
)
from kspec.spec.storage.retention import may_spare
from kspec.spec.storage.segments import is_too_large


def in_order(offset: int, position: int, other: int, place: int) -> bool:
    """Whether two batches of a segment are in the order of their offsets, or are one."""
    return (
        (offset < other and position < place)
        or (offset > other and position > place)
        or (offset == other and position == place)
    )


# -- look-ups -------------------------------------------------------------------------------------


@lemma(
    offset_lookup,
    base=NATURAL,
    offset=NATURAL,
    position=NATURAL,
    target=NATURAL,
    last=NATURAL,
    place=NATURAL,
)
def offset_lookup_is_not_past_the_batch(
    base: int, offset: int, position: int, target: int, last: int, place: int
) -> Claims:
    """A scan from the position of a look-up meets the batch that holds the target.

    The entry is that of a batch with this last offset, at this position; the batch that holds the
    target ends at `last` and begins at `place`.
    """
    yield provided("the batch does not end before the target"), target <= last
    yield provided("batches are in order"), in_order(offset, position, last, place)
    found = offset_lookup(base, [OffsetPosition(offset, position)], target)
    yield f"position {found.position} is not past {place}", found.position <= place


@false_neighbour(of=offset_lookup_is_not_past_the_batch)
def least_entry_above_is_not_past_the_batch(
    base: int, offset: int, position: int, target: int, last: int, place: int
) -> Claims:
    """An entry above the target may be that of a later batch."""
    yield provided("the batch does not end before the target"), target <= last
    yield provided("batches are in order"), in_order(offset, position, last, place)
    found = offset_lookup(base, [OffsetPosition(offset, position)], target + 1)
    yield f"position {found.position} is not past {place}", found.position <= place


@lemma(
    time_lookup,
    base=NATURAL,
    timestamp=INTEGER,
    offset=NATURAL,
    target=INTEGER,
    greatest=INTEGER,
    last=NATURAL,
)
def time_lookup_is_not_past_the_batch(
    base: int, timestamp: int, offset: int, target: int, greatest: int, last: int
) -> Claims:
    """No batch with a record as late as the target ends before the offset of a look-up.

    However the timestamps of records are ordered: the batch of the entry is the first that has
    its timestamp. The batch looked for ends at `last`, and its greatest timestamp is `greatest`.
    """
    yield provided("the batch has a record as late as the target"), greatest >= target
    yield provided("the batch is in the segment"), base <= last
    yield (
        provided("batches before the entry are older than it"),
        (last >= offset or greatest < timestamp),
    )
    found = time_lookup(base, [TimestampOffset(timestamp, offset)], target)
    yield f"offset {found.offset} is not past {last}", found.offset <= last


@false_neighbour(of=time_lookup_is_not_past_the_batch)
def last_entry_that_is_later_is_not_past_the_batch(
    base: int, timestamp: int, offset: int, target: int, greatest: int, last: int
) -> Claims:
    """An entry later than the target may come after a batch that is just as late as it."""
    yield provided("the batch has a record as late as the target"), greatest >= target
    yield provided("the batch is in the segment"), base <= last
    yield (
        provided("batches before the entry are older than it"),
        (last >= offset or greatest < timestamp),
    )
    found = time_lookup(base, [TimestampOffset(timestamp, offset)], target + 1)
    yield f"offset {found.offset} is not past {last}", found.offset <= last


# -- truncation -----------------------------------------------------------------------------------


@lemma(
    OffsetIndex.truncate_to,
    offset=NATURAL,
    position=NATURAL,
    target=NATURAL,
    last=NATURAL,
    place=NATURAL,
)
def truncated_index_points_into_segment(
    offset: int, position: int, target: int, last: int, place: int
) -> Claims:
    """Each entry that a truncation keeps is that of a batch that it keeps.

    The segment ends at `place`, where the batch that holds the target began.
    """
    yield provided("the batch does not end before the target"), target <= last
    yield provided("batches are in order"), in_order(offset, position, last, place)
    index = OffsetIndex(0, (OffsetPosition(offset, position),))
    for entry in index.truncate_to(target).entries:
        yield f"position {entry.position} is below {place}", entry.position < place


@false_neighbour(of=truncated_index_points_into_segment)
def entry_at_the_target_points_into_segment(
    offset: int, position: int, target: int, last: int, place: int
) -> Claims:
    """The entry at the target itself is that of the batch that is removed."""
    yield provided("the batch does not end before the target"), target <= last
    yield provided("batches are in order"), in_order(offset, position, last, place)
    index = OffsetIndex(0, (OffsetPosition(offset, position),))
    for entry in index.truncate_to(target + 1).entries:
        yield f"position {entry.position} is below {place}", entry.position < place


# -- rolls ----------------------------------------------------------------------------------------


@lemma(fits, base=NATURAL, offset=NATURAL, last=NATURAL)
def batch_fits_if_its_last_offset_does(base: int, offset: int, last: int) -> Claims:
    """If the last offset of a batch fits into a segment's index, each of its offsets does."""
    yield provided("the offset is of the batch"), base <= offset <= last
    yield provided("the last offset fits"), fits(base, last)
    yield f"{offset} fits", fits(base, offset)


@false_neighbour(of=batch_fits_if_its_last_offset_does)
def batch_fits_if_one_offset_does(base: int, offset: int, last: int) -> Claims:
    """The first offset may be the last that fits: a segment rolls by the last one of a batch."""
    yield provided("the offset is of the batch"), base <= offset <= last
    yield provided("the offset fits"), fits(base, offset)
    yield f"{last} fits", fits(base, last)


@lemma(is_too_large, size=JAVA_INT, appended=JAVA_INT, segment_bytes=JAVA_INT)
def segment_stays_within_its_size(size: int, appended: int, segment_bytes: int) -> Claims:
    """A segment that does not roll has at most `segment.bytes` after the append."""
    yield provided("sizes are not negative"), size >= 0 and appended >= 0
    yield provided("the segment is not too large"), not is_too_large(size, appended, segment_bytes)
    yield f"{size} and {appended} are at most {segment_bytes}", size + appended <= segment_bytes


@false_neighbour(of=segment_stays_within_its_size)
def sum_of_ints_stays_within_its_size(size: int, appended: int, segment_bytes: int) -> Claims:
    """The sum of two Java ints may be negative, which is below any `segment.bytes`."""
    yield provided("sizes are not negative"), size >= 0 and appended >= 0
    in_java = (size + appended + 2**31) % 2**32 - 2**31
    yield provided("the sum is not too large"), in_java <= segment_bytes
    yield f"{size} and {appended} are at most {segment_bytes}", size + appended <= segment_bytes


# -- retention ------------------------------------------------------------------------------------


@lemma(may_spare, log=NATURAL, kept=NATURAL, segment=NATURAL)
def retention_by_size_keeps_that_size(log: int, kept: int, segment: int) -> Claims:
    """A log that loses a segment by size still has `retention.bytes`, if it had them before."""
    yield provided("the log has the bytes that are kept"), log >= kept
    yield provided("the segment may go"), may_spare(log - kept, segment)
    yield f"{log} without {segment} is at least {kept}", log - segment >= kept


@false_neighbour(of=retention_by_size_keeps_that_size)
def deleting_while_larger_keeps_that_size(log: int, kept: int, segment: int) -> Claims:
    """A log that loses segments as long as it is larger than `retention.bytes` gets smaller."""
    yield provided("the log has the bytes that are kept"), log >= kept
    yield provided("the log is larger"), log > kept and segment <= log
    yield f"{log} without {segment} is at least {kept}", log - segment >= kept
