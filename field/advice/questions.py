"""From settings and a failure budget to a bounded model, and its verdict.

A question is whether a partition with these settings can lose an acknowledged record, or stops
accepting writes, when no more fails than the budget allows. The model `partition` answers it: every
behaviour within its bounds is explored. Answers are kept in the user's cache folder, by
fingerprints of the rules and properties.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from kspec.checkers.engine.options import INTERRUPTED, OnProgress, Options
from kspec.checkers.engine.verdict import HOLDS, Verdict, fails
from kspec.field.advice.catalogue import ELR, order
from kspec.field.advice.settings import Settings
from kspec.field.shapes import some_fields
from kspec.spec.core import SpecError, System
from kspec.spec.in_sync import effective_min_isr
from kspec.traces.trace import Trace

KEPT, AVAILABLE = "AcknowledgedRecordsKept", "WritesAccepted"
"""The properties of the model that answer a question."""

MOST_BROKERS = 4
"""The largest replication factor in the model."""


@attrs.frozen
class Budget:
    """Failures that may happen, in any order and at any moment."""

    name: str
    bounds: Mapping[str, int]
    """The model's bounds for it."""
    says: str
    """What it is, in a few words."""


BUDGETS = {
    budget.name: budget
    for budget in (
        Budget("one-crash", {"crashes": 1}, "one broker process crashes"),
        Budget("two-crashes", {"crashes": 2}, "two broker processes crash, or one crashes twice"),
        Budget("one-power-loss", {"power_losses": 1}, "one machine loses power"),
        Budget("one-disk-loss", {"disk_losses": 1}, "one broker loses its disk"),
        Budget("one-cut-off", {"cut_offs": 1}, "one broker loses contact with the controller"),
    )
}
"""The budgets, by name."""

NO_FAILURES = {"crashes": 0, "power_losses": 0, "disk_losses": 0, "cut_offs": 0}

ZOOKEEPER = ("kafka-0.10", "kafka-0.11", "kafka-2.0", "kafka-2.1", "kafka-2.7")
"""The protocols under ZooKeeper: each is that of its release and of those up to the next."""

KRAFT = ("kafka-3.9", "kafka-4.1")
"""The protocols under KRaft."""

UNFENCED = ZOOKEEPER[:3]
"""The protocols under which moving leadership, as in a preferred election, is itself dangerous: it
may happen once, besides the failures. For others, this would cost thirty times as many states."""


@attrs.frozen
class Durability:
    """The settings that decide a question."""

    variant: str
    """The variant of the model: the replication protocol of a release."""
    acks: int
    """-1 for all."""
    min_insync: int
    factor: int
    """The replication factor."""
    unclean: bool
    flush: bool
    """Whether a broker flushes each record to its disk."""

    def bounds(self, budget: Budget, *, in_sync: bool = False) -> dict[str, int]:
        """The bounds of the model.

        One record may be lost; the other lets a follower that has the first fall behind. While
        followers stay in sync, one record is enough.
        """
        return {
            "brokers": self.factor,
            "records": 1 if in_sync else 2,
            "slow_followers": int(not in_sync),
            "acks": self.acks,
            "min_insync": self.min_insync,
            "unclean": int(self.unclean),
            "flush_each_record": int(self.flush),
            **NO_FAILURES,
            "leader_moves": int(self.variant in UNFENCED),
            **budget.bounds,
        }


def durability_of(s: Settings, acks: int) -> Durability:
    """The settings in effect that decide; `acks` is the value that the producer uses."""
    factor = s.number("topic", "replication.factor")
    min_insync = s.number("topic", "min.insync.replicas")
    if order(s.known.release) >= order("3.7"):
        min_insync = effective_min_isr(min_insync, factor)
    return Durability(
        variant=variant_of(s),
        acks=acks,
        min_insync=min(min_insync, MOST_BROKERS),
        factor=factor,
        unclean=s.truth("topic", "unclean.leader.election.enable"),
        flush=s.number("topic", "flush.messages") == 1,
    )


def variant_of(s: Settings) -> str:
    """The variant of the model that is the protocol of this cluster.

    From 3.3 on, when KRaft was declared ready for production, a cluster is assumed to use KRaft
    unless its settings name ZooKeeper.
    """
    release = order(s.known.release)
    roles = s.has("broker", "process.roles") and s.is_set("broker", "process.roles")
    if roles or (release >= order("3.3") and not s.is_set("broker", "zookeeper.connect")):
        with_elr = s.has("broker", ELR) and s.number("broker", ELR) >= 1
        return "kafka-4.1" if with_elr else "kafka-3.9"
    return zookeeper_variant(release)


def zookeeper_variant(release: tuple[int, ...]) -> str:
    """The protocol of a release under ZooKeeper; of one before 0.10.2, that of 0.10."""
    since = {order(variant.removeprefix("kafka-")): variant for variant in ZOOKEEPER}
    return next((since[first] for first in reversed(since) if release >= first), ZOOKEEPER[0])


KRAFT_SINCE = {
    "3.3": "a leader does not return a fenced replica to the ISR (KIP-841)",
    "3.5": "a leader does not return a replica that has restarted since its fetch (KIP-903)",
    "3.7": "nothing is committed while the ISR is smaller than min.insync.replicas",
}
"""What the variants of KRaft have, by the release that brought it."""


def beyond_release(variant: str, release: str) -> list[str]:
    """What the explored protocol has and the release lacks: the answer may be too good."""
    if variant not in KRAFT:
        return []  # the others have what the first of their releases has
    return [
        f"{what}, since {first}"
        for first, what in KRAFT_SINCE.items()
        if order(first) > order(release)
    ]


