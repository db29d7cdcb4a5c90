"""Findings: problems that Kafka's own checks, or arithmetic on settings, show."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kspec.field.advice.catalogue import ELR, order
from kspec.field.advice.consumers import on_consumer
from kspec.field.advice.protocol import on_protocol
from kspec.field.advice.settings import Settings
from kspec.field.advice.sources import Level, Source
from kspec.field.advice.sources import Remark as Finding
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


def findings(s: Settings, asked: Collection[str], ms_per_record: float | None) -> list[Finding]:
    """All findings. Those on producers and consumers need a source of their settings: `asked`."""
    found = [*on_topic(s, given=bool({"broker", "topic"} & set(asked))), *on_protocol(s)]
    if "producer" in asked:
        found += on_producer(s)
        found += on_transactions(s, consumer_too="consumer" in asked)
    if "consumer" in asked:
        found += on_consumer(s, ms_per_record)
    return found


def misspelt_and_required(s: Settings, sources: Collection[Source]) -> Iterator[Finding]:
    """Settings that a process needs, and that a file has under a wrong name only."""
    for source in sources:
        for remark in source.remarks:
            for name in remark.meant:
                if is_required(s, source.kind, name) and not s.is_set(source.kind, name):
                    yield Finding(
                        name,
                        f"only {remark.setting} is given, probably a misspelling: the "
                        f"{source.kind} does not start, unless its code sets {name}",
                        f"rename {remark.setting} in {source.name}",
                        "ClientUtils.parseAndValidateAddresses"
                        if name == ADDRESSES
                        else "ConfigDef.parseValue",
                        refused_by=source.kind,
                    )


def is_required(s: Settings, kind: str, name: str) -> bool:
    """Whether a client or a broker does not start without this setting."""
    if name == ADDRESSES:  # since 1.1 its default is an empty list, which is refused later
        return kind in ("producer", "consumer")
    return bool(kind) and s.has(kind, name) and s.known.settings[kind][name].default == "(required)"


# -- brokers and topics ---------------------------------------------------------------------------


def on_topic(s: Settings, *, given: bool) -> Iterator[Finding]:
    """The number of copies, and how many of them a write has to reach.

    `given` says whether there is a source of the settings of brokers or the topic.
    """
    factor = s.number("topic", "replication.factor")
    min_isr = s.number("topic", "min.insync.replicas")
    waits_for_all = acks_number(s.text("producer", "acks")) == ALL
    if factor == 1:
        by_default = not s.is_set("topic", "replication.factor") and not s.is_set(
            "broker", "default.replication.factor"
        )
        yield Finding(
            "replication.factor",
            (
                "no source gives it, and the default of default.replication.factor is 1: "
                if by_default
                else ""
            )
            + "there is only one copy of each record: while its broker is down, the partition is "
            "unavailable, and losing the disk loses the records",
            "create topics with replication.factor=3"
            + (", or name the topic's own with --set replication.factor" if by_default else ""),
            "kspec.spec.durability.survives_reading",
        )
    if min_isr > factor:
        if order(s.known.release) >= order("3.7"):
            problem = f"it exceeds replication.factor={factor}, and counts as {factor}"
        else:
            problem = f"it exceeds replication.factor={factor}: no write with acks=all succeeds"
        yield Finding(
            "min.insync.replicas",
            problem,
            f"use at most {factor - 1}"
            if factor > 2
            else "use replication.factor=3 with min.insync.replicas=2",
            "Partition.effectiveMinIsr; before 3.7 Partition.appendRecordsToLeader",
        )
    effective = effective_min_isr(min_isr, factor)
    if waits_for_all and factor > 1 and survives_writing(factor, -1, min_isr) == 0:
        yield Finding(
            "min.insync.replicas",
            f"it equals replication.factor={factor}: after one crash, all writes fail with "
            "NOT_ENOUGH_REPLICAS until the broker is back",
            f"use min.insync.replicas={factor - 1}" if factor > 2 else "use replication.factor=3",
            "Partition.appendRecordsToLeader; spec.durability.survives_writing",
        )
    if given and waits_for_all and effective == 1 and factor > 1:
        yield Finding(
            "min.insync.replicas",
            "acks=all waits for in-sync replicas only, and with 1 the leader alone is enough: "
            "if the followers lag, a write is acknowledged with a single copy",
            "use min.insync.replicas=2 with replication.factor=3",
            "Partition.checkEnoughReplicasReachOffset",
        )
    if min_isr > 1 and not waits_for_all:
        yield Finding(
            "min.insync.replicas",
            "it applies to writes with acks=all only; this producer has "
            f"acks={s.text('producer', 'acks')}",
            "use acks=all",
            "Partition.appendRecordsToLeader",
        )
    if s.truth("topic", "unclean.leader.election.enable"):
        yield Finding(
            "unclean.leader.election.enable",
            "a broker that lacks acknowledged records may become leader; all replicas then "
            "truncate them",
            "use false: the partition then waits for an in-sync replica",
            "PartitionChangeBuilder.electLeader; PartitionLeaderElectionAlgorithms",
        )
    if s.has("broker", ELR) and effective > 1:
        yield from on_eligible_leaders(s)
    yield from on_offsets_topic(s, factor)
    if s.number("broker", "replica.fetch.wait.max.ms") > s.number(
        "broker", "replica.lag.time.max.ms"
    ):
        yield Finding(
            "replica.fetch.wait.max.ms",
            "it exceeds replica.lag.time.max.ms: the broker does not start",
            "keep replica.fetch.wait.max.ms far below replica.lag.time.max.ms",
            "KafkaConfig.validateValues",
            refused_by="broker",
        )


def on_eligible_leaders(s: Settings) -> Iterator[Finding]:
    """Whether the controller remembers which replicas outside the ISR have all records."""
    enable = f"kafka-features upgrade --feature {ELR}=1"
    because = "KIP-966; PartitionChangeBuilder.maybePopulateTargetElr"
    if s.number("broker", ELR) == 0:
        yield Finding(
            ELR,
            "without eligible leader replicas, the last member of the ISR may be elected after a "
            "power loss, although it has lost records that another replica still has",
            enable,
            because,
        )
    elif not s.is_set("broker", ELR):
        yield Finding(
            ELR,
            "1 is assumed, which is the default of new clusters only: a cluster that was upgraded "
            "has 0 until the feature is enabled, and may lose records after a power loss",
            f"check it with kafka-features describe, and ask again with --set {ELR}=0 or =1. To "
            f"enable it: {enable}",
            because,
        )
    static = (Level.DEFAULT_CONFIG, Level.STATIC_BROKER_CONFIG)
    given = s.value("topic", MIN_ISR)
    if s.number("broker", ELR) == 1 and s.is_set("broker", MIN_ISR) and given.level in static:
        yield Finding(
            MIN_ISR,
            "with eligible leader replicas, the controller's file gives it only once, when the "
            "feature is enabled: the cluster keeps it as a dynamic value, which precedes all files",
            "check it with kafka-configs --entity-type brokers --entity-default --describe, and "
            f"set it there: --alter --add-config {MIN_ISR}={given.value}",
            "ActivationRecordsGenerator; ConfigurationControlManager.maybeGenerateElrSafetyRecords",
        )


def on_offsets_topic(s: Settings, factor: int) -> Iterator[Finding]:
    """The replication of committed offsets."""
    copies = s.number("broker", "offsets.topic.replication.factor")
    if copies < factor:
        yield Finding(
            "offsets.topic.replication.factor",
            f"the committed offsets have fewer copies ({copies}) than the topic's records "
            f"({factor}), and consumer groups depend on both",
            f"use {factor}, and reassign __consumer_offsets if it exists",
            "spec.placement; GroupMetadataManager",
        )


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


def on_producer(s: Settings) -> Iterator[Finding]:
    """Acknowledgements, retries, order and time limits."""
    producer = producer_of(s)
    check = "spec.producer.settings; ProducerConfig.postProcessAndValidateIdempotenceConfigs"
    if TRANSACTIONAL_ID in producer.refused:
        yield Finding(
            TRANSACTIONAL_ID,
            "the producer does not start: a transactional.id needs idempotence, which is off",
            f"use enable.idempotence=true, acks=all, retries above 0 and {IN_FLIGHT} of at most 5",
            f"{check}, which throws ConfigException",
            refused_by="producer",
        )
    apart = (DELIVERY_TIMEOUT, TRANSACTIONAL_ID)
    refused = [name for name in producer.refused if name not in apart]
    if refused:
        yield Finding(
            "enable.idempotence",
            f"the producer does not start: idempotence excludes {conflicts_text(s, refused)}",
            f"use acks=all, retries above 0 and {IN_FLIGHT} of at most 5",
            f"{check}, which throws ConfigException",
            refused_by="producer",
        )
    if producer.disabled_by:
        yield Finding(
            "enable.idempotence",
            f"it is on by default, but the producer disables it because of "
            f"{conflicts_text(s, producer.disabled_by)}; only its log shows this",
            "use acks=all and retries above 0, or set enable.idempotence=false explicitly",
            check,
        )
    if producer.acks == 0:
        yield Finding(
            "acks",
            "the producer considers a record written once it is sent, even if no broker receives "
            "it",
            "use acks=all",
            "Sender.sendProduceRequest; KafkaApis.handleProduceRequest",
        )
    if producer.acks == 1:
        yield Finding(
            "acks",
            "a record is acknowledged when the leader has it: if the leader fails before a "
            "follower fetches it, it is lost",
            "use acks=all",
            "ReplicaManager.delayedProduceRequestRequired",
        )
    if not refused:
        yield from on_retries(s, producer)
    yield from on_delivery_timeout(s, producer)


def on_retries(s: Settings, producer: Producer) -> Iterator[Finding]:
    """Records that retries, or their absence, may lose, duplicate or reorder."""
    retries = s.number("producer", "retries")
    if retries == 0 and not producer.is_idempotent:
        yield Finding(
            "retries",
            "an election or a timeout fails a record at once, and it is lost unless the "
            "application sends it again",
            "leave the default of 2147483647, and limit the time with delivery.timeout.ms"
            if s.has("producer", "delivery.timeout.ms")
            else "use a large number",
            "Sender.canRetry",
        )
    elif not producer.is_idempotent:
        name = "enable.idempotence" if s.has("producer", "enable.idempotence") else "retries"
        fix = "use enable.idempotence=true" if name != "retries" else "upgrade to 0.11 or later"
        in_flight = s.number("producer", IN_FLIGHT)
        order_too = in_flight > 1
        yield Finding(
            name,
            "without idempotence, a retry may write a record twice"
            + (
                f" and, with {in_flight} requests in flight, behind records that were sent later"
                if order_too
                else ""
            ),
            fix + (f", or {IN_FLIGHT}=1 to keep the order only" if order_too else ""),
            "ProducerStateManager; RecordAccumulator.reenqueue",
        )


def on_delivery_timeout(s: Settings, producer: Producer) -> Iterator[Finding]:
    """The time limit on a record must leave time for one request."""
    if not s.has("producer", DELIVERY_TIMEOUT):
        return
    limit = s.number("producer", DELIVERY_TIMEOUT)
    least = s.number("producer", "linger.ms") + s.number("producer", "request.timeout.ms")
    if producer.delivery_timeout_ms != limit:
        refused = DELIVERY_TIMEOUT in producer.refused
        yield Finding(
            DELIVERY_TIMEOUT,
            f"{limit} is less than linger.ms + request.timeout.ms = {least}: "
            + (
                "the producer does not start"
                if refused
                else f"the producer uses {producer.delivery_timeout_ms} instead"
            ),
            f"use at least {least}",
            "KafkaProducer.configureDeliveryTimeout",
            refused_by="producer" if refused else "",
        )
