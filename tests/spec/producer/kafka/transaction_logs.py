"""Histories of a log with transactions, and what a consumer delivers of it.

The log is Kafka's `UnifiedLog`, in Java since 4.1, the consumer its `CompletedFetch`. A history is
a line of operations as in `producer_states`; K is how many batches before the log's end:

    b PRODUCER EPOCH SEQUENCE COUNT TIME TRANSACTIONAL ORIGIN GUARD    a batch
    m PRODUCER EPOCH COORDINATOR-EPOCH ABORT TIME VERSION ORIGIN       a marker
    n COUNT, v PRODUCER SEQUENCE EPOCH BUMPS    a batch without a producer id, a verification
    h K, s K, t K, p, r      high watermark, log start, truncation, snapshot, clean restart
    f K READ-COMMITTED       a fetch, and what the consumer delivers of it

The answer has a word for each operation, with the last stable offset.

Left out: offsets within a batch, where Kafka rounds; expiry and unclean restarts; an LSO after a
truncation before Kafka updates it; fetches of a log that has an offset index (4 KiB).
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kspec.field.oracle.draws import Draw
from kspec.spec.producer.broker_rules import rules_of
from kspec.spec.producer.producer_state import ProducerState
from kspec.spec.producer.read_committed import deliver
from kspec.spec.producer.stable_offset import TransactionLog
from kspec.spec.serving import FetchIsolation, Offsets, readable
from kspec.spec.vocabulary import ProducerError
from tests.spec.producer.kafka.kinds import Kind
from tests.spec.producer.kafka.producer_states import ORIGINS, Drawn, batch_of

# -- calls ----------------------------------------------------------------------------------------


@attrs.define
class DrawnLog(Drawn):
    """A history of a log: mostly transactional batches, verified before."""

    def operations(self) -> Sequence[str]:
        """A random operation, or a few that belong together."""
        draw, kind = self.draw, self.draw.below(100)
        if kind < 50:
            batch = self.batch()
            _, producer, epoch, first, *_, is_transactional, _ = batch.split(",")
            guard = draw.choose("rrrrrrrrwn")
            verified = []
            if is_transactional == "1" and draw.chance(0.6):
                verified = [f"v,{producer},{first},{epoch},{draw.below(2)}"]
            return [*verified, f"{batch},{guard}"]
        if kind < 70:
            return [self.marker()]
        if kind < 74:
            return [f"n,{draw.between(1, 3)}"]
        if kind < 82:
            return [f"h,{draw.choose((0, 0, 1, 2, 4))}"]
        if kind < 90:
            back = draw.below(12)
            return [f"f,{back},1", f"f,{back},0"]
        return [
            draw.choose((f"s,{draw.below(8)}", f"t,{draw.below(4)}", "p", "r", self.verification()))
        ]


def draw_log(draw: Draw, version: str) -> str:
    """A random history; at the end, everything is fetched."""
    drawn = DrawnLog(draw, rules_of(version))
    found = [each for _ in range(draw.between(1, 18)) for each in drawn.operations()]
    return " ".join([*found, "f,99,1", "h,0", "f,99,1"])


# -- answers --------------------------------------------------------------------------------------


@attrs.define
class Played:
    """A history, played by the specification."""

    log: TransactionLog
    starts: list[int] = attrs.Factory(list)
    """Where each batch begins, also those without a producer id."""
    guards: dict[int, int] = attrs.Factory(dict)
    """By producer, the guard of its last verification."""

    def operate(self, name: str, fields: list[str]) -> str:
        """Take an operation; the answer."""
        if name in "bm":
            return self.append(name, fields)
        if name == "n":
            self.starts.append(self.log.end)
            answer = f"ok@{self.log.end}"
            self.log = self.log.skip_to(self.log.end + int(fields[0]))
            return answer
        if name == "v":
            return self.verify(*map(int, fields))
        if name == "f":
            return self.fetch(max(self.log.start, self.place(fields[0])), fields[1] == "1")
        if name in "hst":
            self.move(name, self.place(fields[0]))
            return "ok"
        state = self.log.state.take_snapshot()
        self.log = attrs.evolve(self.log, state=state)
        if name == "r":
            self.log = self.log.restart()
        return "ok"

    def place(self, back: str) -> int:
        """The log's end, or where one of the last batches begins."""
        at = len(self.starts) - int(back)
        if at >= len(self.starts):
            return self.log.end
        return self.log.start if at < 0 else self.starts[at]

    def append(self, name: str, fields: list[str]) -> str:
        """Append a batch or a marker."""
        guard = None
        if name == "b":
            *fields, which = fields
            guard = self.guards.get(int(fields[0])) if which == "r" else 0 if which == "w" else None
        batch = batch_of(self.log.end, name, fields)
        appended = self.log.append(batch, ORIGINS[fields[-1]], guard)
        if appended.rejected is not None:
            return appended.rejected.error.value
        if appended.is_duplicate:
            return f"dup@{appended.base_offset}"
        self.starts.append(batch.first_offset)
        self.log = appended.log
        return f"ok@{appended.base_offset}"

    def verify(self, producer: int, sequence: int, epoch: int, bumps: int) -> str:
        """Begin a verification."""
        state, guard = self.log.state.start_verification(producer, sequence, epoch, bool(bumps))
        self.log = attrs.evolve(self.log, state=state)
        if isinstance(guard, ProducerError):
            return guard.value
        if guard is None:
            return "open"
        self.guards[producer] = guard
        return "begun"

    def move(self, name: str, offset: int) -> None:
        """Move the high watermark, the log start or the log's end."""
        log = self.log
        if name == "h":
            self.log = log.advance_high_watermark(max(log.high_watermark, offset))
        elif name == "s":
            start = min(offset, log.high_watermark)
            if start > log.start:
                self.log = log.advance_start(start)
        elif max(log.start, offset) < log.end:
            self.log = log.truncate(max(log.start, offset))
            self.starts = [each for each in self.starts if each < self.log.end]

    def fetch(self, offset: int, is_read_committed: bool) -> str:
        """A fetch: the batches, the aborted transactions, and what a consumer delivers."""
        log = self.log
        isolation = FetchIsolation.HIGH_WATERMARK
        if is_read_committed:
            isolation = FetchIsolation.TXN_COMMITTED
        offsets = Offsets(log.start, log.end, log.high_watermark, log.first_unstable)
        found = readable(offsets, offset, isolation)
        assert isinstance(found, range)
        spans, aborted = [], []
        if found:
            ends = [*self.starts[1:], log.end]
            spans = [
                (first, end - 1)
                for first, end in zip(self.starts, ends, strict=True)
                if end > offset and first < found.stop
            ]
        if found and is_read_committed:
            aborted = [(a.producer, a.first_offset) for a in log.aborted_between(offset, log.end)]
        returned = [b for b in log.batches if (b.first_offset, b.last_offset) in spans]
        delivered = deliver(returned, offset, is_read_committed, aborted)
        others = {b.first_offset for b in log.batches}
        plain = [o for a, b in spans if a not in others for o in range(max(a, offset), b + 1)]
        records = sorted((*delivered.offsets, *plain))
        position = spans[-1][1] + 1 if spans else offset
        return "|".join(
            (
                "".join(f"{first}-{last};" for first, last in spans),
                "".join(f"{producer}@{first};" for producer, first in aborted),
                "".join(f"{each};" for each in records) + f">{position}",
            )
        )


def answer_log(version: str, call: str) -> str:
    """What the specification answers."""
    played, words = Played(TransactionLog(state=ProducerState(rules_of(version)))), []
    for operation in call.split(" "):
        name, *fields = operation.split(",")
        words.append(f"{played.operate(name, fields)}/{played.log.last_stable_offset}")
    return " ".join(words)


TRANSACTION_LOG = Kind(
    "transaction-log",
    "TransactionLog.java",
    ("4.1.0", "4.2.0"),
    draw_log,
    answer_log,
    artifact="kafka-storage",
)