@attrs.frozen
class Answer:
    """The verdict on one question."""

    budget: str
    kept: bool | None
    """Whether every acknowledged record is kept; None if the search was stopped."""
    available: bool | None
    """Whether writes are possible afterwards; None if the search was stopped."""
    states: int | None
    """The number of states of the shortest loss."""
    searched: int
    """The number of states that were explored."""
    where: str = ""
    """Where the loss shows."""
    loss: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    """The shortest loss, as an ITF document."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return some_fields(self, "budget", "kept", "available", "states", "searched")


def system_of(settings: Durability, budget: Budget, *, in_sync: bool = False) -> System[Any]:
    """The system that answers a question.

    For records, followers may be slow. For writes, they are in sync until something fails: if a
    leader that is the only member of the ISR fails, the partition is unavailable whatever the
    settings.
    """
    from kspec.checkers.models.find import find_model

    if settings.factor > MOST_BROKERS:
        raise SpecError(f"the model has at most {MOST_BROKERS} replicas, not {settings.factor}")
    return find_model("partition").system(
        settings.variant, settings.bounds(budget, in_sync=in_sync)
    )


def answer(
    settings: Durability,
    budget: Budget,
    *,
    on_progress: OnProgress | None = None,
    on_compiling: Callable[[], None] | None = None,
    limits: Options | None = None,
) -> Answer:
    """Explore the model, unless its answer is in the cache."""
    system = system_of(settings, budget)
    in_sync = system_of(settings, budget, in_sync=True)
    place = cache_file(system, in_sync)
    kept = place and read(place, budget)
    if kept:
        return kept
    options = attrs.evolve(
        limits or Options(), use_cache=True, on_progress=on_progress, on_compiling=on_compiling
    )
    found = explore(system, in_sync, budget, options)
    if place and found.kept is not None and found.available is not None:
        write(place, found)
    return found


def explore(system: System[Any], in_sync: System[Any], budget: Budget, options: Options) -> Answer:
    """Search for a loss, and then for a state in which writes stop."""
    from kspec.traces.itf import to_itf

    safety = search(system, KEPT, options)
    halt = search(in_sync, AVAILABLE, options)
    loss = next((v.trace for v in safety.violations if v.name == KEPT), None)
    return Answer(
        budget.name,
        kept=holds(safety, KEPT),
        available=holds(halt, AVAILABLE),
        states=len(loss.states) if loss else None,
        searched=safety.distinct,
        where=loss.where if loss else "",
        loss=to_itf(loss) if loss else None,
    )


FEW = 1_000
"""Up to this many states, running the rules takes less time than learning them."""


def search(system: System[Any], name: str, options: Options) -> Verdict:
    """Explore for one property.

    A run of `advise` asks up to a hundred questions. So learned rules explore in this process,
    which loads compiled code once; `auto` would do so for each question, in a process of its own.
    """
    from kspec.checkers.engine.run import run

    asked = system.with_properties([name])
    most = options.max_states or FEW + 1
    few = attrs.evolve(options, engine="reference", max_states=min(FEW, most))
    verdict = run(asked, few)
    if verdict.stopped_by == few.limit("max_states") and most > FEW:
        verdict = run(asked, attrs.evolve(options, engine="learned"))
    if verdict.stopped_by == INTERRUPTED:
        raise KeyboardInterrupt
    return verdict


def holds(verdict: Verdict, name: str) -> bool | None:
    """Whether the property holds; None if the search was stopped."""
    if any(violation.name == name for violation in verdict.violations):
        return False
    return True if verdict.verdict == HOLDS else None


def loss_of(settings: Durability, found: Answer) -> Trace:
    """The shortest loss, replayed under the rules of the model."""
    from kspec.traces.itf import document
    from kspec.traces.replay import replay

    system = system_of(settings, BUDGETS[found.budget])
    trace = replay(system, document(found.loss, "the shortest loss"))
    return attrs.evolve(trace, property=KEPT, where=found.where)


def says(found: Answer) -> str:
    """What the loss shows, in a sentence."""
    return fails(KEPT, found.where)


# -- what is kept ---------------------------------------------------------------------------------

FORMAT = 1

MOST_ANSWERS = 2_000
"""How many answers are kept: the matrices of all protocols, and some more."""


def cache_file(*systems: System[Any]) -> Path | None:
    """The file that keeps the answer, named after all that it depends on; None without a cache."""
    from kspec.checkers.engine.learned.keys import Keys
    from kspec.impl.compiled import cache_folder

    parts: list[Any] = [FORMAT]
    for system in systems:
        keys = Keys(system.with_properties([KEPT, AVAILABLE]))
        asked = [*system.rules, *keys.system.properties, system.model]
        if keys.file is None or any(one not in keys.of for one in asked):
            return None
        parts += [keys.file, *(keys.of[one] for one in asked)]
    folder = cache_folder("advice")
    name = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return folder / f"{name}.json" if folder else None


def read(place: Path, budget: Budget) -> Answer | None:
    """The answer in a file; None if it is absent or damaged."""
    from kspec.traces.source import parse_json, read_text

    with suppress(SpecError, TypeError, KeyError, AttributeError):
        record = parse_json(read_text(place))
        found = Answer(**{**record, "budget": budget.name})
        if isinstance(found.kept, bool) and (found.kept or found.loss is not None):
            return found
    return None


def write(place: Path, found: Answer) -> None:
    """Keep an answer, and delete the oldest; without room, the next run searches again."""
    from kspec.checkers.engine.learned.keep import new_file

    with suppress(OSError):
        with new_file(place) as file:
            file.write(json.dumps(attrs.asdict(found, recurse=False)).encode())
        files = sorted(place.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)
        for old in files[:-MOST_ANSWERS]:
            old.unlink()
