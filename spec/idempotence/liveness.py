"""Liveness: each record is reported to the application, even if no timeout ends the retries.

The steps that a producer and a leader take by themselves are weakly fair. Timeouts, lost
connections and elections are not: the property does not rely on them.
"""

from __future__ import annotations

from kspec.spec.core import leads_to
from kspec.spec.idempotence import before_kip_360, leader, producer, since_kip_360, without
from kspec.spec.idempotence.state import Exchange

FAIR = (
    *(rule for rule in producer.RULES if rule is not producer.producer_expires_batch),
    *(rule for rule in leader.RULES if rule is not leader.brokers_forget_producer),
    *before_kip_360.FAIR,
    since_kip_360.leader_appends_any_first,
    since_kip_360.leader_refuses_known_sequence,
    since_kip_360.leader_appends_zero_first,
    since_kip_360.leader_refuses_other_first,
    since_kip_360.producer_bumps_epoch_of_unknown_id,
    without.leader_appends_unchecked,
    without.producer_sends_unnumbered,
    without.producer_sends_unnumbered_alone,
    without.producer_completes_unnumbered_batch,
    without.producer_fails_batch,
    without.producer_sends_one_too_many,
)
"""The fair rules of all variants."""


@leads_to(weakly_fair=FAIR)
def RecordsAreReported(s: Exchange) -> tuple[bool, bool]:
    """Each record is eventually acknowledged, or its failure is reported."""
    return True, all(batch.is_done for batch in s.batches)


LIVENESS = (RecordsAreReported,)
