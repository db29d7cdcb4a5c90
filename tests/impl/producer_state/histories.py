"""Histories that `kspec.impl.producer_state` and `spec.producer` both live through, step by step.

A step is drawn relative to the state before it ("the next batch", "the last one again"), so that
most steps succeed and a shrunk history still means something.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from hypothesis import strategies as st

from kspec.field.oracle.draws import Draw
from kspec.impl.producer_state import ProducerState as Fast
from kspec.spec.producer.entries import (
    LAST_EPOCH,
    LAST_SEQUENCE,
    Batch,
    DataBatch,
    EndMarker,
    ProducerEntry,
    sequence_after,
    sequence_before,
)
from kspec.spec.producer.producer_state import ProducerState
from kspec.spec.producer.snapshots import encode
from kspec.spec.producer.stable_offset import TransactionLog
from kspec.spec.vocabulary import AppendOrigin, ProducerError

EXPIRATION = 100
"""producer.id.expiration.ms of the histories."""


class Differs(AssertionError):
    """The two disagree."""


# -- steps ----------------------------------------------------------------------------------------


@attrs.frozen
class Produce:
    """A batch of a producer."""

    producer: int
    epoch: int
    """Relative to the producer's epoch."""
    sequence: str
    count: int
    is_transactional: bool
    origin: AppendOrigin
    guard: str


@attrs.frozen
class Mark:
    """A marker."""

    producer: int
    epoch: int
    coordinator_epoch: int
    is_abort: bool
    version: int
    origin: AppendOrigin


@attrs.frozen
class Verify:
    """The begin of a verification."""

    producer: int
    sequence: int
    epoch: int
    bumps_epochs: bool


@attrs.frozen
class Move:
    """The high watermark, the log start or the end move to a place within the log, in percent."""

    what: str
    place: int


@attrs.frozen
class Wait:
    """Time passes, and idle producers are forgotten."""

    time: int


@attrs.frozen
class Snapshot:
    """A snapshot is taken."""


@attrs.frozen
class Restart:
    """The broker starts again."""


PRODUCERS = st.integers(0, 2)
ORIGINS = st.sampled_from([AppendOrigin.CLIENT, AppendOrigin.CLIENT, *AppendOrigin])
SEQUENCES = st.sampled_from(["next"] * 5 + ["again", "before", "gap", "zero", "last"])
EPOCHS = st.sampled_from([0, 0, 0, 0, 1, -1, LAST_EPOCH])
MARKERS = st.sampled_from([AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION])
STEPS = st.one_of(
    st.builds(
        Produce,
        PRODUCERS,
        EPOCHS,
        SEQUENCES,
        st.integers(1, 3),
        st.booleans(),
        ORIGINS,
        st.sampled_from(["right", "right", "right", "wrong", "none"]),
    ),
    st.builds(
        Mark, PRODUCERS, EPOCHS, st.integers(0, 2), st.booleans(), st.integers(0, 2), MARKERS
    ),
    st.builds(Verify, PRODUCERS, st.integers(0, 4), EPOCHS, st.booleans()),
    st.builds(Move, st.sampled_from(["high watermark", "start", "end"]), st.integers(0, 100)),
    st.builds(Wait, st.sampled_from([1, 40, 100])),
    st.just(Snapshot()),
    st.just(Restart()),
)
HISTORIES = st.lists(STEPS, min_size=1, max_size=30)
"""Short histories, which Hypothesis shrinks."""


def dense(seed: int, steps: int = 80) -> Iterator[Any]:
    """A long history in which more goes well: always the same one for a seed."""
    draw = Draw(seed, steps)
    for _ in range(steps):
        kind, producer = draw.below(100), draw.below(3)
        epoch = draw.choose((0,) * 9 + (1, -1, LAST_EPOCH))
        if kind < 45:
            sequence = draw.choose(("next",) * 12 + ("again", "before", "gap", "zero", "last"))
            origin = draw.choose((AppendOrigin.CLIENT,) * 5 + tuple(AppendOrigin))
            guard = draw.choose(("right",) * 8 + ("wrong", "none"))
            size, is_transactional = draw.between(1, 3), draw.chance(0.7)
            yield Produce(producer, epoch, sequence, size, is_transactional, origin, guard)
        elif kind < 60:
            origin = draw.choose((AppendOrigin.COORDINATOR,) * 3 + (AppendOrigin.REPLICATION,))
            coordinator, version = draw.choose((0, 1, 1, 2)), draw.below(3)
            epoch = draw.choose((0, 0, 1, epoch))
            yield Mark(producer, epoch, coordinator, draw.chance(0.6), version, origin)
        elif kind < 75:
            sequence_from = draw.choose((0, 1, 3, 9))
            yield Verify(producer, sequence_from, epoch, draw.chance(0.5))
        elif kind < 88:
            what = draw.choose(("high watermark",) * 4 + ("start", "end"))
            yield Move(what, draw.choose((20, 50, 80, 100)))
        elif kind < 92:
            yield Wait(draw.choose((1, 1, 40, 60)))
        else:
            yield Snapshot() if kind < 98 else Restart()


