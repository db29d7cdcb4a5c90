"""Findings on consumers: sessions, polls and offsets."""

from __future__ import annotations

from collections.abc import Iterator

from kspec.field.advice.catalogue import order
from kspec.field.advice.remarks import Remark, remark
from kspec.field.advice.settings import Settings

SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
STRATEGY, GROUP_PROTOCOL = "partition.assignment.strategy", "group.protocol"


def on_consumer(s: Settings, ms_per_record: float | None) -> Iterator[Remark]:
    """Sessions, polls and offsets."""
    named = s.text("consumer", GROUP_PROTOCOL) if s.has("consumer", GROUP_PROTOCOL) else ""
    yield from on_group_of_broker(s) if named.lower() == "consumer" else on_session(s)
    if ms_per_record is not None:
        yield from on_polls(s, ms_per_record)
    yield from on_offsets(s)


def on_group_of_broker(s: Settings) -> Iterator[Remark]:
    """With group.protocol=consumer, the broker decides what consumers decided before."""
    refused_by = "consumer" if order(s.known.release) >= order("4.0") else ""
    for name in (SESSION, HEARTBEAT, STRATEGY):
        if s.is_set("consumer", name):
            instead = f"group.consumer.{name} on the brokers"
            if name == STRATEGY:
                instead = "group.remote.assignor in its place"
            yield remark("broker-determines", name=name, instead=instead, refused_by=refused_by)


def on_session(s: Settings) -> Iterator[Remark]:
    """A session must outlast a few lost heartbeats, and the broker limits its length."""
    session, heartbeat = s.number("consumer", SESSION), s.number("consumer", HEARTBEAT)
    values = {"session": session, "heartbeat": heartbeat, "third": session // 3}
    if heartbeat >= session:
        yield remark("heartbeat-exceeds-session", **values)
    elif 3 * heartbeat > session:
        yield remark("few-heartbeats-in-session", **values, three_times=3 * heartbeat)
    least = s.number("broker", "group.min.session.timeout.ms")
    most = s.number("broker", "group.max.session.timeout.ms")
    if not least <= session <= most:
        nearest = min(max(session, least), most)
        yield remark(
            "session-outside-range", session=session, least=least, most=most, nearest=nearest
        )


def on_polls(s: Settings, ms_per_record: float) -> Iterator[Remark]:
    """All records of a poll must be processed before the next poll is due."""
    records = s.number("consumer", "max.poll.records")
    interval = s.number("consumer", "max.poll.interval.ms")
    needed = records * ms_per_record
    if needed > interval:
        yield remark(
            "slow-poll",
            records=records,
            each=number_text(ms_per_record),
            needed=number_text(needed),
            interval=interval,
            fewer=max(1, int(interval / ms_per_record / 2)),
            longer=int(2 * needed),
        )


def on_offsets(s: Settings) -> Iterator[Remark]:
    """When offsets are committed, how long they are kept, and what happens without one."""
    if s.truth("consumer", "enable.auto.commit"):
        yield remark("auto-commit")
    reset = s.text("consumer", "auto.offset.reset")
    minutes = s.number("broker", "offsets.retention.minutes")
    kept = {"minutes": minutes, "duration": duration(minutes)}
    if reset == "latest":
        yield remark("reset-to-latest", **kept)
    if minutes < 10080:
        yield remark("short-retention-of-offsets", reset=reset, **kept)


def number_text(number: float) -> str:
    """A number with all its digits before the point, and at most three after it."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def duration(minutes: int) -> str:
    """Minutes, in a larger unit if there are many."""
    for unit, size in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * size:
            return f"{minutes / size:.3g} {unit}"
    return f"{minutes} minutes"
