"""Histories of `ProducerStateManager`: batches, markers, expiry, truncation and snapshots.

A history is a line of operations, separated by blanks, whose fields are separated by commas:

    b PRODUCER EPOCH SEQUENCE COUNT TIME TRANSACTIONAL ORIGIN      a batch at the log's end
    m PRODUCER EPOCH COORDINATOR-EPOCH ABORT TIME VERSION ORIGIN   a marker
    v PRODUCER SEQUENCE EPOCH BUMPS                                begin a verification
    h OFFSET, s OFFSET, e TIME                  high watermark, log start, expiry
    p, t START END TIME, f OFFSET               snapshot, truncation, begin anew

The answer has a word for each operation, with the first unstable offset, and at last the state.

Left out: snapshots and truncation before 2.8, whose files are deleted at other times, and which up
to 2.4.0 load an empty batch for a producer without one; coordinators' batches before 2.4.1, which
are told by the topic's name; 1.0.0, 1.0.1 and 4.3, whose classes have other names.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from kspec.field.oracle.draws import Draw
from kspec.spec.producer.broker_rules import BrokerRules, rules_of
from kspec.spec.producer.entries import (
    LAST_EPOCH,
    LAST_SEQUENCE,
    Batch,
    DataBatch,
    EndMarker,
    ProducerEntry,
    sequence_after,
)
from kspec.spec.producer.producer_state import ProducerState
from kspec.spec.producer.sequences import rejection
from kspec.spec.producer.snapshots import encode
from kspec.spec.vocabulary import AppendOrigin
from tests.spec.producer.kafka.kinds import Kind

EXPIRATION = 1000
"""producer.id.expiration.ms of the histories."""
ORIGINS = {
    "C": AppendOrigin.CLIENT,
    "K": AppendOrigin.COORDINATOR,
    "R": AppendOrigin.REPLICATION,
}

# -- calls ----------------------------------------------------------------------------------------


@attrs.define
class Drawn:
    """What a drawn history has probably come to, so that most of its operations succeed."""

    draw: Draw
    rules: BrokerRules
    end: int = 0
    now: int = 100
    last: dict[int, tuple[int, int, int]] = attrs.Factory(dict)
    """By producer: epoch, next sequence number, and the number of records of its last batch."""
    is_open: set[int] = attrs.Factory(set)
    """The producers with an open transaction."""

    def operation(self) -> str:
        """A random operation."""
        choices: list[tuple[int, Callable[[], str]]] = [(60, self.batch), (14, self.marker)]
        choices += [(4, self.high_watermark), (3, self.log_start), (3, self.expiry)]
        if self.rules.verifies:
            choices.append((10, self.verification))
        if not self.rules.completes_empty:
            choices += [(6, lambda: "p"), (3, self.truncation), (1, self.beginning)]
        return self._chosen(choices)()

    def _chosen(self, choices: list[tuple[int, Callable[[], str]]]) -> Callable[[], str]:
        place = self.draw.below(sum(weight for weight, _ in choices))
        for weight, choice in choices:
            place -= weight
            if place < 0:
                return choice
        raise AssertionError

    def origin(self, usual: str) -> str:
        """Mostly the usual origin."""
        others = "KR" if usual == "K" else "CKR" if self.rules.trusts_replicated_markers else "CR"
        return usual if self.draw.chance(0.8) else self.draw.choose(others)

    def batch(self) -> str:
        """A batch: mostly the next one, or the last one again."""
        draw, producer = self.draw, self.draw.below(3)
        epoch, following, size = self.last.get(producer, (0, 0, 1))
        count, first = draw.between(1, 3), following
        if producer not in self.last:
            epoch = draw.below(3)
            first = draw.choose((0, 0, 0, 5, LAST_SEQUENCE - 2, LAST_SEQUENCE))
        elif draw.chance(0.12):
            first, count = sequence_after(following, LAST_SEQUENCE + 1 - size), size
        elif draw.chance(0.12):
            first = draw.choose((0, sequence_after(following, 1), draw.below(8), LAST_SEQUENCE))
        if draw.chance(0.12):
            epoch = bounded(epoch + draw.choose((1, 1, -1)))
            first = draw.choose((0, 0, first))
        is_transactional = (producer in self.is_open) != draw.chance(0.1)
        if producer not in self.is_open and draw.chance(0.3):
            is_transactional = True
        if is_transactional:
            self.is_open.add(producer)
        self.last[producer] = (epoch, sequence_after(first, count), count)
        self.end += count
        self.now += draw.below(40)
        origin = self.origin("C")
        return f"b,{producer},{epoch},{first},{count},{self.now},{int(is_transactional)},{origin}"

    def marker(self) -> str:
        """A marker, mostly of a producer with an open transaction."""
        draw = self.draw
        some = sorted(self.is_open)
        producer = draw.choose(some) if some and draw.chance(0.8) else draw.below(3)
        epoch, following, size = self.last.get(producer, (draw.below(2), 0, 1))
        version = draw.choose((0, 1, 2)) if self.rules.marker_bumps else 0
        bumps = version == 2 or self.rules.ongoing_in_epoch
        if draw.chance(0.7 if bumps else 0.2):
            epoch, following = bounded(epoch + 1), 0
        elif draw.chance(0.15):
            epoch = bounded(epoch - 1)
        if draw.chance(0.02):
            epoch = LAST_EPOCH
        self.is_open.discard(producer)
        self.last[producer] = (epoch, following, size)
        self.end += 1
        is_abort, coordinator = draw.below(2), draw.choose((0, 1, 1, 2))
        origin = self.origin("K")
        return f"m,{producer},{epoch},{coordinator},{is_abort},{self.now},{version},{origin}"

    def verification(self) -> str:
        """A verification, of the producer's next batch or of another one."""
        producer = self.draw.below(3)
        epoch, following, _ = self.last.get(producer, (0, 0, 1))
        sequence = self.draw.choose((following, following, 0, 7))
        epoch = bounded(epoch + self.draw.choose((0, 0, 0, 1, -1)))
        bumps = self.draw.below(2) if self.rules.ongoing_in_epoch else 0
        return f"v,{producer},{sequence},{epoch},{bumps}"

    def high_watermark(self) -> str:
        """A high watermark near the log's end."""
        return f"h,{self.draw.between(self.end // 2, self.end + 1)}"

    def log_start(self) -> str:
        """A log start offset."""
        return f"s,{self.draw.below(self.end + 1)}"

    def expiry(self) -> str:
        """A time, mostly some idle producer's."""
        self.now += self.draw.choose((10, 400, EXPIRATION - 100, EXPIRATION + 10))
        return f"e,{self.now}"

    def truncation(self) -> str:
        """A truncation, or the log loaded again."""
        end = self.draw.choose((self.end, self.draw.below(self.end + 1)))
        start = self.draw.choose((0, 0, self.draw.below(end + 1)))
        self.end = min(end, self.end)
        return f"t,{start},{end},{self.now}"

    def beginning(self) -> str:
        """A log that begins anew."""
        self.end = self.draw.below(20)
        return f"f,{self.end}"