# -- both -----------------------------------------------------------------------------------------


class Pair:
    """The specification's log, and the implementation, which are the same after each step."""

    def __init__(self, fast: Fast | None = None) -> None:
        self.log = TransactionLog(state=ProducerState(expiration=EXPIRATION))
        self.fast = fast or Fast(expiration=EXPIRATION)
        self.now = 100
        self.accepted = 0
        """How many batches and markers were appended."""

    def take(self, step: Any) -> None:
        """Take a step in both, and compare."""
        match step:
            case Produce():
                self.produce(step)
            case Mark():
                self.mark(step)
            case Verify():
                self.verify(step)
            case Move():
                self.move(step)
            case Wait(time):
                self.now += time
                state = self.log.state.expire(self.now)
                self.log = attrs.evolve(self.log, state=state)
                self.fast.expire(self.now)
            case Snapshot():
                self.log = attrs.evolve(self.log, state=self.log.state.take_snapshot())
                self.fast.take_snapshot()
            case Restart():
                self.restart()
        self.compare()

    def entry(self, producer: int) -> ProducerEntry:
        """What the specification keeps of a producer."""
        return self.log.state.producers.get(producer, ProducerEntry(producer))

    def produce(self, step: Produce) -> None:
        """A batch at the log's end."""
        entry, end = self.entry(step.producer), self.log.end
        following = sequence_after(entry.last_sequence, 1) if entry.batches else 0
        first, count = following, step.count
        match step.sequence:
            case "again" if entry.batches:
                known = entry.batches[0]
                first, count = known.first_sequence, known.offset_delta + 1
            case "before":
                first = sequence_before(following, 1)
            case "gap":
                first = sequence_after(following, 1)
            case "zero":
                first = 0
            case "last":
                first = LAST_SEQUENCE
        batch = DataBatch(
            step.producer,
            epoch_of(entry, step.epoch),
            first,
            sequence_after(first, count - 1),
            end,
            end + count - 1,
            self.now,
            step.is_transactional,
        )
        known_guard = self.log.state.verifications.get(step.producer)
        right = known_guard.guard if known_guard else None
        guard = {"right": right, "wrong": 0, "none": None}[step.guard]
        appended = self.log.append(batch, step.origin, guard)
        expected: int | ProducerError | None = None
        if appended.is_duplicate:
            expected = appended.base_offset
        elif appended.rejected is not None:
            expected = appended.rejected.error
        found = self.fast.check(
            batch.producer,
            batch.epoch,
            batch.first_sequence,
            batch.last_sequence,
            is_transactional=batch.is_transactional,
            origin=step.origin,
            guard=guard,
        )
        answer = found.first_offset if isinstance(found, tuple) else found
        same("answer", expected, answer)
        if expected is None:
            self.log = appended.log
            append(self.fast, batch)
            self.accepted += 1

    def mark(self, step: Mark) -> None:
        """A marker at the log's end."""
        entry = self.entry(step.producer)
        marker = EndMarker(
            step.producer,
            epoch_of(entry, step.epoch),
            step.coordinator_epoch,
            step.is_abort,
            self.log.end,
            self.now,
            step.version,
        )
        appended = self.log.append(marker, step.origin)
        found = self.fast.check_marker(
            marker.producer,
            marker.epoch,
            marker.coordinator_epoch,
            transaction_version=marker.transaction_version,
            origin=step.origin,
        )
        same("answer", appended.rejected and appended.rejected.error, found)
        if found is None:
            self.log = appended.log
            append(self.fast, marker)
            self.accepted += 1

    def verify(self, step: Verify) -> None:
        """The begin of a verification."""
        epoch = epoch_of(self.entry(step.producer), step.epoch)
        state, expected = self.log.state.start_verification(
            step.producer, step.sequence, epoch, step.bumps_epochs, self.now
        )
        found = self.fast.start_verification(
            step.producer, step.sequence, epoch, bumps_epochs=step.bumps_epochs, now=self.now
        )
        same("guard", expected, found)
        self.log = attrs.evolve(self.log, state=state)

    def move(self, step: Move) -> None:
        """An offset of the log moves; the start at most to the high watermark."""
        log, high_watermark = self.log, self.log.high_watermark
        if step.what == "high watermark":
            offset = high_watermark + (log.end - high_watermark) * step.place // 100
            self.log = log.advance_high_watermark(offset)
            self.fast.advance_high_watermark(offset)
        elif step.what == "start":
            offset = log.start + (high_watermark - log.start) * step.place // 100
            self.log = log.advance_start(offset)
            self.fast.advance_log_start(offset)
        else:
            offset = high_watermark + (log.end - high_watermark) * step.place // 100
            starts = {batch.first_offset for batch in log.batches}
            if offset in starts or offset == log.end:
                self.log = log.truncate(offset, self.now)
                self.reload()

    def restart(self) -> None:
        """The broker starts again: memory is lost, snapshots and the log are not."""
        self.log = self.log.restart(self.now)
        aborted = self.fast.aborted
        self.fast = type(self.fast)(expiration=EXPIRATION, snapshots=self.fast.snapshots)
        self.fast.end, self.fast.aborted = -1, aborted
        self.fast._guards = self.log.state.guards
        self.reload()

    def reload(self) -> None:
        """The implementation loads the latest snapshot, and reads the log from there."""
        self.fast.truncate(self.log.start, self.log.end, self.now)
        for batch in self.log.batches:
            if batch.first_offset >= self.fast.end:
                append(self.fast, batch, is_replayed=True)
        self.fast.end = self.log.end
        self.fast.take_snapshot()
        self.fast.advance_high_watermark(self.log.high_watermark)

    def compare(self) -> None:
        """Compare all that there is to see."""
        state, fast = self.log.state, self.fast
        same("end", state.end, fast.end)
        same("producers", entries_of(state.producers.values()), rows_of(fast))
        known, found = state.verifications, fast.verifications
        same("verifications", verifications_of(known), verifications_of(found))
        same("first unstable", state.first_unstable, fast.transactions.first_unstable)
        high_watermark, start = self.log.high_watermark, self.log.start
        stable = fast.last_stable_offset(high_watermark, start)
        same("last stable offset", self.log.last_stable_offset, stable)
        late = state.has_late_transaction(self.now + 300_000, 60)
        same("late transaction", late, fast.has_late_transaction(self.now + 300_000, 60))
        index = [tuple(attrs.astuple(entry)) for entry in self.log.aborted]
        same("aborted", index, [tuple(entry) for entry in fast.aborted.entries])
        for offset in range(start, self.log.end):
            indexed = self.log.aborted_between(offset, self.log.end)
            between = fast.aborted.between(offset, self.log.end)
            same("aborted", [attrs.astuple(e) for e in indexed], [tuple(e) for e in between])
        snapshots = {at: encode(entries) for at, entries in state.snapshots.items()}
        same("snapshots", snapshots, dict(fast.snapshots))


