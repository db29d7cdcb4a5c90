"""What the logs show of partitions: leader epochs, ISRs, truncations, high watermarks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from kspec.field.logs.adapter import Event
from kspec.field.logs.wordings import TOLD


@attrs.define
class Epoch:
    """A leader epoch, as its leader logged it."""

    epoch: int
    leader: str
    start_ms: int | None
    start_offset: int | None


@attrs.define
class Partition:
    """A partition as the logs show it."""

    topic: str
    partition: int
    epochs: list[Epoch] = attrs.field(factory=list)
    isrs: list[dict[str, Any]] = attrs.field(factory=list)
    """Each change of the ISR: its time, its members, who told."""
    troubles: list[Event] = attrs.field(factory=list)
    """Truncations, refused ISRs, unclean elections, offsets that were reset."""

    @property
    def name(self) -> str:
        """As Kafka prints it."""
        return f"{self.topic}-{self.partition}"

    @property
    def has_history(self) -> bool:
        """Whether anything happened after it was created."""
        return len(self.epochs) > 1 or len(self.isrs) > 1 or bool(self.troubles)

    def read(self, event: Event) -> None:
        """Take an event of the partition."""
        name = event["event"]
        if name == "leader_started":
            known = {one.epoch for one in self.epochs}
            if event["epoch"] not in known:
                self.epochs.append(
                    Epoch(event["epoch"], event["node"], event.get("time_ms"), event.get("offset"))
                )
        if name in ("leader_started", "leader_kept", "isr_updated") and event.get("isr"):
            self.in_sync(event)
        elif name == "truncating" and event.get("offset", 0) == 0:
            pass  # an empty log
        elif name in TOLD["partition"]:
            self.troubles.append(event)

    def in_sync(self, event: Event) -> None:
        """Keep an ISR that differs from the one before."""
        before = set(self.isrs[-1]["isr"]) if self.isrs else set()
        isr = set(event["isr"])
        if isr != before:
            self.isrs.append(
                {
                    "time_ms": event.get("time_ms"),
                    "isr": sorted(isr),
                    "joined": sorted(isr - before),
                    "left": sorted(before - isr),
                    "leader": event["node"],
                    "under_min_isr": bool(event.get("under_min_isr")),
                    "source": event["source"],
                }
            )

    def changes(self) -> list[tuple[float, str]]:
        """Each change in words, with its time, or 0 if no time is known."""
        found = [(epoch.start_ms or 0, epoch_text(epoch)) for epoch in self.epochs]
        found += [(change["time_ms"] or 0, isr_text(change)) for change in self.isrs]
        found += [(event.get("time_ms") or 0, trouble_text(event)) for event in self.troubles]
        return sorted(found, key=lambda change: change[0])

    def to_json(self) -> dict[str, Any]:
        """The partition as JSON."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "epochs": [attrs.asdict(one) for one in self.epochs],
            "isr": self.isrs,
            "troubles": self.troubles,
        }


def partitions_of(events: Iterable[Event]) -> list[Partition]:
    """The partitions that brokers logged, by name."""
    found: dict[tuple[str, int], Partition] = {}
    for event in events:
        if "side" in event or "topic" not in event or "partition" not in event:
            continue
        key = event["topic"], event["partition"]
        if isinstance(key[1], int) and event["event"] != "log_deleted":
            found.setdefault(key, Partition(*key)).read(event)
    return [found[key] for key in sorted(found)]


# -- in words ---------------------------------------------------------------------------------


def epoch_text(epoch: Epoch) -> str:
    """A leader that begins."""
    offset = "" if epoch.start_offset is None else f" at offset {epoch.start_offset}"
    return f"leader epoch {epoch.epoch}: broker {epoch.leader} leads{offset}"


def isr_text(change: dict[str, Any]) -> str:
    """A change of the ISR."""
    parts = [f"ISR {', '.join(map(str, change['isr']))}"]
    if change["left"]:
        parts.append(f"{', '.join(map(str, change['left']))} left")
    if change["joined"] and change["joined"] != change["isr"]:
        parts.append(f"{', '.join(map(str, change['joined']))} joined")
    if change["under_min_isr"]:
        parts.append("below min.insync.replicas")
    return "; ".join(parts)


def trouble_text(event: Event) -> str:
    """A truncation, a refused ISR, an unclean election."""
    known = {"offset": event.get("high_watermark", "?"), **event}
    text: str = TOLD["partition"][event["event"]]
    return text.format_map(known)
