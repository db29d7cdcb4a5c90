"""The oracle of the leader-epoch cache: `spec.leader_epochs`, with Kafka's names of methods."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

from kspec.field.oracle.draws import Draw
from kspec.field.oracle.questions import Oracle, in_request, oracle_of
from kspec.spec.core import SpecError
from kspec.spec.leader_epochs import EpochEnd, EpochEntry, LeaderEpochs, Truncation, truncation_for

Entries: TypeAlias = tuple[EpochEntry, ...]


def cache(entries: Entries) -> LeaderEpochs:
    """The cache with these entries, whose epochs and start offsets increase."""
    for before, after in pairwise(entries):
        if before.epoch >= after.epoch or before.start >= after.start:
            raise SpecError("params.epochs: epochs and start offsets increase from entry to entry")
    if entries and min(entries[0]) < 0:
        raise SpecError("params.epochs: neither an epoch nor an offset is negative")
    return LeaderEpochs(entries)


def assign(epochs: Entries, epoch: int, start_offset: int) -> Entries:
    """The entries after an epoch began. Kafka: `LeaderEpochFileCache.assign`."""
    if epoch < 0 or start_offset < 0:
        raise SpecError("params: neither an epoch nor an offset is negative")
    return cache(epochs).assign(epoch, start_offset).entries


def truncate_from_end(epochs: Entries, end_offset: int) -> Entries:
    """The entries after the log was truncated to an offset.

    Kafka: `LeaderEpochFileCache.truncateFromEndAsyncFlush`.
    """
    return cache(epochs).truncate_from_end(end_offset).entries


def truncate_from_start(epochs: Entries, start_offset: int) -> Entries:
    """The entries after the log start offset moved.

    Kafka: `LeaderEpochFileCache.truncateFromStartAsyncFlush`.
    """
    return cache(epochs).truncate_from_start(start_offset).entries


def latest_epoch(epochs: Entries) -> int | None:
    """The latest epoch. Kafka: `LeaderEpochFileCache.latestEpoch`."""
    return cache(epochs).latest_epoch


def previous_epoch(epochs: Entries, epoch: int) -> int | None:
    """The greatest known epoch below this one. Kafka: `LeaderEpochFileCache.previousEpoch`."""
    return cache(epochs).previous_epoch(epoch)


def next_epoch(epochs: Entries, epoch: int) -> int | None:
    """The least known epoch above this one. Kafka: `LeaderEpochFileCache.nextEpoch`."""
    return cache(epochs).next_epoch(epoch)


def epoch_for_offset(epochs: Entries, offset: int) -> int | None:
    """The epoch of the record at an offset. Kafka: `LeaderEpochFileCache.epochForOffset`."""
    return cache(epochs).epoch_at(offset)


def end_offset_for(epochs: Entries, requested_epoch: int, log_end_offset: int) -> EpochEnd:
    """Where an epoch ended: -1 for an epoch and offset that are not known.

    Kafka: `LeaderEpochFileCache.endOffsetFor`, the answer to OffsetForLeaderEpoch.
    """
    return cache(epochs).end_of(requested_epoch, log_end_offset)


def get_offset_truncation_state(
    leader_epoch: int, end_offset: int, epochs: Entries, log_end_offset: int, high_watermark: int
) -> Truncation:
    """Where a follower truncates, after its leader answered `leaderEpoch` and `endOffset`.

    Kafka: `AbstractFetcherThread.getOffsetTruncationState`.
    """
    answer = EpochEnd(leader_epoch, end_offset)
    return truncation_for(answer, cache(epochs), log_end_offset, high_watermark)


def oracle() -> Oracle:
    """The methods."""
    return oracle_of(
        assign,
        truncate_from_end,
        truncate_from_start,
        latest_epoch,
        previous_epoch,
        next_epoch,
        epoch_for_offset,
        end_offset_for,
        get_offset_truncation_state,
    )


# -- vectors --------------------------------------------------------------------------------------


def drawn(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A method and its parameters: a small cache, and numbers near its entries."""
    entries = []
    epoch, start = draw.below(3), draw.below(4)
    for _ in range(draw.below(6)):
        entries.append(in_request(EpochEntry(epoch, start)))
        epoch, start = epoch + draw.between(1, 3), start + draw.between(1, 5)
    cached = {"epochs": entries}
    an_epoch, an_offset = draw.below(epoch + 3), draw.below(start + 5)
    end = start + draw.below(4)
    match draw.below(10):
        case 0:
            return "assign", {**cached, "epoch": an_epoch, "startOffset": an_offset}
        case 1:
            return "truncateFromEnd", {**cached, "endOffset": an_offset}
        case 2:
            return "truncateFromStart", {**cached, "startOffset": an_offset}
        case 3:
            return draw.choose(("previousEpoch", "nextEpoch")), {**cached, "epoch": an_epoch}
        case 4:
            return "epochForOffset", {**cached, "offset": an_offset}
        case 5 | 6:
            requested = draw.between(-1, epoch + 1)
            return "endOffsetFor", {**cached, "requestedEpoch": requested, "logEndOffset": end}
        case 7:
            return "latestEpoch", cached
        case _:
            leader = {"leaderEpoch": draw.between(-1, epoch), "endOffset": draw.between(-1, end)}
            own = {"logEndOffset": end, "highWatermark": draw.below(end + 1)}
            return "getOffsetTruncationState", {**leader, **cached, **own}