def bounded(epoch: int) -> int:
    """The nearest epoch that there is."""
    return min(max(epoch, 0), LAST_EPOCH)


def draw_history(draw: Draw, version: str) -> str:
    """A random history."""
    drawn = Drawn(draw, rules_of(version))
    return " ".join(drawn.operation() for _ in range(draw.between(1, 16)))


# -- answers --------------------------------------------------------------------------------------


def answer_history(version: str, call: str) -> str:
    """What the specification answers."""
    state, words, now = ProducerState(rules_of(version), EXPIRATION), [], 0
    for operation in call.split(" "):
        name, *fields = operation.split(",")
        now = int(fields[0]) if name == "e" else now
        state, word = operate(state, name, fields, now)
        first = state.first_unstable
        words.append(f"{word}/{'-' if first is None else first}")
    words.append(state_text(state))
    return " ".join(words)


def operate(
    state: ProducerState, name: str, fields: list[str], now: int
) -> tuple[ProducerState, str]:
    """The state after an operation, and the answer."""
    if name in "bm":
        return append(state, batch_of(state.end, name, fields), ORIGINS[fields[-1]])
    if name == "p":
        state = state.take_snapshot()
        return state, snapshot_text(state)
    numbers = list(map(int, fields))
    match name:
        case "v":
            producer, sequence, epoch, bumps = numbers
            return begin_verification(state, producer, sequence, epoch, bool(bumps), now)
        case "h":
            return state.advance_high_watermark(*numbers), "ok"
        case "s":
            return state.advance_log_start(*numbers), "ok"
        case "e":
            return state.expire(*numbers), "ok"
        case "t":
            return state.truncate(*numbers), "ok"
        case _:
            return state.truncate_fully(*numbers), "ok"


