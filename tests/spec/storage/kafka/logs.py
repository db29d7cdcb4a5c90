"""Scenarios of a whole log: rolls, retention, compaction, truncation, and starts after a crash."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.storage.batches import Batch, Marker
from kspec.spec.storage.cleaning import (
    CleanerSettings,
    between,
    cleanable,
    compaction_delay,
    filth,
    first_uncleanable_segment,
    grouped,
)
from kspec.spec.storage.compaction import Cleaning, LastOfProducer, clean, offset_map
from kspec.spec.storage.indexes import StorageError
from kspec.spec.storage.recovery import FoundLog, load
from kspec.spec.storage.retention import RetentionSettings, StoredLog, expired, without
from kspec.spec.storage.segments import (
    Segment,
    SegmentSettings,
    append,
    new_segment,
    offset_for_time,
    seal,
    should_roll,
    truncate_to,
)
from tests.spec.storage.kafka.segments import Command
from tests.spec.storage.kafka.words import field, read, sized

OUT_OF_RANGE = "rejected OffsetOutOfRangeException"
INDEX_FULL = "rejected IllegalArgumentException"
"""Two of an append's batches need an entry, and the index has room for one."""
NOT_OLD = 10**15
"""When Kafka last modified its files: long after every moment of a scenario."""


@attrs.define
class Played:
    """A scenario on the specification.

    Kafka's answers give the sizes of batches, the last stable offset and the active producers.
    """

    segments: list[Segment] = attrs.field(factory=list)
    settings: SegmentSettings = attrs.field(factory=SegmentSettings)
    retention: RetentionSettings = attrs.field(factory=RetentionSettings)
    cleaner: CleanerSettings = attrs.field(factory=CleanerSettings)
    start: int = 0
    watermark: int = 0
    epochs: LeaderEpochs = attrs.field(factory=LeaderEpochs)
    epoch_file: LeaderEpochs = attrs.field(factory=LeaderEpochs)

    def answer(self, command: Command, kafka: str) -> str:
        """The answer to a command; raises StorageError where Kafka rejects it."""
        name, *words = command.words.split()
        if name == "new":
            return self.new(dict(word.split("=") for word in words))
        if name in ("cleanable", "clean"):
            return getattr(self, name)(int(words[0]), words[1:], kafka)
        numbers = [int(word) for word in words]
        if name == "append":
            return self.append(numbers[0], command.batches, kafka.split()[0])
        if name == "crash":
            return self.crash(*numbers)
        if name == "watermark":
            self.watermark = max(self.start, min(numbers[0], self.end))
            return str(self.watermark)
        if name == "time":
            found = offset_for_time(self.segments, numbers[0], self.start)
            return "none" if found is None else str(found)
        if name == "start":
            self.moved(numbers[0])
        else:
            getattr(self, name)(*numbers)
        return self.shape()

    @property
    def end(self) -> int:
        """The log end offset."""
        return self.segments[-1].next_offset

    @property
    def forgets_aborts(self) -> bool:
        """Whether an aborted transaction ended below the log start offset.

        A cleaning is not compared then: Kafka takes such records for committed, and cleans them
        by their keys. No reader gets them. Kafka: `LocalLog.collectAbortedTransactions`.
        """
        batches = [batch for segment in self.segments for batch in segment.batches]
        return any(b.marker is Marker.ABORT and b.last_offset < self.start for b in batches)

    def new(self, words: dict[str, str]) -> str:
        """A log with these settings."""
        self.settings = SegmentSettings(
            segment_bytes=int(words["internal.segment.bytes"]),
            segment_ms=min(int(words["segment.ms"]), int(words["max.compaction.lag.ms"])),
            index_interval_bytes=int(words["index.interval.bytes"]),
            index_bytes=int(words["segment.index.bytes"]),
        )
        self.retention = RetentionSettings(
            delete="delete" in words["cleanup.policy"],
            retention_ms=int(words["retention.ms"]),
            retention_bytes=int(words["retention.bytes"]),
        )
        self.cleaner = CleanerSettings(
            min_lag_ms=int(words["min.compaction.lag.ms"]),
            max_lag_ms=int(words["max.compaction.lag.ms"]),
            delete_retention_ms=int(words["delete.retention.ms"]),
        )
        self.segments = [self.empty(0)]
        return self.shape()

    def empty(self, base: int, now: int = 0) -> Segment:
        """A new segment."""
        return attrs.evolve(new_segment(base, self.settings, now), last_modified=NOT_OLD)

    def append(self, now: int, given: Sequence[Batch], sizes: str) -> str:
        """A follower appends batches; the log may roll before."""
        batches = sized(given, sizes)
        for batch in batches:
            cached = self.epochs.assign(batch.leader_epoch, batch.base_offset)
            if cached != self.epochs:
                self.epochs = self.epoch_file = cached
        if should_roll(self.segments[-1], batches, self.settings, now):
            self.roll(now)
        self.segments[-1] = append(self.segments[-1], batches, self.settings)
        return f"{sizes} {self.shape()}"

    def roll(self, now: int = 0) -> None:
        """Another segment becomes active; an empty one does not roll."""
        if not self.segments[-1].batches and self.segments[-1].base_offset == self.end:
            self.segments[-1] = self.empty(self.end, now)
            return
        self.segments[-1] = seal(self.segments[-1])
        self.segments.append(self.empty(self.end, now))

    def moved(self, start: int) -> None:
        """The log start offset increases."""
        if start > self.start:
            self.start = start
            self.epochs = self.epochs.truncate_from_start(start)

    def truncate(self, offset: int) -> None:
        """A follower truncates."""
        if offset < self.end:
            kept = [s for s in self.segments if s.base_offset <= offset]
            self.segments = [*kept[:-1], truncate_to(kept[-1], offset, self.settings)]
            self.start, self.watermark = min(self.start, offset), min(self.watermark, offset)
        self.epochs = self.epochs.truncate_from_end(offset)

    def retain(self, now: int) -> None:
        """Retention."""
        log = StoredLog(self.segments, self.start, self.end, self.watermark)
        gone = expired(log, self.retention, now)
        left = without(log, gone)
        if not left.segments:
            self.roll(now)
        self.segments = self.segments[len(gone) :]
        self.moved(left.start)

    # -- compaction -------------------------------------------------------------------------------

    def cleanable(self, now: int, words: list[str], kafka: str) -> str:
        """How far the log may be cleaned, and how dirty it is."""
        stable = int(kafka.split()[0])
        checkpoint = None if words[0] == "-" else int(words[0])
        part = cleanable(self.segments, checkpoint, self.start, stable, self.cleaner, now)
        end = first_uncleanable_segment(self.segments, part.first_uncleanable)
        dirt = filth(self.segments, part)
        delay = compaction_delay(self.segments, part.first_dirty, self.cleaner, now)
        return " ".join(map(str, (stable, *part, end, *dirt, delay)))

    def clean(self, now: int, words: list[str], kafka: str) -> str:
        """A cleaning; the log afterwards."""
        stable, active, _, dumped = kafka.split()
        checkpoint = None if words[0] == "-" else int(words[0])
        part = cleanable(self.segments, checkpoint, self.start, int(stable), self.cleaner, now)
        if filth(self.segments, part).cleanable_bytes == 0:
            return f"{stable} {active} nothing {self.dump()}"
        end = first_uncleanable_segment(self.segments, part.first_uncleanable)
        batches = [batch for segment in self.segments for batch in segment.batches]
        bases = [segment.base_offset for segment in self.segments]
        latest = offset_map(batches, part.first_dirty, end, int(words[1]), bases)
        cleaning = Cleaning(latest, end, now, self.cleaner.delete_retention_ms, last(active))
        self.resize(self.merge(cleaning), dumped)
        return f"{stable} {active} {latest.end} {self.dump()}"

    def merge(self, cleaning: Cleaning) -> int:
        """The segments up to the end of the map are cleaned, and merged into so many."""
        cleaned = between(self.segments, 0, cleaning.map.end)
        rest = [batch for s in self.segments[len(cleaned) :] for batch in s.batches]
        groups = grouped(cleaned, self.settings, cleaning.first_uncleanable)
        kept = clean([b for s in cleaned for b in s.batches], cleaning, rest)
        merged = []
        for group in groups:
            bases = {batch.base_offset for segment in group for batch in segment.batches}
            mine = tuple(batch for batch in kept if batch.base_offset in bases)
            merged.append(attrs.evolve(self.empty(group[0].base_offset), batches=mine))
        self.segments = [*merged, *self.segments[len(cleaned) :]]
        return len(merged)

    def resize(self, count: int, dumped: str) -> None:
        """Cleaned batches have the sizes that Kafka gave them, and indexes accordingly."""
        sizes = {
            b.base_offset: b.size for part in dumped.split(";") for b in read(part.split("=")[1])
        }
        for number, segment in enumerate(self.segments[:count]):
            batches = [attrs.evolve(b, size=sizes.get(b.base_offset, 0)) for b in segment.batches]
            made = append(self.empty(segment.base_offset), batches, self.settings)
            self.segments[number] = seal(made)

    # -- crash ------------------------------------------------------------------------------------

    def crash(self, point: int, start: int, damaged: int) -> str:
        """The broker starts after a crash that left one batch damaged."""
        count = 0
        for number, segment in enumerate(self.segments):
            batches = list(segment.batches)
            if 0 <= damaged - count < len(batches):
                batches[damaged - count] = attrs.evolve(batches[damaged - count], is_valid=False)
                self.segments[number] = attrs.evolve(segment, batches=tuple(batches))
            count += len(batches)
        loaded = load(FoundLog(tuple(self.segments), point, start, self.epoch_file), self.settings)
        self.segments, self.start = list(loaded.segments), loaded.log_start
        epochs = ",".join(f"{e.epoch}:{e.start}" for e in loaded.leader_epochs.entries) or "-"
        return f"{loaded.recovery_point} {epochs} {self.shape()} {self.dump()}"

    # -- answers ----------------------------------------------------------------------------------

    def shape(self) -> str:
        """Where the log begins and ends, and its segments."""
        segments = [
            (
                s.base_offset,
                s.size,
                len(s.offset_index.entries),
                len(s.time_index.entries),
                s.max_seen.timestamp,
            )
            for s in self.segments
        ]
        words = ",".join(":".join(map(str, segment)) for segment in segments)
        return f"{self.start} {self.end} {words}"

    def dump(self) -> str:
        """Every batch of every segment, as the Java program prints it."""
        return ";".join(f"{s.base_offset}={dumped(s.batches)}" for s in self.segments)


