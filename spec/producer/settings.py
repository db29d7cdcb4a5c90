"""A producer's settings: which a release accepts, and what it makes of them.

Idempotence needs acks=all, retries, and few requests in flight. Each release treats a conflict in
its own way:

| releases | idempotence | a conflicting setting |
|---|---|---|
| 0.11 to 2.8 | off unless set, or with transactional.id | refused if set; overridden if a default |
| 3.0.0, 3.1.0 | the same: its new default has no effect (KAFKA-13598) | the same |
| 3.0.1, 3.1.1, 3.2 to 3.9 | on (KIP-679) | refused if idempotence is set; else it is disabled |
| from 4.0 | on | the same; too many requests in flight are refused at once |

    >>> effective(ProducerSettings(acks=1), (2, 8, 2)).is_idempotent
    False
    >>> effective(ProducerSettings(acks=1), (3, 9, 1)).disabled_by
    ('acks',)
    >>> effective(ProducerSettings(acks=1, transactional_id=True), (3, 9, 1)).refused
    ('transactional.id',)

When idempotence is disabled, only the producer's log shows it. Values outside a setting's own
range, such as acks=2, are refused before.
"""

from __future__ import annotations

import attrs

from kspec.spec.durability import ALL
from kspec.spec.java import INT_MAX
from kspec.spec.producer.releases import Release

ACKS = "acks"
RETRIES = "retries"
IN_FLIGHT = "max.in.flight.requests.per.connection"
TRANSACTIONAL_ID = "transactional.id"
DELIVERY_TIMEOUT = "delivery.timeout.ms"


# -- what is set ------------------------------------------------------------------------------


@attrs.frozen
class ProducerSettings:
    """What an application sets; None is what it leaves to the default."""

    acks: int | None = None
    """0, 1, or -1 for all."""
    retries: int | None = None
    in_flight: int | None = None
    """`max.in.flight.requests.per.connection`."""
    enable_idempotence: bool | None = None
    transactional_id: bool = False
    """Whether there is a `transactional.id`."""
    linger_ms: int | None = None
    request_timeout_ms: int | None = None
    delivery_timeout_ms: int | None = None


def with_defaults(given: ProducerSettings, release: Release) -> ProducerSettings:
    """The settings with the defaults of a release. Kafka: `ProducerConfig.CONFIG`.

    2.1 retries without end, within delivery.timeout.ms (KIP-91); 3.0 has acks=all and idempotence
    (KIP-679); 4.0 lingers for 5 ms (KIP-1030).
    """
    defaults = ProducerSettings(
        acks=ALL if release >= (3, 0) else 1,
        retries=INT_MAX if release >= (2, 1) else 0,
        in_flight=5,
        enable_idempotence=release >= (3, 0),
        linger_ms=5 if release >= (4, 0) else 0,
        request_timeout_ms=30_000,
        delivery_timeout_ms=120_000 if release >= (2, 1) else None,
    )
    names = [field.name for field in attrs.fields(ProducerSettings)]
    chosen = {name: getattr(given, name) for name in names if getattr(given, name) is not None}
    return attrs.evolve(defaults, **chosen)


# -- what takes effect ------------------------------------------------------------------------


@attrs.frozen
class Producer:
    """What a producer of a release does with its settings."""

    acks: int
    retries: int
    is_idempotent: bool
    delivery_timeout_ms: int | None = None
    """None before 2.1."""
    disabled_by: tuple[str, ...] = ()
    """The settings because of which it disables idempotence."""
    refused: tuple[str, ...] = ()
    """The settings because of which it does not start; its exception names the first."""


