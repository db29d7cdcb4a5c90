"""The rules of the producer state, release by release.

Each release has one record of rules, derived from another by naming what differs.

    >>> from kspec.spec.producer.broker_rules import rules_of
    >>> rules_of("2.3.1").without_state
    <ProducerError.UNKNOWN_PRODUCER_ID: 'UNKNOWN_PRODUCER_ID'>
    >>> print(rules_of("3.9").since, rules_of("3.9").without_state)
    3.6.0 None

From the sources of `ProducerStateManager` at the tags 0.11.0.3 to 4.3.0. Left out: 1.0.0 and
1.0.1, which may remember a batch that they rejected; markers in 0.11.
"""

from __future__ import annotations

import attrs

from kspec.spec.core import SpecError
from kspec.spec.producer.releases import parse_release
from kspec.spec.vocabulary import ProducerError


@attrs.frozen
class BrokerRules:
    """The rules of a release, and of those after it up to the next one here."""

    since: str
    """The first release with these rules."""
    retained: int
    """How many batches of a producer are remembered, to recognise duplicates."""
    without_state: ProducerError | None
    """The error of an unknown producer's first batch unless it begins with 0; None accepts it."""
    without_sequence: ProducerError
    """The error of the first batch after a marker that began an epoch, unless it begins with 0."""
    counts_offsets: bool = True
    """Whether offsets give a batch its length; else sequence numbers, which is wrong when they wrap
    around."""
    trusts_replicated_markers: bool = True
    """Whether a replica accepts each marker that its leader has accepted."""
    marker_is_activity: bool = True
    """Whether a marker counts as activity of the producer, which then expires later."""
    retention_forgets: bool = False
    """Whether producers are forgotten when their last record is deleted."""
    completes_empty: bool = False
    """Whether a marker without a transaction completes an empty one."""
    verifies: bool = True
    """Whether a transaction's first batch needs a verification (KIP-890, part 1)."""
    ongoing_in_epoch: bool = True
    """Whether a transaction counts as open only to batches of its own epoch."""
    bumping_starts_at_zero: bool = True
    """Whether an unknown producer that bumps its epoch at each end has to begin with 0."""
    fences_verification: bool = True
    """Whether an older epoch is rejected before the verification, not only after it."""
    epoch_before_verification: bool = True
    """Whether an older epoch is the error of a batch that also lacks a verification."""
    marker_bumps: bool = True
    """Whether a marker of transaction version 2 needs a newer epoch (KAFKA-19446)."""
    repeats_at_last_epoch: bool = True
    """Whether a marker with the last possible epoch may also end an open transaction."""


V4_3 = BrokerRules("4.3.0", 5, None, ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER)
"""The rules of the latest release."""
V4_2 = attrs.evolve(V4_3, since="4.2.0", repeats_at_last_epoch=False)
V4_1 = attrs.evolve(V4_2, since="4.1.0", epoch_before_verification=False, marker_bumps=False)
V4_0 = attrs.evolve(V4_1, since="4.0.0", bumping_starts_at_zero=False, fences_verification=False)
"""Transaction version 2 (KIP-890, part 2)."""
V3_6 = attrs.evolve(V4_0, since="3.6.0", ongoing_in_epoch=False)
V2_8 = attrs.evolve(V3_6, since="2.8.0", verifies=False)
V2_5 = attrs.evolve(V2_8, since="2.5.0", completes_empty=True)
"""An unknown producer may begin anywhere (KIP-360)."""
V2_4_1 = attrs.evolve(
    V2_5,
    since="2.4.1",
    without_state=ProducerError.UNKNOWN_PRODUCER_ID,
    without_sequence=ProducerError.UNKNOWN_PRODUCER_ID,
)
V2_4 = attrs.evolve(
    V2_4_1,
    since="2.4.0",
    trusts_replicated_markers=False,
    marker_is_activity=False,
)
V2_1_1 = attrs.evolve(V2_4, since="2.1.1", retention_forgets=True)
V2_0_1 = attrs.evolve(V2_1_1, since="2.0.1", counts_offsets=False)
V1_0_2 = attrs.evolve(
    V2_0_1, since="1.0.2", without_sequence=ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER
)
"""Five batches, and an error of its own for unknown producers (KAFKA-5494, KAFKA-5793)."""
V0_11 = attrs.evolve(
    V1_0_2,
    since="0.11.0.0",
    retained=1,
    without_state=ProducerError.OUT_OF_ORDER_SEQUENCE_NUMBER,
)

RULES = (
    V0_11, V1_0_2, V2_0_1, V2_1_1, V2_4, V2_4_1, V2_5, V2_8, V3_6, V4_0, V4_1, V4_2, V4_3
)  # fmt: skip
"""Oldest first."""

LATEST = RULES[-1]


def rules_of(version: str) -> BrokerRules:
    """The rules of a version of Kafka, such as 3.9.1, or 3.9 for its newest patch."""
    asked = parse_release(version)
    found = [rules for rules in RULES if parse_release(rules.since) <= asked]
    if not found:
        raise SpecError(f"idempotent producers came with Kafka 0.11, after {version}")
    return found[-1]
