"""Scenarios of one segment: appends, rolls, truncations, damage and recovery, and look-ups."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import attrs

from kspec.spec.leader_epochs import LeaderEpochs
from kspec.spec.storage.batches import Batch, StoredRecord
from kspec.spec.storage.indexes import StorageError
from kspec.spec.storage.recovery import epochs_of
from kspec.spec.storage.segments import (
    Segment,
    SegmentSettings,
    append,
    append_with_one_entry,
    find_offset,
    find_timestamp,
    new_segment,
    recover,
    seal,
    should_roll,
    truncate_to,
    with_room,
)
from tests.spec.storage.kafka.words import parsed, sized, written

Append = Callable[[Segment, Sequence[Batch], SegmentSettings], Segment]
APPENDS: dict[str, Append] = {"4.0.0": append_with_one_entry, "4.1.0": append}
"""How each release indexes an append (KAFKA-806)."""

REJECTIONS = (
    "rejected IllegalArgumentException",
    "rejected LogSegmentOffsetOverflowException",
    "rejected IndexOffsetOverflowException",
)
"""How Kafka rejects a batch that needs an entry in a full index, or is too far away for it."""


@attrs.frozen
class Command:
    """A line of a scenario, with the batches that it mentions."""

    words: str
    batches: tuple[Batch, ...] = ()

    @property
    def line(self) -> str:
        """The line that the Java program reads."""
        return f"{self.words} {written(self.batches)}" if self.batches else self.words


def command_of(line: str) -> Command:
    """The command of a recorded line."""
    words, _, last = line.rpartition(" ")
    return Command(words, parsed(last)) if "|" in last else Command(line)


def scenario(seed: str) -> list[Command]:
    """A random scenario; the same one for the same seed."""
    chance = random.Random(seed)
    base = chance.choice([0, 0, 7, 2**40])
    interval = chance.choice([0, 50, 100, 200, 4096])
    index_bytes = chance.choice([36, 60, 120, 4096])
    commands = [Command(f"new {base} {interval} {index_bytes} {chance.randrange(50)}")]
    end, epoch, count = base, 0, 0
    for _ in range(chance.randrange(3, 25)):
        kind = chance.choice(["append"] * 6 + ["find"] * 3 + ["time"] * 3 + ["roll", "truncate"])
        if chance.random() < 0.03:
            kind = "recover"
        if kind in ("append", "roll"):
            epoch += chance.random() < 0.2
            some = random_batches(chance, end, epoch)
            if kind == "append":
                commands.append(Command("append", some))
                end, count = some[-1].next_offset, count + len(some)
            else:
                words = (
                    f"roll {chance.randrange(100)} {chance.randrange(60)} {chance.randrange(900)}"
                )
                commands.append(Command(words, some))
        elif kind == "find":
            commands.append(Command(f"find {near(chance, base, end)}"))
        elif kind == "time":
            commands.append(Command(f"time {chance.randrange(-1, 60)} {near(chance, base, end)}"))
        elif kind == "truncate":
            end = near(chance, base, end)
            commands.append(Command(f"truncate {end} {chance.randrange(50, 99)}"))
        else:
            if chance.random() < 0.5:
                commands.append(Command(f"damage {chance.randrange(8)}"))
            commands.append(Command("recover"))
    if chance.random() < 0.3:
        commands.append(Command("seal"))
    return commands


def near(chance: random.Random, base: int, end: int) -> int:
    """An offset in the log or a little outside."""
    return max(0, chance.randint(base - 1, end + 1))


def random_batches(chance: random.Random, offset: int, epoch: int) -> tuple[Batch, ...]:
    """One to three batches with any order of timestamps, seldom far away."""
    found = []
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        offset += chance.choice([0, 0, 0, 0, 1, 5, 2**31 - 20 if chance.random() < 0.05 else 0])
        records = tuple(
            StoredRecord(
                offset + n,
                chance.choice([-1, chance.randrange(50)]),
                "k",
                "v" * chance.randrange(1, 40),
            )
            for n in range(chance.randrange(1, 4))
        )
        found.append(batch_of(records, epoch))
        offset = found[-1].next_offset
    return tuple(found)


def batch_of(records: Sequence[StoredRecord], epoch: int) -> Batch:
    """A batch of these records."""
    greatest = max(record.timestamp for record in records)
    first, last = records[0].offset, records[-1].offset
    return Batch(first, last, 1, greatest, tuple(records), epoch)


# -- what the specification answers ---------------------------------------------------------------


@attrs.define
class Played:
    """A scenario on the specification; sizes of batches come from Kafka's answers."""

    append: Append
    segment: Segment = attrs.field(init=False)
    settings: SegmentSettings = attrs.field(init=False)
    now: int = 0

    def answer(self, command: Command, kafka: str) -> str:
        """The answer to a command; raises StorageError where Kafka rejects it."""
        name, *words = command.words.split()
        numbers = [int(word) for word in words]
        if name == "new":
            base, interval, index_bytes, self.now = numbers
            self.settings = SegmentSettings(index_interval_bytes=interval, index_bytes=index_bytes)
            self.segment = new_segment(base, self.settings, self.now)
        elif name == "append":
            sizes = kafka.split()[0]
            batches = sized(command.batches, sizes)
            self.segment = self.append(self.segment, batches, self.settings)
            return f"{sizes} {self.state()}"
        elif name == "roll":
            return self.roll(numbers, command, kafka)
        elif name == "seal":
            self.segment = seal(self.segment)
        elif name == "truncate":
            offset, self.now = numbers
            self.segment = truncate_to(self.segment, offset, self.settings, self.now)
        elif name == "damage":
            return self.damage(numbers[0])
        elif name == "recover":
            return self.recover()
        elif name == "find":
            found = find_offset(self.segment, numbers[0])
            return f"{found[0]} {found[1].base_offset}" if found else "none"
        elif name == "time":
            record = find_timestamp(self.segment, *numbers)
            return f"{record[0]} {record[1]}" if record else "none"
        return self.state()

    def roll(self, numbers: list[int], command: Command, kafka: str) -> str:
        """Whether the segment rolls."""
        now, segment_ms, segment_bytes = numbers
        settings = attrs.evolve(self.settings, segment_ms=segment_ms, segment_bytes=segment_bytes)
        sizes = kafka.split()[0]
        rolls = should_roll(self.segment, sized(command.batches, sizes), settings, now)
        return f"{sizes} {str(rolls).lower()}"

    def damage(self, number: int) -> str:
        """A batch is no longer valid: this one, or the last one."""
        batches = list(self.segment.batches)
        if not batches:
            return "0"
        damaged = min(number, len(batches) - 1)
        batches[damaged] = attrs.evolve(batches[damaged], is_valid=not batches[damaged].is_valid)
        self.segment = attrs.evolve(self.segment, batches=tuple(batches))
        return str(len(batches))

    def recover(self) -> str:
        """The segment is recovered, as the active one, and with it the leader epochs."""
        self.segment = with_room(recover(self.segment, self.settings, self.now), self.settings)
        epochs = epochs_of(LeaderEpochs(), [self.segment]).entries
        return ",".join(f"{e.epoch}:{e.start}" for e in epochs) + f" {self.state()}"

    def state(self) -> str:
        """Sizes, timestamps and entries, as the Java program prints them."""
        s = self.segment
        full = [str(index.is_full).lower() for index in (s.offset_index, s.time_index)]
        offsets = ",".join(f"{e.offset}:{e.position}" for e in s.offset_index.entries) or "-"
        times = ",".join(f"{e.timestamp}:{e.offset}" for e in s.time_index.entries) or "-"
        numbers = (s.size, s.next_offset, s.max_seen.timestamp)
        return " ".join([*map(str, numbers), *full, offsets, times])


def difference(commands: Sequence[Command], kafka: Sequence[str], version: str) -> str | None:
    """The first difference between Kafka's answers and the specification's, or None.

    A scenario ends where Kafka rejects a command: its segment may have half of the change then.
    """
    played = Played(APPENDS[version])
    for number, (command, theirs) in enumerate(zip(commands, kafka, strict=True)):
        try:
            ours = played.answer(command, theirs)
        except StorageError as rejected:
            ours = f"rejected: {rejected}"
            if theirs.endswith(REJECTIONS):
                return None
        if ours != theirs:
            before = "\n".join(c.line for c in commands[: number + 1])
            return f"{before}\nKafka: {theirs}\nspec:  {ours}"
    return None