def effective(given: ProducerSettings, release: Release) -> Producer:
    """What a producer of this release does with these settings.

    Kafka: `ProducerConfig.postProcessAndValidateIdempotenceConfigs` [3.0.1],
    `ProducerConfig.maybeOverrideAcksAndRetries` [2.5], `KafkaProducer.configureAcks` and its
    neighbours before, and `KafkaProducer.configureDeliveryTimeout`.
    """
    values = with_defaults(given, release)
    assert values.acks is not None
    assert values.retries is not None
    wanted = wants_idempotence(given, release)
    conflicts = idempotence_conflicts(given, release) if wanted else ()
    disabled_by: tuple[str, ...] = ()
    refused = conflicts
    if given.enable_idempotence is None and is_idempotent_by_default(release):
        crowded = release >= (4, 0) and IN_FLIGHT in conflicts
        refused = (IN_FLIGHT,) if crowded else ()
        disabled_by = () if crowded else conflicts
    idempotent = wanted and not conflicts
    if given.transactional_id and (not wanted or disabled_by):
        refused = (TRANSACTIONAL_ID, *refused)
    timeout = delivery_timeout_ms(given, release)
    if timeout is None and release >= (2, 1):
        refused = (*refused, DELIVERY_TIMEOUT)
    return Producer(
        acks=ALL if idempotent else values.acks,
        retries=INT_MAX if idempotent and given.retries is None else values.retries,
        is_idempotent=idempotent,
        delivery_timeout_ms=timeout,
        disabled_by=disabled_by,
        refused=tuple(sorted(refused, key=check_order(release).index)),
    )


def is_idempotent_by_default(release: Release) -> bool:
    """Whether a producer is idempotent if it does not say so.

    3.0.0 and 3.1.0 have the default, but look only at what is set (KAFKA-13598). Kafka:
    `ProducerConfig.idempotenceEnabled`.
    """
    return release >= (3, 0, 1) and release != (3, 1, 0)


def wants_idempotence(given: ProducerSettings, release: Release) -> bool:
    """Whether a producer is idempotent unless its other settings exclude it.

    Before 3.0.1, a transactional.id turns idempotence on.
    """
    if release < (0, 11):
        return False
    if given.enable_idempotence is not None:
        return given.enable_idempotence
    return is_idempotent_by_default(release) or given.transactional_id


def idempotence_conflicts(given: ProducerSettings, release: Release) -> tuple[str, ...]:
    """The settings that exclude idempotence. A default does not: idempotence overrides it.

    A broker remembers the last five batches of a producer, so five requests may be in flight; in
    0.11 it remembers one (KAFKA-5494).
    """
    most = 5 if release >= (1, 0) else 1
    conflicts = []
    if given.retries == 0:
        conflicts.append(RETRIES)
    if given.acks is not None and given.acks != ALL:
        conflicts.append(ACKS)
    if given.in_flight is not None and given.in_flight > most:
        conflicts.append(IN_FLIGHT)
    return tuple(conflicts)


def delivery_timeout_ms(given: ProducerSettings, release: Release) -> int | None:
    """The time limit on a record; None if it is refused, or the release has none.

    It must leave time to linger and for one request. A default that does not is raised. Kafka:
    `KafkaProducer.configureDeliveryTimeout`.
    """
    values = with_defaults(given, release)
    limit = values.delivery_timeout_ms
    if limit is None or values.linger_ms is None or values.request_timeout_ms is None:
        return None
    least = min(values.linger_ms + values.request_timeout_ms, INT_MAX)
    if limit >= least:
        return limit
    return least if given.delivery_timeout_ms is None else None


def check_order(release: Release) -> tuple[str, ...]:
    """The order in which a release checks settings: it reports the first that it refuses."""
    if release >= (3, 0, 1) and release != (3, 1, 0):
        return (RETRIES, ACKS, IN_FLIGHT, TRANSACTIONAL_ID, DELIVERY_TIMEOUT)
    if release >= (2, 5):
        return (TRANSACTIONAL_ID, RETRIES, ACKS, DELIVERY_TIMEOUT, IN_FLIGHT)
    return (TRANSACTIONAL_ID, DELIVERY_TIMEOUT, IN_FLIGHT, RETRIES, ACKS)
