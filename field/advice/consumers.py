"""Findings on consumers: sessions, polls and offsets."""

from __future__ import annotations

from collections.abc import Iterator

from kspec.field.advice.catalogue import order
from kspec.field.advice.settings import Settings, shown
from kspec.field.advice.sources import Remark as Finding

SESSION, HEARTBEAT = "session.timeout.ms", "heartbeat.interval.ms"
STRATEGY = "partition.assignment.strategy"


def on_consumer(s: Settings, ms_per_record: float | None) -> Iterator[Finding]:
    """Sessions, polls and offsets."""
    if s.has("consumer", "group.protocol") and s.text("consumer", "group.protocol").lower() == (
        "consumer"
    ):
        for name in (SESSION, HEARTBEAT, STRATEGY):
            if s.is_set("consumer", name):
                refused = order(s.known.release) >= order("4.0")
                instead = (
                    "group.remote.assignor in its place"
                    if name == STRATEGY
                    else f"group.consumer.{name} on the brokers"
                )
                yield Finding(
                    name,
                    "with group.protocol=consumer the broker determines it, and since 4.0 the "
                    "consumer does not start if it is set",
                    f"remove it, and set {instead}",
                    "ConsumerConfig.checkUnsupportedConfigs",
                    refused_by="consumer" if refused else "",
                )
    else:
        yield from on_session(s)
    yield from on_polls(s, ms_per_record)
    yield from on_offsets(s)


def on_session(s: Settings) -> Iterator[Finding]:
    """A session must outlast a few lost heartbeats, and the broker limits its length."""
    session, heartbeat = s.number("consumer", SESSION), s.number("consumer", HEARTBEAT)
    if heartbeat >= session:
        yield Finding(
            HEARTBEAT,
            f"{heartbeat} is not less than session.timeout.ms={session}: the consumer does not "
            "start",
            f"use at most {session // 3}",
            "Heartbeat, which throws IllegalArgumentException",
            refused_by="consumer",
        )
    elif 3 * heartbeat > session:
        yield Finding(
            SESSION,
            f"{session} is less than three times heartbeat.interval.ms={heartbeat}: one or two "
            "late heartbeats remove a healthy consumer from its group",
            f"use heartbeat.interval.ms={session // 3} or session.timeout.ms={3 * heartbeat}",
            "spec.coordinator.sessions.expire_session; the documentation of heartbeat.interval.ms",
        )
    least = s.number("broker", "group.min.session.timeout.ms")
    most = s.number("broker", "group.max.session.timeout.ms")
    if not least <= session <= most:
        yield Finding(
            SESSION,
            f"{session} is outside the brokers' range from {least} to {most}: JoinGroup is "
            "answered with INVALID_SESSION_TIMEOUT",
            f"use {min(max(session, least), most)}, or change group.min.session.timeout.ms and "
            "group.max.session.timeout.ms",
            "spec.coordinator.membership.session_timeout_is_valid; "
            "GroupMetadataManager.classicGroupJoin",
        )


def on_polls(s: Settings, ms_per_record: float | None) -> Iterator[Finding]:
    """All records of a poll must be processed before the next poll is due."""
    if ms_per_record is None:
        return
    records = s.number("consumer", "max.poll.records")
    interval = s.number("consumer", "max.poll.interval.ms")
    needed = records * ms_per_record
    if needed > interval:
        yield Finding(
            "max.poll.interval.ms",
            f"{records} records of {number_text(ms_per_record)} ms take {number_text(needed)} ms, "
            f"more than {interval:,}: the consumer leaves its group while it processes them, and "
            "others process them again",
            f"use max.poll.records={max(1, int(interval / ms_per_record / 2))} or "
            f"max.poll.interval.ms={int(2 * needed)}",
            "the model delivery, variant in-time; AbstractCoordinator.HeartbeatThread",
        )


def on_offsets(s: Settings) -> Iterator[Finding]:
    """When offsets are committed, how long they are kept, and what happens without one."""
    if s.truth("consumer", "enable.auto.commit"):
        yield Finding(
            "enable.auto.commit",
            "poll commits the records of earlier polls. An application that swallows exceptions, "
            "or processes records in other threads, loses those that it has not processed",
            "use false, and commit after processing",
            "the model delivery, variants auto-commit-exception and auto-commit-thread",
        )
    reset = s.value("consumer", "auto.offset.reset").value
    minutes = s.number("broker", "offsets.retention.minutes")
    if reset == "latest":
        yield Finding(
            "auto.offset.reset",
            "a group without a committed offset skips all existing records: in a new partition, "
            "and after it had no consumers for longer than "
            f"offsets.retention.minutes={minutes} ({duration(minutes)})",
            "use earliest",
            "spec.consumer.reset; SubscriptionState.resetInitializingPositions",
        )
    if minutes < 10080:
        yield Finding(
            "offsets.retention.minutes",
            f"a group without consumers loses its offsets after {duration(minutes)}; then "
            f"auto.offset.reset={shown(reset)} decides where it continues",
            "use 10080 (7 days, the default since 2.0) or more",
            "the model offsets-topic; OffsetMetadataManager.cleanupExpiredOffsets",
        )


def number_text(number: float) -> str:
    """A number with all its digits before the point, and at most three after it."""
    return f"{number:,.3f}".rstrip("0").rstrip(".")


def duration(minutes: int) -> str:
    """Minutes, in a larger unit if there are many."""
    for unit, size in (("days", 1440), ("hours", 60)):
        if minutes >= 2 * size:
            return f"{minutes / size:.3g} {unit}"
    return f"{minutes} minutes"
