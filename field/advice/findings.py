"""Findings: problems that Kafka's own checks, or arithmetic on settings, show."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kspec.field.advice.catalogue import ELR, order
from kspec.field.advice.consumers import on_consumer
from kspec.field.advice.protocol import on_protocol
from kspec.field.advice.remarks import Remark, remark
from kspec.field.advice.settings import Settings
from kspec.field.advice.sources import Level, Source
from kspec.field.advice.transactions import on_transactions
from kspec.spec.durability import ALL, survives_writing
from kspec.spec.in_sync import effective_min_isr
from kspec.spec.producer.releases import parse_release
from kspec.spec.producer.settings import (
    DELIVERY_TIMEOUT,
    IN_FLIGHT,
    TRANSACTIONAL_ID,
    Producer,
    ProducerSettings,
    effective,
)

ADDRESSES = "bootstrap.servers"
MIN_ISR = "min.insync.replicas"


def findings(s: Settings, asked: Collection[str], ms_per_record: float | None) -> list[Remark]:
    """All findings. Those on producers and consumers need a source of their settings: `asked`."""
    found = [*on_topic(s, given=bool({"broker", "topic"} & set(asked))), *on_protocol(s)]
    if "producer" in asked:
        found += on_producer(s)
        found += on_transactions(s, consumer_too="consumer" in asked)
    if "consumer" in asked:
        found += on_consumer(s, ms_per_record)
    return found


def misspelt_and_required(s: Settings, sources: Collection[Source]) -> Iterator[Remark]:
    """Settings that a process needs, and that a file has under a wrong name only."""
    for source in sources:
        for wrong in source.remarks:
            for name in wrong.meant:
                if is_required(s, source.kind, name) and not s.is_set(source.kind, name):
                    yield remark(
                        "only-misspelt",
                        name=name,
                        given=wrong.setting,
                        kind=source.kind,
                        source=source.name,
                        because="ClientUtils.parseAndValidateAddresses"
                        if name == ADDRESSES
                        else "ConfigDef.parseValue",
                    )


def is_required(s: Settings, kind: str, name: str) -> bool:
    """Whether a client or a broker does not start without this setting."""
    if name == ADDRESSES:  # since 1.1 its default is an empty list, which is refused later
        return kind in ("producer", "consumer")
    return bool(kind) and s.has(kind, name) and s.known.settings[kind][name].default == "(required)"


# -- brokers and topics ---------------------------------------------------------------------------


def on_topic(s: Settings, *, given: bool) -> Iterator[Remark]:
    """The number of copies, and how many of them a write has to reach.

    `given` says whether there is a source of the settings of brokers or the topic.
    """
    factor = s.number("topic", "replication.factor")
    min_isr = s.number("topic", MIN_ISR)
    effective = effective_min_isr(min_isr, factor)
    acks = s.text("producer", "acks")
    waits_for_all = acks_number(acks) == ALL
    if factor == 1:
        by_default = not s.is_set("topic", "replication.factor") and not s.is_set(
            "broker", "default.replication.factor"
        )
        yield remark("one-copy-by-default" if by_default else "one-copy")
    if min_isr > factor:
        counts = order(s.known.release) >= order("3.7")
        yield remark(
            "min-isr-counts-as-factor" if counts else "min-isr-refuses-writes",
            factor=factor,
            fix=f"use at most {factor - 1}"
            if factor > 2
            else "use replication.factor=3 with min.insync.replicas=2",
        )
    if waits_for_all and factor > 1 and survives_writing(factor, ALL, min_isr) == 0:
        fix = f"use {MIN_ISR}={factor - 1}" if factor > 2 else "use replication.factor=3"
        yield remark("min-isr-is-factor", factor=factor, fix=fix)
    if given and waits_for_all and effective == 1 and factor > 1:
        yield remark("min-isr-is-1")
    if min_isr > 1 and not waits_for_all:
        yield remark("min-isr-without-acks-all", acks=acks)
    if s.truth("topic", "unclean.leader.election.enable"):
        yield remark("unclean-election")
    if s.has("broker", ELR) and effective > 1:
        yield from on_eligible_leaders(s)
    copies = s.number("broker", "offsets.topic.replication.factor")
    if copies < factor:
        yield remark("few-copies-of-offsets", copies=copies, factor=factor)
    wait = s.number("broker", "replica.fetch.wait.max.ms")
    if wait > s.number("broker", "replica.lag.time.max.ms"):
        yield remark("fetch-wait-exceeds-lag-time")


def on_eligible_leaders(s: Settings) -> Iterator[Remark]:
    """Whether the controller remembers which replicas outside the ISR have all records."""
    if s.number("broker", ELR) == 0:
        yield remark("no-eligible-leaders")
    elif not s.is_set("broker", ELR):
        yield remark("eligible-leaders-assumed")
    static = (Level.DEFAULT_CONFIG, Level.STATIC_BROKER_CONFIG)
    given = s.value("topic", MIN_ISR)
    if s.number("broker", ELR) == 1 and s.is_set("broker", MIN_ISR) and given.level in static:
        yield remark("eligible-leaders-keep-min-isr", value=given.value)


# -- producers ------------------------------------------------------------------------------------


def acks_number(text: str) -> int:
    """The value of acks; all and -1 mean every in-sync replica."""
    return ALL if text == "all" else int(text)


def producer_of(s: Settings) -> Producer:
    """What a producer of this release does with its settings."""
    return effective(producer_settings(s), parse_release(s.known.release))


def producer_settings(s: Settings) -> ProducerSettings:
    """What the sources set for a producer."""

    def number(name: str) -> int | None:
        return s.number("producer", name) if s.is_set("producer", name) else None

    acks, idempotence = s.text("producer", "acks"), "enable.idempotence"
    return ProducerSettings(
        acks=acks_number(acks) if s.is_set("producer", "acks") else None,
        retries=number("retries"),
        in_flight=number(IN_FLIGHT),
        enable_idempotence=s.truth("producer", idempotence)
        if s.is_set("producer", idempotence)
        else None,
        transactional_id=s.is_set("producer", "transactional.id"),
        linger_ms=number("linger.ms"),
        request_timeout_ms=number("request.timeout.ms"),
        delivery_timeout_ms=number(DELIVERY_TIMEOUT),
    )


def conflicts_text(s: Settings, names: Collection[str]) -> str:
    """The settings that exclude idempotence, with their values."""
    texts = {
        "retries": "retries=0",
        "acks": f"acks={s.text('producer', 'acks')}",
    }
    if IN_FLIGHT in names:
        most = 5 if order(s.known.release) >= order("1.0") else 1
        texts[IN_FLIGHT] = f"{IN_FLIGHT}={s.number('producer', IN_FLIGHT)} (at most {most})"
    return ", ".join(texts[name] for name in names)


def on_producer(s: Settings) -> Iterator[Remark]:
    """Acknowledgements, retries, order and time limits."""
    producer = producer_of(s)
    if TRANSACTIONAL_ID in producer.refused:
        yield remark("transactions-need-idempotence")
    apart = (DELIVERY_TIMEOUT, TRANSACTIONAL_ID)
    refused = [name for name in producer.refused if name not in apart]
    if refused:
        yield remark("idempotence-excluded", conflicts=conflicts_text(s, refused))
    if producer.disabled_by:
        yield remark("idempotence-disabled", conflicts=conflicts_text(s, producer.disabled_by))
    if producer.acks in (0, 1):
        yield remark(f"acks-{producer.acks}")
    if not refused and not producer.is_idempotent:
        yield on_retries(s)
    yield from on_delivery_timeout(s, producer)


def on_retries(s: Settings) -> Remark:
    """Records that retries, or their absence, may lose, duplicate or reorder."""
    if s.number("producer", "retries") == 0:
        limited = s.has("producer", DELIVERY_TIMEOUT)
        fix = f"leave the default of 2147483647, and limit the time with {DELIVERY_TIMEOUT}"
        return remark("no-retries", fix=fix if limited else "use a large number")
    in_flight = s.number("producer", IN_FLIGHT)
    name, fix = "enable.idempotence", "use enable.idempotence=true"
    if not s.has("producer", name):
        name, fix = "retries", "upgrade to 0.11 or later"
    several = "retries-in-flight-without-idempotence"
    wording = several if in_flight > 1 else "retries-without-idempotence"
    return remark(wording, name=name, fix=fix, in_flight=in_flight)


def on_delivery_timeout(s: Settings, producer: Producer) -> Iterator[Remark]:
    """The time limit on a record must leave time for one request."""
    if not s.has("producer", DELIVERY_TIMEOUT):
        return
    limit = s.number("producer", DELIVERY_TIMEOUT)
    least = s.number("producer", "linger.ms") + s.number("producer", "request.timeout.ms")
    used = producer.delivery_timeout_ms
    if used != limit:
        kind = "refused" if DELIVERY_TIMEOUT in producer.refused else "raised"
        yield remark(f"delivery-timeout-{kind}", limit=limit, least=least, used=used)