def last(active: str) -> dict[int, LastOfProducer]:
    """The active producers in Kafka's answer."""
    found = [word.split(":") for word in active.split(",")] if active != "-" else []
    return {int(p): LastOfProducer(None if o == "-1" else int(o), int(e)) for p, o, e in found}


def dumped(batches: Sequence[Batch]) -> str:
    """Batches as the Java program prints them."""
    return "+".join(map(dumped_batch, batches)) or "-"


def dumped_batch(batch: Batch) -> str:
    """A batch with its records and its delete horizon."""
    kind = ("data", "transactional")[batch.is_transactional]
    if batch.marker is not None:
        kind = batch.marker.value if batch.records else "control"
    records = [
        f"{r.offset}:{r.timestamp}::"
        if batch.is_control
        else f"{r.offset}:{r.timestamp}:{field(r.key)}:{field(r.value)}"
        for r in batch.records
    ]
    horizon = -1 if batch.delete_horizon is None else batch.delete_horizon
    fields = (
        batch.base_offset,
        batch.last_offset,
        batch.size,
        batch.max_timestamp,
        batch.leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        kind,
        horizon,
        "/".join(records),
    )
    return "|".join(map(str, fields))


def difference(commands: Sequence[Command], kafka: Sequence[str]) -> str | None:
    """The first difference between Kafka's answers and the specification's, or None.

    A scenario ends where Kafka rejects an append because an index is full, and at a cleaning of
    which `forgets_aborts` is true.
    """
    played = Played()
    for number, (command, theirs) in enumerate(zip(commands, kafka, strict=True)):
        if theirs == OUT_OF_RANGE and command.words.startswith("start"):
            if int(command.words.split()[1]) <= played.watermark:
                return f"{command.line}: {theirs}, but the offset is below the high watermark"
            continue
        if theirs == INDEX_FULL or (command.words.startswith("clean ") and played.forgets_aborts):
            return None
        if theirs.startswith("rejected"):
            return "\n".join([*(c.line for c in commands[: number + 1]), f"Kafka: {theirs}"])
        try:
            ours = played.answer(command, theirs)
        except StorageError as rejected:
            ours = f"rejected: {rejected}"
        if ours != theirs:
            before = "\n".join(c.line for c in commands[: number + 1])
            return f"{before}\nKafka: {theirs}\nspec:  {ours}"
    return None
