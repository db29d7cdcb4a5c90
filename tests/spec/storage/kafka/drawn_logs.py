"""Random scenarios of a whole log."""

from __future__ import annotations

import random
from collections.abc import Iterator

import attrs

from kspec.spec.storage.batches import Batch, Marker, StoredRecord
from tests.spec.storage.kafka.segments import Command, batch_of


def scenario(seed: str) -> list[Command]:
    """A random scenario; the same one for the same seed."""
    return list(Drawn(random.Random(seed)).commands())


@attrs.define
class Drawn:
    """A scenario as it is drawn. It knows where batches end, and which transactions are open."""

    chance: random.Random
    ends: list[int] = attrs.field(factory=lambda: [0])
    epoch: int = 0
    now: int = 0
    open: set[int] = attrs.field(factory=set)
    open_at: dict[int, set[int]] = attrs.field(factory=lambda: {0: set()})
    watermark: int = 0

    def commands(self) -> Iterator[Command]:
        """The commands of the scenario."""
        yield Command(f"new {self.settings()}")
        kinds = ["append"] * 8 + ["clean"] * 3 + ["retain"] * 2
        kinds += ["watermark", "roll", "time", "cleanable", "start"]
        for _ in range(self.chance.randrange(5, 30)):
            kind = self.chance.choice(kinds)
            self.now += self.chance.randrange(10)
            if kind in ("clean", "retain") and self.chance.random() < 0.8:
                self.watermark = self.ends[-1]
                yield Command(f"watermark {self.watermark}")
                yield Command("roll")
            if kind == "append":
                if self.chance.random() < 0.1 and self.ends[-1] > self.watermark:
                    yield self.truncation()
                yield Command(f"append {self.now}", self.batches())
            elif kind == "watermark":
                self.watermark = self.chance.choice([*self.ends[-3:], self.ends[-1]])
                yield Command(f"watermark {self.watermark}")
            elif kind == "roll":
                yield Command("roll")
            elif kind in ("cleanable", "clean"):
                checkpoint = self.chance.choice(["-", "-", "0", *map(str, self.ends[-4:])])
                size = f" {self.chance.choice([2, 3, 100])}" if kind == "clean" else ""
                yield Command(f"{kind} {self.now} {checkpoint}{size}")
            elif kind == "start":
                yield Command(f"start {self.chance.choice(self.ends)}")
            else:
                yield Command(f"{kind} {self.now}")
            if self.chance.random() < 0.05:
                point, start = self.chance.choice(self.ends), self.chance.choice([0, 0, 0, 1, 9])
                yield Command(f"crash {point} {start} {self.chance.choice([-1, -1, 0, 1, 2, 5])}")
                return

    def settings(self) -> str:
        """Settings that make something happen within a few batches."""
        chosen = {
            "internal.segment.bytes": self.chance.choice([400, 600, 900]),
            "segment.ms": self.chance.choice([20, 1000]),
            "index.interval.bytes": self.chance.choice([0, 100, 4096]),
            "segment.index.bytes": self.chance.choice([60, 120, 4096]),
            "cleanup.policy": self.chance.choice(["compact", "compact,delete"]),
            "retention.ms": self.chance.choice([-1, 20, 60]),
            "retention.bytes": self.chance.choice([-1, 100, 500]),
            "min.compaction.lag.ms": self.chance.choice([0, 0, 30]),
            "max.compaction.lag.ms": self.chance.choice([50, 1000]),
            "delete.retention.ms": self.chance.choice([0, 10, 1000]),
        }
        return " ".join(f"{name}={value}" for name, value in chosen.items())

    def truncation(self) -> Command:
        """A truncation above the high watermark, after which older epochs may go on."""
        offset = self.chance.choice([end for end in self.ends if end >= self.watermark])
        self.ends = [end for end in self.ends if end <= offset]
        self.epoch = self.chance.choice([self.epoch, 0])
        self.open = set(self.open_at[offset])
        return Command(f"truncate {offset}")

    def batches(self) -> tuple[Batch, ...]:
        """One to three batches of several producers: data, transactions and markers."""
        found = []
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            self.epoch += self.chance.random() < 0.15
            found.append(self.batch(self.ends[-1]))
            self.ends.append(found[-1].next_offset)
            self.open_at[self.ends[-1]] = set(self.open)
        return tuple(found)

    def batch(self, offset: int) -> Batch:
        """One batch."""
        if self.open and self.chance.random() < 0.6:
            producer = self.chance.choice(sorted(self.open))
            self.open.discard(producer)
            marker = self.chance.choice(list(Marker))
            record = StoredRecord(offset, self.now, marker.value, "")
            made = batch_of([record], self.epoch)
            return attrs.evolve(
                made, producer_id=producer, producer_epoch=0, is_transactional=True, marker=marker
            )
        records = [
            StoredRecord(
                offset + n,
                max(0, self.now - self.chance.choice([0, 0, 0, 5, 30])),
                self.chance.choice(["a", "b", "c", "d", None]),
                self.chance.choice(["v", "w" * 20, None]),
            )
            for n in range(self.chance.randrange(1, 4))
        ]
        made = batch_of(records, self.epoch)
        producer = self.chance.choice([-1, -1, 7, 8])
        if producer < 0:
            return made
        transactional = producer in self.open or self.chance.random() < 0.5
        if transactional:
            self.open.add(producer)
        return attrs.evolve(
            made, producer_id=producer, producer_epoch=0, is_transactional=transactional
        )