def batch_of(end: int, name: str, fields: list[str]) -> Batch:
    """The batch or marker of an operation, at the log's end."""
    if name == "b":
        producer, epoch, first, count, time, is_transactional = map(int, fields[:-1])
        last = sequence_after(first, count - 1)
        return DataBatch(
            producer, epoch, first, last, end, end + count - 1, time, bool(is_transactional)
        )
    producer, epoch, coordinator, is_abort, time, transaction_version = map(int, fields[:-1])
    return EndMarker(producer, epoch, coordinator, bool(is_abort), end, time, transaction_version)


def append(state: ProducerState, batch: Batch, origin: AppendOrigin) -> tuple[ProducerState, str]:
    """The state after an append, and the answer; without the check of `verification_check`."""
    entry = state.producers.get(batch.producer)
    if isinstance(batch, DataBatch) and origin is AppendOrigin.CLIENT and entry is not None:
        duplicate = entry.duplicate_of(batch)
        if duplicate is not None:
            return state, f"dup{duplicate.first_offset}"
    prepared = state.prepare(batch.producer, origin)
    failed = rejection(prepared, batch)
    if failed is not None:
        return state, failed.error.value
    changed = prepared.after(batch)
    state, word = state.end_verification(batch).update(changed), "ok"
    for done in changed.completed:
        stable = state.last_stable_offset(done)
        state = state.complete(done)
        word += f":{done.first_offset},{done.last_offset},{int(done.is_aborted)},{stable}"
    return attrs.evolve(state, end=batch.last_offset + 1), word


def begin_verification(
    state: ProducerState, producer: int, sequence: int, epoch: int, bumps: bool, now: int
) -> tuple[ProducerState, str]:
    """A verification, whether or not it is needed: `UnifiedLog` decides that."""
    others = attrs.evolve(state, producers={})
    begun, _ = others.start_verification(producer, sequence, epoch, bumps, now)
    verification = begun.verifications[producer]
    after = attrs.evolve(begun, producers=state.producers)
    return after, f"v{verification.lowest_sequence},{verification.epoch}"


def snapshot_text(state: ProducerState) -> str:
    """The newest snapshot, byte by byte, with the producers in Java's order."""
    if not state.snapshots:
        return "none"
    entries = state.snapshots[max(state.snapshots)]
    return encode(sorted(entries, key=lambda entry: entry.producer)).hex()


def state_text(state: ProducerState) -> str:
    """The state."""
    entries = ";".join(entry_text(entry) for _, entry in sorted(state.producers.items()))
    undecided = state.ongoing[0].first_offset if state.ongoing else "-"
    return f"{{{entries}}}{state.end},{max(state.snapshots, default='-')},{undecided}"


def entry_text(entry: ProducerEntry) -> str:
    """What is kept of a producer."""
    start = "-" if entry.transaction_start is None else entry.transaction_start
    batches = "".join(
        f"[{each.first_sequence}-{each.last_sequence}@{each.first_offset}-{each.last_offset}]"
        for each in entry.batches
    )
    known = entry.producer, entry.epoch, entry.coordinator_epoch, entry.last_timestamp, start
    return ":".join(map(str, (*known, batches)))


PRODUCER_STATE = (
    Kind(
        "producer-state",
        "ProducerState.java",
        ("3.6.2", "3.9.1", "4.0.0", "4.1.0", "4.2.0"),
        draw_history,
        answer_history,
        artifact="kafka-storage",
    ),
    Kind(
        "producer-state-scala",
        "ProducerState.java",
        ("1.0.2", "2.0.1", "2.3.1", "2.4.1", "2.5.1", "2.8.2"),
        draw_history,
        answer_history,
        artifact="kafka_2.12",
    ),
)
"""Histories in the releases in Java, and in those in Scala."""