def same(what: str, expected: Any, found: Any) -> None:
    """Whether both say the same of something."""
    if expected != found:
        raise Differs(f"{what}: {expected} by the specification, {found} by the implementation")


def epoch_of(entry: ProducerEntry, relative: int) -> int:
    """An epoch relative to a producer's."""
    return min(max(max(entry.epoch, 0) + relative, 0), LAST_EPOCH)


def append(fast: Fast, batch: Batch, is_replayed: bool = False) -> None:
    """Take a batch or a marker of the log into account."""
    if isinstance(batch, EndMarker):
        fast.append_marker(
            batch.producer,
            batch.epoch,
            batch.coordinator_epoch,
            batch.first_offset,
            batch.timestamp,
            is_abort=batch.is_abort,
            is_replayed=is_replayed,
        )
        return
    fast.append(
        batch.producer,
        batch.epoch,
        batch.first_sequence,
        batch.last_sequence,
        batch.first_offset,
        batch.last_offset,
        batch.timestamp,
        is_transactional=batch.is_transactional,
    )


def entries_of(entries: Any) -> dict[int, tuple[Any, ...]]:
    """What the specification keeps of each producer."""
    return {
        e.producer: (
            e.epoch,
            e.coordinator_epoch,
            e.last_timestamp,
            -1 if e.transaction_start is None else e.transaction_start,
            [
                (b.first_sequence, b.last_sequence, b.first_offset, b.last_offset, b.timestamp)
                for b in e.batches
            ],
        )
        for e in entries
    }


def rows_of(fast: Fast) -> dict[int, tuple[Any, ...]]:
    """What the implementation keeps of each producer."""
    return {
        producer: (
            p.epoch,
            p.coordinator_epoch,
            p.timestamp,
            p.start,
            [tuple(batch) for batch in p.batches],
        )
        for producer, p in fast.producers.items()
    }


def verifications_of(verifications: Mapping[int, Any]) -> dict[int, tuple[Any, ...]]:
    """The verifications of either."""
    return {
        p: (v.guard, v.lowest_sequence, v.epoch, v.bumps_epochs, v.started)
        for p, v in verifications.items()
    }
